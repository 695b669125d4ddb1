package amqp

import "mayfly/amqp/wire"

// basicGet is section 9.4; it waits for the queue. The tag is given when get-ok
// goes out, in line with the deliveries before and after it.
func (ch *channel) basicGet(m *wire.BasicGet) *Error {
	q, e := ch.openQueue(wire.BasicGetID, m.Queue)
	if e != nil {
		return e
	}
	ls := ch.laneOf(q)
	ctx, done := ch.waiting()
	d, ready, ok, err := ls.Get(ctx, m.NoAck)
	done()
	if err != nil {
		return ch.queueError(q.Name, err)
	}
	if !ok {
		ch.answer(&wire.BasicGetEmpty{})
		return nil
	}
	ch.mu.Lock()
	it := ch.out.push()
	it.kind, it.d, it.lane, it.left = outGetOk, d, ls, count32(ready)
	ch.mu.Unlock()
	ch.wake()
	return nil
}
