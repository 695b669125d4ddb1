package conformance

import (
	"fmt"
	"testing"
)

func unknownTag(n int) string { return fmt.Sprintf("unknown delivery tag %d", n) }

func TestLine094UnknownTags(t *testing.T) {
	t.Parallel()
	c := open(t)
	check := c.channel(1)
	q := check.queue()
	check.fill(q, 4)
	// deal gives a channel with the four messages unacked, tags 1 to 4.
	deal := func(n uint16) *channel {
		t.Helper()
		ch := c.channel(n)
		check.counted(q, counts{4, 0})
		ch.consume(q, "t", 0)
		ch.delivers("0", "1", "2", "3")
		ch.cancel("t") // what a row returns stays in the queue
		return ch
	}
	for i, row := range []struct {
		name string
		do   func(ch *channel)
		text string // of the close; empty: fine
		id   uint32
	}{
		{"never given", func(ch *channel) { ch.ack(5, false) }, unknownTag(5), basicAck},
		{"never given, multiple", func(ch *channel) { ch.ack(5, true) }, unknownTag(5), basicAck},
		{"twice", func(ch *channel) { ch.nack(2, 2); ch.ack(2, false) }, unknownTag(2), basicAck},
		{"multiple over one that is settled", func(ch *channel) { ch.nack(2, 2); ch.ack(2, true) }, unknownTag(2), basicAck},
		{"0", func(ch *channel) { ch.ack(0, false) }, unknownTag(0), basicAck},
		{"nack 0", func(ch *channel) { ch.nack(0, 2) }, unknownTag(0), basicNack},
		{"nack", func(ch *channel) { ch.nack(9, 2) }, unknownTag(9), basicNack},
		{"reject", func(ch *channel) { ch.reject(9, true) }, unknownTag(9), basicReject},
		{"nack 0, multiple", func(ch *channel) { ch.nack(0, 3) }, "", 0},
		{"nack 3, multiple", func(ch *channel) { ch.nack(3, 3) }, "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			ch := deal(uint16(10 + i))
			row.do(ch)
			if row.text != "" {
				ch.closed(preconditionFailed, row.text, row.id)
				return
			}
			ch.quiet()
			ch.close()
		})
	}
	t.Run("nothing outstanding", func(t *testing.T) {
		ch := c.channel(50)
		ch.ack(0, true)
		ch.nack(0, 3)
		ch.quiet()
	})
	t.Run("another channel's tag", func(t *testing.T) {
		deal(51)
		other := c.channel(52)
		other.ack(1, false)
		other.closed(preconditionFailed, unknownTag(1), basicAck)
	})
}

func TestLine095AckOfNoAck(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	ch.fill(q, 2)
	ch.consume(q, "t", noAck)
	tag := ch.delivers("0", "1")[1].delivery
	if tag != 2 {
		t.Errorf("second delivery has tag %d, want 2", tag)
	}
	ch.ack(tag, false)
	ch.closed(preconditionFailed, unknownTag(2), basicAck)
}

// again checks a message that came a second time.
func again(t *testing.T, m *message, body string, times int64) {
	t.Helper()
	if m.body != body || !m.redelivered {
		t.Errorf("got %q, redelivered %v; want %q again", m.body, m.redelivered, body)
	}
	// Mayfly's queues count failed deliveries (queues-ttl-dlx.md C-2), as RabbitMQ's quorum queues do.
	var want any
	if !broker.rabbit {
		want = times
	}
	if got := m.props(t).headers().get("x-delivery-count"); got != want {
		t.Errorf("%q: x-delivery-count %v, want %v", body, got, want)
	}
}

func TestLine096NackKeepsOrder(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	ch.fill(q, 6)
	for i := range 4 {
		m := ch.get(q, 0)
		if m.redelivered || m.props(t).headers().has("x-delivery-count") {
			t.Errorf("first delivery %d claims to be another", i)
		}
	}
	ch.nack(2, 2) // message 1
	again(t, ch.get(q, 0), "1", 1)
	ch.reject(1, true)
	ch.nack(5, 2) // 1 again
	ch.nack(4, 2) // 3; 2 stays out
	again(t, ch.get(q, 1), "0", 1)
	ch.consume(q, "t", noAck)
	again(t, ch.deliver(), "1", 2)
	again(t, ch.deliver(), "3", 1)
	for _, m := range ch.delivers("4", "5") {
		if m.redelivered {
			t.Errorf("%q was never given before", m.body)
		}
	}
	ch.nack(3, 2)
	again(t, ch.deliver(), "2", 1)

	t.Run("multiple", func(t *testing.T) {
		other := ch.c.another()
		q := ch.queue()
		ch.fill(q, 5)
		for range 4 {
			other.get(q, 0)
		}
		other.nack(3, 3)
		ch.counted(q, counts{4, 0})
		for _, body := range []string{"0", "1", "2"} {
			again(t, ch.get(q, 1), body, 1)
		}
		if m := ch.get(q, 1); m.body != "4" {
			t.Errorf("then %q, want 4", m.body)
		}
	})
}

func TestLine097LossRequeues(t *testing.T) {
	t.Parallel()
	check := openChannel(t)
	for _, row := range []struct {
		name string
		lose func(ch *channel)
	}{
		{"channel close", func(ch *channel) { ch.close() }},
		{"channel error", func(ch *channel) { ch.ack(99, false); ch.expect(channelClose) }},
		{"connection close", func(ch *channel) { ch.c.close() }},
		{"socket loss", func(ch *channel) { ch.c.drop() }},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := check.shared()
			check.fill(q, 10)
			ch := openChannel(t)
			ch.consume(q, "t", 0)
			for range 6 {
				ch.deliver()
			}
			ch.ack(2, false) // 1
			for range 4 {
				ch.deliver()
			}
			ch.nack(5, 0) // 4
			ch.quiet()
			row.lose(ch)
			check.counted(q, counts{8, 0})
			for _, body := range []string{"0", "2", "3", "5", "6", "7", "8", "9"} {
				again(t, check.get(q, 1), body, 1)
			}
		})
	}
}

func TestLine098Recover(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	ch.fill(q, 3)
	ch.consume(q, "t", 0)
	ch.delivers("0", "1", "2")
	ch.ack(2, false)
	ch.call(basicRecoverOk, basicRecover, bits(1)).end()
	for i, body := range []string{"0", "2"} {
		m := ch.deliver()
		again(t, m, body, 1)
		if m.delivery != uint64(4+i) {
			t.Errorf("tag %d, want %d", m.delivery, 4+i)
		}
	}
	ch.send(basicRecoverAsync, bits(1))
	again(t, ch.deliver(), "0", 2)
	again(t, ch.deliver(), "2", 2)
	ch.ack(0, true)
	ch.call(basicRecoverOk, basicRecover, bits(1)).end() // nothing to recover
	ch.quiet(q)

	other := ch.c.another()
	other.get(ch.queueOf("got"), 0)
	other.call(basicRecoverOk, basicRecover, bits(1)).end()
	t.Run("requeue false", func(t *testing.T) {
		openChannel(t).hard(notImplemented, "requeue=false", basicRecover, bits(0))
		openChannel(t).hard(notImplemented, "requeue=false", basicRecoverAsync, bits(0))
	})
}

// queueOf is a new queue that holds one message.
func (ch *channel) queueOf(body string) string {
	ch.c.t.Helper()
	q := ch.queue()
	ch.publish("", q, nil, body)
	ch.counted(q, counts{1, 0})
	return q
}
