package catalog

import (
	"fmt"
	"testing"

	"mayfly/queue/exchange"
)

// filled is a machine with n queues, bound to an exchange of that type.
func filled(n int, kind string) *Machine {
	m := New()
	index := uint64(0)
	apply := func(c Command) {
		index++
		if o := m.Apply(index, Encode(c)); o.Code != 0 {
			panic(o.Text)
		}
	}
	apply(PutVhost{Name: "/"})
	apply(PutUser{Name: "u"})
	apply(PutPermission{"u", "/", "^some", "^some\\.", ".*"})
	apply(DeclareExchange{Vhost: "/", Name: "x", Type: kind, Durable: true})
	for i := range n {
		name := fmt.Sprint("some.queue.name.", i)
		apply(DeclareQueue{Vhost: "/", Name: name, Durable: true})
		apply(bindQueue("x", name, name))
	}
	return m
}

// BenchmarkDeclareDelete is one queue more and less beside 10,000.
func BenchmarkDeclareDelete(b *testing.B) {
	m := filled(10000, "direct")
	index := uint64(1 << 20)
	entry := Encode(DeclareQueue{Vhost: "/", Name: "another", Durable: true, Args: args("x-message-ttl", 5)})
	b.ReportAllocs()
	for b.Loop() {
		index++
		o := m.Apply(index, entry)
		m.Apply(index, Encode(DeleteQueue{ID: o.Queue.ID}))
	}
}

// BenchmarkBindUnbind is one binding more and less beside 10,000 of the exchange.
func BenchmarkBindUnbind(b *testing.B) {
	for _, kind := range []string{"direct", "topic", "fanout"} {
		b.Run(kind, func(b *testing.B) {
			m := filled(10000, kind)
			index := uint64(1 << 20)
			bind := bindQueue("x", "some.queue.name.77", "another.key")
			add, remove := Encode(bind), Encode(Unbind(bind))
			b.ReportAllocs()
			for b.Loop() {
				m.Apply(index, add)
				m.Apply(index+1, remove)
				index += 2
			}
		})
	}
}

// BenchmarkFill is 10,000 queues declared and bound one by one.
func BenchmarkFill(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		filled(10000, "direct")
	}
}

func BenchmarkRoute(b *testing.B) {
	vh := filled(10000, "direct").View().Vhost("/")
	msg := &exchange.Message{Key: []byte("some.queue.name.77")}
	name := []byte("x")
	var r exchange.Router
	var dst []*Queue
	b.ReportAllocs()
	for b.Loop() {
		if dst = vh.Route(vh.ExchangeBytes(name), msg, &r, dst[:0]); len(dst) != 1 {
			b.Fatal(dst)
		}
	}
}

func BenchmarkRouteDefault(b *testing.B) {
	vh := filled(10000, "direct").View().Vhost("/")
	key := []byte("some.queue.name.77")
	var dst []*Queue
	b.ReportAllocs()
	for b.Loop() {
		if dst = vh.RouteDefault(key, dst[:0]); len(dst) != 1 {
			b.Fatal(dst)
		}
	}
}

func BenchmarkAllowed(b *testing.B) {
	v := filled(1, "direct").View()
	for name, right := range map[string]Right{"prefix": Configure, "dotted": Write, "all": Read} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !v.Allowed("u", "/", right, "some.queue.name.77") {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	m := filled(10000, "direct")
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(len(m.view.encode())))
	}
}
