package queue

import (
	"fmt"

	"mayfly/ttl"
)

// Check tests in full what must always hold between two Applies (doc.go, the
// numbered invariants), and names the first that does not.
func (q *Queue) Check() error {
	c := checker{q: q, held: make(map[uint32]uint64), lanes: make([]uint64, len(q.lanes))}
	for _, part := range [...]func() error{c.messages, c.laneLists, c.holders, c.limits, c.ended} {
		if err := part(); err != nil {
			return fmt.Errorf("queue %q at entry %d: %w", q.cfg.Name, q.entry, err)
		}
	}
	return nil
}

// Quick tests what can be tested at once (invariants 1 and 2): it runs after every
// Apply in production.
func (q *Queue) Quick() error {
	switch {
	case q.ready+q.unacked != q.slab.count:
		return fmt.Errorf("invariant 1: %d ready and %d unacked, but %d messages", q.ready, q.unacked, q.slab.count)
	case q.now < 1:
		return fmt.Errorf("invariant 2: time is %d", q.now)
	case q.gone != GoneNot && q.slab.count > 0:
		return fmt.Errorf("invariant 1: %d messages in a queue that is gone", q.slab.count)
	}
	return nil
}

type checker struct {
	q       *Queue
	held    map[uint32]uint64 // messages by holder
	lanes   []uint64          // ready messages by lane
	indexed int
}

// messages walks the slab: invariants 1, 2 and 3 from the messages' side.
func (c *checker) messages() error {
	q := c.q
	var ready, readyBytes, unacked, unackedBytes, timed, count uint64
	var err error
	last := ttl.Stamp(0)
	q.slab.each(func(p Pos, m *message) bool {
		count++
		if m.enqueued < last || m.enqueued > q.now || p >= q.slab.next {
			err = fmt.Errorf("invariant 2: message %d entered at %d, after one that entered at %d, now %d", p, m.enqueued, last, q.now)
			return false
		}
		last = m.enqueued
		if m.state() == stateHeld {
			unacked++
			unackedBytes += uint64(m.body)
			c.held[m.holder]++
			if m.has(flagIndexed) || m.has(flagReturned) || m.acquired == 0 {
				err = fmt.Errorf("invariant 3: held message %d has flags %b", p, m.flags)
			}
			return err == nil
		}
		ready++
		readyBytes += uint64(m.body)
		if m.ttl >= 0 {
			timed++
		}
		c.lanes[q.levelOf(m)]++
		wants := q.indexKey(m) != ttl.Never
		if m.has(flagIndexed) != wants {
			err = fmt.Errorf("invariant 3: message %d indexed %v, should be %v", p, m.has(flagIndexed), wants)
		}
		if wants {
			c.indexed++
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	if ready != q.ready || readyBytes != q.readyBytes || unacked != q.unacked || unackedBytes != q.unackedBytes || timed != q.timed || count != q.slab.count {
		return fmt.Errorf("invariant 1: counted %d ready (%d bytes, %d timed), %d unacked (%d bytes), %d in all; noted %d (%d, %d), %d (%d), %d",
			ready, readyBytes, timed, unacked, unackedBytes, count, q.ready, q.readyBytes, q.timed, q.unacked, q.unackedBytes, q.slab.count)
	}
	return c.deadlines()
}

// deadlines is invariant 3 from the index's side.
func (c *checker) deadlines() error {
	q := c.q
	if !q.index.Ordered() || q.index.Len() != c.indexed {
		return fmt.Errorf("invariant 3: %d deadlines in the index, %d wanted, ordered %v", q.index.Len(), c.indexed, q.index.Ordered())
	}
	for at, p := range q.index.All() {
		m := q.slab.get(Pos(p))
		if m == nil || m.state() != stateReady || q.indexKey(m) != at {
			return fmt.Errorf("invariant 3: the index has %d at %d, where no such message is ready", p, at)
		}
	}
	return nil
}

// laneLists walks the lanes: every ready message is in exactly one, in order.
func (c *checker) laneLists() error {
	q := c.q
	for level := range q.lanes {
		l := &q.lanes[level]
		n, last := uint64(0), Pos(0)
		for p := l.head; p != 0; p = q.slab.get(p).next {
			m := q.slab.get(p)
			if m == nil || m.state() != stateReady || m.has(flagReturned) || int(q.levelOf(m)) != level || m.prev != last || p <= last {
				return fmt.Errorf("invariant 1: lane %d, list broken at %d", level, p)
			}
			n, last = n+1, p
		}
		if last != l.tail {
			return fmt.Errorf("invariant 1: lane %d ends at %d, not %d", level, last, l.tail)
		}
		dead := 0
		for i, p := range l.back {
			if i > 0 && l.back[(i-1)/2] > p {
				return fmt.Errorf("invariant 1: lane %d, heap out of order at %d", level, i)
			}
			if !q.isBack(p) {
				dead++
				continue
			}
			n++
		}
		if dead != l.dead || dead > 0 && !q.isBack(l.back[0]) {
			return fmt.Errorf("invariant 1: lane %d has %d dead returns, noted %d", level, dead, l.dead)
		}
		if n != l.n || n != c.lanes[level] || (n > 0) != (q.filled[level>>6]>>(level&63)&1 == 1) {
			return fmt.Errorf("invariant 1: lane %d holds %d, noted %d, %d messages belong there", level, n, l.n, c.lanes[level])
		}
	}
	return nil
}

// holders checks consumers, their lists, rings and rooms (invariant 7).
func (c *checker) holders() error {
	q := c.q
	attached := 0
	for slot, h := range q.holders {
		if h == nil {
			continue
		}
		if int(h.slot) != slot || q.sessions[h.session.id] != h.session {
			return fmt.Errorf("invariant 7: slot %d holds a stranger", slot)
		}
		n, last := uint64(0), Pos(0)
		for p := h.head; p != 0; p = q.slab.get(p).next {
			m := q.slab.get(p)
			if m == nil || m.state() != stateHeld || m.holder != h.slot || m.prev != last {
				return fmt.Errorf("invariant 1: list of consumer %d broken at %d", h.spec.Number, p)
			}
			n, last = n+1, p
		}
		if n != h.held || last != h.tail || n != c.held[h.slot] {
			return fmt.Errorf("invariant 1: consumer %d holds %d, noted %d, %d say so", h.spec.Number, n, h.held, c.held[h.slot])
		}
		if h.gone && n == 0 {
			return fmt.Errorf("invariant 7: consumer %d is gone, holds nothing, and was kept", h.spec.Number)
		}
		if h.spec.Prefetch > 0 && !h.spec.NoAck && n > uint64(h.spec.Prefetch) && h.spec.Number != 0 {
			return fmt.Errorf("invariant 7: consumer %d holds %d of %d", h.spec.Number, n, h.spec.Prefetch)
		}
		if h.spec.Window > 0 && h.delivered-h.credited > uint64(h.spec.Window) {
			return fmt.Errorf("invariant 7: consumer %d got %d beyond its window", h.spec.Number, h.delivered-h.credited)
		}
		if h.inRing != q.roomy(h) {
			return fmt.Errorf("invariant 7: consumer %d in ring %v, has room %v", h.spec.Number, h.inRing, q.roomy(h))
		}
		if !h.gone && h.spec.Number != 0 {
			attached++
		}
		delete(c.held, h.slot)
	}
	if len(c.held) > 0 || attached != len(q.consumers) {
		return fmt.Errorf("invariant 1: %d holders unknown; %d consumers, noted %d", len(c.held), attached, len(q.consumers))
	}
	return c.ranks()
}

// ranks checks the orders of consumers and who may be served.
func (c *checker) ranks() error {
	q := c.q
	for i, h := range q.consumers {
		if i > 0 && byRank(q.consumers[i-1], h) >= 0 {
			return fmt.Errorf("consumers out of order at %d", i)
		}
		if h.spec.Exclusive && (q.exclusive != h || len(q.consumers) > 1) {
			return fmt.Errorf("an exclusive consumer is not alone")
		}
	}
	seated := 0
	for i, r := range q.rings {
		if i > 0 && q.rings[i-1].priority <= r.priority {
			return fmt.Errorf("rings out of order at %d", i)
		}
		turn := uint64(0)
		for h := r.head; h != nil; h = h.ring {
			if !h.inRing || h.turn <= turn || h.spec.Priority != r.priority {
				return fmt.Errorf("ring of priority %d broken", r.priority)
			}
			turn = h.turn
			seated++
		}
	}
	for _, h := range q.consumers {
		if h.inRing {
			seated--
		}
	}
	if seated != 0 {
		return fmt.Errorf("rings hold %d too many", seated)
	}
	if q.cfg.SingleActive && (q.active == nil) != (len(q.consumers) == 0) {
		return fmt.Errorf("%d consumers and active is %v", len(q.consumers), q.active != nil)
	}
	return nil
}

// limits checks that what had to leave has left, or a tick is asked for.
func (c *checker) limits() error {
	q := c.q
	at, more := q.wake()
	if q.over() && !more {
		return fmt.Errorf("over the limit with %d ready and no tick asked for", q.ready)
	}
	if at.Due(q.now) && !more {
		return fmt.Errorf("invariant 2: due at %d, now %d, and no tick asked for", at, q.now)
	}
	if q.nextConsumer() != nil && q.ready > 0 && !more {
		return fmt.Errorf("%d ready, and a consumer with room got nothing", q.ready)
	}
	if !q.letters.Ordered() {
		return fmt.Errorf("invariant 6: box of letters out of order")
	}
	return nil
}

func (c *checker) ended() error {
	q := c.q
	if q.gone != GoneNot && (q.slab.count > 0 || len(q.consumers) > 0) {
		return fmt.Errorf("queue is gone and has %d messages, %d consumers", q.slab.count, len(q.consumers))
	}
	return nil
}
