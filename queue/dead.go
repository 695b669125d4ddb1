package queue

import "mayfly/dlx"

// kill ends the message at p, which the caller has taken out of its lane or out
// of its holder's hands. Every death passes here (style.md 4, "Dead letter").
func (q *Queue) kill(p Pos, m *message, why dlx.Reason) {
	q.bury(p, m, why)
	q.slab.free(p)
}

// bury counts a death and turns it into a letter, or lets the body go.
func (q *Queue) bury(p Pos, m *message, why dlx.Reason) {
	q.counters.Deaths[why]++
	q.fold(didKill|uint64(p), uint64(why))
	if !q.cfg.DeadLetter {
		q.released(m.index)
		return
	}
	if rs := q.cfg.DeadLetterReasons; rs != 0 && !rs.Has(why) {
		q.counters.Dropped[dlx.ReasonOff]++
		q.released(m.index)
		return
	}
	id := q.letters.Last() + 1
	q.letters.Put(dlx.Letter{ID: id, Pos: uint64(p), At: q.now, Index: m.index, Off: m.off, Size: m.size, Body: m.body, Reason: why})
	q.counters.Letters++
	e := q.effect(EffectForward)
	e.N = id
}

// Forwarded takes letters out of the box: their targets have them, or they were
// dropped for a cause. Unknown ids are repeats.
func (q *Queue) Forwarded(ids []uint64, cause dlx.Cause) {
	for _, id := range ids {
		l, ok := q.letters.Remove(id)
		if !ok {
			continue
		}
		q.fold(didForward|id, uint64(cause))
		if cause == dlx.NotDropped {
			q.counters.Forwarded++
		} else {
			q.counters.Dropped[cause]++
		}
		q.released(l.Index)
	}
}

// Letter is a letter that waits.
func (q *Queue) Letter(id uint64) (dlx.Letter, bool) { return q.letters.Get(id) }

// Letters is how many wait, and the bytes of their bodies.
func (q *Queue) Letters() (n int, bytes uint64) { return q.letters.Len(), q.letters.Bytes() }
