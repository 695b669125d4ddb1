package queue

import "mayfly/ttl"

// Stat is the counts as a client sees them (T-27, C-27).
func (q *Queue) Stat() Stat {
	return Stat{Ready: q.ready, Unacked: q.unacked, Consumers: uint32(len(q.consumers)), Bytes: q.readyBytes}
}

// ConsumerInfo is a consumer as listings show it.
type ConsumerInfo struct {
	Session  SessionID
	Spec     ConsumerSpec
	Unacked  uint64
	Assigned uint64 // ever
	Active   bool   // gets messages when it has room; false for those that wait behind a single active one
}

// Consumers lists the consumers by falling priority, then age.
func (q *Queue) Consumers() []ConsumerInfo {
	list := make([]ConsumerInfo, 0, len(q.consumers))
	for _, h := range q.consumers {
		list = append(list, ConsumerInfo{
			Session: h.session.id, Spec: h.spec, Unacked: h.held, Assigned: h.delivered,
			Active: !q.cfg.SingleActive || h == q.active,
		})
	}
	return list
}

// UnackedBytes is the sum of the bodies that are assigned.
func (q *Queue) UnackedBytes() uint64 { return q.unackedBytes }

// Epoch counts the activations of a single active consumer (S19).
func (q *Queue) Epoch() uint64 { return q.epoch }

// Lease is the idle lease and when it was last renewed.
func (q *Queue) Lease() ttl.Lease { return q.lease }

// Incarnations lists the nodes that have sessions here, ascending. Node 0 is none:
// such sessions are queues that dead-letter.
func (q *Queue) Incarnations() []uint32 {
	var nodes []uint32
	for _, id := range q.sessionIDs() {
		if n := id.Node(); n != 0 && (len(nodes) == 0 || nodes[len(nodes)-1] != n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Sessions is how many sessions the queue knows.
func (q *Queue) Sessions() int { return len(q.sessions) }

// EachRef calls fn with the log entry of every body that is still needed, letters
// included.
func (q *Queue) EachRef(fn func(index uint64)) {
	q.slab.each(func(_ Pos, m *message) bool {
		fn(m.index)
		return true
	})
	for l := range q.letters.All() {
		fn(l.Index)
	}
}

// Each calls fn with the ready messages in order of entry until it says no.
func (q *Queue) Each(fn func(Pos, Ref, ttl.Stamp) bool) {
	q.slab.each(func(p Pos, m *message) bool {
		return m.state() != stateReady || fn(p, m.ref(), q.deadlineOf(m))
	})
}

// Trim gives back memory that an idle queue does not need. It is no change of state.
func (q *Queue) Trim() {
	q.slab.trim()
	q.scratch, q.touched, q.oversize = nil, nil, nil
}
