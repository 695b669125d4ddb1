package queue

import "mayfly/ttl"

// Configure puts a configuration in force. What is there already is treated by it
// from now on: deadlines are re-timed (T-16), the excess over a lowered limit goes
// in step 6 (L-10), the lease is measured again.
func (q *Queue) Configure(c Config) {
	if q.gone != GoneNot {
		return
	}
	old := q.cfg
	q.cfg = c
	q.configureLease()
	if len(q.lanes) != int(c.MaxPriority)+1 || old.DefaultPriority != c.DefaultPriority {
		q.relane()
	}
	if old.ExpireAtHead != c.ExpireAtHead || old.MessageTTLWins != c.MessageTTLWins ||
		c.MessageTTLWins && (old.TTL != c.TTL || old.TTLCeiling != c.TTLCeiling) {
		q.reindex()
	}
	if old.SingleActive != c.SingleActive {
		q.active = nil
		q.activate()
		for _, h := range q.consumers {
			q.seat(h)
		}
	}
	q.instant = q.instant || c.TTL == 0
	if !c.Overflow.Rejects() && c.MaxBytes >= 0 && (old.Overflow.Rejects() || old.MaxBytes < 0 || c.MaxBytes < old.MaxBytes) {
		q.findOversize()
	}
}

// findOversize notes the messages that a lowered limit makes too big on their own.
func (q *Queue) findOversize() {
	q.slab.each(func(p Pos, m *message) bool {
		if m.state() == stateReady && q.oversized(m) {
			q.oversize = append(q.oversize, p)
		}
		return true
	})
}

// leaseGrace is how long a queue lives at least after its lease was changed.
const leaseGrace = 1000

func (q *Queue) configureLease() {
	term := max(q.cfg.Expires, 0)
	if term == q.lease.Term {
		return
	}
	q.lease.Term = term
	if term == 0 {
		return
	}
	q.lease.Touch(q.now.Add(leaseGrace - term))
}

// relane sorts all ready messages into lanes anew.
func (q *Queue) relane() {
	q.lanes = make([]lane, int(q.cfg.MaxPriority)+1)
	q.filled = [4]uint64{}
	q.ready, q.readyBytes, q.timed = 0, 0, 0
	q.slab.each(func(p Pos, m *message) bool {
		if m.state() == stateReady {
			m = q.slab.mut(p)
			m.flags &^= flagReturned
			q.join(p, m)
		}
		return true
	})
}

// reindex makes the deadline index anew.
func (q *Queue) reindex() {
	q.index = ttl.Index{}
	q.unlisted = true
	q.slab.each(func(p Pos, m *message) bool {
		if m.state() != stateReady {
			return true
		}
		m = q.slab.mut(p)
		m.flags &^= flagIndexed
		if p < q.first && q.index.Add(q.indexKey(m), uint64(p)) {
			m.flags |= flagIndexed
		}
		return true
	})
}
