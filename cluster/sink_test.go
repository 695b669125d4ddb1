package cluster

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// testSink records what a session is told.
type testSink struct {
	mu        sync.Mutex
	grew      sync.Cond
	got       []queue.Delivery
	confirmed map[queue.ID]uint64
	refused   []uint64
	cancelled []uint32
}

func newTestSink() *testSink {
	s := &testSink{confirmed: map[queue.ID]uint64{}}
	s.grew.L = &s.mu
	return s
}

func (s *testSink) Deliver(_ queue.Lane, ds []queue.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, ds...)
	s.grew.Broadcast()
}

func (s *testSink) Confirmed(l queue.Lane, upTo uint64, refused []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.confirmed[l.Queue()] = max(s.confirmed[l.Queue()], upTo)
	s.refused = append(s.refused, refused...)
	s.grew.Broadcast()
}

func (s *testSink) Cancelled(_ queue.Lane, consumer uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelled = append(s.cancelled, consumer)
	s.grew.Broadcast()
}

// wait blocks until done says so of the locked sink; a test's deadline ends it.
func (s *testSink) wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	late := time.AfterFunc(20*time.Second, func() {
		panic(fmt.Sprintf("%s: never %s", t.Name(), what))
	})
	defer late.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !done() {
		s.grew.Wait()
	}
}

func testNode(t *testing.T, dir string) *Node {
	t.Helper()
	n, err := Start(Options{Name: "n1", DataDir: dir, Seed: catalog.Seed{Vhost: "/"}, Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func stopNode(t *testing.T, n *Node) {
	t.Helper()
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
}

func declare(t *testing.T, n *Node, name string, cmd catalog.DeclareQueue) queue.ID {
	t.Helper()
	cmd.Vhost, cmd.Name = "/", name
	o, err := n.Change(t.Context(), cmd)
	if err != nil || o.Code != 0 {
		t.Fatalf("declare %s: %d %s %v", name, o.Code, o.Text, err)
	}
	return o.Queue.ID
}

func message(body string) *queue.Message {
	return &queue.Message{Key: []byte("k"), Props: []byte{0, 0}, Body: []byte(body), TTL: queue.NoTTL, Persistent: true}
}
