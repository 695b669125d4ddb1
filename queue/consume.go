package queue

import (
	"cmp"
	"slices"
)

// Attach registers a consumer (seq numbers the command).
func (q *Queue) Attach(id SessionID, seq uint64, spec ConsumerSpec) {
	s, fresh := q.number(id, seq)
	if !fresh {
		return
	}
	if q.gone != GoneNot {
		q.deny(s, seq, RefusedGone)
		return
	}
	if s.consumer(spec.Number) == nil || spec.Number == 0 {
		if spec.Number == 0 || q.exclusive != nil || spec.Exclusive && (len(q.consumers) > 0 || q.cfg.SingleActive) {
			q.deny(s, seq, RefusedExclusive) // C-21, C-23
			return
		}
		q.enlist(s, spec)
	}
	q.reply(s, seq, EffectAttached, 0, spec.Number)
}

func (q *Queue) enlist(s *session, spec ConsumerSpec) {
	h := q.newHolder(s, spec)
	s.holders = append(s.holders, h)
	q.births++
	h.born = q.births
	at, _ := slices.BinarySearchFunc(q.consumers, h, byRank)
	q.consumers = slices.Insert(q.consumers, at, h)
	if spec.Exclusive {
		q.exclusive = h
	}
	q.activate()
	q.seat(h)
}

// byRank orders consumers as a single active queue chooses: the highest priority,
// then the oldest (C-22).
func byRank(a, b *holder) int {
	if a.spec.Priority != b.spec.Priority {
		return cmp.Compare(b.spec.Priority, a.spec.Priority)
	}
	return cmp.Compare(a.born, b.born)
}

// activate chooses the single active consumer when there is none, or when a
// higher one waits and the active one holds nothing any more.
func (q *Queue) activate() {
	if !q.cfg.SingleActive || len(q.consumers) == 0 {
		return
	}
	old := q.active
	if old != nil {
		if !q.superseded() {
			q.seat(old) // the one that outranked it may have gone
			return
		}
		if old.held > 0 {
			q.seat(old)
			return
		}
	}
	q.active = q.consumers[0]
	q.epoch++
	if old != nil {
		q.seat(old)
	}
	q.seat(q.active)
}

// Detach ends a consumer. What it holds stays with its session.
func (q *Queue) Detach(id SessionID, seq uint64, consumer uint32) {
	s, fresh := q.number(id, seq)
	if !fresh {
		return
	}
	h := s.consumer(consumer)
	had := h != nil && consumer != 0
	if had {
		q.dismiss(h)
		if h.held == 0 {
			q.retire(h)
		}
		q.activate()
	}
	q.reply(s, seq, EffectDetached, 0, consumer)
	q.leftAlone(had)
}

// dismiss takes a consumer out of all but its messages.
func (q *Queue) dismiss(h *holder) {
	h.gone = true
	if h.inRing {
		q.stepOut(h)
	}
	at, _ := slices.BinarySearchFunc(q.consumers, h, byRank)
	q.consumers = slices.Delete(q.consumers, at, at+1)
	if q.exclusive == h {
		q.exclusive = nil
	}
	if q.active == h {
		q.active = nil
	}
}

// leftAlone ends an auto-delete queue whose last consumer went.
func (q *Queue) leftAlone(had bool) {
	if had && q.cfg.AutoDelete && q.births > 0 && len(q.consumers) == 0 && q.gone == GoneNot {
		q.finish(GoneAutoDelete)
	}
}

// Credit notes that total deliveries of a consumer were written to its socket. It
// is a total and not an increment, so that it may be sent twice.
func (q *Queue) Credit(id SessionID, consumer uint32, total uint64) {
	s := q.find(id)
	if s == nil {
		return
	}
	h := s.consumer(consumer)
	if h == nil || total <= h.credited {
		return
	}
	h.credited = min(total, h.delivered)
	if h.spec.Number != 0 {
		q.seat(h)
	}
}

// SessionClosed ends a session: its consumers go, what it holds returns, its
// numbers are forgotten.
func (q *Queue) SessionClosed(id SessionID) { q.endSessions([]SessionID{id}, WhyClosed) }

// NodeGone ends all sessions of a node that is gone for good, and refuses what may
// still come from it.
func (q *Queue) NodeGone(node uint32) {
	if !slices.Contains(q.goneNodes, node) {
		if len(q.goneNodes) == maxGoneNodes {
			q.goneNodes = slices.Delete(q.goneNodes, 0, maxGoneNodes/4)
		}
		q.goneNodes = append(q.goneNodes, node)
	}
	q.endWhere(func(n uint32) bool { return n == node })
}

// NodesBefore ends all sessions of nodes with a smaller incarnation: after a
// restart of everything nobody else can be there. Queues that dead-letter have
// node 0 and stay.
func (q *Queue) NodesBefore(node uint32) {
	q.endWhere(func(n uint32) bool { return n != 0 && n < node })
}

func (q *Queue) endWhere(match func(node uint32) bool) {
	q.endSessions(slices.DeleteFunc(q.sessionIDs(), func(id SessionID) bool { return !match(id.Node()) }), WhyNodeGone)
}

func (q *Queue) endSessions(ids []SessionID, why Why) {
	had := false
	for _, id := range ids {
		s := q.find(id)
		if s == nil {
			if why == WhyClosed {
				e := q.effect(EffectEnded)
				e.Session = id
			}
			continue
		}
		for _, h := range s.holders {
			if !h.gone && h.spec.Number != 0 {
				q.dismiss(h)
				had = true
			}
		}
		q.returnAll(s, why)
		for len(s.holders) > 0 {
			q.retire(s.holders[0])
		}
		q.forget(s)
	}
	q.activate()
	q.leftAlone(had)
}
