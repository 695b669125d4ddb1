package amqp

import (
	"strconv"
	"time"
)

// The consumer timeout (amqp.md 9.5): a delivery that stays unacked for too long
// ends its channel, so that what it holds goes back. Nothing looks at the
// deliveries that are acked in time but one timer, which moves on to the oldest
// outstanding one whenever it fires.

// timeNow is the time that deliveries of this turn count from; the clock is not
// asked when there is no timeout.
func (ch *channel) timeNow() time.Duration {
	if ch.c.opts.ConsumerTimeout == 0 {
		return 0
	}
	return ch.c.clock.Boot()
}

// awaitAck enters a delivery among the outstanding ones; the caller holds mu.
func (ch *channel) awaitAck(it *outItem, now time.Duration, counted bool) {
	o := outstanding{tag: it.tag, pos: it.d.Pos, lane: it.lane, counted: counted}
	if limit := ch.c.opts.ConsumerTimeout; limit > 0 {
		o.due = now + limit
		if ch.timeout == nil {
			ch.timeout = ch.c.clock.AfterFunc(limit, ch.checkTimeout)
		}
	}
	ch.unacked.add(o)
}

// checkTimeout runs on the timer.
func (ch *channel) checkTimeout() {
	ch.mu.Lock()
	if ch.closing || ch.failed || ch.timeout == nil {
		ch.mu.Unlock()
		return
	}
	ch.timeout = nil
	u := &ch.unacked
	u.trim()
	if u.ring.len() == 0 {
		ch.mu.Unlock()
		return
	}
	left := u.ring.at(0).due - ch.c.clock.Boot()
	if left > 0 {
		ch.timeout = ch.c.clock.AfterFunc(left, ch.checkTimeout)
		ch.mu.Unlock()
		return
	}
	ch.failed = true
	ch.mu.Unlock()
	ch.backlog.drop()
	ch.c.asyncFail(ch, errAckTimeout(ch.id, ch.c.opts.ConsumerTimeout))
}

// stopTimeout ends the timer; the caller holds mu.
func (ch *channel) stopTimeout() {
	if ch.timeout != nil {
		ch.timeout.Stop()
		ch.timeout = nil
	}
}

func errAckTimeout(channel uint16, limit time.Duration) *Error {
	return errPrecondition("delivery acknowledgement on channel " + strconv.Itoa(int(channel)) + " timed out. Timeout value used: " +
		strconv.FormatInt(limit.Milliseconds(), 10) + " ms. This timeout value can be configured, see consumers doc guide to learn more")
}
