package exchange

import (
	"fmt"
	"testing"

	"mayfly/amqp/wire"
)

// rig is one thing to route, for benchmarks and for the test that routing
// allocates nothing.
type rig struct {
	name  string
	table *Table
	m     *Message
	want  int
}

func rigs() []rig {
	table := (*Table)(nil)
	fill := func(name string, kind Kind, n int, b func(i int) Binding) {
		e := New(Spec{Name: name, Kind: kind})
		for i := range n {
			bi := b(i)
			bi.Source = name
			e, _ = e.Bind(bi)
		}
		table = table.With(e)
	}
	queue := func(i int) Dest { return q(fmt.Sprintf("queue-%05d", i)) }
	fill("direct", Direct, 10000, func(i int) Binding { return Binding{Dest: queue(i), Key: fmt.Sprint("key.", i)} })
	fill("fanout", Fanout, 100, func(i int) Binding { return Binding{Dest: queue(i)} })
	fill("topic", Topic, 10000, func(i int) Binding {
		return Binding{Dest: queue(i), Key: fmt.Sprintf([]string{"orders.%d.*", "*.%d.created", "orders.%d.#", "#.paid.%d"}[i%4], i/4)}
	})
	fill("headers", Headers, 100, func(i int) Binding {
		return Binding{Dest: queue(i), Args: args("x-match", "all", "type", "order", "shard", i)}
	})
	fill("hash", ConsistentHash, 10, func(i int) Binding { return Binding{Dest: queue(i), Key: "1"} })
	fill("random", LocalRandom, 10, func(i int) Binding { return Binding{Dest: queue(i)} })
	fill("e2e", Direct, 1, func(int) Binding { return Binding{Dest: x("fanout"), Key: "k"} })
	table = table.With(New(Spec{Name: "alternate", Kind: Direct, Alternate: "fanout"}))

	headers := args("shard", 50, "type", "order", "trace", "0123456789abcdef")
	var cc wire.Array
	cc = wire.AppendValue(cc, wire.StringValue("key.6000"))
	cc = wire.AppendValue(cc, wire.StringValue("key.100"))
	keys, _, _ := SplitCC(args("CC", wire.ArrayValue(cc)), nil, nil)
	return []rig{
		{"direct", table, &Message{Key: []byte("key.5000")}, 1},
		{"direct-miss", table, &Message{Key: []byte("nothing")}, 0},
		{"direct-cc", table, &Message{Key: []byte("key.5000"), Extra: keys}, 3},
		{"fanout", table, &Message{Key: []byte("key.5000")}, 100},
		{"topic", table, &Message{Key: []byte("orders.1200.created")}, 3},
		{"headers", table, &Message{Headers: headers}, 1},
		{"hash", table, &Message{Key: []byte("key.5000")}, 1},
		{"random", table, &Message{}, 1},
		{"e2e", table, &Message{Key: []byte("k")}, 100},
		{"alternate", table, &Message{Key: []byte("k")}, 100},
	}
}

func (g rig) exchange() []byte {
	name := g.name
	for i := range name {
		if name[i] == '-' {
			return []byte(name[:i])
		}
	}
	return []byte(name)
}

// TestRouteAllocates: nothing, for every type of exchange, once the Router has
// seen its like.
func TestRouteAllocates(t *testing.T) {
	for _, g := range rigs() {
		var r Router
		name := g.exchange()
		got := testing.AllocsPerRun(100, func() {
			if n := len(g.table.Route(g.table.GetBytes(name), g.m, &r)); n != g.want {
				t.Fatalf("%s: %d queues, want %d", g.name, n, g.want)
			}
		})
		if got != 0 {
			t.Errorf("%s: %.1f allocations a message, want none", g.name, got)
		}
	}
}

func BenchmarkRoute(b *testing.B) {
	for _, g := range rigs() {
		b.Run(g.name, func(b *testing.B) {
			var r Router
			name := g.exchange()
			b.ReportAllocs()
			for b.Loop() {
				g.table.Route(g.table.GetBytes(name), g.m, &r)
			}
		})
	}
}

// BenchmarkBind adds the ten-thousandth binding, one operation each.
func BenchmarkBind(b *testing.B) {
	for _, kind := range []Kind{Direct, Fanout, Topic, Headers} {
		for _, oneQueue := range []bool{false, true} {
			e := New(Spec{Name: "e", Kind: kind})
			bind := func(i int) Binding {
				d := q(fmt.Sprint("queue-", i))
				if oneQueue {
					d = q("queue")
				}
				return Binding{Source: "e", Dest: d, Key: fmt.Sprint("a.b.", i, ".*")}
			}
			for i := range 10000 {
				e, _ = e.Bind(bind(i))
			}
			name := kind.String() + "/many-queues"
			if oneQueue {
				name = kind.String() + "/one-queue"
			}
			b.Run(name, func(b *testing.B) {
				next := bind(10000)
				b.ReportAllocs()
				for b.Loop() {
					more, _ := e.Bind(next)
					more.Unbind(next)
				}
			})
		}
	}
}
