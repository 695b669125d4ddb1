package conformance

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// takes demands this many deliveries, and then none for a while: what a broker
// holds back cannot be shown in another way.
func (ch *channel) takes(want int, what string) []*message {
	t := ch.c.t
	t.Helper()
	var got []*message
	for range want {
		got = append(got, ch.deliver())
	}
	if f, err := ch.c.next(ch.n, 100*time.Millisecond); !errors.Is(err, errSilence) {
		t.Fatalf("%s: after %d deliveries came %v, %v", what, want, f, err)
	}
	return got
}

// pour publishes ten messages to each queue.
func (ch *channel) pour(queues ...string) {
	for i := range 10 {
		for _, q := range queues {
			ch.publish("", q, nil, fmt.Sprint(i))
		}
	}
}

// raise sets the limit of the channel and takes what that sets free; it may come
// before qos-ok.
func (ch *channel) raise(count uint16, deliveries int) {
	t := ch.c.t
	t.Helper()
	ch.send(basicQos, uint32(0), count, bits(1))
	for ok := false; !ok || deliveries > 0; {
		f, err := ch.c.next(ch.n, patience)
		switch {
		case err != nil:
			t.Fatalf("global prefetch raised to %d, %d deliveries missing: %v", count, deliveries, err)
		case f.id() == basicQosOk:
			ok = true
		case f.id() == basicDeliver:
			ch.content(&message{})
			deliveries--
		default:
			t.Fatalf("after basic.qos: %v", f)
		}
	}
}

func TestLine091Prefetch(t *testing.T) {
	t.Parallel()
	t.Run("per consumer", prefetchPerConsumer)
	t.Run("settling of each kind makes room", prefetchMakesRoom)
	t.Run("global", prefetchGlobal)
	t.Run("both", prefetchBoth)
	t.Run("0 and the default are no limit", prefetchNone)
	t.Run("after consume it is for later ones", prefetchLater)
	t.Run("no-ack and get are not limited", prefetchNotForAll)
	if !broker.rabbit { // [M] of amqp.md 9.2: RabbitMQ has the same rule for its quorum queues
		t.Run("named quorum with global", prefetchNamedQuorum)
	}
}

func prefetchPerConsumer(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	a, b := ch.queue(), ch.queue()
	ch.qos(3, false)
	ch.consume(a, "a", 0)
	ch.consume(b, "b", 0)
	ch.c.another().pour(a, b)
	got := ch.takes(6, "3 for each of two consumers")
	ch.ack(got[0].delivery, false)
	got = append(got, ch.takes(1, "one acked")...)
	ch.ack(got[len(got)-1].delivery, true)
	ch.takes(6, "all acked at once")
}

func prefetchMakesRoom(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	ch.fill(q, 10)
	ch.qos(1, false)
	ch.consume(q, "t", 0)
	ch.ack(ch.takes(1, "prefetch 1")[0].delivery, false)
	ch.reject(ch.takes(1, "after ack")[0].delivery, false)
	ch.nack(ch.takes(1, "after reject")[0].delivery, 0)
	m := ch.takes(1, "after nack")[0]
	ch.reject(m.delivery, true)
	if again := ch.takes(1, "after requeue")[0]; again.body != m.body || !again.redelivered {
		t.Errorf("requeued %q, then came %q", m.body, again.body)
	}
}

func prefetchGlobal(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	a, b := ch.queue(), ch.queue()
	ch.qos(5, true)
	ch.consume(a, "a", 0)
	ch.consume(b, "b", 0)
	ch.c.another().pour(a, b)
	got := ch.takes(5, "5 for both together")
	ch.ack(got[4].delivery, true)
	ch.takes(5, "all acked")
	ch.raise(8, 3)
	ch.takes(0, "8 are out")
	ch.raise(0, 7)
}

func prefetchBoth(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	a, b := ch.queue(), ch.queue()
	ch.fill(a, 10)
	ch.fill(b, 10)
	ch.qos(3, false)
	ch.qos(4, true)
	ch.consume(a, "a", 0)
	from := func(ms []*message, tag string) (n int) {
		for _, m := range ms {
			if m.tag == tag {
				n++
			}
		}
		return n
	}
	ch.takes(3, "3 of the one consumer")
	ch.consume(b, "b", 0)
	if got := ch.takes(1, "4 in all"); from(got, "b") != 1 {
		t.Error("the fourth is not of the second consumer")
	}
}

func prefetchNone(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	ch.fill(q, 500)
	ch.consume(q, "t", 0)
	ch.takes(500, "no qos")
	other := ch.c.another()
	q = ch.queue()
	ch.fill(q, 500)
	other.qos(3, false)
	other.qos(0, false)
	other.consume(q, "t", 0)
	other.takes(500, "qos 0")
}

func prefetchLater(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	a, b := ch.queue(), ch.queue()
	ch.fill(a, 10)
	ch.fill(b, 10)
	ch.qos(1, false)
	ch.consume(a, "a", 0)
	ch.takes(1, "prefetch 1")
	ch.qos(3, false)
	ch.takes(0, "the old consumer keeps its limit")
	ch.consume(b, "b", 0)
	ch.takes(3, "the new one has 3")
}

func prefetchNotForAll(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	ch.fill(q, 50)
	ch.qos(1, false)
	for range 5 {
		ch.get(q, 0)
	}
	ch.consume(q, "t", noAck)
	ch.takes(45, "no-ack consumer")
}

func prefetchNamedQuorum(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.shared(field{"x-queue-type", "quorum"})
	ch.qos(3, true)
	ch.hard(notImplemented, rs(q)+" does not support global qos", basicConsume, consumeArgs(q, "t", 0, nil)...)
}
