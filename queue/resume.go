package queue

import "slices"

// Resume says again all that is outstanding, for a new leader whose predecessor
// may have told any part of it (style.md 4, "Failover"): assignments, the windows
// of consumers, letters, the end of the queue, the earliest deadline. It changes
// nothing.
func (q *Queue) Resume(out *Outcome) {
	out.Reset()
	q.out = out
	if q.gone != GoneNot {
		e := q.effect(EffectGone)
		e.Reason = q.gone
	}
	for _, p := range q.assignedPositions() {
		m := q.slab.get(p)
		h := q.holders[m.holder]
		if h.spec.Number == 0 {
			continue // a get: its repeat is answered, nobody else asks
		}
		e := q.effect(EffectDeliver)
		e.Session, e.Consumer, e.Delivery = h.session.id, h.spec.Number, q.assigned(p, m)
	}
	for _, h := range q.consumers {
		if h.spec.Window > 0 {
			e := q.effect(EffectAssigned)
			e.Session, e.Consumer, e.N = h.session.id, h.spec.Number, h.delivered
		}
	}
	for l := range q.letters.All() {
		e := q.effect(EffectForward)
		e.N = l.ID
	}
	out.Wake, out.More = q.wake()
	q.out = nil
}

// assignedPositions lists all held messages in order.
func (q *Queue) assignedPositions() []Pos {
	ps := make([]Pos, 0, q.unacked)
	for _, h := range q.holders {
		if h == nil {
			continue
		}
		for p := h.head; p != 0; p = q.slab.get(p).next {
			ps = append(ps, p)
		}
	}
	slices.Sort(ps)
	return ps
}
