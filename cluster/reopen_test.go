package cluster

import (
	"fmt"
	"testing"

	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// TestKeptQueuesAreNeverTakenForFresh: while the groups of the last run are still
// being opened, many more than are opened at a time, each answers with what it
// holds, not as a queue that nobody has used.
func TestKeptQueuesAreNeverTakenForFresh(t *testing.T) {
	dir := t.TempDir()
	n := testNode(t, dir)
	sink := newTestSink()
	s := n.Open(sink)
	ids := make([]queue.ID, 5*reopening)
	for i := range ids {
		ids[i] = declare(t, n, fmt.Sprint("q", i), catalog.DeclareQueue{Durable: true})
		s.Lane(ids[i]).Publish(message("kept"))
	}
	for _, id := range ids {
		sink.wait(t, "confirmed", func() bool { return sink.confirmed[id] == 1 })
	}
	stopNode(t, n)
	for _, ask := range []func(l queue.Lane) (uint64, error){
		func(l queue.Lane) (uint64, error) {
			st, err := l.Stat(t.Context())
			return st.Ready, err
		},
		func(l queue.Lane) (uint64, error) {
			_, left, ok, err := l.Get(t.Context(), true)
			if !ok {
				return 0, err
			}
			return left + 1, err
		},
	} {
		n = testNode(t, dir)
		s := n.Open(newTestSink())
		for i := len(ids) - 1; i >= 0; i-- { // the last ones first: they are opened last
			if got, err := ask(s.Lane(ids[i])); err != nil || got != 1 {
				t.Fatalf("queue %d has %d messages, %v", i, got, err)
			}
		}
		<-n.Reopened()
		stopNode(t, n)
	}
}
