package cluster

import (
	"slices"
	"testing"

	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// TestAutoDelete: the queue goes with its last consumer, out of the catalogue and
// off the disk.
func TestAutoDelete(t *testing.T) {
	r := newRig(t).start()
	defer r.stop()
	id := r.change(catalog.DeclareQueue{Vhost: "/", Name: "q", Durable: true, AutoDelete: true}).Queue.ID
	a, b := r.user(id), r.user(id)
	for _, u := range []*user{a, b} {
		if err := u.l.Attach(t.Context(), queue.ConsumerSpec{Number: 1}); err != nil {
			t.Fatal(err)
		}
	}
	r.publish(id, "x")
	if err := a.l.Detach(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if r.View().QueueByID(id) == nil {
		t.Fatal("gone with the first consumer of two")
	}
	if err := b.s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "deleted", func() bool { return r.View().QueueByID(id) == nil && len(r.engine.Groups()) == 0 })
	if len(a.cancelled)+len(b.cancelled) != 0 {
		t.Fatal("a consumer that left is told that it is cancelled")
	}
}

// TestExclusiveEndsWithItsOwner: what the catalogue drops for an owner that is gone
// vanishes with consumers, messages and memory.
func TestExclusiveEndsWithItsOwner(t *testing.T) {
	r := newRig(t).start()
	defer r.stop()
	id := r.exclusive("mine")
	u := r.user(id)
	if err := u.l.Attach(t.Context(), queue.ConsumerSpec{Number: 4, Prefetch: 1}); err != nil {
		t.Fatal(err)
	}
	r.publish(id, "a", "b")
	r.change(catalog.DeleteQueue{ID: id})
	u.wait(t, "cancelled", func() bool { return slices.Equal(u.cancelled, []uint32{4}) })
	eventually(t, "gone", func() bool { return r.lookup(id) == nil })
	if _, err := u.l.Purge(t.Context()); err != queue.RefusedGone {
		t.Fatalf("purge: %v", err)
	}
}

// TestCommit is S22 in one queue: all, or nothing when something does not fit.
func TestCommit(t *testing.T) {
	r := newRig(t).start()
	defer r.stop()
	id := r.queue("q", "x-max-length", 5, "x-overflow", "reject-publish")
	r.publish(id, numbers(4)...)
	u := r.user(id)
	held := r.hold(u, id, 3)
	tx := &queue.Tx{Publishes: []*queue.Message{message("a"), message("b")}, Settles: held[:1], Returns: held[1:2]}
	if refused, err := u.l.Commit(t.Context(), tx); err != nil || refused != 0 {
		t.Fatalf("%d refused, %v", refused, err)
	}
	if st := r.stat(id); st.Ready != 4 || st.Unacked != 1 { // 1 3 a b, and 2 held
		t.Fatalf("%+v", st)
	}
	if refused, err := u.l.Commit(t.Context(), &queue.Tx{Publishes: []*queue.Message{message("c"), message("d")}, Settles: held[2:]}); err != nil || refused != 1 {
		t.Fatalf("%d refused, %v", refused, err)
	}
	if err := u.s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.take(id); !slices.Equal(got, []string{"1", "2", "3", "a", "b"}) {
		t.Fatalf("%q", got)
	}
}

func TestRejectPublish(t *testing.T) {
	r := newRig(t).start()
	defer r.stop()
	id := r.queue("q", "x-max-length", 3, "x-overflow", "reject-publish")
	u := r.user(id)
	for _, b := range numbers(6) {
		u.l.Publish(message(b))
	}
	u.wait(t, "answered", func() bool { return u.confirmed[id] == 6 })
	if !slices.Equal(u.refused, []uint64{4, 5, 6}) {
		t.Fatalf("refused %v", u.refused)
	}
	if n, err := u.l.Purge(t.Context()); err != nil || n != 3 {
		t.Fatalf("purged %d, %v", n, err)
	}
	if n, err := u.l.Purge(t.Context()); err != nil || n != 0 {
		t.Fatalf("purged %d, %v", n, err)
	}
	if seq := u.l.Publish(message("x")); seq != 9 {
		t.Fatalf("number %d: requests count, too", seq)
	}
	u.wait(t, "confirmed", func() bool { return u.confirmed[id] == 9 })
}

// TestRequestsInOrder: an answer comes after the deliveries decided before it, and
// a lane's commands take effect in the order of its calls.
func TestRequestsInOrder(t *testing.T) {
	r := newRig(t).start()
	defer r.stop()
	id := r.queue("q")
	u := r.user(id)
	for round := range uint32(50) {
		if err := u.l.Attach(t.Context(), queue.ConsumerSpec{Number: round + 1}); err != nil {
			t.Fatal(err)
		}
		u.l.Publish(message("x"))
		if _, err := u.l.Stat(t.Context()); err != nil { // else both stand in one entry, and nobody is left to deliver to
			t.Fatal(err)
		}
		if err := u.l.Detach(t.Context(), round+1); err != nil {
			t.Fatal(err)
		}
		if len(u.got) != int(round)+1 {
			t.Fatalf("round %d: %d deliveries before the detach was answered", round, len(u.got))
		}
		u.l.Settle([]queue.Pos{u.got[round].Pos})
	}
	if st, err := u.l.Stat(t.Context()); err != nil || st != (queue.Stat{}) {
		t.Fatalf("%+v %v", st, err)
	}
}
