package queue

import (
	"mayfly/dlx"
	"mayfly/ttl"
)

// expireDue is step 2: what is due dies, wherever it stands (T-30), in order of
// deadline and then of entry (T-32).
func (q *Queue) expireDue() {
	for q.kills > 0 {
		p := q.nextDue()
		if p == 0 {
			return
		}
		q.kills--
		m := q.slab.mut(p)
		q.leave(p, m)
		q.kill(p, m, dlx.Expired)
	}
}

// nextDeadline is when the next ready message expires. Two sources: the index, and
// the order of entry for what lives by the queue's TTL alone (T-17). An
// expire-at-head queue has only its head (T-33).
func (q *Queue) nextDeadline() ttl.Stamp {
	switch {
	case q.ready == 0:
		return ttl.Never
	case q.cfg.ExpireAtHead:
		return q.deadlineOf(q.slab.get(q.front()))
	}
	at, _ := q.index.Next()
	by, _ := q.firstByQueue()
	return ttl.Earlier(at, by)
}

// firstByQueue is the message that the queue's own TTL ends first, and when.
func (q *Queue) firstByQueue() (ttl.Stamp, Pos) {
	if q.cfg.TTL < 0 || q.cfg.MessageTTLWins || q.ready == 0 {
		return ttl.Never, 0
	}
	p := q.oldest()
	return ttl.Deadline(q.slab.get(p).enqueued, q.cfg.TTL), p
}

// nextDue is the message that must die next, 0 when nothing is due. It is out of
// the index if it was in it.
func (q *Queue) nextDue() Pos {
	if q.cfg.ExpireAtHead {
		if p := q.front(); p != 0 && q.due(q.slab.get(p)) {
			return p
		}
		return 0
	}
	by, old := q.firstByQueue()
	at, _ := q.index.Next()
	if by.Due(q.now) && (at == ttl.Never || by < at) {
		return old
	}
	if !at.Due(q.now) {
		return 0
	}
	_, pos, _ := q.index.Pop(q.now)
	if by == at && uint64(old) < pos {
		q.index.Add(at, pos)
		return old
	}
	q.slab.mut(Pos(pos)).flags &^= flagIndexed
	return Pos(pos)
}

// expireInstant is step 5: messages that were due the moment they came and found
// nobody die now (T-21), and basic.get never sees them.
func (q *Queue) expireInstant() {
	if q.instant {
		q.instant = false
		for p := q.first; p < q.slab.next; p++ {
			if m := q.slab.get(p); m != nil && m.state() == stateReady && q.due(m) {
				m = q.slab.mut(p)
				q.leave(p, m)
				q.kill(p, m, dlx.Expired)
			}
		}
	}
}

// expireLease ends a queue that lay unused for its term. One that dead-letters
// waits for its messages with deadlines and for its letters.
func (q *Queue) expireLease() {
	if q.gone == GoneNot && q.lease.Due(q.now, q.inUse()) && !q.detained() {
		q.finish(GoneExpired)
	}
}

// detained tells whether messages on their way hold an idle queue.
func (q *Queue) detained() bool {
	if !q.cfg.DeadLetter {
		return false
	}
	return q.letters.Len() > 0 || q.timed > 0 || q.cfg.expiresAll() && q.ready > 0
}

// wake is the earliest deadline of all, and whether something is due already.
func (q *Queue) wake() (at ttl.Stamp, more bool) {
	if q.gone != GoneNot {
		return ttl.Never, false
	}
	at = q.nextDeadline()
	if !q.detained() {
		at = ttl.Earlier(at, q.lease.Deadline(q.inUse()))
	}
	return at, at.Due(q.now) || q.over()
}
