package queue

import "mayfly/dlx"

// Incoming is a publish as it stands in the entry being applied.
type Incoming struct {
	Off, Size   uint32 // of the envelope in the entry
	Body        uint32 // body bytes
	TTL         int64  // or NoTTL
	Priority    uint8
	HasPriority bool
	Persistent  bool
}

// Enqueue takes the publish numbered seq of a session in, or refuses it.
func (q *Queue) Enqueue(id SessionID, seq uint64, in *Incoming) {
	s, fresh := q.number(id, seq)
	if s != nil && seq != 0 {
		q.touch(s, seq, fresh)
	}
	if !fresh {
		return
	}
	if q.gone != GoneNot {
		return // a deleted queue no longer counts for the confirm (amqp.md 10)
	}
	if q.cfg.Overflow.Rejects() && !q.admits(1, uint64(in.Body)) {
		q.refusePublish(s, seq, in)
		return
	}
	q.accept(in)
}

// admits tells whether n more messages with so many body bytes fit (L-4). A queue
// that looks full first hands out what its consumers have room for: with every
// publish in an entry of its own that would have happened already.
func (q *Queue) admits(n, bytes uint64) bool {
	if q.fits(n, bytes) {
		return true
	}
	q.handOut()
	return q.fits(n, bytes)
}

// fits is the limit under the reject modes, where pending letters count (L-1).
func (q *Queue) fits(n, bytes uint64) bool {
	if q.cfg.MaxLength >= 0 && q.ready+uint64(q.letters.Len())+n > uint64(q.cfg.MaxLength) {
		return false
	}
	return q.cfg.MaxBytes < 0 || q.readyBytes+q.letters.Bytes()+bytes <= uint64(q.cfg.MaxBytes)
}

// refusePublish is L-4, and L-5 with a letter.
func (q *Queue) refusePublish(s *session, seq uint64, in *Incoming) {
	q.counters.Refused++
	q.fold(didRefuse|seq, uint64(s.id))
	if q.cfg.Overflow == RejectPublishDLX {
		q.own++
		q.bury(0, &message{index: q.entry, off: in.Off, size: in.Size, body: in.Body, enqueued: q.now, ttl: in.TTL}, dlx.MaxLen)
	}
	if seq != 0 {
		s.refuse(seq)
		s.denied = append(s.denied, seq)
	}
}

// accept gives the message its position.
func (q *Queue) accept(in *Incoming) {
	p, m := q.slab.add()
	m.index, m.off, m.size, m.body = q.entry, in.Off, in.Size, in.Body
	m.enqueued, m.ttl = q.now, in.TTL
	m.flags = stateReady
	if in.Persistent {
		m.flags |= flagPersistent
	}
	if in.HasPriority {
		m.flags |= flagPriority
		m.priority = in.Priority
	}
	q.own++
	q.extra++
	q.counters.Enqueued++
	q.fold(didEnqueue|uint64(p), uint64(in.Off))
	q.enterReady(p, m)
}

// enterReady puts a message among the ready ones, new or returned.
func (q *Queue) enterReady(p Pos, m *message) {
	q.join(p, m)
	if q.mayExpire(m) {
		switch {
		case p >= q.first:
			q.unlisted = true
			q.instant = q.instant || q.deadlineOf(m).Due(q.now)
		case q.index.Add(q.indexKey(m), uint64(p)):
			m.flags |= flagIndexed
		}
	}
	if q.oversized(m) {
		q.oversize = append(q.oversize, p)
	}
}

// indexNew puts this entry's messages that are still ready into the deadline
// index: not earlier, because most messages of a busy queue are assigned in the
// Apply that brings them and never need it.
func (q *Queue) indexNew() {
	if !q.unlisted {
		return
	}
	for p := q.first; p < q.slab.next; p++ {
		m := q.slab.get(p)
		if m == nil || m.state() != stateReady || m.has(flagIndexed) {
			continue
		}
		if at := q.indexKey(m); q.index.Add(at, uint64(p)) {
			q.slab.mut(p).flags |= flagIndexed
		}
	}
}
