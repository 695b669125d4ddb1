package catalog

import (
	"testing"

	"mayfly/amqp/wire"
	"mayfly/queue/exchange"
)

const x = "exchange 'x' in vhost '/'"

// TestPredeclared is amqp.md 64.
func TestPredeclared(t *testing.T) {
	r := newRig(t)
	for _, row := range []struct {
		name, kind string
		internal   bool
	}{{"amq.direct", "direct", false}, {"amq.fanout", "fanout", false}, {"amq.topic", "topic", false}, {"amq.headers", "headers", false},
		{"amq.match", "headers", false}, {"amq.rabbitmq.trace", "topic", true}} {
		o := r.must(DeclareExchange{Vhost: "/", Name: row.name, Type: row.kind, Durable: true, Internal: row.internal})
		if !o.Existed || o.Exchange != r.vhost().ExchangeBytes([]byte(row.name)) {
			t.Errorf("%s: %+v", row.name, o)
		}
	}
	if n := len(r.vhost().Exchanges()); n != 6 {
		t.Errorf("%d exchanges", n)
	}
}

// TestExchangeRefusals is amqp.md 65 to 67.
func TestExchangeRefusals(t *testing.T) {
	const def = "operation not permitted on the default exchange"
	dx := func(kind string, durable, autoDelete, internal bool, a wire.Table) DeclareExchange {
		return DeclareExchange{Vhost: "/", Name: "x", Type: kind, Durable: durable, AutoDelete: autoDelete, Internal: internal, Args: a}
	}
	differs := func(arg, rest string) string { return "inequivalent arg '" + arg + "' for " + x + ": received " + rest }
	r := newRig(t)
	r.must(declare(nil), dx("direct", true, false, false, args("alternate-exchange", "ae", "foo", 1)))
	r.must(dx("direct", true, false, false, args("alternate-exchange", "ae", "bar", 2))) // only the alternate is compared
	r.must(DeclareExchange{Vhost: "/", Name: "y", Type: "fanout"}, bindQueue("y", "q", ""))
	for _, row := range []struct {
		c    Command
		code uint16
		text string
	}{
		{dx("fanout", false, true, true, nil), 406, differs("type", "'fanout' but current is 'direct'")},
		{dx("direct", false, true, true, nil), 406, differs("durable", "'false' but current is 'true'")},
		{dx("direct", true, true, true, nil), 406, differs("auto_delete", "'true' but current is 'false'")},
		{dx("direct", true, false, true, nil), 406, differs("internal", "'true' but current is 'false'")},
		{dx("direct", true, false, false, nil), 406, differs("alternate-exchange", "none but current is the value 'ae' of type 'longstr'")},
		{dx("direct", true, false, false, args("alternate-exchange", "other")), 406, differs("alternate-exchange", "'other' but current is 'ae'")},
		{dx("bogus", true, false, false, nil), 406, "unknown exchange type 'bogus'"},
		{dx("", true, false, false, nil), 406, "unknown exchange type ''"},
		{DeclareExchange{Vhost: "/", Name: "amq.mine", Type: "direct"}, 403, "exchange name 'amq.mine' contains reserved prefix 'amq.*'"},
		{DeclareExchange{Vhost: "/", Name: "amq.direct", Type: "fanout", Durable: true}, 406, "inequivalent arg 'type' for exchange 'amq.direct' in vhost '/': received 'fanout' but current is 'direct'"},
		{DeclareExchange{Vhost: "/", Type: "direct"}, 403, def},
		{DeclareExchange{Vhost: "/", Name: "z", Type: "direct", Args: args("alternate-exchange", 5)}, 406, "invalid type 'signedint' for arg 'alternate-exchange' in exchange 'z' in vhost '/'"},
		{DeclareExchange{Vhost: "/", Name: "z", Type: "direct", Args: args("x-message-ttl", "5")}, 406, `invalid arg 'x-message-ttl' for exchange 'z' in vhost '/': "expected integer, got longstr"`},
		{DeclareExchange{Vhost: "/", Name: "z", Type: "direct", Args: args("x-expires", 0)}, 406, "invalid arg 'x-expires' for exchange 'z' in vhost '/': {value_zero,0}"},
		{DeleteExchange{Vhost: "/"}, 403, def},
		{DeleteExchange{Vhost: "/", Name: "amq.direct"}, 403, "deletion of system exchange 'amq.direct' in vhost '/' not allowed"},
		{DeleteExchange{Vhost: "/", Name: "amq.nothing"}, 403, "deletion of system exchange 'amq.nothing' in vhost '/' not allowed"},
		{DeleteExchange{Vhost: "/", Name: "missing"}, 0, ""},
		{DeleteExchange{Vhost: "/", Name: "y", IfUnused: true}, 406, "exchange 'y' in vhost '/' in use"},
		{bindQueue("", "q", "k"), 403, def},
		{Unbind{Vhost: "/", Binding: exchange.Binding{Dest: queueDest("q")}}, 403, def},
		{bindExchange("x", "", "k"), 403, def},
		{bindQueue("x", "none", "k"), 404, "no queue 'none' in vhost '/'"},
		{bindQueue("none", "q", "k"), 404, "no exchange 'none' in vhost '/'"},
		{bindExchange("x", "none", "k"), 404, "no exchange 'none' in vhost '/'"},
		{Unbind{Vhost: "/", Binding: exchange.Binding{Source: "none", Dest: queueDest("q")}}, 0, ""},
		{Unbind{Vhost: "/", Binding: exchange.Binding{Source: "x", Dest: queueDest("none")}}, 0, ""},
		{Unbind{Vhost: "/", Binding: exchange.Binding{Source: "x", Dest: queueDest("q")}}, 0, ""},
		{Bind{Vhost: "/", Binding: exchange.Binding{Source: "amq.headers", Dest: queueDest("q"), Args: args("x-match", "some")}}, 406,
			`Invalid x-match field value <<"some">>; expected all, any, all-with-x, or any-with-x`},
		{Bind{Vhost: "/", Binding: exchange.Binding{Source: "amq.headers", Dest: queueDest("q"), Args: args("x-match", 1)}}, 406,
			"Invalid x-match field type signedint (value 1); expected longstr"},
	} {
		r.refused(row.c, row.code, row.text)
	}
	again := dx("fanout", false, true, true, nil)
	again.IfAbsent = true
	if o := r.must(again); !o.Existed || o.Exchange.Kind != exchange.Direct {
		t.Errorf("import over an existing exchange: %+v", o)
	}
}

// TestBindings is amqp.md 62 and A-22 for bindings.
func TestBindings(t *testing.T) {
	r := newRig(t)
	r.must(declare(nil), DeclareExchange{Vhost: "/", Name: "x", Type: "topic"})
	b := bindQueue("x", "q", "k")
	b.Binding.Args = args("a", 1, "b", "2")
	if o := r.must(b); o.Existed {
		t.Error("first bind existed")
	}
	again := b
	again.Binding.Args = args("b", "2", "a", 1)
	if o := r.must(again); !o.Existed {
		t.Error("order of arguments made another binding")
	}
	if got := r.vhost().BindingsTo(queueDest("q")); len(got) != 1 || got[0].Key != "k" {
		t.Errorf("bindings to q: %v", got)
	}
	var router exchange.Router
	vh := r.vhost()
	if got := vh.Route(vh.Exchange("x"), &exchange.Message{Key: []byte("k")}, &router, nil); len(got) != 1 || got[0].Name != "q" {
		t.Errorf("routed to %v", got)
	}
	if got := vh.RouteDefault([]byte("q"), vh.RouteDefault([]byte("q"), vh.RouteDefault([]byte("none"), nil))); len(got) != 1 {
		t.Errorf("default exchange routed to %v", got)
	}
	if o := r.must(Unbind(again)); !o.Existed {
		t.Error("unbind did not find the binding")
	}

	const mine, other = 1<<32 | 7, 1<<32 | 8
	r.must(DeclareQueue{Vhost: "/", Name: "ex", Exclusive: true, Owner: mine})
	e := bindQueue("x", "ex", "k")
	locked := Locked("/", "ex").Text
	e.Owner = other
	r.refused(e, 405, locked)
	r.must(Unbind(e)) // a missing binding is nobody's
	e.Owner = mine
	r.must(e)
	e.Owner = other
	r.refused(Unbind(e), 405, locked)
}

// TestAutoDeleteExchange is amqp.md 69 and its cascades.
func TestAutoDeleteExchange(t *testing.T) {
	r := newRig(t)
	auto := func(name string) DeclareExchange {
		return DeclareExchange{Vhost: "/", Name: name, Type: "fanout", AutoDelete: true}
	}
	gone := func(names ...string) {
		t.Helper()
		for _, n := range names {
			if r.vhost().Exchange(n) != nil {
				t.Errorf("%s is still there", n)
			}
		}
	}
	r.must(declare(nil), auto("a"), auto("b"), auto("c"))
	if r.vhost().Exchange("a") == nil {
		t.Error("never bound, yet gone")
	}
	// a -> b -> c -> q: with q the whole chain goes.
	r.must(bindExchange("a", "b", ""), bindExchange("b", "c", ""), bindQueue("c", "q", ""))
	r.must(DeleteQueue{ID: r.vhost().Queue("q").ID})
	gone("a", "b", "c")

	// Two bindings: the first to go does not take it along.
	r.must(declare(nil), auto("a"), bindQueue("a", "q", "1"), bindQueue("a", "q", "2"))
	r.must(Unbind(bindQueue("a", "q", "1")))
	if r.vhost().Exchange("a") == nil {
		t.Error("gone with a binding left")
	}
	r.must(Unbind(bindQueue("a", "q", "2")))
	gone("a")

	// A cycle comes to an end: a <-> b, b -> q.
	r.must(auto("a"), auto("b"), bindExchange("a", "b", ""), bindExchange("b", "a", ""), bindQueue("b", "q", ""))
	r.must(DeleteExchange{Vhost: "/", Name: "a"})
	if r.vhost().Exchange("b") == nil {
		t.Error("b had a binding left")
	}
	r.must(DeleteQueue{ID: r.vhost().Queue("q").ID})
	gone("a", "b")

	// Bound to itself.
	r.must(auto("a"), bindExchange("a", "a", ""), DeleteExchange{Vhost: "/", Name: "a"})
	gone("a")

	// if-unused looks at bindings as a source alone.
	r.must(auto("a"), auto("b"), bindExchange("a", "b", ""), DeleteExchange{Vhost: "/", Name: "b", IfUnused: true})
	gone("a", "b")
}
