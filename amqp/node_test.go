package amqp

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"

	"mayfly/fsm/catalog"
	"mayfly/internal/clock"
	"mayfly/internal/password"
	"mayfly/queue"
)

// node is the broker behind connections: a fake cluster that tells what was
// deleted, and whose sessions a test may replace.
type node struct {
	*fakeBroker
	onOpen func(queue.Sink) queue.Session

	mu      sync.Mutex
	deleted []queue.ID
}

func (n *node) Change(ctx context.Context, cmd catalog.Command) (catalog.Outcome, error) {
	if d, ok := cmd.(catalog.DeleteQueue); ok {
		n.mu.Lock()
		n.deleted = append(n.deleted, d.ID)
		n.mu.Unlock()
	}
	return n.fakeBroker.Change(ctx, cmd)
}

func (n *node) Open(sink queue.Sink) queue.Session {
	if n.onOpen != nil {
		return n.onOpen(sink)
	}
	return n.fakeBroker.Open(sink)
}

// emptySession is a session without queues.
type emptySession uint64

func (s emptySession) ID() queue.SessionID         { return queue.SessionID(s) }
func (s emptySession) Lane(queue.ID) queue.Lane    { return nil }
func (s emptySession) Close(context.Context) error { return nil }

// putUser is a user with a cheap hash, so that logins cost a test nothing.
func putUser(t testing.TB, name, pass string) catalog.PutUser {
	t.Helper()
	stored, err := password.NewSalted(password.SHA256, []byte(pass))
	if err != nil {
		t.Fatal(err)
	}
	return catalog.PutUser{Name: name, Algorithm: stored.Algorithm, Hash: stored.Hash}
}

// rig is a server on loopback with its broker and clock.
type rig struct {
	t    testing.TB
	node *node
	srv  *Server
	fake *clock.Fake // nil: real time
	addr string
	logs *safeBuffer
}

// safeBuffer collects the log.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newNode(t testing.TB) *node {
	t.Helper()
	n := &node{fakeBroker: newFakeBroker(t)}
	n.must(t, putUser(t, "guest", "guest"),
		catalog.PutPermission{User: "guest", Vhost: "/", Configure: ".*", Write: ".*", Read: ".*"})
	return n
}

// newRig starts a server; adjust may change the options before.
func newRig(t testing.TB, adjust func(*Options)) *rig {
	t.Helper()
	opts := DefaultOptions()
	r := &rig{t: t, node: newNode(t), logs: &safeBuffer{}}
	if adjust != nil {
		adjust(&opts)
	}
	r.fake, _ = opts.Clock.(*clock.Fake)
	srv, err := New(r.node, opts, slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	r.srv = srv
	r.addr = r.serve(nil)
	return r
}

// serve adds a listener; wrap may change it.
func (r *rig) serve(wrap func(net.Listener) net.Listener) string {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	addr := l.Addr().String()
	if wrap != nil {
		l = wrap(l)
	}
	done := make(chan error, 1)
	go func() { done <- r.srv.Serve(l) }()
	r.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r.srv.Shutdown(ctx)
		until(r.t, "all connections end", func() bool { return len(r.srv.list()) == 0 })
		if err := <-done; err != ErrServerClosed {
			r.t.Errorf("Serve: %v, want %v", err, ErrServerClosed)
		}
	})
	return addr
}

func fakeTime(o *Options) { o.Clock = clock.NewFake() }

func (r *rig) dial() *peer {
	r.t.Helper()
	nc, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	return newPeer(r.t, nc)
}

// only waits for the one connection there is, past what cond asks of it.
func (r *rig) only(what string, cond func(*conn) bool) *conn {
	r.t.Helper()
	var c *conn
	until(r.t, what, func() bool {
		all := r.srv.list()
		if len(all) != 1 {
			return false
		}
		c = all[0]
		return cond(c)
	})
	return c
}

func listening(c *conn) bool { return c.reading.Load() }
