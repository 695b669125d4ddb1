package queue

import (
	"slices"

	"mayfly/dlx"
)

// held gives the message at p for writing if session id holds it, else nil: what
// is settled, returned, reassigned or never existed is not held, so ends of
// assignments may come twice (invariant 7).
func (q *Queue) held(id SessionID, p Pos) (*holder, *message) {
	m := q.slab.get(p)
	if m == nil || m.state() != stateHeld {
		return nil, nil
	}
	h := q.holders[m.holder]
	if h.session.id != id {
		return nil, nil
	}
	return h, q.slab.mut(p)
}

// Settle ends assignments for good: the messages are consumed.
func (q *Queue) Settle(id SessionID, ps []Pos) {
	for _, p := range ps {
		h, m := q.held(id, p)
		if m == nil {
			continue
		}
		q.letGo(h, p, m)
		q.fold(didSettle|uint64(p), uint64(id))
		q.counters.Settled++
		q.released(m.index)
		q.slab.free(p)
		q.freed(h)
	}
}

// Reject ends assignments by death (D-1).
func (q *Queue) Reject(id SessionID, ps []Pos) {
	for _, p := range ps {
		if h, m := q.held(id, p); m != nil {
			q.letGo(h, p, m)
			q.kill(p, m, dlx.Rejected)
			q.freed(h)
		}
	}
}

// Return gives messages back to the queue, each to its place (S10b).
func (q *Queue) Return(id SessionID, ps []Pos, why Why) {
	for _, p := range ps {
		if h, m := q.held(id, p); m != nil {
			q.letGo(h, p, m)
			q.takeBack(p, m, why)
			q.freed(h)
		}
	}
}

// takeBack makes a message ready again, unless its time is over (T-23) or it
// failed once too often (C-1). Both at once: it was dead before it came back.
func (q *Queue) takeBack(p Pos, m *message, why Why) {
	q.counters.Returned++
	q.fold(didReturn|uint64(p), uint64(why))
	if q.counts(why) && m.failed < maxFailed {
		m.failed++
	}
	switch {
	case q.due(m):
		q.kill(p, m, dlx.Expired)
	case q.cfg.DeliveryLimit >= 0 && int64(m.failed) > min(q.cfg.DeliveryLimit, maxFailed-1):
		q.kill(p, m, dlx.DeliveryLimit)
	default:
		m.setState(stateReady)
		q.extra++
		q.enterReady(p, m)
	}
}

// counts tells whether a return is a failed delivery (table after C-3).
func (q *Queue) counts(why Why) bool {
	switch why {
	case WhyReject, WhyClosed:
		return true
	case WhyNack, WhyRecover:
		return !q.cfg.CountOnlyFailure
	}
	return false
}

// returnAll takes back everything a session holds, in order of position, so that
// it does not matter in which order it was assigned.
func (q *Queue) returnAll(s *session, why Why) {
	q.scratch = q.scratch[:0]
	for _, h := range s.holders {
		for p := h.head; p != 0; p = q.slab.get(p).next {
			q.scratch = append(q.scratch, p)
		}
	}
	slices.Sort(q.scratch)
	for _, p := range q.scratch {
		m := q.slab.mut(p)
		q.letGo(q.holders[m.holder], p, m)
		q.takeBack(p, m, why)
	}
}
