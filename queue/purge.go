package queue

// Purge removes what is ready, as no death.
func (q *Queue) Purge(id SessionID, seq uint64) {
	s, fresh := q.number(id, seq)
	if !fresh {
		return
	}
	if q.gone != GoneNot {
		q.deny(s, seq, RefusedGone)
		return
	}
	q.settleDown()
	n := q.ready
	q.counters.Purged += n
	q.clearReady()
	q.reply(s, seq, EffectPurged, n, 0)
}

// Close deletes the queue (A-24; what is unacked does not make it not empty).
func (q *Queue) Close(id SessionID, seq uint64, ifUnused, ifEmpty bool) {
	s, fresh := q.number(id, seq)
	if !fresh {
		return
	}
	q.settleDown()
	switch {
	case q.gone != GoneNot:
		q.deny(s, seq, RefusedGone)
	case ifUnused && len(q.consumers) > 0:
		q.deny(s, seq, RefusedInUse)
	case ifEmpty && q.ready > 0:
		q.deny(s, seq, RefusedNotEmpty)
	default:
		n := q.ready
		q.finish(GoneDeleted)
		q.reply(s, seq, EffectClosed, n, 0)
	}
}

// clearReady lets all ready messages go, oldest first within a priority.
func (q *Queue) clearReady() {
	for q.ready > 0 {
		p := q.front()
		m := q.slab.mut(p)
		q.leave(p, m)
		q.released(m.index)
		q.slab.free(p)
	}
}

// finish ends the queue: consumers are told, messages go without dying,
// letters stay until they are forwarded (D-48), and sessions keep their numbers so
// that repeats are answered as before. The Gone effect comes last of all.
func (q *Queue) finish(why GoneReason) {
	q.gone = why
	q.counters.Deleted += q.ready + q.unacked
	for _, h := range q.consumers {
		e := q.effect(EffectCancelled)
		e.Session, e.Consumer = h.session.id, h.spec.Number
	}
	q.clearReady()
	q.clearHeld()
	q.holders, q.freeSlots, q.consumers, q.rings = nil, nil, nil, nil
	q.active, q.exclusive = nil, nil
	q.oversize = q.oversize[:0]
	q.ending = true
}

// clearHeld lets all assigned messages go, oldest first, and forgets their holders.
func (q *Queue) clearHeld() {
	for _, p := range q.assignedPositions() {
		m := q.slab.mut(p)
		q.letGo(q.holders[m.holder], p, m)
		q.released(m.index)
		q.slab.free(p)
	}
	for _, h := range q.holders {
		if h != nil {
			h.session.holders = nil
		}
	}
}
