package queue

import "testing"

// TestCheckFinds breaks a sound queue in one way at a time: a check that never
// failed is not to be trusted.
func TestCheckFinds(t *testing.T) {
	sound := func() *Queue {
		r := newRig(t, func(c *Config) { c.MaxPriority, c.DeadLetter = 3, true })
		r.at(1000, func() {
			r.attach(bob, ConsumerSpec{Number: 1, Prefetch: 3, Window: 9})
			r.q.Attach(alice, 1, ConsumerSpec{Number: 1, Prefetch: 2, Priority: 1})
			r.seq = 1
			r.publish(12, 5000)
		})
		r.at(1000, func() {
			r.q.Detach(bob, 1<<41, 1)
			r.q.Return(bob, []Pos{3, 5}, WhyNack)
			r.q.Reject(alice, []Pos{1})
		})
		return r.q
	}
	held := func(q *Queue) *holder { return q.sessions[alice].holders[0] }
	for name, spoil := range map[string]func(q *Queue){
		"count of ready":          func(q *Queue) { q.ready++ },
		"bytes of ready":          func(q *Queue) { q.readyBytes-- },
		"count of timed":          func(q *Queue) { q.timed-- },
		"count of unacked":        func(q *Queue) { q.unacked++ },
		"message lost":            func(q *Queue) { q.slab.free(10) },
		"message from the future": func(q *Queue) { q.slab.mut(10).enqueued = q.now + 1 },
		"messages out of time":    func(q *Queue) { q.slab.mut(3).enqueued-- },
		"deadline not indexed":    func(q *Queue) { m := q.slab.mut(10); q.index.Remove(q.indexKey(m), 10) },
		"index of nobody":         func(q *Queue) { q.index.Add(9999, 77) },
		"flag of the index":       func(q *Queue) { q.slab.mut(10).flags &^= flagIndexed },
		"lane cut":                func(q *Queue) { q.slab.mut(10).next = 0 },
		"lane empty by its bit":   func(q *Queue) { q.filled[0] = 0 },
		"heap out of order":       func(q *Queue) { l := &q.lanes[0]; l.back = append(l.back, 1) },
		"lane of another level":   func(q *Queue) { q.slab.mut(10).priority = 2; q.slab.mut(10).flags |= flagPriority },
		"held by nobody":          func(q *Queue) { q.slab.mut(held(q).head).holder = 99 },
		"holder's list cut":       func(q *Queue) { held(q).head = 0 },
		"count of a holder":       func(q *Queue) { held(q).held++ },
		"beyond prefetch":         func(q *Queue) { held(q).spec.Prefetch = 1 },
		"beyond window":           func(q *Queue) { held(q).spec.Window, held(q).credited = 1, 0; held(q).delivered = 5 },
		"ring without room":       func(q *Queue) { q.lineUp(held(q)) },
		"consumer forgotten":      func(q *Queue) { q.consumers = nil },
		"session forgotten":       func(q *Queue) { delete(q.sessions, alice) },
		"exclusive not alone":     func(q *Queue) { held(q).spec.Exclusive = true },
		"nobody active":           func(q *Queue) { q.cfg.SingleActive = true },
		"due and no tick":         func(q *Queue) { q.gone = GoneDeleted },
	} {
		q := sound()
		if err := q.Check(); err != nil {
			t.Fatalf("sound: %v", err)
		}
		spoil(q)
		if err := q.Check(); err == nil {
			t.Errorf("%s: not found", name)
		}
	}
	for name, spoil := range map[string]func(q *Queue){
		"count": func(q *Queue) { q.ready++ },
		"time":  func(q *Queue) { q.now = 0 },
		"gone":  func(q *Queue) { q.gone = GoneExpired },
	} {
		q := sound()
		spoil(q)
		if err := q.Quick(); err == nil {
			t.Errorf("quick: %s: not found", name)
		}
	}
}
