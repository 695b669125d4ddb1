package amqp

import (
	"fmt"
	"reflect"
	"testing"

	"mayfly/amqp/wire"
)

func (r *chanRig) qos(n uint16, global bool) {
	r.t.Helper()
	r.send(1, &wire.BasicQos{PrefetchCount: n, Global: global})
	r.amid(&wire.BasicQosOk{}) // a higher limit acts at once
}

// amid reads up to an answer; deliveries before it are kept for got.
func (r *chanRig) amid(answer wire.Method) {
	r.t.Helper()
	for {
		_, m, c := r.next()
		if reflect.DeepEqual(m, answer) {
			return
		}
		if _, ok := m.(*wire.BasicDeliver); !ok {
			r.t.Fatalf("got %s, want %s", describe(m), describe(answer))
		}
		r.early = append(r.early, delivery{m, c})
	}
}

// delivery is a method that was read while another was waited for.
type delivery struct {
	m wire.Method
	c received
}

func (r *chanRig) nextDelivery() (wire.Method, received) {
	if len(r.early) > 0 {
		d := r.early[0]
		r.early = r.early[1:]
		return d.m, d.c
	}
	_, m, c := r.next()
	return m, c
}

// got reads n deliveries and gives their bodies.
func (r *chanRig) got(n int) (tags []uint64, bodies []string) {
	r.t.Helper()
	for range n {
		m, c := r.nextDelivery()
		d, ok := m.(*wire.BasicDeliver)
		if !ok {
			r.t.Fatalf("%s after %d of %d deliveries", describe(m), len(tags), n)
		}
		tags, bodies = append(tags, d.DeliveryTag), append(bodies, c.body)
	}
	return tags, bodies
}

func (r *chanRig) fill(queue string, n int) {
	for i := range n {
		r.to(queue, fmt.Sprint(i))
	}
}

// Checklist 91: the limit per consumer holds for consumers made later.
func TestChecklist91PerConsumer(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.qos(1, false)
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "one"})
	r.qos(3, false)
	r.fill("q", 10)
	r.got(1)
	r.quiet() // raising it changed nothing
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "three"})
	tags, _ := r.got(3)
	r.quiet()
	r.send(1, &wire.BasicAck{DeliveryTag: tags[2], Multiple: true})
	r.got(4)
	r.quiet()
	r.qos(0, false)
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "all"})
	r.got(2)
	r.quiet()
}

// Checklist 91: the channel's limit is shared, acts at once, and 0 lifts it.
func TestChecklist91Global(t *testing.T) {
	r := newChanRig(t)
	r.declare("a", nil)
	r.declare("b", nil)
	r.fill("a", 10)
	r.fill("b", 10)
	r.qos(3, true)
	r.consume(1, &wire.BasicConsume{Queue: "a", ConsumerTag: "a"})
	tags, _ := r.got(3)
	r.send(1, &wire.BasicConsume{Queue: "b", ConsumerTag: "b"})
	r.want(1, &wire.BasicConsumeOk{ConsumerTag: "b"})
	r.quiet()
	r.send(1, &wire.BasicAck{DeliveryTag: tags[0]})
	r.got(1)
	r.quiet()
	r.send(1, &wire.BasicAck{Multiple: true}) // all
	r.got(3)
	r.quiet()
	r.qos(5, true)
	r.got(2)
	r.quiet()
	r.qos(2, true) // five are out: none may follow before three of them are settled
	r.send(1, &wire.BasicAck{DeliveryTag: tags[0] + 4})
	r.quiet()
	r.qos(0, true)
	r.got(20 - 9)
	r.quiet()
}

// A single consumer under the channel's limit takes no more from its queue than
// that: other consumers of the queue must not starve.
func TestGlobalTakesNoMore(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.fill("q", 10)
	r.qos(1, true)
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
	for i := range 9 {
		tags, bodies := r.got(1)
		if bodies[0] != fmt.Sprint(i) {
			t.Fatalf("got %q", bodies)
		}
		r.quiet()
		if ready := len(r.broker.bodies("q")); ready != 9-i {
			t.Fatalf("%d ready after %d deliveries", ready, i+1)
		}
		r.send(1, &wire.BasicAck{DeliveryTag: tags[0]})
	}
}

// Both limits apply; gets and no-ack consumers obey neither.
func TestChecklist91Both(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.declare("n", nil)
	r.fill("q", 10)
	r.qos(2, true)
	r.qos(1, false)
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "a"})
	r.got(1)
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "b"})
	r.got(1)
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
	r.quiet()
	r.send(1, &wire.BasicConsume{Queue: "n", ConsumerTag: "n", NoAck: true})
	r.want(1, &wire.BasicConsumeOk{ConsumerTag: "n"})
	r.fill("n", 5)
	r.got(5)
	r.send(1, &wire.BasicGet{Queue: "n"})
	r.want(1, &wire.BasicGetEmpty{})
	r.quiet()
}

// Cancelling a consumer gives back what waited for a slot.
func TestCancelGivesHeldBack(t *testing.T) {
	r := newChanRig(t)
	r.declare("a", nil)
	r.declare("b", nil)
	r.qos(1, true)
	r.consume(1, &wire.BasicConsume{Queue: "a", ConsumerTag: "a"})
	r.consume(1, &wire.BasicConsume{Queue: "b", ConsumerTag: "b"})
	r.to("a", "1")
	r.got(1)
	r.to("b", "2")
	r.quiet()
	r.ready("b")
	r.call(1, &wire.BasicCancel{ConsumerTag: "b"}, &wire.BasicCancelOk{ConsumerTag: "b"})
	r.quiet()
	r.ready("b", "2")
}

// Checklist 92 and C-26.
func TestChecklist92QosRefusals(t *testing.T) {
	r := newChanRig(t)
	r.cut(&wire.BasicQos{PrefetchSize: 5}, 540, "NOT_IMPLEMENTED - prefetch_size!=0 (5)")
	r = newChanRig(t)
	r.call(1, &wire.QueueDeclare{Queue: "q", Durable: true, Arguments: wire.AppendString(nil, "x-queue-type", "quorum")}, &wire.QueueDeclareOk{Queue: "q"})
	r.qos(1, true)
	r.cut(&wire.BasicConsume{Queue: "q"}, 540, "NOT_IMPLEMENTED - queue 'q' in vhost '/' does not support global qos")
}

// Checklist 103: the oldest unacked delivery decides, not those acked in time.
func TestChecklist103AckTimeout(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
	step := r.c.opts.ConsumerTimeout / 4
	for i := range 8 {
		r.to("q", fmt.Sprint(i))
		tags, _ := r.got(1)
		r.clock.Advance(step)
		if i < 6 {
			r.send(1, &wire.BasicAck{DeliveryTag: tags[0]})
			r.quiet()
		}
	}
	r.clock.Advance(2*step - 1)
	r.quiet()
	r.clock.Advance(1)
	r.want(1, &wire.ChannelClose{ReplyCode: 406, ReplyText: "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. " +
		"Timeout value used: 1800000 ms. This timeout value can be configured, see consumers doc guide to learn more"})
	ch := r.channel(1)
	<-ch.ended
	r.ready("q", "6", "7")
}

// A consumer without limits that keeps up costs few credits (X5).
func TestWindowIsReplenished(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c", NoAck: true})
	const n = 5 * deliveryWindow
	for i := range n {
		r.publish(1, message{key: "q", body: "x"})
		r.delivered(1, uint64(i+1), "x")
	}
	r.quiet()
	if c := r.broker.queue("q").credits; c > 2*n/deliveryWindow+1 {
		t.Errorf("%d credits for %d deliveries", c, n)
	}
}
