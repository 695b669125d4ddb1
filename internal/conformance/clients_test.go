package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// profile is how a client library introduces itself with its default settings
// (amqp.md 17), and what it relies on.
type profile struct {
	name       string
	channelMax uint16
	frameMax   uint32
	heartbeat  uint16
	caps       []string
	pipelined  bool // tune-ok and open in one segment
	heeds      []string
	global     bool // basic.qos with global
}

var sixCapabilities = []string{
	"authentication_failure_close", "basic.nack", "connection.blocked", "consumer_cancel_notify", "exchange_exchange_bindings", "publisher_confirms",
}

// profiles hold negotiated values: a proposal of 0 follows the server.
var profiles = []profile{
	{name: "Java", channelMax: 2047, frameMax: 131072, heartbeat: 60, caps: sixCapabilities},
	{name: "pika", channelMax: 2047, frameMax: 131072, heartbeat: 60, caps: sixCapabilities, heeds: []string{"publisher_confirms", "basic.nack"}},
	{name: "aio-pika", channelMax: 2047, frameMax: 131072, heartbeat: 60, caps: sixCapabilities, heeds: []string{"publisher_confirms", "basic.nack"}},
	{name: "py-amqp", channelMax: 2047, frameMax: 131072, caps: []string{"authentication_failure_close", "connection.blocked", "consumer_cancel_notify"}, pipelined: true},
	{name: "Celery on RabbitMQ", channelMax: 2047, frameMax: 131072, caps: []string{"consumer_cancel_notify"}, pipelined: true, global: true},
	{name: "amqplib", channelMax: 2047, frameMax: 131072, heartbeat: 60, caps: sixCapabilities},
	{name: "amqplib of old", channelMax: 2047, frameMax: 4096, heartbeat: 60, caps: sixCapabilities},
	{name: "Bunny", channelMax: 2047, frameMax: 131072, heartbeat: 60, caps: sixCapabilities, heeds: []string{"publisher_confirms"}},
	{name: "php-amqplib", channelMax: 2047, frameMax: 131072, caps: sixCapabilities},
	{name: ".NET", channelMax: 2047, frameMax: 131072, heartbeat: 60, caps: sixCapabilities},
	{name: "lapin", channelMax: 2047, frameMax: 131072, heartbeat: 60, caps: sixCapabilities},
}

// connect goes through the handshake as the library does.
func (p profile) connect(t *testing.T, addr string) *channel {
	t.Helper()
	var caps table
	for _, name := range p.caps {
		caps = append(caps, field{name, true})
	}
	l := newLogin([]option{at(addr), channelMax(p.channelMax), frameMax(p.frameMax), heartbeat(p.heartbeat)})
	l.caps = caps
	c, a := greet(t, addr)
	a.u16()
	offered, _ := a.table().get("capabilities").(table)
	for _, name := range p.heeds {
		if offered.get(name) != true {
			t.Fatalf("%s gives up: capability %s is %v", p.name, name, offered.get(name))
		}
	}
	c.frameMax = int(p.frameMax)
	c.send(0, l.startOk())
	c.expect(connectionTune)
	if p.pipelined {
		c.write(append(frameBytes(typeMethod, 0, l.tuneOk()), frameBytes(typeMethod, 0, l.openVhost())...))
	} else {
		c.send(0, l.tuneOk())
		c.send(0, l.openVhost())
	}
	c.expect(connectionOpenOk)
	return c.channel(1)
}

// roundTrip is the usual work: declare, publish with confirms, consume, ack, close.
func (p profile) roundTrip(t *testing.T, ch *channel) {
	t.Helper()
	x, q := ch.exchange("topic", durable), ch.shared()
	ch.bind(q, x, "work.#")
	ch.confirms()
	for i := range 20 {
		ch.publishWith(x, "work.item", mandatory, props{pDeliveryMode: uint8(2), pMessageID: fmt.Sprint(i)}, noise(i*1000))
	}
	if nacked := ch.confirmed(1, 20); nacked != nil {
		t.Errorf("nacked %v", nacked)
	}
	ch.qos(10, p.global)
	ch.consume(q, p.name, 0)
	for i := range 20 {
		m := ch.deliver()
		if m.body != noise(i*1000) || m.props(t)[pMessageID] != fmt.Sprint(i) {
			t.Fatalf("message %d came changed", i)
		}
		ch.ack(m.delivery, i%2 == 1)
	}
	ch.cancel(p.name)
	ch.counted(q, counts{})
	ch.close()
	ch.c.close()
}

func TestLine123Clients(t *testing.T) {
	t.Parallel()
	for _, p := range profiles {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.roundTrip(t, p.connect(t, broker.addr))
		})
	}
	t.Run("amqp091-go", func(t *testing.T) {
		t.Parallel()
		stockClient(t)
	})
}

// stockClient does the same with the public Go client as it comes.
func stockClient(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := stockDial()
	must(err)
	defer c.Close()
	ch, err := c.Channel()
	must(err)
	must(ch.Confirm(false))
	must(ch.Qos(10, 0, false))
	q, err := ch.QueueDeclare("", false, false, true, false, nil)
	must(err)
	x := unique("x")
	janitor.exchange(t, x)
	must(ch.ExchangeDeclare(x, "direct", false, true, false, false, nil))
	must(ch.QueueBind(q.Name, "k", x, false, nil))
	in, err := ch.Consume(q.Name, "", false, false, false, false, nil)
	must(err)
	for i := range 50 {
		d, err := ch.PublishWithDeferredConfirmWithContext(t.Context(), x, "k", true, false, amqp.Publishing{MessageId: fmt.Sprint(i), Body: []byte(noise(i * 500))})
		must(err)
		if !d.Wait() {
			t.Fatalf("publish %d was nacked", i)
		}
		select {
		case m := <-in:
			if m.MessageId != fmt.Sprint(i) || string(m.Body) != noise(i*500) {
				t.Fatalf("message %d came changed", i)
			}
			must(m.Ack(false))
		case <-time.After(patience):
			t.Fatal("no delivery")
		}
	}
	_, err = ch.QueueDeclarePassive(unique("missing"), false, false, false, false, nil)
	if e, ok := err.(*amqp.Error); !ok || e.Code != amqp.NotFound {
		t.Errorf("passive declare of a missing queue: %v", err)
	}
	must(c.Close())
}

func TestLine125CeleryProducts(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, addr, product, version string, global bool) {
		_, a := greet(t, addr)
		a.u16()
		p := a.table()
		if p.get("product") != product || version != "" && p.get("version") != version {
			t.Fatalf("the broker calls itself %v %v", p.get("product"), p.get("version"))
		}
		celery := profile{name: "celery", channelMax: 2047, frameMax: 131072, caps: []string{"consumer_cancel_notify"}, pipelined: true, global: global}
		ch := celery.connect(t, addr)
		// Its reply queue, its event exchange, its fanout control exchange.
		reply, _ := ch.declare(unique("reply"), autoDelete, table{{"x-expires", 10000}, {"x-message-ttl", 5000}})
		control := unique("x")
		janitor.exchange(t, control)
		ch.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(control, "fanout", 0, nil)...).end()
		ch.bind(reply, control, "")
		celery.roundTrip(t, ch)
	}
	if broker.rabbit {
		check(t, broker.addr, "RabbitMQ", "", true)
		return
	}
	t.Run("Mayfly", func(t *testing.T) { check(t, broker.addr, "Mayfly", "", false) })
	t.Run("RabbitMQ", func(t *testing.T) {
		s := serve(t, "--set", "amqp.compat.product=RabbitMQ", "--set", "amqp.compat.version=4.0.5")
		check(t, s.addr, "RabbitMQ", "4.0.5", true)
	})
}

func TestLine126ConfirmDelivery(t *testing.T) {
	t.Parallel()
	for _, p := range profiles {
		if p.heeds == nil {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			ch := p.connect(t, broker.addr)
			ch.confirms()
			// A blocking publish decides at the ack: the return must have come before.
			id := unique("id")
			ch.publishWith("", unique("missing"), mandatory, props{pMessageID: id}, "m")
			if m := ch.returned(); m.props(t)[pMessageID] != id {
				t.Errorf("returned with message id %v", m.props(t)[pMessageID])
			}
			if a := ch.confirm(); a.seq != 1 || a.nack {
				t.Errorf("then %+v", a)
			}
		})
	}
}

func TestLine127SmallestFrames(t *testing.T) {
	t.Parallel()
	for _, p := range profiles {
		if p.frameMax == 4096 {
			p.roundTrip(t, p.connect(t, broker.addr))
		}
	}
}

func TestLine128TopologyRecovery(t *testing.T) {
	t.Parallel()
	java := profiles[0]
	// The first connection records a topology with a name the server made.
	ch := java.connect(t, broker.addr)
	x := ch.exchange("topic", durable)
	q, _ := ch.declare("", exclusive|autoDelete, nil)
	ch.bind(q, x, "k")
	tag := ch.consume(q, "", 0)
	ch.publish(x, "k", nil, "before")
	ch.delivers("before")
	ch.c.drop()

	// Recovery: exchanges, then queues (made names anew), bindings, consumers
	// under their old tags; everything must be accepted as if for the first time.
	ch = java.connect(t, broker.addr)
	ch.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(x, "topic", durable, nil)...).end()
	again, _ := ch.declare("", exclusive|autoDelete, nil)
	if again == q || !strings.HasPrefix(again, "amq.gen-") {
		t.Errorf("recovered under the name %q, was %q", again, q)
	}
	ch.bind(again, x, "k")
	if got := ch.consume(again, tag, 0); got != tag {
		t.Errorf("recovered consumer is %q, was %q", got, tag)
	}
	ch.publish(x, "k", nil, "after")
	ch.delivers("after")
}
