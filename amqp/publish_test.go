package amqp

import (
	"fmt"
	"slices"
	"testing"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/queue/exchange"
)

// Checklist 75, 76, 68: the order of 9.7, each first failing check alone.
func TestChecklist75PublishRefusals(t *testing.T) {
	r := newChanRig(t)
	r.call(1, &wire.ExchangeDeclare{Exchange: "in", Type: "direct", Internal: true}, &wire.ExchangeDeclareOk{})
	id := wire.BasicPublishID
	badExpiration := short(wire.PropExpiration, "abc")
	r.publish(1, message{exchange: "x", body: "b", props: badExpiration})
	r.closed(404, "NOT_FOUND - no exchange 'x' in vhost '/'", id)
	r.publish(1, message{exchange: "in", body: "b", props: badExpiration})
	r.closed(403, "ACCESS_REFUSED - cannot publish to internal exchange 'in' in vhost '/'", id)
	r.publish(1, message{body: "b", props: short(wire.PropReplyTo, replyQueue)})
	r.closed(406, "PRECONDITION_FAILED - fast reply consumer does not exist", id)
	r.cut(&wire.BasicPublish{Immediate: true}, 540, "NOT_IMPLEMENTED - immediate=true")
}

// Checklist 75: everything pipelined after the failing publish is discarded.
func TestChecklist75Pipelined(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.call(1, &wire.ConfirmSelect{}, &wire.ConfirmSelectOk{})
	r.broker.settle()
	r.publish(1, message{key: "q", body: "1"}, message{exchange: "x", body: "2"}, message{key: "q", body: "3"})
	for {
		_, m, _ := r.next()
		if _, ok := m.(*wire.BasicAck); ok {
			continue // of the first
		}
		if c, ok := m.(*wire.ChannelClose); !ok || c.ReplyCode != 404 {
			t.Fatal(describe(m))
		}
		break
	}
	r.ready("q", "1")
}

// Checklist 87 and T-2 to T-4.
func TestChecklist87Expiration(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	for _, c := range []struct{ value, detail string }{
		{"abc", "no_integer"}, {"", "no_integer"}, {"-1", "{value_negative,-1}"}, {"10s", `{leftover_string,"s"}`},
		{"1099511627776", "{value_too_large,1099511627776}"},
	} {
		r.publish(1, message{key: "nobody", props: short(wire.PropExpiration, c.value)})
		r.closed(406, "PRECONDITION_FAILED - invalid expiration '"+c.value+"': "+c.detail, wire.BasicPublishID)
	}
	for _, v := range []string{"0", "+10", "00010"} {
		r.publish(1, message{key: "q", props: short(wire.PropExpiration, v)})
	}
	r.quiet()
	q := r.broker.queue("q")
	for i, want := range []int64{0, 10, 10} {
		if q.msgs[i].ttl != want {
			t.Errorf("TTL %d of message %d", q.msgs[i].ttl, i)
		}
	}
}

// Checklist 86.
func TestChecklist86UserID(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.publish(1, message{key: "q", props: short(wire.PropUserID, "guest"), body: "own"})
	r.publish(1, message{key: "q", props: short(wire.PropUserID, "root")})
	r.closed(406, "PRECONDITION_FAILED - user_id property set to 'root' but authenticated user was 'guest'", wire.BasicPublishID)
	r.broker.must(t, catalog.PutUser{Name: "guest", Tags: []string{"impersonator"}})
	r.publish(1, message{key: "q", props: short(wire.PropUserID, "root"), body: "other"})
	r.quiet()
	r.ready("q", "own", "other")
}

// Checklist 77 and 78: a return comes before its ack; unroutable is acked.
func TestChecklist77MandatoryReturn(t *testing.T) {
	r := newChanRig(t)
	r.call(1, &wire.ConfirmSelect{}, &wire.ConfirmSelectOk{})
	props := short(wire.PropMessageID, "id")
	r.publish(1, message{exchange: "amq.direct", key: "k", mandatory: true, props: props, body: "back"})
	c := r.want(1, &wire.BasicReturn{ReplyCode: 312, ReplyText: "NO_ROUTE", Exchange: "amq.direct", RoutingKey: "k"})
	if c.body != "back" || string(c.props) != string(props) {
		t.Errorf("returned %q %q", c.props, c.body)
	}
	r.want(1, &wire.BasicAck{DeliveryTag: 1})
	r.publish(1, message{exchange: "amq.direct", key: "k"})
	r.want(1, &wire.BasicAck{DeliveryTag: 2})
}

func copies(name string, keys ...string) wire.Table {
	var a wire.Array
	for _, k := range keys {
		a = wire.AppendValue(a, wire.StringValue(k))
	}
	return wire.AppendArrayEntry(nil, name, a)
}

// Checklist 74 and 72: CC stays, BCC vanishes, one copy per queue; no other byte changes.
func TestChecklist74Copies(t *testing.T) {
	r := newChanRig(t)
	for _, q := range []string{"a", "b", "c"} {
		r.declare(q, nil)
	}
	headers := wire.AppendString(nil, "z", "1")
	headers = append(headers, copies("CC", "b", "a")...)
	headers = append(headers, copies("BCC", "c", "b")...)
	headers = wire.AppendString(headers, "z", "2") // a duplicate key survives
	visible := wire.AppendString(append(wire.AppendString(nil, "z", "1"), copies("CC", "b", "a")...), "z", "2")
	r.publish(1, message{key: "a", props: headersOnly(headers), body: "m"})
	r.quiet()
	for _, q := range []string{"a", "b", "c"} {
		r.ready(q, "m")
		r.send(1, &wire.BasicGet{Queue: q, NoAck: true})
		_, m, c := r.next()
		if _, ok := m.(*wire.BasicGetOk); !ok || string(c.props) != string(headersOnly(visible)) {
			t.Errorf("%s: %s, properties %q", q, describe(m), c.props)
		}
	}
	if r.broker.queue("a").bodies[1].Annotations == nil {
		t.Error("the BCC keys are forgotten")
	}
	r.publish(1, message{exchange: "amq.direct", key: "no", props: headersOnly(copies("BCC", "nope")), mandatory: true})
	c := r.want(1, &wire.BasicReturn{ReplyCode: 312, ReplyText: "NO_ROUTE", Exchange: "amq.direct", RoutingKey: "no"})
	if string(c.props) != string(headersOnly(nil)) {
		t.Errorf("returned %q", c.props)
	}
	for _, k := range []string{"CC", "BCC"} {
		r.publish(1, message{key: "a", props: headersOnly(wire.AppendString(nil, k, "b"))})
		r.closed(406, `PRECONDITION_FAILED - invalid message: {unacceptable_type_in_header,"`+k+`",longstr}`, wire.BasicPublishID)
	}
}

// Checklist 38 to 41: properties come back byte for byte.
func TestChecklist38PropertiesVerbatim(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	lists := [][]byte{noProps, short(wire.PropContentType, ""), headersOnly(wire.AppendRaw(nil, "L", wire.Value{Tag: 'L', Data: make([]byte, 8)})),
		headersOnly(wire.AppendRaw(nil, "nan", wire.Value{Tag: 'd', Data: []byte{0x7f, 0xf8, 0, 0, 0, 0, 0, 1}})),
		headersOnly(wire.AppendRaw(nil, "t", wire.Value{Tag: 't', Data: []byte{7}}))}
	for _, p := range lists {
		r.publish(1, message{key: "q", props: p, body: "x"})
	}
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
	for i, p := range lists {
		if _, c := r.delivered(1, uint64(i+1), "x"); string(c.props) != string(p) {
			t.Errorf("%q came back as %q", p, c.props)
		}
	}
}

// Read your writes (checklist 122): before 404 and before "unroutable" the
// catalogue's leader is asked, and one question serves all that waited.
func TestChecklist122CatchUp(t *testing.T) {
	r := newChanRig(t)
	b := r.broker
	b.onCatch = func() {
		b.onCatch = nil
		b.must(t, catalog.DeclareExchange{Vhost: "/", Name: "late", Type: "fanout"},
			catalog.DeclareQueue{Vhost: "/", Name: "lateq"},
			catalog.Bind{Vhost: "/", Binding: exchange.Binding{Source: "late", Dest: exchange.Dest{Queue: true, Name: "lateq"}}})
	}
	r.publish(1, message{exchange: "late", body: "1"})
	for i := range 1000 {
		r.publish(1, message{exchange: "late", body: fmt.Sprint(i + 2)})
		r.publish(1, message{exchange: "amq.fanout", body: "nowhere"})
	}
	r.send(1, &wire.AccessRequest{})
	r.want(1, &wire.AccessRequestOk{Ticket: 1})
	if got := b.bodies("lateq"); len(got) != 1001 || !slices.IsSortedFunc(got, func(a, b string) int {
		var x, y int
		fmt.Sscan(a, &x)
		fmt.Sscan(b, &y)
		return x - y
	}) {
		t.Errorf("%d messages, or out of order", len(got))
	}
	b.onCatch = func() {
		b.onCatch = nil
		b.must(t, catalog.DeclareQueue{Vhost: "/", Name: "later"})
	}
	r.call(1, &wire.QueueDeclare{Queue: "later", Passive: true}, &wire.QueueDeclareOk{Queue: "later"})
}

// A way to nowhere is not remembered.
func TestChecklist122AfterUnroutable(t *testing.T) {
	r := newChanRig(t)
	r.to("later", "lost")
	r.quiet()
	r.broker.onCatch = func() {
		r.broker.onCatch = nil
		r.broker.must(t, catalog.DeclareQueue{Vhost: "/", Name: "later"})
	}
	r.to("later", "kept")
	r.quiet()
	r.ready("later", "kept")
}

// The route is remembered as long as the view is the same, and never for
// messages whose headers decide.
func TestRouteCache(t *testing.T) {
	r := newChanRig(t)
	r.declare("a", nil)
	r.declare("b", nil)
	bind := func(q string, args wire.Table) {
		r.call(1, &wire.QueueBind{Queue: q, Exchange: "amq.headers", Arguments: args}, &wire.QueueBindOk{})
	}
	bind("a", wire.AppendInt(nil, "n", 1))
	bind("b", wire.AppendInt(nil, "n", 2))
	for _, n := range []int32{1, 2, 1, 1, 2} {
		r.publish(1, message{exchange: "amq.headers", props: headersOnly(wire.AppendInt(nil, "n", n)), body: fmt.Sprint(n)})
	}
	r.quiet()
	r.ready("a", "1", "1", "1")
	r.ready("b", "2", "2")
	r.to("a", "x")
	r.to("a", "y")
	if !r.channel(1).pub.cache.valid {
		t.Error("nothing remembered")
	}
	r.call(1, &wire.QueueDelete{Queue: "a"}, &wire.QueueDeleteOk{MessageCount: 5})
	r.declare("a", nil)
	r.to("a", "z")
	r.quiet()
	r.ready("a", "z")
}

// Checklist 112: a revoked right acts on the next publish.
func TestChecklist112Revocation(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.to("q", "1")
	r.broker.must(t, catalog.PutPermission{User: "guest", Vhost: "/", Configure: ".*", Write: "^x", Read: ".*"})
	r.to("q", "2")
	r.closed(403, "ACCESS_REFUSED - write access to exchange 'amq.default' in vhost '/' refused for user 'guest'", wire.BasicPublishID)
	r.ready("q", "1")
}

// A channel does not keep a lane for every queue it ever answered to.
func TestLanesAreForgotten(t *testing.T) {
	r := newChanRig(t)
	r.call(1, &wire.ConfirmSelect{}, &wire.ConfirmSelectOk{})
	ch := r.channel(1)
	for i := range 2*maxLanes + 10 {
		name := fmt.Sprint("q", i)
		r.broker.must(t, catalog.DeclareQueue{Vhost: "/", Name: name})
		r.to(name, "x")
		r.want(1, &wire.BasicAck{DeliveryTag: uint64(i + 1)})
	}
	if len(ch.lanes) > maxLanes+1 {
		t.Errorf("%d lanes", len(ch.lanes))
	}
}
