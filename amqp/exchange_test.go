package amqp

import (
	"testing"

	"mayfly/amqp/wire"
)

// Checklist 62: binding twice, unbinding what is not there.
func TestChecklist62Bind(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	b := &wire.QueueBind{Queue: "q", Exchange: "amq.direct", RoutingKey: "k"}
	r.call(1, b, &wire.QueueBindOk{})
	r.call(1, b, &wire.QueueBindOk{})
	r.publish(1, message{exchange: "amq.direct", key: "k", body: "once"})
	r.quiet()
	r.ready("q", "once")
	u := &wire.QueueUnbind{Queue: "q", Exchange: "amq.direct", RoutingKey: "k"}
	r.call(1, u, &wire.QueueUnbindOk{})
	r.call(1, u, &wire.QueueUnbindOk{})
	r.call(1, &wire.QueueUnbind{Queue: "no", Exchange: "none"}, &wire.QueueUnbindOk{})
	r.call(1, &wire.ExchangeUnbind{Destination: "no", Source: "none"}, &wire.ExchangeUnbindOk{})
	r.refused(&wire.QueueBind{Queue: "no", Exchange: "amq.direct"}, 404, "NOT_FOUND - no queue 'no' in vhost '/'")
	r.refused(&wire.QueueBind{Queue: "q", Exchange: "none"}, 404, "NOT_FOUND - no exchange 'none' in vhost '/'")
	r.refused(&wire.ExchangeBind{Destination: "no", Source: "amq.direct"}, 404, "NOT_FOUND - no exchange 'no' in vhost '/'")
	r.refused(&wire.QueueBind{Queue: "q", Exchange: "amq.headers", Arguments: wire.AppendString(nil, "x-match", "some")}, 406,
		`PRECONDITION_FAILED - Invalid x-match field value <<"some">>; expected all, any, all-with-x, or any-with-x`)
}

// Checklist 64 to 67.
func TestChecklist65Exchanges(t *testing.T) {
	r := newChanRig(t)
	for _, x := range [][2]string{{"amq.direct", "direct"}, {"amq.fanout", "fanout"}, {"amq.topic", "topic"}, {"amq.headers", "headers"}, {"amq.match", "headers"}} {
		r.call(1, &wire.ExchangeDeclare{Exchange: x[0], Type: x[1], Durable: true}, &wire.ExchangeDeclareOk{})
	}
	r.call(1, &wire.ExchangeDeclare{Exchange: "amq.rabbitmq.trace", Type: "topic", Durable: true, Internal: true}, &wire.ExchangeDeclareOk{})
	ae := wire.AppendString(nil, "alternate-exchange", "ae")
	r.call(1, &wire.ExchangeDeclare{Exchange: "x", Type: "direct", Arguments: ae}, &wire.ExchangeDeclareOk{})
	const x = "exchange 'x' in vhost '/'"
	const unequal = "PRECONDITION_FAILED - inequivalent arg "
	for _, c := range []struct {
		m    *wire.ExchangeDeclare
		code uint16
		text string
	}{
		{&wire.ExchangeDeclare{Exchange: "x", Type: "fanout", Arguments: ae}, 406, unequal + "'type' for " + x + ": received 'fanout' but current is 'direct'"},
		{&wire.ExchangeDeclare{Exchange: "x", Type: "direct", Durable: true, Arguments: ae}, 406, unequal + "'durable' for " + x + ": received 'true' but current is 'false'"},
		{&wire.ExchangeDeclare{Exchange: "x", Type: "direct", AutoDelete: true, Arguments: ae}, 406, unequal + "'auto_delete' for " + x + ": received 'true' but current is 'false'"},
		{&wire.ExchangeDeclare{Exchange: "x", Type: "direct", Internal: true, Arguments: ae}, 406, unequal + "'internal' for " + x + ": received 'true' but current is 'false'"},
		{&wire.ExchangeDeclare{Exchange: "x", Type: "direct"}, 406, unequal + "'alternate-exchange' for " + x + ": received none but current is the value 'ae' of type 'longstr'"},
		{&wire.ExchangeDeclare{Exchange: "y", Type: "bogus"}, 406, "PRECONDITION_FAILED - unknown exchange type 'bogus'"},
		{&wire.ExchangeDeclare{Exchange: "amq.y", Type: "direct"}, 403, "ACCESS_REFUSED - exchange name 'amq.y' contains reserved prefix 'amq.*'"},
		{&wire.ExchangeDeclare{Exchange: "y", Type: "direct", Arguments: wire.AppendInt(nil, "alternate-exchange", 1)}, 406, "PRECONDITION_FAILED - invalid type 'signedint' for arg 'alternate-exchange' in exchange 'y' in vhost '/'"},
		{&wire.ExchangeDeclare{Exchange: "none", Passive: true}, 404, "NOT_FOUND - no exchange 'none' in vhost '/'"},
	} {
		r.refused(c.m, c.code, c.text)
	}
	r.call(1, &wire.ExchangeDeclare{Exchange: "x", Type: "any", Passive: true}, &wire.ExchangeDeclareOk{})
}

// Checklist 66 and 67.
func TestChecklist66DefaultAndDelete(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	const text = "ACCESS_REFUSED - operation not permitted on the default exchange"
	for _, m := range []wire.Method{
		&wire.ExchangeDeclare{Type: "direct"}, &wire.ExchangeDeclare{Passive: true}, &wire.ExchangeDelete{}, &wire.QueueBind{Queue: "q"},
		&wire.QueueUnbind{Queue: "q"}, &wire.ExchangeBind{Source: "amq.direct"}, &wire.ExchangeUnbind{Destination: "amq.direct"},
	} {
		r.refused(m, 403, text)
	}
	for _, x := range []string{"amq.direct", "amq.none"} {
		r.refused(&wire.ExchangeDelete{Exchange: x}, 403, "ACCESS_REFUSED - deletion of system exchange '"+x+"' in vhost '/' not allowed")
	}
	r.call(1, &wire.ExchangeDelete{Exchange: "none"}, &wire.ExchangeDeleteOk{})
	r.call(1, &wire.ExchangeDeclare{Exchange: "x", Type: "fanout"}, &wire.ExchangeDeclareOk{})
	r.call(1, &wire.ExchangeBind{Source: "amq.direct", Destination: "x"}, &wire.ExchangeBindOk{})
	r.call(1, &wire.QueueBind{Queue: "q", Exchange: "x"}, &wire.QueueBindOk{})
	r.refused(&wire.ExchangeDelete{Exchange: "x", IfUnused: true}, 406, "PRECONDITION_FAILED - exchange 'x' in vhost '/' in use")
	r.call(1, &wire.QueueUnbind{Queue: "q", Exchange: "x"}, &wire.QueueUnbindOk{})
	r.call(1, &wire.ExchangeDelete{Exchange: "x", IfUnused: true}, &wire.ExchangeDeleteOk{}) // a destination is not in use
}

// Checklist 68, 69, 73: internal, auto-delete and alternate exchanges.
func TestChecklist68ExchangeToExchange(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.call(1, &wire.ExchangeDeclare{Exchange: "in", Type: "fanout", Internal: true}, &wire.ExchangeDeclareOk{})
	r.call(1, &wire.ExchangeDeclare{Exchange: "x", Type: "direct", AutoDelete: true,
		Arguments: wire.AppendString(nil, "alternate-exchange", "in")}, &wire.ExchangeDeclareOk{})
	r.call(1, &wire.QueueBind{Queue: "q", Exchange: "in"}, &wire.QueueBindOk{})
	r.call(1, &wire.ExchangeBind{Source: "x", Destination: "in", RoutingKey: "k"}, &wire.ExchangeBindOk{})
	r.publish(1, message{exchange: "x", key: "k", body: "bound"}, message{exchange: "x", key: "other", body: "alternate"})
	r.quiet()
	r.ready("q", "bound", "alternate")
	r.call(1, &wire.ExchangeUnbind{Source: "x", Destination: "in", RoutingKey: "k"}, &wire.ExchangeUnbindOk{})
	r.refused(&wire.ExchangeDeclare{Exchange: "x", Passive: true}, 404, "NOT_FOUND - no exchange 'x' in vhost '/'")
}
