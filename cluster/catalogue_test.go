package cluster

import (
	"fmt"
	"testing"

	"mayfly/fsm/catalog"
	"mayfly/queue/exchange"
)

// TestCatalogueRestart: what was declared is there again, what was deleted is not,
// and queues that do not survive a stop of the whole cluster are dropped.
func TestCatalogueRestart(t *testing.T) {
	r := newRig(t).start()
	keep := r.queue("keep", "x-max-length", 7)
	gone := r.queue("gone")
	r.publish(gone, "x")
	transient := r.change(catalog.DeclareQueue{Vhost: "/", Name: "transient"}).Queue.ID
	r.publish(transient, "x")
	r.change(catalog.DeclareQueue{Vhost: "/", Name: "mine", Exclusive: true, Owner: r.NextID()})
	r.change(catalog.DeclareExchange{Vhost: "/", Name: "x", Type: "topic", Durable: true})
	r.change(catalog.Bind{Vhost: "/", Binding: exchange.Binding{Source: "x", Dest: exchange.Dest{Queue: true, Name: "keep"}, Key: "a.*"}})
	r.publish(keep, "kept")
	if _, err := r.user(gone).l.Delete(t.Context(), false, false); err != nil {
		t.Fatal(err)
	}
	before := r.incarnation
	r.restart()
	defer r.stop()
	if r.incarnation <= before {
		t.Fatalf("incarnation %d after %d", r.incarnation, before)
	}
	v := r.View()
	vh := v.Vhost("/")
	for name, want := range map[string]bool{"keep": true, "gone": false, "transient": false, "mine": false} {
		if got := vh.Queue(name) != nil; got != want {
			t.Errorf("queue %s is there: %v", name, got)
		}
	}
	if q := v.QueueByID(keep); q == nil || q.Config.MaxLength != 7 || vh.Exchange("x").BindingCount() != 1 {
		t.Fatalf("%+v", q)
	}
	if ids := r.engine.Groups(); len(ids) != 1 || ids[0] != uint64(keep) {
		t.Fatalf("logs of groups %v are left, want %d", ids, keep)
	}
	if got := r.take(keep); len(got) != 1 || got[0] != "kept" {
		t.Fatalf("messages %q", got)
	}
}

// TestManyQueues: 2,000 declares, a sample used, a restart.
func TestManyQueues(t *testing.T) {
	const count, every = 2000, 100
	r := newRig(t).start()
	batch := catalog.Batch{}
	for i := range count {
		batch.Commands = append(batch.Commands, catalog.DeclareQueue{Vhost: "/", Name: fmt.Sprint("q", i), Durable: true})
	}
	r.change(batch)
	use := func(f func(i int)) {
		for i := 0; i < count; i += every {
			f(i)
		}
	}
	find := func(i int) *catalog.Queue { return r.View().Vhost("/").Queue(fmt.Sprint("q", i)) }
	use(func(i int) { r.publish(find(i).ID, fmt.Sprint("m", i)) })
	if got := len(r.engine.Groups()); got != count/every {
		t.Fatalf("%d groups have a log; an unused queue has none (principle 5)", got)
	}
	r.restart()
	defer r.stop()
	use(func(i int) {
		if got := r.take(find(i).ID); len(got) != 1 || got[0] != fmt.Sprint("m", i) {
			t.Fatalf("q%d holds %q", i, got)
		}
	})
	if find(count-1) == nil {
		t.Fatal("the last queue is lost")
	}
}
