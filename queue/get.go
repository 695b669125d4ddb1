package queue

import "mayfly/dlx"

// Get takes one message for a session, without regard to prefetch.
func (q *Queue) Get(id SessionID, seq uint64, noAck bool) {
	s, fresh := q.number(id, seq)
	switch {
	case !fresh:
		return
	case q.gone != GoneNot:
		q.deny(s, seq, RefusedGone)
		return
	case q.cfg.SingleActive:
		q.deny(s, seq, RefusedSingleActive) // C-24
		return
	}
	q.lease.Touch(q.now) // also when it finds nothing
	q.settleDown()
	p := q.frontAlive()
	if p == 0 {
		q.reply(s, seq, EffectGot, 0, 0)
		return
	}
	h := q.getter(s)
	h.spec.NoAck = noAck
	d := q.take(h, p, q.slab.mut(p))
	e := q.reply(s, seq, EffectGot, q.ready, 0)
	e.Found, e.Delivery = true, d
	s.answer.pos = p
}

// frontAlive is the front after what is overdue there has died: step 2 may have
// stopped at its bound, and a get must neither see a dead message nor miss a
// living one behind it.
func (q *Queue) frontAlive() Pos {
	for {
		p := q.front()
		if p == 0 || !q.due(q.slab.get(p)) {
			return p
		}
		m := q.slab.mut(p)
		q.leave(p, m)
		q.kill(p, m, dlx.Expired)
	}
}

// getter is the holder of what a session gets: number 0, never in a ring and no
// consumer in any count (C-27).
func (q *Queue) getter(s *session) *holder {
	if h := s.consumer(0); h != nil {
		return h
	}
	h := q.newHolder(s, ConsumerSpec{})
	s.holders = append(s.holders, h)
	return h
}

// Touch is a use of the queue that changes nothing else, such as a redeclare.
func (q *Queue) Touch() { q.lease.Touch(q.now) }

// Commit applies a transaction's part for this queue, all or nothing (S22): when
// one of its publishes does not fit, nothing of it happens.
func (q *Queue) Commit(id SessionID, seq uint64, publishes []Incoming, settles, rejects, returns []Pos) {
	s, fresh := q.number(id, seq)
	if !fresh {
		return
	}
	if q.gone != GoneNot {
		q.deny(s, seq, RefusedGone)
		return
	}
	if n := q.misfits(publishes); n > 0 {
		q.counters.Refused += uint64(n)
		q.reply(s, seq, EffectCommitted, uint64(n), 0)
		return
	}
	for i := range publishes {
		q.accept(&publishes[i])
	}
	q.Settle(id, settles)
	q.Reject(id, rejects)
	q.Return(id, returns, WhyNack)
	q.reply(s, seq, EffectCommitted, 0, 0)
}

// misfits counts the publishes that the queue would refuse.
func (q *Queue) misfits(publishes []Incoming) int {
	if !q.cfg.Overflow.Rejects() || len(publishes) == 0 {
		return 0
	}
	var bytes uint64
	for i := range publishes {
		bytes += uint64(publishes[i].Body)
	}
	if q.admits(uint64(len(publishes)), bytes) {
		return 0
	}
	fit := 0
	bytes = 0
	for i := range publishes {
		if b := bytes + uint64(publishes[i].Body); q.fits(uint64(fit+1), b) {
			bytes = b
			fit++
		}
	}
	return len(publishes) - fit
}
