package amqp

import (
	"mayfly/amqp/wire"
	"mayfly/queue"
)

// maxGathered is how many settlements wait at most for the reader's input to run
// empty before they are pushed to their queues.
const maxGathered = 1024

// maxSettleRun is how many positions go into one command at most: a multiple ack
// of a million deliveries must not become one log entry.
const maxSettleRun = 4096

// basicAck, basicNack and basicReject run on the reader for every frame of that
// kind and allocate nothing.
func (ch *channel) basicAck(payload []byte) *Error {
	tag, multiple, err := wire.DecodeAck(payload)
	if err != nil {
		return faultOf(err)
	}
	return ch.settle(judgedAck, tag, multiple)
}

func (ch *channel) basicNack(payload []byte) *Error {
	tag, multiple, requeue, err := wire.DecodeNack(payload)
	if err != nil {
		return faultOf(err)
	}
	if requeue {
		return ch.settle(judgedNack, tag, multiple)
	}
	return ch.settle(judgedReject, tag, multiple)
}

func (ch *channel) basicReject(payload []byte) *Error {
	tag, requeue, err := wire.DecodeReject(payload)
	if err != nil {
		return faultOf(err)
	}
	if requeue {
		return ch.settle(judgedRequeue, tag, false)
	}
	return ch.settle(judgedReject, tag, false)
}

// settle is section 9.5. A tag counts as known while it is outstanding, whatever
// became of its queue or its consumer.
func (ch *channel) settle(v judgment, tag uint64, multiple bool) *Error {
	ch.mu.Lock()
	u := &ch.unacked
	switch {
	case !multiple:
		i := u.find(tag)
		if i < 0 {
			ch.mu.Unlock()
			return errUnknownTag(tag)
		}
		ch.decide(i, v)
	case tag == 0:
		for i := range u.ring.len() {
			ch.decide(i, v)
		}
	default:
		last := u.find(tag)
		if last < 0 {
			ch.mu.Unlock()
			return errUnknownTag(tag)
		}
		for i := range last + 1 {
			ch.decide(i, v)
		}
	}
	u.trim()
	freed := ch.held.len() > 0 && ch.hasSlot()
	ch.mu.Unlock()
	if freed {
		ch.wake()
	}
	if ch.gathered >= maxGathered {
		ch.pushSettlements()
	}
	return nil
}

// decide applies a judgment to the entry at index i, if it is still open. In a
// transaction it only marks it. The caller holds mu and trims afterwards.
func (ch *channel) decide(i int, v judgment) {
	e := ch.unacked.ring.at(i)
	if e.over || e.inTx != undecided {
		return
	}
	if ch.mode == modeTx && v != judgedRecover {
		e.inTx = v
		return
	}
	ch.gather(e.lane, e.pos, v)
	ch.unacked.end(i)
}

// gather queues one settlement for the next push.
func (ch *channel) gather(ls *laneState, pos queue.Pos, v judgment) {
	switch v {
	case judgedAck:
		ls.settles = append(ls.settles, pos)
	case judgedReject:
		ls.rejects = append(ls.rejects, pos)
	case judgedNack:
		ls.nacks = append(ls.nacks, pos)
	default:
		ls.returns = append(ls.returns, returned{pos, v.why()})
	}
	ch.gathered++
	if !ls.dirty {
		ls.dirty = true
		ch.dirty = append(ch.dirty, ls)
	}
}

// pushSettlements hands what was gathered to the queues, one command per queue
// and kind. It is called when the input has run empty, before anything that
// waits for a queue, and by the owner of the input only. It may wait for room.
func (ch *channel) pushSettlements() {
	if ch.gathered == 0 && !ch.recount {
		return
	}
	for i, ls := range ch.dirty {
		ls.push()
		ch.dirty[i] = nil
	}
	ch.dirty, ch.gathered = ch.dirty[:0], 0
	ch.creditFreed()
}

// push sends a lane's gathered settlements.
func (ls *laneState) push() {
	ls.dirty = false
	ls.settles = inRuns(ls.settles, ls.Settle)
	ls.rejects = inRuns(ls.rejects, ls.Reject)
	if len(ls.nacks) > 0 {
		ls.nacks = inRuns(ls.nacks, func(ps []queue.Pos) { ls.Return(ps, queue.WhyNack) })
	}
	for len(ls.returns) > 0 {
		n, why := 0, ls.returns[0].why
		for n < len(ls.returns) && ls.returns[n].why == why {
			ls.nacks = append(ls.nacks, ls.returns[n].pos)
			n++
		}
		ls.nacks = inRuns(ls.nacks, func(ps []queue.Pos) { ls.Return(ps, why) })
		ls.returns = ls.returns[n:]
	}
	ls.returns = nil
}

// inRuns calls send with bounded pieces of ps and gives the emptied slice back,
// unless it has grown beyond what is worth keeping.
func inRuns(ps []queue.Pos, send func([]queue.Pos)) []queue.Pos {
	for rest := ps; len(rest) > 0; {
		n := min(len(rest), maxSettleRun)
		send(rest[:n])
		rest = rest[n:]
	}
	if cap(ps) > 2*maxGathered {
		return nil
	}
	return ps[:0]
}

// recover is basic.recover and basic.recover-async: everything outstanding goes
// back, and any consumer of the queue may get it again. recover-ok is queued
// before the messages are given back, so it precedes their redelivery.
func (ch *channel) recover(requeue, answer bool) *Error {
	if !requeue {
		return errRecoverDiscard()
	}
	if answer {
		ch.answer(&wire.BasicRecoverOk{})
	}
	if e := ch.settle(judgedRecover, 0, true); e != nil {
		return e
	}
	ch.pushSettlements()
	return nil
}
