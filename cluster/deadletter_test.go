package cluster

import (
	"fmt"
	"slices"
	"testing"

	"mayfly/fsm/catalog"
	"mayfly/queue"
	"mayfly/queue/exchange"
)

// kill rejects everything that is in a queue.
func (r *rig) kill(id queue.ID) {
	r.t.Helper()
	u := r.user(id)
	for {
		d, _, ok, err := u.l.Get(r.t.Context(), false)
		if err != nil {
			r.t.Fatal(err)
		}
		if !ok {
			break
		}
		u.l.Reject([]queue.Pos{d.Pos})
	}
	if err := u.s.Close(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) ready(id queue.ID) uint64 { return r.stat(id).Ready }

// exchange declares x, of type direct, with queues bound under keys.
func (r *rig) exchange(x string, bindings ...string) {
	r.t.Helper()
	r.change(catalog.DeclareExchange{Vhost: "/", Name: x, Type: "direct", Durable: true})
	for i := 0; i < len(bindings); i += 2 {
		r.bind(x, bindings[i], bindings[i+1])
	}
}

func (r *rig) bind(x, key, q string) {
	r.t.Helper()
	r.change(catalog.Bind{Vhost: "/", Binding: exchange.Binding{Source: x, Dest: exchange.Dest{Queue: true, Name: q}, Key: key}})
}

// TestLettersOnceOverRestarts: deaths by the hundred, the node restarted while they
// are on their way; each target holds each exactly once, in order (S16, D-53).
func TestLettersOnceOverRestarts(t *testing.T) {
	r := newRig(t).start()
	plain, limited := r.queue("plain"), r.queue("limited", "x-max-length", 100_000, "x-overflow", "reject-publish")
	r.exchange("dlx", "k", "plain", "k", "limited")
	source := r.queue("source", "x-dead-letter-exchange", "dlx")
	const rounds, each = 4, 150
	var want []string
	for i := range rounds {
		var bodies []string
		for j := range each {
			bodies = append(bodies, fmt.Sprint(i, ".", j))
		}
		want = append(want, bodies...)
		r.publish(source, bodies...)
		r.kill(source)
		r.restart() // wherever the letters are
	}
	defer r.stop()
	for _, id := range []queue.ID{plain, limited} {
		eventually(t, "all arrived", func() bool { return r.ready(id) >= rounds*each })
		if got := r.take(id); !slices.Equal(got, want) {
			t.Fatalf("queue %d has %d letters, want %d: %q", id, len(got), len(want), got)
		}
	}
	eventually(t, "bodies released", func() bool { return r.liveBytes(source) == 0 })
}

// TestUnroutableLetterIsNotOvertaken: a letter that waits for a route is delivered
// when there is one, though letters behind it have routes (D-42, at-least-once).
// A target would take it for a repeat if it came after them.
func TestUnroutableLetterIsNotOvertaken(t *testing.T) {
	r := newRig(t).start()
	target := r.queue("target")
	r.exchange("dlx", "later", "target")
	source := r.queue("source", "x-dead-letter-exchange", "dlx", "x-dead-letter-strategy", "at-least-once", "x-overflow", "reject-publish")
	u := r.user(source)
	first, second := message("first"), message("second")
	second.Key = []byte("later")
	u.l.Publish(first)
	last := u.l.Publish(second)
	u.wait(t, "confirmed", func() bool { return u.confirmed[source] == last })
	r.kill(source)
	r.restart()
	defer r.stop()
	r.bind("dlx", "k", "target")
	eventually(t, "both arrived", func() bool { return r.ready(target) == 2 })
	if got := r.take(target); !slices.Equal(got, []string{"first", "second"}) {
		t.Fatalf("%q", got)
	}
}

// TestRefusedLettersWait: a full target refuses, the letters wait, and each arrives
// once when there is room; the other target is not given them again (D-41).
func TestRefusedLettersWait(t *testing.T) {
	r := newRig(t).start()
	open, narrow := r.queue("open"), r.queue("narrow", "x-max-length", 3, "x-overflow", "reject-publish")
	r.exchange("dlx", "k", "open", "k", "narrow")
	source := r.queue("source", "x-dead-letter-exchange", "dlx")
	want := numbers(10)
	r.publish(source, want...)
	r.kill(source)
	eventually(t, "the narrow one is full", func() bool { return r.ready(narrow) == 3 && r.ready(open) == 10 })
	r.restart()
	defer r.stop()
	var got []string
	eventually(t, "all got through", func() bool {
		got = append(got, r.take(narrow)...)
		return len(got) >= 10
	})
	slices.Sort(got)
	if all := r.take(open); !slices.Equal(got, want) || !slices.Equal(all, want) {
		t.Fatalf("narrow %q, open %q", got, all)
	}
}

// TestLettersOutliveTheirQueue: a deleted queue's letters are still brought away
// (D-48), its group ends after that, and its targets forget it.
func TestLettersOutliveTheirQueue(t *testing.T) {
	r := newRig(t).start()
	defer r.stop()
	narrow := r.queue("narrow", "x-max-length", 2, "x-overflow", "reject-publish")
	source := r.queue("source", "x-dead-letter-exchange", "", "x-dead-letter-routing-key", "narrow")
	r.publish(source, numbers(5)...)
	r.kill(source)
	eventually(t, "full", func() bool { return r.ready(narrow) == 2 })
	if _, err := r.user(source).l.Delete(t.Context(), false, false); err != nil {
		t.Fatal(err)
	}
	if r.View().QueueByID(source) != nil {
		t.Fatal("the name is not free")
	}
	var got []string
	eventually(t, "all arrived", func() bool {
		got = append(got, r.take(narrow)...)
		return len(got) >= 5
	})
	slices.Sort(got)
	if !slices.Equal(got, numbers(5)) {
		t.Fatalf("%q", got)
	}
	eventually(t, "its log is gone", func() bool { return !slices.Contains(r.engine.Groups(), uint64(source)) })
	g := r.lookup(narrow)
	eventually(t, "the target forgot it", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		_, known := g.lanes[queue.SessionID(letterSession|uint64(source))]
		return !known
	})
}

// TestTargetDeletedMeanwhile: a target that is deleted under a letter counts as
// done (D-51), and the others have it.
func TestTargetDeletedMeanwhile(t *testing.T) {
	r := newRig(t).start()
	defer r.stop()
	stays, narrow := r.queue("stays"), r.queue("narrow", "x-max-length", 1, "x-overflow", "reject-publish")
	r.exchange("dlx", "k", "stays", "k", "narrow")
	source := r.queue("source", "x-dead-letter-exchange", "dlx")
	r.publish(source, numbers(5)...)
	r.kill(source)
	eventually(t, "full", func() bool { return r.ready(narrow) == 1 && r.ready(stays) == 5 })
	if _, err := r.user(narrow).l.Delete(t.Context(), false, false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "bodies released", func() bool { return r.liveBytes(source) == 0 })
	if got := r.take(stays); !slices.Equal(got, numbers(5)) {
		t.Fatalf("%q", got)
	}
}
