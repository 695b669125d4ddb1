package amqp

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mayfly/amqp/wire"
	"mayfly/queue"
)

// Checklist 88: consume-ok precedes the first delivery, and none comes with nowait.
func TestChecklist88ConsumeOkFirst(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.to("q", "1", "2")
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
	d, _ := r.delivered(1, 1, "1")
	if d.ConsumerTag != "c" || d.Redelivered || d.Exchange != "" || d.RoutingKey != "q" {
		t.Error(describe(d))
	}
	r.delivered(1, 2, "2")
	r.send(1, &wire.BasicConsume{Queue: "q", NoWait: true})
	r.quiet()
	r.call(1, &wire.BasicCancel{ConsumerTag: "c"}, &wire.BasicCancelOk{ConsumerTag: "c"})
	r.to("q", "3")
	d, _ = r.delivered(1, 3, "3")
	if !strings.HasPrefix(d.ConsumerTag, "amq.ctag-") || len(d.ConsumerTag) != 9+22 {
		t.Errorf("generated tag %q", d.ConsumerTag)
	}
}

// Deliveries that the sink hears of before Attach has returned wait for consume-ok.
func TestDeliveryBeforeAttachReturns(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	ch := r.channel(1)
	c := &consumer{tag: "c", lane: ch.laneOf(r.broker.View().Vhost("/").Queue("q"))}
	ch.mu.Lock()
	ch.consumers.add(c)
	ch.mu.Unlock()
	r.broker.mu.Lock()
	r.broker.queues[c.lane.Queue()].add(&queue.Message{Body: []byte("m"), Props: noProps})
	r.broker.mu.Unlock()
	ch.Deliver(c.lane.Lane, []queue.Delivery{{Pos: 1, Consumer: c.number}})
	ch.Cancelled(c.lane.Lane, c.number)
	r.quiet()
	ch.attached(c, false)
	r.want(1, &wire.BasicConsumeOk{ConsumerTag: "c"})
	r.delivered(1, 1, "m")
	r.want(1, &wire.BasicCancel{ConsumerTag: "c", NoWait: true})
}

// Checklist 89, 90, 54, and the texts of 9.3.
func TestChecklist89ConsumeRefusals(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	const none = "NOT_FOUND - no queue 'none' in vhost '/'"
	r.refused(&wire.BasicConsume{Queue: "none"}, 404, none)
	r.refused(&wire.BasicConsume{}, 404, "NOT_FOUND - no previously declared queue")
	r.refused(&wire.BasicConsume{Queue: "q", Arguments: wire.AppendString(nil, "x-priority", "1")}, 406,
		`PRECONDITION_FAILED - invalid arg 'x-priority' for queue 'q' in vhost '/': "expected integer, got longstr"`)
	r.refused(&wire.BasicConsume{Queue: "q", Arguments: wire.AppendString(nil, "x-stream-offset", "1")}, 406,
		"PRECONDITION_FAILED - invalid arg 'x-stream-offset' for queue 'q' in vhost '/' of queue type rabbit_quorum_queue")
	r.open(2)
	r.consume(2, &wire.BasicConsume{Queue: "q", ConsumerTag: "t"})
	const inUse = "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use"
	r.refused(&wire.BasicConsume{Queue: "q", Exclusive: true}, 403, inUse)
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "t"}) // another channel's tag
	r.call(1, &wire.BasicCancel{ConsumerTag: "t"}, &wire.BasicCancelOk{ConsumerTag: "t"})
	r.call(2, &wire.BasicCancel{ConsumerTag: "t"}, &wire.BasicCancelOk{ConsumerTag: "t"})
	r.consume(2, &wire.BasicConsume{Queue: "q", ConsumerTag: "x", Exclusive: true})
	r.refused(&wire.BasicConsume{Queue: "q"}, 403, inUse)
	r.call(1, &wire.BasicGet{Queue: "q"}, &wire.BasicGetEmpty{}) // C-21
	r.send(2, &wire.BasicConsume{Queue: "q", ConsumerTag: "x"})
	r.want(0, &wire.ConnectionClose{ReplyCode: 530, ReplyText: "NOT_ALLOWED - attempt to reuse consumer tag 'x'", ClassID: 60, MethodID: 20})
}

func TestConsumerLimit(t *testing.T) {
	r := chanRigWith(t, func(o *Options) { o.MaxConsumersPerChannel = 1 })
	r.declare("q", nil)
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "a"})
	r.cut(&wire.BasicConsume{Queue: "q"}, 530, "NOT_ALLOWED - reached maximum (1) of consumers per channel")
}

// C-23 and C-24.
func TestSingleActiveRefusals(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", wire.AppendBool(nil, "x-single-active-consumer", true))
	r.refused(&wire.BasicConsume{Queue: "q", Exclusive: true}, 403, "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use")
	r.refused(&wire.BasicGet{Queue: "q"}, 405, "RESOURCE_LOCKED - cannot obtain access to locked queue 'q' in vhost '/'."+
		" basic.get operations are not supported by quorum queues with single active consumer")
}

// Checklist 93: get counts neither itself nor what is unacked, and needs no prefetch.
func TestChecklist93Get(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.send(1, &wire.BasicQos{PrefetchCount: 1})
	r.want(1, &wire.BasicQosOk{})
	r.to("q", "1", "2", "3")
	for i, left := range []uint32{2, 1, 0} {
		r.send(1, &wire.BasicGet{}) // "" is the last declared
		c := r.want(1, &wire.BasicGetOk{DeliveryTag: uint64(i + 1), RoutingKey: "q", MessageCount: left})
		if c.body != fmt.Sprint(i+1) {
			t.Errorf("got %q", c.body)
		}
	}
	r.call(1, &wire.BasicGet{Queue: "q"}, &wire.BasicGetEmpty{})
	r.refused(&wire.BasicGet{Queue: "none"}, 404, "NOT_FOUND - no queue 'none' in vhost '/'")
}

// Checklist 94, 95: what is an unknown tag.
func TestChecklist94UnknownTags(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	text := func(n int) string { return fmt.Sprintf("PRECONDITION_FAILED - unknown delivery tag %d", n) }
	r.refused(&wire.BasicAck{DeliveryTag: 1}, 406, text(1))
	r.refused(&wire.BasicNack{DeliveryTag: 7}, 406, text(7))
	r.refused(&wire.BasicReject{DeliveryTag: 3}, 406, text(3))
	r.refused(&wire.BasicAck{}, 406, text(0))
	r.refused(&wire.BasicAck{DeliveryTag: 5, Multiple: true}, 406, text(5))
	r.send(1, &wire.BasicAck{Multiple: true}, &wire.BasicNack{Multiple: true, Requeue: true}) // nothing outstanding: no error
	r.quiet()
	r.to("q", "1", "2", "3", "4")
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
	for i := range 4 {
		r.delivered(1, uint64(i+1), fmt.Sprint(i+1))
	}
	r.send(1, &wire.BasicAck{DeliveryTag: 3, Multiple: true})
	r.quiet()
	r.refused(&wire.BasicAck{DeliveryTag: 2}, 406, text(2)) // twice
	if got := r.broker.queue("q").settled; len(got) != 3 {
		t.Errorf("settled %v", got)
	}
	r.consume(1, &wire.BasicConsume{Queue: "q", NoAck: true, ConsumerTag: "n"})
	if d, _ := r.delivered(1, 1, "4"); !d.Redelivered {
		t.Error("not redelivered")
	}
	r.refused(&wire.BasicAck{DeliveryTag: 1}, 406, text(1)) // of a no-ack delivery
	if n := r.broker.queue("q").released; n != 1 {
		t.Errorf("%d bodies released", n)
	}
}

// Checklist 96 to 98.
func TestChecklist96Requeue(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.to("q", "0", "1", "2", "3")
	for i := range 3 {
		r.send(1, &wire.BasicGet{Queue: "q"})
		r.want(1, &wire.BasicGetOk{DeliveryTag: uint64(i + 1), RoutingKey: "q", MessageCount: uint32(3 - i)})
	}
	r.send(1, &wire.BasicNack{DeliveryTag: 2, Requeue: true})
	r.ready("q", "1", "3")
	r.send(1, &wire.BasicGet{Queue: "q", NoAck: true})
	c := r.want(1, &wire.BasicGetOk{DeliveryTag: 4, Redelivered: true, RoutingKey: "q", MessageCount: 1})
	if c.body != "1" || string(c.props) != string(headersOnly(wire.AppendLong(wire.AppendLong(nil, "x-delivery-count", 1), "x-acquired-count", 1))) {
		t.Errorf("%q with %q", c.body, c.props)
	}
	r.send(1, &wire.BasicReject{DeliveryTag: 1})
	r.quiet()
	if got := r.broker.queue("q").rejected; len(got) != 1 || got[0] != 1 {
		t.Errorf("rejected %v", got)
	}
	r.call(1, &wire.BasicRecover{Requeue: true}, &wire.BasicRecoverOk{})
	r.ready("q", "2", "3")
	r.send(1, &wire.BasicGet{Queue: "q"})
	r.want(1, &wire.BasicGetOk{DeliveryTag: 5, Redelivered: true, RoutingKey: "q", MessageCount: 1})
	r.send(1, &wire.BasicRecoverAsync{Requeue: true})
	r.ready("q", "2", "3")
	r.send(1, &wire.BasicGet{Queue: "q"})
	r.want(1, &wire.BasicGetOk{DeliveryTag: 6, Redelivered: true, RoutingKey: "q", MessageCount: 1})
	r.call(1, &wire.ChannelClose{}, &wire.ChannelCloseOk{})
	r.ready("q", "2", "3")
	r.open(1)
	r.cut(&wire.BasicRecover{}, 540, "NOT_IMPLEMENTED - requeue=false")
}

// A delivered message's own header of the server's name is replaced (C-2).
func TestDeliveryCountReplaces(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	own := wire.AppendString(wire.AppendLong(nil, "x-delivery-count", 77), "z", "z")
	r.publish(1, message{key: "q", props: headersOnly(own), body: "m"})
	r.send(1, &wire.BasicGet{Queue: "q"})
	if c := r.want(1, &wire.BasicGetOk{DeliveryTag: 1, RoutingKey: "q"}); string(c.props) != string(headersOnly(own)) {
		t.Errorf("first delivery: %q", c.props)
	}
	r.send(1, &wire.BasicReject{DeliveryTag: 1, Requeue: true}, &wire.BasicGet{Queue: "q"})
	want := headersOnly(wire.AppendLong(wire.AppendString(wire.AppendLong(nil, "x-delivery-count", 1), "z", "z"), "x-acquired-count", 1))
	if c := r.want(1, &wire.BasicGetOk{DeliveryTag: 2, Redelivered: true, RoutingKey: "q"}); string(c.props) != string(want) {
		t.Errorf("second delivery: %q", c.props)
	}
}

// Checklist 99: cancel of an unknown tag; what is unacked survives its consumer.
func TestChecklist99Cancel(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.call(1, &wire.BasicCancel{ConsumerTag: "no"}, &wire.BasicCancelOk{ConsumerTag: "no"})
	r.to("q", "1", "2")
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
	r.delivered(1, 1, "1")
	r.delivered(1, 2, "2")
	r.call(1, &wire.BasicCancel{ConsumerTag: "c"}, &wire.BasicCancelOk{ConsumerTag: "c"})
	r.ready("q")
	r.send(1, &wire.BasicAck{DeliveryTag: 1})
	r.quiet()
	if got := r.broker.queue("q").settled; len(got) != 1 {
		t.Errorf("settled %v", got)
	}
	r.call(1, &wire.ChannelClose{}, &wire.ChannelCloseOk{})
	r.ready("q", "2")
}

// Checklist 61: an auto-delete queue goes with its last consumer.
func TestChecklist61AutoDelete(t *testing.T) {
	r := newChanRig(t)
	r.call(1, &wire.QueueDeclare{Queue: "q", AutoDelete: true}, &wire.QueueDeclareOk{Queue: "q"})
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "a"})
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "b"})
	r.call(1, &wire.BasicCancel{ConsumerTag: "a"}, &wire.BasicCancelOk{ConsumerTag: "a"})
	r.call(1, &wire.QueueDeclare{Queue: "q", Passive: true}, &wire.QueueDeclareOk{Queue: "q", ConsumerCount: 1})
	r.call(1, &wire.ChannelClose{}, &wire.ChannelCloseOk{})
	r.open(1)
	r.refused(&wire.QueueDeclare{Queue: "q", Passive: true}, 404, "NOT_FOUND - no queue 'q' in vhost '/'")
}

// Checklist 100 and 101.
func TestChecklist100ServerCancel(t *testing.T) {
	r := newChanRig(t)
	for _, capable := range []bool{true, false} {
		r.c.caps.consumerCancelNotify = capable
		r.declare("q", nil)
		r.to("q", "1")
		r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
		_, m, _ := r.next()
		tag := m.(*wire.BasicDeliver).DeliveryTag
		r.open(2)
		r.send(2, &wire.QueueDelete{Queue: "q"})
		told, answered := false, false
		for !answered || capable && !told {
			switch _, m, _ := r.next(); m := m.(type) {
			case *wire.QueueDeleteOk:
				answered = true
			case *wire.BasicCancel:
				told = m.ConsumerTag == "c" && m.NoWait
			}
		}
		if told != capable {
			t.Errorf("told: %v", told)
		}
		r.quiet()
		r.send(1, &wire.BasicAck{DeliveryTag: tag})
		r.call(1, &wire.BasicCancel{ConsumerTag: "c"}, &wire.BasicCancelOk{ConsumerTag: "c"})
		r.call(2, &wire.ChannelClose{}, &wire.ChannelCloseOk{})
	}
}

// Checklist 102: the priority reaches the queue.
func TestChecklist102Priority(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "low"})
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "high", Arguments: wire.AppendInt(nil, "x-priority", 5)})
	r.to("q", "1", "2")
	for i := range 2 {
		if d, _ := r.delivered(1, uint64(i+1), fmt.Sprint(i+1)); d.ConsumerTag != "high" {
			t.Errorf("delivered to %s", d.ConsumerTag)
		}
	}
}

// A new leader tells outstanding assignments again (style.md 4, "Failover"): what
// the channel has is not delivered twice, what it has not heard of is.
func TestToldAgain(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.to("q", "1", "2", "3")
	r.qos(2, true)
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
	r.got(2)
	r.broker.mu.Lock()
	q := r.broker.queues[r.broker.View().Vhost("/").Queue("q").ID]
	c := q.consumers[0]
	again := []queue.Delivery{q.msgs[0].delivery(c.spec.Number, false), q.msgs[1].delivery(c.spec.Number, false), q.msgs[2].delivery(c.spec.Number, false)}
	q.msgs[2].holder = c.lane
	c.open++
	r.broker.mu.Unlock()
	ch := r.channel(1)
	ch.Deliver(c.lane, again)
	ch.Deliver(c.lane, again)
	r.quiet()
	r.send(1, &wire.BasicAck{Multiple: true})
	r.delivered(1, 3, "3")
	r.quiet()
}

// What the queue still gives a consumer that is no more goes back uncounted, and
// settled bodies are released.
func TestOrphans(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	ch := r.channel(1)
	ls := ch.laneOf(r.broker.View().Vhost("/").Queue("q"))
	r.to("q", "1")
	r.broker.settle()
	r.broker.mu.Lock()
	q := r.broker.queues[ls.Queue()]
	q.msgs[0].holder = ls.Lane.(*fakeLane)
	r.broker.mu.Unlock()
	ch.Deliver(ls.Lane, []queue.Delivery{{Pos: 1, Consumer: 9}, {Pos: 1, Consumer: 9, Settled: true}})
	r.quiet()
	r.ready("q", "1")
	if q.whys[0] != queue.WhyTimeout || q.released != 1 {
		t.Errorf("returned for %v, %d released", q.whys, q.released)
	}
}

// A channel that fails or ends lets go of what it did not deliver.
func TestTeardownReleases(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c", NoAck: true})
	r.pipe.hold(true)
	const n = 5 * deliveryWindow
	for i := range n {
		r.to("q", fmt.Sprint(i))
	}
	r.broker.settle()
	if left := len(r.broker.bodies("q")); left < n-3*deliveryWindow {
		t.Errorf("only %d messages left in the queue: the window does not bound", left)
	}
	q := r.broker.queue("q")
	r.send(1, &wire.ChannelClose{})
	r.pipe.hold(false)
	for {
		_, m, _ := r.next()
		if _, ok := m.(*wire.ChannelCloseOk); ok {
			break
		}
	}
	r.broker.settle()
	r.broker.mu.Lock()
	defer r.broker.mu.Unlock()
	// What the writer had taken before the close was delivered, and released too.
	if got := q.released + int(q.ready()); got != n {
		t.Errorf("%d of %d messages released or ready", got, n)
	}
}

// A message that cannot be read ends the channel, not the connection.
func TestUnreadableMessage(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.to("q", "1")
	delete(r.broker.queue("q").bodies, 1)
	r.send(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c", NoWait: true})
	_, m, _ := r.next()
	if c, ok := m.(*wire.ChannelClose); !ok || c.ReplyCode != 541 {
		t.Fatal(describe(m))
	}
}

// Section 18: without an answer from the queue the channel fails with 541, in
// words that name queue and cause; other channels live on.
func TestNoQuorum(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.open(2)
	r.broker.fail = errors.New("no leader")
	r.refused(&wire.BasicGet{Queue: "q"}, 541, "INTERNAL_ERROR - queue 'q' in vhost '/': no quorum or no answer (no leader)")
	r.refused(&wire.QueueDeclare{Queue: "new"}, 541, "INTERNAL_ERROR - catalogue: no quorum or no answer (no leader)")
	r.refused(&wire.BasicGet{Queue: "new"}, 541, "INTERNAL_ERROR - catalogue: no quorum or no answer (no leader)")
	r.call(2, &wire.AccessRequest{}, &wire.AccessRequestOk{Ticket: 1})
}
