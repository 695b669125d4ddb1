package cluster

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"

	"mayfly/cluster/storage"
	"mayfly/fsm"
	"mayfly/queue"
)

// TestSnapshotAndReplay: state from a snapshot and the entries after it is the state
// that was, digest included (invariant 4), and no body is lost or kept for nothing.
func TestSnapshotAndReplay(t *testing.T) {
	r := newRig(t).start()
	id := r.queue("q", "x-max-priority", 3)
	r.publish(id, numbers(500)...)
	u := r.user(id)
	if err := u.l.Attach(t.Context(), queue.ConsumerSpec{Number: 1, Prefetch: 200}); err != nil {
		t.Fatal(err)
	}
	u.wait(t, "delivered", func() bool { return len(u.got) == 200 })
	var ps []queue.Pos
	for _, d := range u.got[:100] {
		ps = append(ps, d.Pos)
	}
	u.l.Settle(ps[:60])
	for range 200 { // an entry each, so that the log is cut
		if _, err := u.l.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		u.l.Publish(message("later"))
	}
	host := r.lookup(id).host.(*raftHost)
	if err := host.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	u.l.Settle(ps[60:])
	r.publish(id, "a", "b")
	if err := u.s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := r.lookup(id).machine
	r.stop() // then the machine is nobody's
	digest, applied := m.fsm.Digest(), m.fsm.Applied()
	if err := m.fsm.Check(); err != nil {
		t.Fatal(err)
	}

	// The same log into a fresh machine, without anything that a new term adds.
	r.start()
	g := r.lookup(id)
	eventually(t, "led", func() bool { g.mu.Lock(); defer g.mu.Unlock(); return g.phase == led && g.applied > 0 })
	store := g.host.(*raftHost).store
	if first, err := store.FirstIndex(); err != nil || first < 2 {
		t.Fatalf("the log begins at %d: it was not cut", first)
	}
	r.stop()
	again := replayed(t, r, id, applied)
	if again.Digest() != digest {
		t.Fatalf("digest %x, was %x", again.Digest(), digest)
	}
	if err := again.Check(); err != nil {
		t.Fatal(err)
	}

	r.start()
	defer r.stop()
	got := r.take(id)
	if want := int(m.fsm.Stat().Ready); len(got) != want || got[0] != "100" || got[len(got)-1] != "b" {
		t.Fatalf("%d messages, want %d", len(got), want)
	}
	// The first message went with its ack: its entry, below the log, must go too.
	if _, err := r.lookup(id).bodies.Entry(u.got[0].Ref.Index); !errors.Is(err, storage.ErrNotFound) {
		t.Fatalf("the body of a settled message is kept: %v", err)
	}
}

// TestBodiesAreReleased: every way out of a queue lets the body go.
func TestBodiesAreReleased(t *testing.T) {
	r := newRig(t).start()
	defer r.stop()
	for name, leave := range map[string]func(u *user, id queue.ID){
		"ack":    func(u *user, id queue.ID) { u.l.Settle(r.hold(u, id, 20)) },
		"reject": func(u *user, id queue.ID) { u.l.Reject(r.hold(u, id, 20)) },
		"purge":  func(u *user, _ queue.ID) { u.l.Purge(t.Context()) },
		"get":    func(_ *user, id queue.ID) { r.take(id) },
		"no-ack": func(u *user, id queue.ID) {
			if err := u.l.Attach(t.Context(), queue.ConsumerSpec{Number: 1, NoAck: true}); err != nil {
				t.Fatal(err)
			}
			u.wait(t, "delivered", func() bool { return len(u.got) == 20 })
			for i := range u.got {
				r.body(u.l, &u.got[i])
				u.l.Release(&u.got[i])
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := r.queue(name)
			r.publish(id, numbers(20)...)
			if r.liveBytes(id) == 0 {
				t.Fatal("a full queue keeps nothing")
			}
			u := r.user(id)
			leave(u, id)
			if st, err := u.l.Stat(t.Context()); err != nil || st.Ready+st.Unacked != 0 {
				t.Fatalf("%+v %v", st, err)
			}
			if n := r.liveBytes(id); n != 0 {
				t.Fatalf("%d bytes still live", n)
			}
		})
	}
	t.Run("exclusive", func(t *testing.T) {
		id := r.exclusive("mine")
		r.publish(id, numbers(20)...)
		r.take(id)
		b := r.lookup(id).bodies.(*memoryBodies)
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.entries) > 1 {
			t.Fatalf("%d entries kept", len(b.entries))
		}
	})
}

// replayed builds a machine from a stopped node's files: the snapshot, and the log
// up to an index.
func replayed(t *testing.T, r *rig, id queue.ID, upTo uint64) *fsm.Machine {
	t.Helper()
	e, err := storage.Open(r.fs, r.dir+"/queues", r.storage)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g, err := e.Group(uint64(id))
	if err != nil {
		t.Fatal(err)
	}
	list, err := g.Snapshots().List()
	if err != nil || len(list) == 0 {
		t.Fatalf("no snapshot: %v", err)
	}
	_, from, err := g.Snapshots().Open(list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	m, err := fsm.Restore(from)
	if err != nil {
		t.Fatal(err)
	}
	var out queue.Outcome
	for i := list[0].Index + 1; i <= upTo; i++ {
		var l raft.Log
		if err := g.GetLog(i, &l); err != nil {
			t.Fatal(err)
		}
		if l.Type != raft.LogCommand {
			continue
		}
		if err := m.Apply(i, l.Data, &out); err != nil {
			t.Fatal(err)
		}
	}
	return m
}
