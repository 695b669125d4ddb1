package catalog

import (
	"slices"
	"testing"

	"mayfly/queue/exchange"
)

func TestListings(t *testing.T) {
	r := newRig(t)
	r.must(PutVhost{Name: "a"}, DeclareQueue{Vhost: "a", Name: "z"}, DeclareQueue{Vhost: "/", Name: "b"}, DeclareQueue{Vhost: "a", Name: "c"},
		PutParameter{"/", "comp", "n", []byte("1")}, PutGlobalParameter{"g", []byte("2")}, NodeUp{Name: "n0"}, NodeGone{Incarnation: 2})
	v := r.m.View()
	var names []string
	for q := range v.Queues() {
		names = append(names, q.Name)
		if len(names) == 2 {
			break
		}
	}
	if !slices.Equal(names, []string{"z", "b"}) || v.QueueCount() != 3 {
		t.Errorf("queues in order of declaration: %v of %d", names, v.QueueCount())
	}
	a := v.Vhost("a")
	if qs := a.Queues(); len(qs) != 2 || qs[0].Name != "c" || qs[1].Name != "z" || a.QueueCount() != 2 {
		t.Errorf("queues of a vhost: %v", qs)
	}
	if val, ok := v.Vhost("/").Parameter("comp", "n"); !ok || string(val) != "1" || !slices.Equal(v.Vhost("/").Components(), []string{"comp"}) || !slices.Equal(v.Vhost("/").Parameters("comp"), []string{"n"}) {
		t.Errorf("parameter %s %v", val, ok)
	}
	if val, ok := v.GlobalParameter("g"); !ok || string(val) != "2" || !slices.Equal(v.GlobalParameters(), []string{"g"}) {
		t.Errorf("global parameter %s %v", val, ok)
	}
	if ns := v.Nodes(); len(ns) != 2 || ns[0].Name != "n0" || !ns[0].Gone || ns[1].Incarnation != 1 {
		t.Errorf("nodes %+v", ns)
	}
	if v.Vhost("none") != nil || v.User("none") != nil || v.QueueByID(99) != nil {
		t.Error("found what is not there")
	}
	for want, right := range map[string]Right{"configure": Configure, "write": Write, "read": Read, "unknown": 0} {
		if right.String() != want {
			t.Errorf("right %d is %s", right, right)
		}
	}
	if got := ExchangeName("v", ""); got != "exchange 'amq.default' in vhost 'v'" {
		t.Errorf("default exchange is %s", got)
	}
}

// TestReadingAllocatesNothing guards what runs for every message.
func TestReadingAllocatesNothing(t *testing.T) {
	v := filled(1000, "topic").View()
	key, x, msg := []byte("some.queue.name.7"), []byte("x"), &exchange.Message{Key: []byte("some.queue.name.7")}
	var router exchange.Router
	dst := make([]*Queue, 0, 8)
	n := testing.AllocsPerRun(100, func() {
		vh := v.Vhost("/")
		dst = vh.RouteDefault(key, dst[:0])
		dst = vh.Route(vh.ExchangeBytes(x), msg, &router, dst)
		if len(dst) != 2 || vh.QueueBytes(key) == nil || v.QueueByID(1) == nil || !v.Allowed("u", "/", Write, "some.x") || !v.TopicAllowed("u", "/", "x", Write, key) {
			t.Fatal("reading went wrong")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
