package catalog

import (
	"testing"

	"mayfly/amqp/wire"
	"mayfly/queue"
)

// TestEquivalence is section 1.3: checklist lines 9 and 11 to 13, amqp.md 50 and 51.
func TestEquivalence(t *testing.T) {
	locked := "cannot obtain exclusive access to locked " + q + ". It could be originally declared on another connection or the exclusive property value does not match that of the original declaration."
	arg := func(key, rest string) string { return "inequivalent arg '" + key + "' for " + q + ": received " + rest }
	flags := func(durable, autoDelete, exclusive bool, owner uint64, a wire.Table) DeclareQueue {
		return DeclareQueue{Vhost: "/", Name: "q", Durable: durable, AutoDelete: autoDelete, Exclusive: exclusive, Owner: owner, Args: a}
	}
	const mine, other = 1<<32 | 7, 1<<32 | 8
	ttl := func(v any) wire.Table { return args("x-message-ttl", v) }
	for _, row := range []struct {
		rule        string
		first, then DeclareQueue
		code        uint16
		text        string
	}{
		{"same", declare(nil), declare(nil), 0, ""},
		{"A-22 another connection", flags(false, false, true, mine, nil), flags(false, false, true, other, nil), 405, locked},
		{"A-22 same connection", flags(false, false, true, mine, nil), flags(false, false, true, mine, nil), 0, ""},
		{"A-2 durable is not compared for an exclusive queue", flags(false, false, true, mine, nil), flags(true, false, true, mine, nil), 0, ""},
		{"A-23 exclusive asked of a shared one", flags(true, false, false, mine, nil), flags(true, false, true, mine, nil), 405, locked},
		{"A-23 shared asked of an exclusive one", flags(false, false, true, mine, nil), flags(false, false, false, mine, nil), 405, locked},
		{"A-30 exclusive before durable", flags(true, true, false, mine, ttl(1)), flags(false, false, true, mine, nil), 405, locked},
		{"A-31", flags(true, false, false, mine, nil), flags(false, true, false, mine, ttl(1)), 406, arg("durable", "'false' but current is 'true'")},
		{"A-31", flags(false, false, false, mine, nil), flags(true, false, false, mine, nil), 406, arg("durable", "'true' but current is 'false'")},
		{"A-31", flags(true, true, false, mine, nil), flags(true, false, false, mine, ttl(1)), 406, arg("auto_delete", "'false' but current is 'true'")},
		{"A-32", declare(ttl(5000)), declare(ttl(6000)), 406, arg("x-message-ttl", "'6000' but current is '5000'")},
		{"A-33", declare(ttl(5000)), declare(nil), 406, arg("x-message-ttl", "none but current is the value '5000' of type 'signedint'")},
		{"A-33", declare(nil), declare(ttl(5)), 406, arg("x-message-ttl", "the value '5' of type 'signedint' but current is none")},
		{"A-33", declare(nil), declare(args("x-max-length", integer('l', 5))), 406, arg("x-max-length", "the value '5' of type 'long' but current is none")},
		{"A-34 l", declare(ttl(5000)), declare(ttl(integer('l', 5000))), 0, ""},
		{"A-34 u", declare(ttl(5000)), declare(ttl(integer('u', 5000))), 0, ""},
		{"A-34 L", declare(ttl(integer('L', 5000))), declare(ttl(integer('s', 5000))), 0, ""},
		{"A-34 decimal is of the class but no number", declare(ttl(5)), declare(ttl(decimal)), 406, arg("x-message-ttl", "'{0,5}' but current is '5'")},
		{"A-34 a string is never a number", declare(ttl(5000)), declare(ttl("5000")), 406, arg("x-message-ttl", "'5000' but current is '5000' (types longstr and signedint)")},
		{"A-35", declare(args("x-queue-master-locator", double(5))), declare(args("x-queue-master-locator", 5)), 406, arg("x-queue-master-locator", "'5' but current is '5' (types signedint and double)")},
		{"A-34 f and d", declare(args("x-queue-master-locator", double(0.5))), declare(args("x-queue-master-locator", float(0.5))), 0, ""},
		{"A-35 binary", declare(args("x-dead-letter-exchange", "x")), declare(args("x-dead-letter-exchange", wire.Value{Tag: 'x', Data: []byte("x")})), 406, arg("x-dead-letter-exchange", "'x' but current is 'x' (types binary and longstr)")},
		{"A-6 arguments are not validated", declare(ttl(5)), declare(ttl(-1)), 406, arg("x-message-ttl", "'-1' but current is '5'")},
		{"A-36 unknown ones are not compared", declare(args("foo", 1)), declare(args("bar", "x", "x-baz", 2)), 0, ""},
		{"A-36 foreign ones are not compared", declare(args("x-queue-type", "quorum")), declare(args("x-queue-type", "quorum", "x-max-priority", 4)), 0, ""},
		{"A-36 native equals both", declare(nil), declare(args("x-queue-type", "quorum")), 0, ""},
		{"A-36 native equals both", declare(args("x-queue-type", "undefined")), declare(args("x-queue-type", "classic")), 0, ""},
		{"A-36 either way round", declare(args("x-queue-type", "classic")), declare(nil), 0, ""},
		{"A-36 either way round", declare(args("x-queue-type", "quorum")), declare(args("x-queue-type", "undefined")), 0, ""},
		{"A-37", declare(args("x-queue-type", "quorum")), declare(args("x-queue-type", "classic")), 406, arg("x-queue-type", "'classic' but current is 'quorum'")},
		{"A-37 not even native equals nonsense", declare(nil), declare(args("x-queue-type", "bad")), 406, arg("x-queue-type", "the value 'bad' of type 'longstr' but current is none")},
		{"A-37 not even native equals nonsense", declare(nil), declare(args("x-queue-type", 5)), 406, arg("x-queue-type", "the value '5' of type 'signedint' but current is none")},
	} {
		r := newRig(t)
		o := r.must(row.first)
		first := o.Queue
		o = r.apply(row.then)
		if o.Code != row.code || o.Text != row.text {
			t.Errorf("%s\n got %d %s\nwant %d %s", row.rule, o.Code, o.Text, row.code, row.text)
		}
		if row.code == 0 && (o.Queue != first || !o.Existed) {
			t.Errorf("%s: redeclare answered %+v", row.rule, o)
		}
	}
	r := newRig(t)
	relaxed := declare(args("x-queue-type", "classic"))
	relaxed.RelaxedType = true
	r.must(declare(args("x-queue-type", "quorum")), relaxed)
}

func TestDeclareAndDelete(t *testing.T) {
	r := newRig(t)
	o := r.must(DeclareQueue{Vhost: "/", Name: "e", Durable: true, Exclusive: true, Owner: 1<<32 | 5})
	e := o.Queue
	if o.Existed || e.Durable || e.ID != 1 || r.vhost().QueueBytes([]byte("e")) != e || r.m.View().QueueByID(1) != e {
		t.Errorf("A-2: declared %+v", e)
	}
	if !e.OpenTo(1<<32|5) || e.OpenTo(1<<32|6) {
		t.Error("A-22: exclusive queue open to the wrong connection")
	}
	o = r.must(DeleteQueue{ID: 1})
	if !o.Existed || len(o.Removed) != 1 || o.Removed[0] != 1 || r.vhost().Queue("e") != nil {
		t.Errorf("deleted: %+v", o)
	}
	if o = r.must(DeleteQueue{ID: 1}); o.Existed || len(o.Removed) != 0 {
		t.Errorf("deleted twice: %+v", o)
	}
	if o = r.must(declare(nil)); o.Queue.ID != 2 {
		t.Errorf("number %d given again", o.Queue.ID)
	}
	again := declare(args("x-message-ttl", 5))
	again.IfAbsent = true
	if o = r.must(again); !o.Existed || o.Queue.Config.TTL != -1 {
		t.Errorf("import over an existing queue: %+v", o)
	}
	r.refused(DeclareQueue{Vhost: "none", Name: "q"}, 404, "vhost 'none' does not exist")
}

// TestIncarnations is.
func TestIncarnations(t *testing.T) {
	r := newRig(t) // n1 is incarnation 1
	two := r.must(NodeUp{Name: "n2"}).Incarnation
	mk := func(name string, durable, exclusive bool, node uint32) queue.ID {
		return r.must(DeclareQueue{Vhost: "/", Name: name, Durable: durable, Exclusive: exclusive, Owner: uint64(node)<<32 | 1}).Queue.ID
	}
	mk("durable", true, false, 1)
	mk("transient", false, false, 1)
	mk("ex1", false, true, 1)
	ex2 := mk("ex2", false, true, two)
	if o := r.must(NodeGone{Incarnation: two}); len(o.Removed) != 1 || o.Removed[0] != ex2 {
		t.Errorf("node gone removed %v, want [%d]", o.Removed, ex2)
	}
	r.must(NodeGone{Incarnation: 99})
	r.must(DeclareExchange{Vhost: "/", Name: "tx", Type: "fanout"}, bindExchange("amq.fanout", "tx", ""))
	r.must(DeclareExchange{Vhost: "/", Name: "ta", Type: "fanout", AutoDelete: true}, bindExchange("ta", "tx", ""))

	o := r.must(NodeUp{Name: "n1"}) // its previous incarnation is dead with what it owned
	if len(o.Removed) != 1 || r.vhost().Queue("ex1") != nil || o.Incarnation != 3 || !o.Existed {
		t.Errorf("second start: %+v", o)
	}
	mk("early", false, false, 3) // declared after the node was up, before transient things were dropped
	r.must(DeclareExchange{Vhost: "/", Name: "early", Type: "fanout"})
	o = r.must(DropTransient{})
	if len(o.Removed) != 1 || r.vhost().Queue("transient") != nil || r.vhost().Queue("durable") == nil || r.vhost().Queue("early") == nil {
		t.Errorf("after a full stop: %+v", o)
	}
	if r.vhost().Exchange("tx") != nil || r.vhost().Exchange("ta") != nil || r.vhost().Exchange("early") == nil {
		t.Error("after a full stop: transient exchanges")
	}
	if n := r.vhost().Exchange("amq.fanout").BindingCount(); n != 0 {
		t.Errorf("%d bindings to a dropped exchange", n)
	}
	if o = r.must(DropTransient{}); len(o.Removed) != 0 {
		t.Errorf("dropping again removed %v", o.Removed)
	}
}

// TestQueueLimit is V-1 and V-6.
func TestQueueLimit(t *testing.T) {
	r := newRig(t)
	r.must(PutVhostLimits{Vhost: "/", MaxQueues: NewLimit(1)}, declare(nil), declare(nil))
	c := declare(nil)
	c.Name = "q2"
	r.refused(c, 406, "cannot declare queue 'q2': queue limit in vhost '/' (1) is reached")
	r.must(PutVhostLimits{Vhost: "/", MaxQueues: NewLimit(-1)}, c)
}
