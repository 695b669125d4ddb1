package cluster

import (
	"testing"

	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// A start replays declarations of queues with x-expires before the node is there
// to open a group for them; afterwards their leases run again, whether the queue
// was ever used or not.
func TestRestartWithLeasedQueues(t *testing.T) {
	r := newRig(t).start()
	const hour = 3600_000
	unused, used, deleted := r.queue("unused", "x-expires", hour), r.queue("used", "x-expires", hour), r.queue("deleted", "x-expires", hour)
	r.publish(used, "one")
	r.change(catalog.DeleteQueue{ID: deleted})
	for range 3 {
		r.restart()
		for _, id := range []queue.ID{unused, used} {
			eventually(t, "the group is open", func() bool {
				g := r.lookup(id)
				if g == nil {
					return false
				}
				g.mu.Lock()
				defer g.mu.Unlock()
				return g.phase != dormant && g.phase != opening
			})
		}
		if g := r.lookup(deleted); g != nil {
			t.Errorf("a deleted queue has a group again: phase %v", g.phase)
		}
	}
	r.stop()
}
