package queue

import (
	"slices"

	"mayfly/dlx"
)

// over tells whether drop-head has something to evict.
func (q *Queue) over() bool {
	if q.cfg.Overflow.Rejects() || q.ready == 0 {
		return false
	}
	return q.cfg.MaxLength >= 0 && q.ready > uint64(q.cfg.MaxLength) ||
		q.cfg.MaxBytes >= 0 && q.readyBytes > uint64(q.cfg.MaxBytes)
}

// evict is step 6: drop-head kills the oldest ready message of the lowest
// priority until the rest is within the limits (L-2, L-9). A message that is too
// big on its own goes first and alone, or it would take the whole queue with it
// (L-8).
func (q *Queue) evict() {
	if q.cfg.Overflow.Rejects() {
		return
	}
	slices.Sort(q.oversize)
	for _, p := range q.oversize {
		if m := q.slab.get(p); m != nil && m.state() == stateReady && q.oversized(m) {
			q.evictOne(p)
		}
	}
	q.oversize = q.oversize[:0]
	for q.over() && q.kills+q.extra > 0 {
		if q.extra > 0 {
			q.extra--
		} else {
			q.kills--
		}
		q.evictOne(q.lanes[q.bottom()].front())
	}
}

// oversized tells whether m alone exceeds max-length-bytes.
func (q *Queue) oversized(m *message) bool {
	return q.cfg.MaxBytes >= 0 && uint64(m.body) > uint64(q.cfg.MaxBytes)
}

func (q *Queue) evictOne(p Pos) {
	m := q.slab.mut(p)
	q.leave(p, m)
	q.kill(p, m, dlx.MaxLen)
}
