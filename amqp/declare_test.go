package amqp

import (
	"strings"
	"testing"
	"time"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
)

const lockedText = "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q' in vhost '/'. It could be originally declared on another connection or the exclusive property value does not match that of the original declaration."

// Checklist 49 and 50: equivalence, with counts.
func TestChecklist49Redeclare(t *testing.T) {
	r := newChanRig(t)
	ttl := wire.AppendInt(nil, "x-message-ttl", 1000)
	r.call(1, &wire.QueueDeclare{Queue: "q", Arguments: ttl}, &wire.QueueDeclareOk{Queue: "q"})
	r.to("q", "1", "2")
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c", Arguments: nil})
	r.got(2)
	r.to("q", "3")
	r.got(1)
	r.call(1, &wire.BasicCancel{ConsumerTag: "c"}, &wire.BasicCancelOk{ConsumerTag: "c"})
	r.to("q", "4")
	r.call(1, &wire.QueueDeclare{Queue: "q", Arguments: wire.AppendLong(nil, "x-message-ttl", 1000)}, &wire.QueueDeclareOk{Queue: "q", MessageCount: 1})
	const q = "queue 'q' in vhost '/'"
	for _, c := range []struct {
		m    *wire.QueueDeclare
		text string
	}{
		{&wire.QueueDeclare{Queue: "q", Durable: true, Arguments: ttl}, "inequivalent arg 'durable' for " + q + ": received 'true' but current is 'false'"},
		{&wire.QueueDeclare{Queue: "q", AutoDelete: true, Arguments: ttl}, "inequivalent arg 'auto_delete' for " + q + ": received 'true' but current is 'false'"},
		{&wire.QueueDeclare{Queue: "q"}, "inequivalent arg 'x-message-ttl' for " + q + ": received none but current is the value '1000' of type 'signedint'"},
		{&wire.QueueDeclare{Queue: "q", Arguments: wire.AppendInt(ttl, "x-max-length", 1)}, "inequivalent arg 'x-max-length' for " + q + ": received the value '1' of type 'signedint' but current is none"},
	} {
		r.refused(c.m, 406, "PRECONDITION_FAILED - "+c.text)
	}
}

// Checklist 51, 59 and A-22: nine operations on another connection's queue.
func TestChecklist51Exclusive(t *testing.T) {
	r := newChanRig(t)
	r.call(1, &wire.QueueDeclare{Queue: "q", Exclusive: true, Durable: true}, &wire.QueueDeclareOk{Queue: "q"})
	if q := r.broker.queue("q"); q.cat.Durable || !q.cat.Exclusive {
		t.Error("a durable exclusive queue")
	}
	r.refused(&wire.QueueDeclare{Queue: "q"}, 405, lockedText)
	r.open(2)
	r.call(2, &wire.QueueDeclare{Queue: "q", Exclusive: true}, &wire.QueueDeclareOk{Queue: "q"})
	p := r.peer()
	for _, m := range []wire.Method{
		&wire.QueueDeclare{Queue: "q"}, &wire.QueueDeclare{Queue: "q", Passive: true}, &wire.BasicConsume{Queue: "q"},
		&wire.BasicGet{Queue: "q"}, &wire.QueuePurge{Queue: "q"}, &wire.QueueDelete{Queue: "q"}, &wire.QueueBind{Queue: "q", Exchange: "amq.direct"},
	} {
		p.refused(m, 405, lockedText)
	}
	p.call(1, &wire.QueueUnbind{Queue: "q", Exchange: "amq.direct"}, &wire.QueueUnbindOk{})
	p.to("q", "through")
	p.quiet()
	r.ready("q", "through")
	r.call(1, &wire.QueueDelete{Queue: "q"}, &wire.QueueDeleteOk{MessageCount: 1})
	if len(r.c.exclusives) != 0 {
		t.Error("a deleted queue is still noted")
	}
}

// Checklist 121: the same user may find its old queue for a moment.
func TestChecklist121ExclusiveRedeclare(t *testing.T) {
	r := newChanRig(t)
	r.call(1, &wire.QueueDeclare{Queue: "q", Exclusive: true}, &wire.QueueDeclareOk{Queue: "q"})
	p := r.peer()
	before := r.clock.Timers()
	p.send(1, &wire.QueueDeclare{Queue: "q", Exclusive: true})
	r.clock.WaitTimers(before + 1)
	r.clock.Advance(exclusivePause)
	r.clock.WaitTimers(before + 1)
	r.broker.must(t, catalog.DeleteQueue{ID: r.broker.queue("q").id})
	r.clock.Advance(exclusivePause)
	p.want(1, &wire.QueueDeclareOk{Queue: "q"})
	if q := r.broker.queue("q"); q.cat.Owner != p.c.id || len(p.c.exclusives) != 1 {
		t.Error("not the new owner")
	}
	r.send(1, &wire.QueueDeclare{Queue: "q", Exclusive: true})
	for range exclusiveGrace / exclusivePause {
		r.clock.WaitTimers(before + 1)
		r.clock.Advance(exclusivePause)
	}
	r.closed(405, lockedText, wire.QueueDeclareID)
}

// Checklist 52, 53, A-20.
func TestChecklist52Names(t *testing.T) {
	r := newChanRig(t)
	r.refused(&wire.QueueDeclare{Queue: "no", Passive: true}, 404, "NOT_FOUND - no queue 'no' in vhost '/'")
	r.refused(&wire.QueueDeclare{Passive: true}, 404, "NOT_FOUND - no queue '' in vhost '/'")
	r.refused(&wire.QueueDeclare{Queue: "amq.x", Passive: true}, 404, "NOT_FOUND - no queue 'amq.x' in vhost '/'")
	r.refused(&wire.QueueDeclare{Queue: "amq.x"}, 403, "ACCESS_REFUSED - queue name 'amq.x' contains reserved prefix 'amq.*'")
	r.call(1, &wire.QueueDeclare{Queue: "AMQ.x"}, &wire.QueueDeclareOk{Queue: "AMQ.x"})
	r.call(1, &wire.QueueDeclare{Queue: "a\r\nb"}, &wire.QueueDeclareOk{Queue: "ab"})
	r.call(1, &wire.QueueDeclare{Queue: "ab", Passive: true, Durable: true, Exclusive: true, Arguments: wire.AppendString(nil, "x-message-ttl", "bad")}, &wire.QueueDeclareOk{Queue: "ab"})
	r.send(1, &wire.QueueDeclare{})
	_, m, _ := r.next()
	name := m.(*wire.QueueDeclareOk).Queue
	if !strings.HasPrefix(name, "amq.gen-") || len(name) != 8+22 {
		t.Errorf("server name %q", name)
	}
	r.call(1, &wire.QueueDeclare{Queue: name, Passive: true}, &wire.QueueDeclareOk{Queue: name})
	r.refused(&wire.QueueDeclare{Queue: name}, 403, "ACCESS_REFUSED - queue name '"+name+"' contains reserved prefix 'amq.*'")
}

// Checklist 54: "" is the last one declared, here by a passive declare.
func TestChecklist54LastDeclared(t *testing.T) {
	r := newChanRig(t)
	const none = "NOT_FOUND - no previously declared queue"
	for _, m := range []wire.Method{&wire.QueueBind{Exchange: "amq.direct"}, &wire.QueueUnbind{Exchange: "amq.direct"}, &wire.BasicGet{}, &wire.QueuePurge{}, &wire.QueueDelete{}, &wire.BasicConsume{}} {
		r.refused(m, 404, none)
	}
	r.declare("other", nil)
	r.declare("q", nil)
	r.declare("other", nil)
	r.call(1, &wire.QueueDeclare{Queue: "q", Passive: true}, &wire.QueueDeclareOk{Queue: "q"})
	r.call(1, &wire.QueueBind{Exchange: "amq.direct"}, &wire.QueueBindOk{})
	r.publish(1, message{exchange: "amq.direct", key: "q", body: "m"}) // the key, too, was the name
	r.quiet()
	r.ready("q", "m")
	r.call(1, &wire.QueuePurge{}, &wire.QueuePurgeOk{MessageCount: 1})
	r.call(1, &wire.QueueDelete{}, &wire.QueueDeleteOk{})
	r.refused(&wire.QueuePurge{Queue: "q"}, 404, "NOT_FOUND - no queue 'q' in vhost '/'")
}

// Checklist 55, 56: a sample of the argument checks; the rest is the catalogue's.
func TestChecklist55Arguments(t *testing.T) {
	r := newChanRig(t)
	const q = "queue 'q' in vhost '/'"
	for _, c := range []struct {
		args wire.Table
		text string
	}{
		{wire.AppendString(nil, "x-message-ttl", "1"), `invalid arg 'x-message-ttl' for ` + q + `: "expected integer, got longstr"`},
		{wire.AppendInt(nil, "x-dead-letter-exchange", 1), "invalid type 'signedint' for arg 'x-dead-letter-exchange' in " + q},
		{wire.AppendString(nil, "x-dead-letter-routing-key", "k"), "invalid arg 'x-dead-letter-routing-key' for " + q + ": routing_key_but_no_dlx_defined"},
		{wire.AppendInt(nil, "x-max-priority", 256), "invalid arg 'x-max-priority' for " + q + ": {max_value_exceeded,256}"},
	} {
		r.refused(&wire.QueueDeclare{Queue: "q", Arguments: c.args}, 406, "PRECONDITION_FAILED - "+c.text)
	}
	r.declare("q", wire.AppendString(nil, "foo", "bar"))
	r.declare("q", nil)
}

// Arguments of a queue that this node has not heard of yet are compared, not
// validated.
func TestDeclareCatchesUpBeforeRefusing(t *testing.T) {
	r := newChanRig(t)
	r.broker.onCatch = func() {
		r.broker.onCatch = nil
		r.broker.must(t, catalog.DeclareQueue{Vhost: "/", Name: "q", Args: wire.AppendInt(nil, "x-message-ttl", 5)})
	}
	r.refused(&wire.QueueDeclare{Queue: "q", Arguments: wire.AppendString(nil, "x-message-ttl", "x")}, 406,
		"PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': received 'x' but current is '5'")
}

// Checklist 57, 58, A-21, A-24.
func TestChecklist57PurgeAndDelete(t *testing.T) {
	r := newChanRig(t)
	r.call(1, &wire.QueueDelete{Queue: "none"}, &wire.QueueDeleteOk{})
	r.declare("q", nil)
	r.to("q", "1", "2", "3")
	r.send(1, &wire.BasicGet{Queue: "q"})
	r.want(1, &wire.BasicGetOk{DeliveryTag: 1, RoutingKey: "q", MessageCount: 2})
	r.call(1, &wire.QueuePurge{Queue: "q"}, &wire.QueuePurgeOk{MessageCount: 2})
	r.to("q", "4")
	const q = "PRECONDITION_FAILED - queue 'q' in vhost '/'"
	r.open(2)
	r.send(2, &wire.QueueDelete{Queue: "q", IfEmpty: true})
	r.want(2, &wire.ChannelClose{ReplyCode: 406, ReplyText: q + " not empty", ClassID: 50, MethodID: 40})
	r.call(1, &wire.QueuePurge{Queue: "q"}, &wire.QueuePurgeOk{MessageCount: 1})
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
	r.open(3)
	r.send(3, &wire.QueueDelete{Queue: "q", IfUnused: true})
	r.want(3, &wire.ChannelClose{ReplyCode: 406, ReplyText: q + " in use", ClassID: 50, MethodID: 40})
	r.call(1, &wire.BasicCancel{ConsumerTag: "c"}, &wire.BasicCancelOk{ConsumerTag: "c"})
	r.call(1, &wire.QueueDelete{Queue: "q", IfUnused: true, IfEmpty: true}, &wire.QueueDeleteOk{}) // unacked do not count
}

// Checklist 63: nothing on success, channel.close on failure.
func TestChecklist63NoWait(t *testing.T) {
	r := newChanRig(t)
	r.send(1, &wire.QueueDeclare{Queue: "q", NoWait: true}, &wire.QueueDeclare{Queue: "q", NoWait: true},
		&wire.ExchangeDeclare{Exchange: "x", Type: "fanout", NoWait: true}, &wire.QueueBind{Queue: "q", Exchange: "x", NoWait: true},
		&wire.ExchangeBind{Source: "x", Destination: "amq.topic", NoWait: true}, &wire.ExchangeUnbind{Source: "x", Destination: "amq.topic", NoWait: true},
		&wire.BasicConsume{Queue: "q", ConsumerTag: "c", NoWait: true}, &wire.BasicCancel{ConsumerTag: "c", NoWait: true},
		&wire.ConfirmSelect{NoWait: true}, &wire.QueuePurge{Queue: "q", NoWait: true}, &wire.QueueDelete{Queue: "q", NoWait: true},
		&wire.ExchangeDelete{Exchange: "x", NoWait: true})
	r.quiet()
	r.refused(&wire.QueuePurge{Queue: "q", NoWait: true}, 404, "NOT_FOUND - no queue 'q' in vhost '/'")
	r.refused(&wire.QueueBind{Queue: "q", Exchange: "x", NoWait: true}, 404, "NOT_FOUND - no exchange 'x' in vhost '/'")
}

// Methods that wait do not hold up other channels, and those behind them keep
// their order.
func TestWorkerKeepsOrder(t *testing.T) {
	r := newChanRig(t)
	r.open(2)
	r.broker.mu.Lock() // the catalogue does not answer
	r.send(1, &wire.QueueDeclare{Queue: "q"})
	r.publish(1, message{key: "q", body: "1"})
	r.send(1, &wire.QueueDeclare{Queue: "p"})
	r.publish(1, message{key: "p", body: "2"}, message{key: "q", body: "3"})
	r.call(2, &wire.AccessRequest{}, &wire.AccessRequestOk{Ticket: 1})
	r.broker.mu.Unlock()
	r.want(1, &wire.QueueDeclareOk{Queue: "q"})
	r.want(1, &wire.QueueDeclareOk{Queue: "p"})
	r.quiet()
	r.ready("q", "1", "3")
	r.ready("p", "2")
}

// A queue that never answers: the method ends after CallTimeout.
func TestCallTimeout(t *testing.T) {
	ch := newChanRig(t).channel(1)
	fake := ch.c.opts.Clock.(interface{ Advance(time.Duration) })
	ctx, done := ch.waiting()
	defer done()
	fake.Advance(ch.c.opts.CallTimeout)
	if ctx.Err() == nil {
		t.Error("still waiting")
	}
}
