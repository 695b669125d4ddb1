package amqp

import (
	"encoding/binary"

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
	kind  outKind
	d     queue.Delivery
	lane  *laneState
	cons  *consumer
	tag   uint64 // delivery tag, given when the item's turn comes
	n     uint64 // get-ok: messages left
	bytes []byte // frames; of a reply key, properties, body
	key   int    // reply: octets of the key at the front of bytes
	props int    // reply: octets of the properties after it
}

// size is what the item will weigh on the wire, about.
func (it *outItem) size() int { return len(it.bytes) + int(it.d.Ref.Size) + 64 }

// turn is the writer goroutine's own: what it has taken and is encoding.
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
	it.kind, it.bytes = outFrames, frames
	ch.unsent += len(frames)
	ch.noteCrowd()
}

// Deliver implements queue.Sink.
func (ch *channel) Deliver(l queue.Lane, ds []queue.Delivery) {
	var c *consumer
	ch.mu.Lock()
	closing := ch.closing || ch.failed
	if !closing {
		for i := range ds {
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
	t := &ch.turn
	ch.mu.Lock()
	if ch.failed {
		ch.mu.Unlock()
		return dst, false
	}
	dst = append(dst, ch.returned...)
	if ch.returned = ch.returned[:0]; cap(ch.returned) > maxUnsent {
		ch.returned = nil
	}
	dst = ch.confirms.append(dst, ch.id)
	ch.take(max - (len(dst) - start))
	more = ch.out.len() > 0 || ch.held.len() > 0 && ch.hasSlot()
	ch.noteCrowd()
	ch.mu.Unlock()
	for i := range t.items {
		dst = ch.encode(dst, &t.items[i])
	}
	clear(t.items)
	t.items = t.items[:0]
	for _, c := range t.credits {
		c.lane.Credit(c.consumer, c.n)
	}
	t.credits = t.credits[:0]
	return dst, more
}

// take moves items worth about budget bytes into the turn, at least one, gives
// them their delivery tags and notes what the client has to settle. The caller
// holds mu.
func (ch *channel) take(budget int) {
	t := &ch.turn
	for len(t.items) < maxTurnItems && (budget > 0 || len(t.items) == 0) {
		it, ok := ch.nextItem()
		if !ok {
			break
		}
		budget -= it.size()
		t.items = append(t.items, it)
	}
	for i := range t.items {
		if c := t.items[i].cons; c != nil && c.lane != nil {
			if n := ch.owed(c); n > 0 {
				t.credits = append(t.credits, credit{c.lane, c.number, n})
			}
		}
	}
}

// nextItem removes the next item that may go out; the caller holds mu.
func (ch *channel) nextItem() (outItem, bool) {
	if ch.held.len() > 0 && (ch.hasSlot() || ch.closing) {
		it := ch.held.pop()
		if !ch.dropped(&it) {
			ch.number(&it)
			return it, true
		}
	}
	for ch.out.len() > 0 {
		it := ch.out.pop()
		if ch.dropped(&it) {
			continue
		}
		if it.kind == outDeliver && !it.cons.noAck && !ch.hasSlot() {
			*ch.held.push() = it
			continue
		}
		ch.number(&it)
		return it, true
	}
	return outItem{}, false
}

// dropped takes deliveries out of the way of a channel that is closing.
func (ch *channel) dropped(it *outItem) bool {
	if !ch.closing || it.kind != outDeliver {
		return false
	}
	if it.d.Settled {
		it.lane.Release(&it.d)
	}
	return true
}

// number gives an item its delivery tag and enters it among the outstanding ones.
func (ch *channel) number(it *outItem) {
	switch it.kind {
	case outDeliver:
		it.cons.unwritten--
		ch.lastTag++
		it.tag = ch.lastTag
		if !it.d.Settled {
			ch.unacked.add(it.tag, it.d.Pos, it.lane, ch.limit > 0)
		}
	case outGetOk:
		ch.lastTag++
		it.tag = ch.lastTag
		if !it.d.Settled {
			ch.unacked.add(it.tag, it.d.Pos, it.lane, false)
		}
	case outReply:
		ch.lastTag++
		it.tag = ch.lastTag
		ch.replies -= len(it.bytes)
	case outFrames:
		ch.unsent -= len(it.bytes)
	}
}

// encode writes one item.
func (ch *channel) encode(dst []byte, it *outItem) []byte {
	switch it.kind {
	case outFrames:
		return append(dst, it.bytes...)
	case outReply:
		key, rest := it.bytes[:it.key], it.bytes[it.key:]
		dst = wire.AppendDeliver(dst, ch.id, it.cons.tag, it.tag, false, nil, key)
		return wire.AppendContent(dst, ch.id, rest[:it.props], rest[it.props:], ch.c.frameMax)
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
		left := uint32(min(it.n, 1<<32-1))
		dst = wire.AppendGetOk(dst, ch.id, it.tag, it.d.Redelivered, env.Exchange, env.Key, left)
	} else {
		dst = wire.AppendDeliver(dst, ch.id, it.cons.tag, it.tag, it.d.Redelivered, env.Exchange, env.Key)
	}
	dst = wire.AppendContent(dst, ch.id, ch.serverHeaders(it, env.Props), env.Body, ch.c.frameMax)
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
func (ch *channel) serverHeaders(it *outItem, props []byte) []byte {
	d := &it.d
	if d.Failed == 0 && d.Acquired == 0 && !it.lane.times {
		return props
	}
	t := &ch.turn
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
