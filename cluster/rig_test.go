package cluster

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"mayfly/amqp/wire"
	"mayfly/cluster/storage"
	"mayfly/cluster/storage/vfs"
	"mayfly/fsm/catalog"
	"mayfly/internal/clock"
	"mayfly/queue"
)

// rig is a node whose queue logs lie in a file system of the test's own, so that
// they can be cut off, and which can be started again on them.
type rig struct {
	t       testing.TB
	dir     string
	fs      *vfs.Mem
	clock   clock.Clock
	storage storage.Options
	*Node
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), fs: vfs.NewMem(), clock: clock.Real, storage: storage.Options{SegmentSize: 1 << 20}}
	// The catalogue's log is bolt's, which knows only the real file system.
	if err := os.Mkdir(filepath.Join(r.dir, "catalogue"), 0o755); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) start() *rig {
	r.t.Helper()
	n, err := Start(Options{Name: "n1", DataDir: r.dir, FS: r.fs, Clock: r.clock, Storage: r.storage, Seed: catalog.Seed{Vhost: "/"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		r.t.Fatal(err)
	}
	r.Node = n
	return r
}

func (r *rig) stop() {
	r.t.Helper()
	if err := r.Node.Stop(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) restart() {
	r.t.Helper()
	r.stop()
	r.start()
}

func (r *rig) change(cmd catalog.Command) catalog.Outcome {
	r.t.Helper()
	o, err := r.Change(r.t.Context(), cmd)
	if err != nil || o.Code != 0 {
		r.t.Fatalf("%T: %d %s %v", cmd, o.Code, o.Text, err)
	}
	return o
}

// queue declares a durable queue; args are keys and values in turn.
func (r *rig) queue(name string, args ...any) queue.ID {
	r.t.Helper()
	return r.change(catalog.DeclareQueue{Vhost: "/", Name: name, Durable: true, Args: table(args...)}).Queue.ID
}

func table(args ...any) (t wire.Table) {
	for i := 0; i < len(args); i += 2 {
		switch v := args[i+1].(type) {
		case string:
			t = wire.AppendString(t, args[i].(string), v)
		case int:
			t = wire.AppendLong(t, args[i].(string), int64(v))
		case bool:
			t = wire.AppendBool(t, args[i].(string), v)
		}
	}
	return t
}

// user is one session with one lane and what it was told.
type user struct {
	*testSink
	s queue.Session
	l *lane
}

func (r *rig) user(id queue.ID) *user {
	u := &user{testSink: newTestSink()}
	u.s = r.Open(u.testSink)
	u.l = u.s.Lane(id).(*lane)
	return u
}

// publish sends bodies and waits for the confirms.
func (r *rig) publish(id queue.ID, bodies ...string) {
	r.t.Helper()
	u := r.user(id)
	var last uint64
	for _, b := range bodies {
		last = u.l.Publish(message(b))
	}
	u.await(r.t, "confirmed", func() bool { return u.confirmed[id] >= last })
	if err := u.s.Close(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) stat(id queue.ID) queue.Stat {
	r.t.Helper()
	st, err := r.user(id).l.Stat(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return st
}

// take gets all that is ready, without acknowledging, and tells the bodies.
func (r *rig) take(id queue.ID) (bodies []string) {
	r.t.Helper()
	u := r.user(id)
	for {
		d, _, ok, err := u.l.Get(r.t.Context(), true)
		if err != nil {
			r.t.Fatal(err)
		}
		if !ok {
			return bodies
		}
		bodies = append(bodies, r.body(u.l, &d))
		u.l.Release(&d)
	}
}

func (r *rig) body(l *lane, d *queue.Delivery) string {
	r.t.Helper()
	env, err := l.Load(d)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(env.Body)
}

// liveBytes is what the store keeps of a group's log because bodies in it live.
func (r *rig) liveBytes(id queue.ID) int64 {
	store := r.lookup(id).bodies.(*storage.Group)
	_, all := store.Replay()
	return all - store.Reclaimable()
}

// await is wait for any test.
func (s *testSink) await(t testing.TB, what string, done func() bool) {
	t.Helper()
	late := time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("%s: never %s", t.Name(), what)) })
	defer late.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !done() {
		s.grew.Wait()
	}
}

// eventually asks again and again, for what nobody announces.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-again.C:
		case <-late.C:
			buf := make([]byte, 1<<20)
			t.Fatalf("never %s\n%s", what, buf[:runtime.Stack(buf, true)])
		}
	}
}

func numbers(n int) (s []string) {
	for i := range n {
		s = append(s, fmt.Sprint(i))
	}
	return s
}

func (r *rig) exclusive(name string) queue.ID {
	r.t.Helper()
	return r.change(catalog.DeclareQueue{Vhost: "/", Name: name, Exclusive: true, Owner: r.NextID()}).Queue.ID
}

// hold has a user get n messages, which it then holds.
func (r *rig) hold(u *user, id queue.ID, n int) (ps []queue.Pos) {
	r.t.Helper()
	for range n {
		d, _, ok, err := u.l.Get(r.t.Context(), false)
		if err != nil || !ok {
			r.t.Fatalf("get from %d: %v %v", id, ok, err)
		}
		ps = append(ps, d.Pos)
	}
	return ps
}
