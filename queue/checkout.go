package queue

import (
	"math"

	"mayfly/dlx"
)

// handOut is step 4: ready messages, never one that is due, go to consumers with
// room. A message that entered in this very Apply may be due (T-21).
func (q *Queue) handOut() {
	for q.ready > 0 {
		h := q.nextConsumer()
		if h == nil {
			return
		}
		p := q.front()
		m := q.slab.mut(p)
		if p < q.first && q.due(m) {
			if q.kills == 0 {
				return // wake asks for a tick: the rest is handed out after the overdue are gone
			}
			q.kills--
			q.leave(p, m)
			q.kill(p, m, dlx.Expired)
			continue
		}
		q.assign(h, p, m)
		q.served(h)
	}
}

// assign gives the ready message m at p to h and tells its session.
func (q *Queue) assign(h *holder, p Pos, m *message) {
	d := q.take(h, p, m)
	e := q.effect(EffectDeliver)
	e.Session, e.Consumer, e.Delivery = h.session.id, h.spec.Number, d
}

// take moves the ready message m at p into h's hands; out of the queue, when h
// does not acknowledge.
func (q *Queue) take(h *holder, p Pos, m *message) Delivery {
	q.leave(p, m)
	if m.acquired < math.MaxUint32 {
		m.acquired++
	}
	h.delivered++
	q.counters.Assigned++
	q.fold(didAssign|uint64(p), uint64(h.session.id)+uint64(h.spec.Number))
	if h.spec.NoAck {
		d := q.delivery(h, p, m)
		d.Settled, d.Number = true, h.delivered
		q.counters.Settled++
		q.out.Settled = addRelease(q.out.Settled, m.index)
		q.slab.free(p)
		return d
	}
	q.hold(h, p, m)
	d := q.delivery(h, p, m)
	d.Number = h.delivered
	return d
}

// delivery describes the current assignment of m.
func (q *Queue) delivery(h *holder, p Pos, m *message) Delivery {
	return Delivery{
		Ref:         m.ref(),
		Pos:         p,
		Enqueued:    m.enqueued,
		Deadline:    q.deadlineOf(m),
		Consumer:    h.spec.Number,
		Failed:      uint32(m.failed),
		Acquired:    m.acquired - 1,
		Redelivered: m.acquired > 1,
	}
}

// assigned describes an assignment that was told before.
func (q *Queue) assigned(p Pos, m *message) Delivery {
	return q.delivery(q.holders[m.holder], p, m)
}
