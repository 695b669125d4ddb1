package queue

import (
	"cmp"
	"slices"
)

// holder is what messages are assigned to: a consumer, or the gets of a session
// (number 0). It outlives its consumer while it holds messages, for what a
// cancelled consumer holds stays with its session (amqp.md 9.6).
type holder struct {
	session *session
	slot    uint32 // its number in Queue.holders, noted in the messages it holds
	spec    ConsumerSpec
	born    uint64 // order of attaching

	held       uint64 // messages assigned and not settled
	head, tail Pos    // list of them, by assignment
	delivered  uint64 // assignments ever; the ordinal in Delivery.Number
	credited   uint64 // of those, reported written

	gone bool // detached

	// While it has room it stands in the ring of its priority.
	inRing         bool
	turn           uint64 // order in the ring, ascending
	ringPrev, ring *holder
}

// ring is the consumers of one priority that have room, next one first (C-20).
type ring struct {
	priority   int32
	head, tail *holder
}

func (q *Queue) newHolder(s *session, spec ConsumerSpec) *holder {
	h := &holder{session: s, spec: spec}
	if n := len(q.freeSlots); n > 0 {
		h.slot = q.freeSlots[n-1]
		q.freeSlots = q.freeSlots[:n-1]
	} else {
		if len(q.holders) == 0 {
			q.holders = append(q.holders, nil) // slot 0 is nobody
		}
		h.slot = uint32(len(q.holders))
		q.holders = append(q.holders, nil)
	}
	q.holders[h.slot] = h
	return h
}

// retire forgets a holder that is gone and holds nothing.
func (q *Queue) retire(h *holder) {
	q.holders[h.slot] = nil
	q.freeSlots = append(q.freeSlots, h.slot)
	s := h.session
	s.holders = slices.DeleteFunc(s.holders, func(o *holder) bool { return o == h })
}

// roomy tells whether a consumer may be given one more message (invariant 7).
func (q *Queue) roomy(h *holder) bool {
	switch {
	case h.gone, h.spec.Number == 0:
		return false
	case q.cfg.SingleActive && (h != q.active || q.superseded()):
		return false
	case h.spec.Prefetch > 0 && !h.spec.NoAck && h.held >= uint64(h.spec.Prefetch):
		return false
	}
	return h.spec.Window == 0 || h.delivered-h.credited < uint64(h.spec.Window)
}

// superseded tells whether a waiting consumer outranks the active one, which
// then gets no more and hands over when its messages are settled (C-22).
func (q *Queue) superseded() bool {
	return q.active != nil && q.consumers[0].spec.Priority > q.active.spec.Priority
}

// seat puts a consumer into its ring, or takes it out, as its room demands. It is
// called after everything that may change roomy.
func (q *Queue) seat(h *holder) {
	if room := q.roomy(h); room == h.inRing {
		return
	} else if room {
		q.lineUp(h)
	} else {
		q.stepOut(h)
	}
}

func (q *Queue) ringOf(priority int32) *ring {
	for i := range q.rings {
		if q.rings[i].priority == priority {
			return &q.rings[i]
		}
	}
	at, _ := slices.BinarySearchFunc(q.rings, priority, func(r ring, p int32) int { return cmp.Compare(p, r.priority) })
	q.rings = slices.Insert(q.rings, at, ring{priority: priority})
	return &q.rings[at]
}

// lineUp puts h at the end of its ring.
func (q *Queue) lineUp(h *holder) {
	r := q.ringOf(h.spec.Priority)
	q.turns++
	h.turn, h.inRing = q.turns, true
	h.ringPrev, h.ring = r.tail, nil
	if r.tail != nil {
		r.tail.ring = h
	} else {
		r.head = h
	}
	r.tail = h
}

// stepOut takes h out of its ring; a ring that empties goes.
func (q *Queue) stepOut(h *holder) {
	r := q.ringOf(h.spec.Priority)
	if h.ringPrev != nil {
		h.ringPrev.ring = h.ring
	} else {
		r.head = h.ring
	}
	if h.ring != nil {
		h.ring.ringPrev = h.ringPrev
	} else {
		r.tail = h.ringPrev
	}
	h.inRing, h.ringPrev, h.ring = false, nil, nil
	if r.head == nil && len(q.rings) > 1 {
		q.rings = slices.DeleteFunc(q.rings, func(o ring) bool { return o.head == nil })
	}
}

// nextConsumer is whose turn it is: the highest priority with room, round robin
// among equals (C-20). nil when nobody has room.
func (q *Queue) nextConsumer() *holder {
	for i := range q.rings {
		if h := q.rings[i].head; h != nil {
			return h
		}
	}
	return nil
}

// served moves a consumer that got a message to the end of its ring, or out.
func (q *Queue) served(h *holder) {
	if !q.roomy(h) {
		q.stepOut(h)
		return
	}
	if h.ring == nil {
		return // alone, or last already
	}
	q.stepOut(h)
	q.lineUp(h)
}

// hold notes that h holds the message m at p.
func (q *Queue) hold(h *holder, p Pos, m *message) {
	m.setState(stateHeld)
	m.holder = h.slot
	m.prev, m.next = h.tail, 0
	if h.tail != 0 {
		q.slab.mut(h.tail).next = p
	} else {
		h.head = p
	}
	h.tail = p
	h.held++
	q.unacked++
	q.unackedBytes += uint64(m.body)
}

// letGo ends h's holding of m at p, which leaves m in no list. The caller puts it
// somewhere and then calls freed.
func (q *Queue) letGo(h *holder, p Pos, m *message) {
	if m.prev != 0 {
		q.slab.mut(m.prev).next = m.next
	} else {
		h.head = m.next
	}
	if m.next != 0 {
		q.slab.mut(m.next).prev = m.prev
	} else {
		h.tail = m.prev
	}
	m.prev, m.next, m.holder = 0, 0, 0
	h.held--
	q.unacked--
	q.unackedBytes -= uint64(m.body)
}

// freed gives h its turn again after it let something go.
func (q *Queue) freed(h *holder) {
	if h.gone {
		if h.held == 0 {
			q.retire(h)
		}
		return
	}
	if q.cfg.SingleActive && h == q.active && h.held == 0 && q.superseded() {
		q.activate()
		return
	}
	q.seat(h)
}
