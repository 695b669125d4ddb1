package amqp

import (
	"encoding/binary"
	"sync"
	"time"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/queue"
	"mayfly/ttl"
)

// maxTurnItems bounds how many items one turn takes under the lock.
const maxTurnItems = 256

type outKind uint8

const (
	outFrames  outKind = iota // whole frames: answers to methods, basic.cancel
	outDeliver                // basic.deliver
	outGetOk                  // basic.get-ok
	outReply                  // basic.deliver of a direct reply
	outOrphan                 // a delivery nobody waits for: it goes back
)

// outItem is one thing on its way to the writer, in order. A delivery's body is
// not in it: it is loaded when its turn comes, so a slow reader holds references.
type outItem struct {
	kind outKind
	left uint32 // get-ok: messages left
	d    queue.Delivery
	tag  uint64 // delivery tag, given when the item's turn comes
	lane *laneState
	cons *consumer
	raw  *rawOut
}

// rawOut is what an item carries itself: whole frames, or of a direct reply key,
// properties and body one after another.
type rawOut struct {
	bytes      []byte
	key, props int // octets of a reply's first two parts
}

// size is what the item will weigh on the wire, about.
func (it *outItem) size() int {
	n := int(it.d.Ref.Size) + 64
	if it.raw != nil {
		n += len(it.raw.bytes)
	}
	return n
}

// turns are shared: a channel that is quiet holds none, and a writer drains one
// channel at a time.
var turns = sync.Pool{New: func() any { return new(turn) }}

// turn is what a writer has taken from one channel and is encoding.
type turn struct {
	items   []outItem
	credits []credit
	props   wire.Properties
	scratch []byte // edited properties
	edits   []wire.HeaderEdit
	values  []byte
}

// credit is one report of written deliveries, due after the lock is let go.
type credit struct {
	lane     *laneState
	consumer uint32
	n        uint32
}

// answer queues a method frame behind everything that is on its way.
func (ch *channel) answer(m wire.Method) {
	ch.answerFrames(wire.AppendMethod(nil, ch.id, m))
}

func (ch *channel) answerFrames(frames []byte) {
	ch.mu.Lock()
	ch.pushFrames(frames)
	ch.mu.Unlock()
	ch.wake()
}

// pushFrames is answerFrames for a caller that holds mu and wakes afterwards.
func (ch *channel) pushFrames(frames []byte) {
	if ch.failed {
		return
	}
	it := ch.out.push()
	it.kind, it.raw = outFrames, &rawOut{bytes: frames}
	ch.unsent += len(frames)
	ch.noteCrowd()
}

// Deliver implements queue.Sink.
func (ch *channel) Deliver(l queue.Lane, ds []queue.Delivery) {
	var c *consumer
	var known map[queue.Pos]bool
	ch.mu.Lock()
	closing := ch.closing || ch.failed
	if !closing {
		for i := range ds {
			if ds[i].Number == 0 { // told again by a new leader
				if known == nil {
					known = ch.heldOf(l.Queue())
				}
				if known[ds[i].Pos] {
					continue
				}
			}
			if c == nil || c.number != ds[i].Consumer {
				c = ch.byNumber[ds[i].Consumer]
			}
			ch.pushDelivery(c, l, &ds[i])
		}
	}
	ch.mu.Unlock()
	if !closing {
		ch.wake()
		return
	}
	for i := range ds { // what was not settled returns with the session
		if ds[i].Settled {
			l.Release(&ds[i])
		}
	}
}

// heldOf is the positions of a queue that this channel has been told and that
// are not settled; the caller holds mu.
func (ch *channel) heldOf(id queue.ID) map[queue.Pos]bool {
	known := map[queue.Pos]bool{}
	for i := range ch.unacked.ring.len() {
		if e := ch.unacked.ring.at(i); !e.over && e.lane.Queue() == id {
			known[e.pos] = true
		}
	}
	for _, r := range []*ring[outItem]{&ch.out, &ch.held} {
		for i := range r.len() {
			if it := r.at(i); it.lane != nil && it.lane.Queue() == id {
				known[it.d.Pos] = true
			}
		}
	}
	for _, c := range ch.inOrder {
		for i := range c.early {
			known[c.early[i].Pos] = known[c.early[i].Pos] || c.lane.Queue() == id
		}
	}
	return known
}

// pushDelivery queues one delivery; the caller holds mu. Those that come before
// consume-ok could be queued wait with their consumer (9.3).
func (ch *channel) pushDelivery(c *consumer, l queue.Lane, d *queue.Delivery) {
	if c == nil {
		it := ch.out.push()
		it.kind, it.d, it.lane = outOrphan, *d, ch.lanes[l.Queue()]
		if it.lane == nil {
			it.lane = &laneState{Lane: l}
		}
		return
	}
	if !c.attached {
		c.early = append(c.early, *d)
		return
	}
	c.uncredited++
	c.unwritten++
	it := ch.out.push()
	it.kind, it.d, it.lane, it.cons = outDeliver, *d, c.lane, c
}

// drain appends about max bytes of output, on the writer: returns before
// confirms (section 10), then the queue of everything else.
func (ch *channel) drain(dst []byte, max int) (out []byte, more bool) {
	start := len(dst)
	ch.mu.Lock()
	if ch.failed {
		ch.mu.Unlock()
		return dst, false
	}
	t := turns.Get().(*turn)
	dst = append(dst, ch.returned...)
	if ch.returned = ch.returned[:0]; cap(ch.returned) > maxUnsent {
		ch.returned = nil
	}
	dst = ch.confirms.append(dst, ch.id)
	ch.take(t, max-(len(dst)-start))
	more = ch.out.len() > 0 || ch.held.len() > 0 && ch.hasSlot()
	ch.noteCrowd()
	ch.mu.Unlock()
	for i := range t.items {
		dst = ch.encode(dst, t, &t.items[i])
	}
	for _, c := range t.credits {
		c.lane.Credit(c.consumer, c.n)
	}
	t.release()
	return dst, more
}

// release gives a turn back, without what it refers to.
func (t *turn) release() {
	clear(t.items)
	clear(t.credits)
	t.items, t.credits, t.props = t.items[:0], t.credits[:0], wire.Properties{}
	turns.Put(t)
}

// take moves items worth about budget bytes into the turn, at least one, gives
// them their delivery tags and notes what the client has to settle. The caller
// holds mu.
func (ch *channel) take(t *turn, budget int) {
	now := ch.timeNow()
	for len(t.items) < maxTurnItems && (budget > 0 || len(t.items) == 0) {
		n := len(t.items)
		t.items = append(t.items, outItem{})
		if !ch.nextItem(&t.items[n]) {
			t.items = t.items[:n]
			break
		}
		ch.number(&t.items[n], now)
		budget -= t.items[n].size()
	}
	for i := range t.items {
		if c := t.items[i].cons; c != nil && c.lane != nil {
			if n := ch.owed(c); n > 0 {
				t.credits = append(t.credits, credit{c.lane, c.number, n})
			}
		}
	}
}

// nextItem moves the next item that may go out to it; the caller holds mu.
func (ch *channel) nextItem(it *outItem) bool {
	if ch.held.len() > 0 && (ch.hasSlot() || ch.closing) {
		*it = ch.held.pop()
		if !ch.dropped(it) {
			return true
		}
	}
	for ch.out.len() > 0 {
		*it = ch.out.pop()
		if ch.dropped(it) {
			continue
		}
		if it.kind == outDeliver && !it.cons.noAck && !ch.hasSlot() {
			*ch.held.push() = *it
			continue
		}
		return true
	}
	return false
}

// dropped takes deliveries out of the way of a channel that is closing. One that
// was settled is left to be released.
func (ch *channel) dropped(it *outItem) bool {
	if !ch.closing || it.kind != outDeliver {
		return false
	}
	it.kind = outOrphan
	return !it.d.Settled
}

// number gives an item its delivery tag and enters it among the outstanding ones.
func (ch *channel) number(it *outItem, now time.Duration) {
	switch it.kind {
	case outDeliver:
		it.cons.unwritten--
		ch.lastTag++
		it.tag = ch.lastTag
		if !it.d.Settled {
			ch.awaitAck(it, now, ch.limit > 0)
		}
	case outGetOk:
		ch.lastTag++
		it.tag = ch.lastTag
		if !it.d.Settled {
			ch.awaitAck(it, now, false)
		}
	case outReply:
		ch.lastTag++
		it.tag = ch.lastTag
		ch.replies -= len(it.raw.bytes)
	case outFrames:
		ch.unsent -= len(it.raw.bytes)
	}
}

// encode writes one item.
func (ch *channel) encode(dst []byte, t *turn, it *outItem) []byte {
	switch it.kind {
	case outFrames:
		return append(dst, it.raw.bytes...)
	case outReply:
		key, rest := it.raw.bytes[:it.raw.key], it.raw.bytes[it.raw.key:]
		dst = wire.AppendDeliver(dst, ch.id, it.cons.tag, it.tag, false, nil, key)
		return wire.AppendContent(dst, ch.id, rest[:it.raw.props], rest[it.raw.props:], ch.c.frameMax)
	case outOrphan:
		ch.giveBack(it)
		return dst
	}
	env, err := it.lane.Load(&it.d)
	if err != nil {
		ch.loadFailed(it, err)
		return dst
	}
	if it.kind == outGetOk {
		dst = wire.AppendGetOk(dst, ch.id, it.tag, it.d.Redelivered, env.Exchange, env.Key, it.left)
	} else {
		dst = wire.AppendDeliver(dst, ch.id, it.cons.tag, it.tag, it.d.Redelivered, env.Exchange, env.Key)
	}
	dst = wire.AppendContent(dst, ch.id, ch.serverHeaders(t, it, env.Props), env.Body, ch.c.frameMax)
	if it.d.Settled {
		it.lane.Release(&it.d)
	}
	return dst
}

// giveBack returns a delivery for a consumer that is no more. It never went
// out, so it does not count as failed.
func (ch *channel) giveBack(it *outItem) {
	if it.d.Settled {
		it.lane.Release(&it.d)
		return
	}
	it.lane.Return([]queue.Pos{it.d.Pos}, queue.WhyTimeout)
}

// loadFailed ends the channel: a delivery whose message cannot be read must not
// be skipped in silence. Everything unsettled returns to its queue.
func (ch *channel) loadFailed(it *outItem, err error) {
	if it.d.Settled {
		it.lane.Release(&it.d)
	}
	ch.mu.Lock()
	again := ch.failed
	ch.failed = true
	ch.mu.Unlock()
	if again {
		return
	}
	ch.c.log.Error("message not readable", "channel", int(ch.id), "queue", it.lane.name, "err", err)
	ch.c.asyncFail(ch, errTrouble(catalog.QueueName(ch.c.vhost, it.lane.name), err))
}

// serverHeaders adds what the server has to say about a delivery; nearly always
// that is nothing and the publisher's bytes go out as they are. A client's own
// headers of these names are replaced (C-2).
func (ch *channel) serverHeaders(t *turn, it *outItem, props []byte) []byte {
	d := &it.d
	if d.Failed == 0 && d.Acquired == 0 && !it.lane.times {
		return props
	}
	if wire.ParseProperties(props, &t.props) != nil {
		return props // it was valid when it was published
	}
	t.edits, t.values = t.edits[:0], t.values[:0]
	if d.Failed > 0 {
		t.setLong("x-delivery-count", int64(d.Failed))
	}
	if d.Acquired > 0 {
		t.setLong("x-acquired-count", int64(d.Acquired))
	}
	if it.lane.times {
		t.setLong("x-enqueued-at", int64(d.Enqueued))
		if d.Deadline != ttl.Never {
			t.setLong("x-expires-at", int64(d.Deadline))
		}
	}
	t.scratch = wire.AppendProperties(t.scratch[:0], &t.props, nil, t.edits)
	return t.scratch
}

// setLong adds a header of type l. Four of them fit into values without growing,
// so that earlier ones keep pointing at it.
func (t *turn) setLong(key string, n int64) {
	if t.values == nil {
		t.values = make([]byte, 0, 4*9)
	}
	at := len(t.values)
	t.values = binary.BigEndian.AppendUint64(append(t.values, 'l'), uint64(n))
	t.edits = append(t.edits, wire.HeaderEdit{Key: key, Value: t.values[at:]})
}
