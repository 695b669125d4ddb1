package conformance

import (
	"testing"
)

func TestLine043ChannelNotOpen(t *testing.T) {
	t.Parallel()
	const notOpen, twice = "expected 'channel.open'", "second 'channel.open' seen"
	running := "unexpected method in connection state running"
	for _, row := range []struct {
		name string
		do   func(c *conn)
		code uint16
		text string
		id   uint32
	}{
		{"method on channel 3", func(c *conn) { c.send(3, method(queueDeclare, declareArgs("q", 0, nil)...)) }, channelError, notOpen, queueDeclare},
		{"publish on channel 3", func(c *conn) { c.write(publication(3, 131072, "", "q", 0, props{}.encode(), nil)) }, channelError, notOpen, basicPublish},
		{"open twice", func(c *conn) { c.channel(3); c.send(3, method(channelOpen, "")) }, channelError, twice, channelOpen},
		{"method on a closed channel", func(c *conn) {
			c.channel(3).close()
			c.send(3, method(queueDeclare, declareArgs("q", 0, nil)...))
		}, channelError, notOpen, queueDeclare},
		{"second connection.open", func(c *conn) { c.send(0, newLogin(nil).openVhost()) }, channelError, running, connectionOpen},
		{"channel method on channel 0", func(c *conn) { c.send(0, method(channelOpen, "")) }, channelError, running, channelOpen},
		{"connection.blocked", func(c *conn) { c.send(0, method(connectionBlocked, "no")) }, channelError, running, connectionBlocked},
		{"close-ok without close", func(c *conn) { c.send(0, method(connectionCloseOk)) }, channelError, running, connectionCloseOk},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := open(t)
			row.do(c)
			c.closed(row.code, row.text, row.id)
		})
	}
	t.Run("channel 1 before connection.open", func(t *testing.T) {
		t.Parallel()
		c, l := tuned(t)
		c.send(0, l.tuneOk())
		c.send(1, method(channelOpen, ""))
		c.closing(unexpectedFrame, "type 1, all octets = …", anyID)
	})
	t.Run("tune-ok before start-ok", func(t *testing.T) {
		t.Parallel()
		c, _ := greet(t, broker.addr)
		c.send(0, newLogin(nil).tuneOk())
		if broker.rabbit { // ends after 3 s; [M] of amqp.md 2.6
			c.ended(patience)
			return
		}
		if x := parseClose(c.expect(connectionClose)); x.code != commandInvalid && x.code != channelError {
			t.Errorf("closed with %d %q, want 503 or 504", x.code, x.text)
		}
		c.ended(patience)
	})
}

func TestLine044FramesAfterChannelClose(t *testing.T) {
	t.Parallel()
	c := open(t)
	ch, other := c.channel(1), c.channel(2)
	q := other.queue()
	missing := unique("missing")
	ch.send(queueDeclare, declareArgs(missing, passive, nil)...)
	x := parseClose(ch.expect(channelClose))
	if !x.matches(notFound, "no queue '"+missing+"' in vhost '/'") || x.id != queueDeclare {
		t.Fatalf("closed with %+v", x)
	}
	ch.publish("", q, nil, "ignored")
	ch.ack(99, false)
	ch.send(queueDeclare, declareArgs(q, passive, nil)...)
	ch.publish("no such exchange", q, nil, "ignored")
	ch.send(channelCloseOk)
	ch.open() // the number is free at once
	ch.quiet(q)
	if n := ch.count(q).ready; n != 0 {
		t.Errorf("%d publishes to a closing channel arrived", n)
	}
	t.Run("open before close-ok", func(t *testing.T) {
		ch := openChannel(t)
		ch.send(queueDeclare, declareArgs(missing, passive, nil)...)
		ch.expect(channelClose)
		ch.send(channelOpen, "")
		ch.c.closed(channelError, "second 'channel.open' seen", channelOpen)
	})
	t.Run("what is pipelined behind an error is dropped", func(t *testing.T) {
		ch := openChannel(t)
		q := ch.queue()
		b := publication(1, 131072, "", q, 0, props{}.encode(), []byte("first"))
		b = append(b, publication(1, 131072, missing, q, 0, props{}.encode(), []byte("second"))...)
		ch.c.write(append(b, publication(1, 131072, "", q, 0, props{}.encode(), []byte("third"))...))
		ch.closed(notFound, "no exchange '"+missing+"' in vhost '/'", basicPublish)
		ch.open()
		if got := ch.gets(q); len(got) != 1 || got[0] != "first" {
			t.Errorf("the queue holds %q, want first alone", got)
		}
	})
}

func TestLine045CrossingChannelCloses(t *testing.T) {
	t.Parallel()
	clientClose := []any{uint16(replySuccess), "bye", uint16(0), uint16(0)}
	t.Run("close for close", func(t *testing.T) {
		ch := openChannel(t)
		ch.send(queueDeclare, declareArgs(unique("missing"), passive, nil)...)
		ch.expect(channelClose)
		ch.call(channelCloseOk, channelClose, clientClose...)
		ch.send(channelCloseOk) // the client answers the broker's close as well
		ch.open()
		ch.quiet()
	})
	t.Run("both in flight", func(t *testing.T) {
		ch := openChannel(t)
		b := frameBytes(typeMethod, 1, method(queueDeclare, declareArgs(unique("missing"), passive, nil)...))
		ch.c.write(append(b, frameBytes(typeMethod, 1, method(channelClose, clientClose...))...))
		ch.expect(channelClose)
		ch.expect(channelCloseOk)
		ch.send(channelCloseOk)
		ch.open()
		ch.quiet()
	})
}

func TestLine046LateAcks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		id   uint32
		args []any
	}{
		{"ack", basicAck, []any{uint64(1), bits(0)}},
		{"nack", basicNack, []any{uint64(1), bits(2)}},
		{"reject", basicReject, []any{uint64(1), bits(1)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := open(t)
			ch, other := c.channel(1), c.channel(2)
			q := other.queue()
			ch.publish("", q, nil, "m")
			ch.get(q, 0)
			ch.close()
			ch.send(row.id, row.args...)
			if broker.rabbit { // [M] of amqp.md 6.3
				c.closed(channelError, "expected 'channel.open'", row.id)
				return
			}
			other.quiet(q)
			ch.open()
			other.counted(q, counts{1, 0})
		})
	}
	if !broker.rabbit {
		t.Run("content", func(t *testing.T) {
			t.Parallel()
			c := open(t)
			ch, other := c.channel(1), c.channel(2)
			q := other.queue()
			ch.close()
			c.write(frameBytes(typeHeader, 1, header(4, props{}.encode())))
			c.write(frameBytes(typeBody, 1, []byte("late")))
			other.quiet(q)
		})
	}
}

func TestLine047Flow(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	a := ch.call(channelFlowOk, channelFlow, bits(1))
	if !a.bit(0) {
		t.Error("flow-ok(false) for flow(true)")
	}
	a.end()
	ch.hard(notImplemented, "active=false", channelFlow, bits(0))
}

func TestLine048AccessRequest(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	a := ch.call(accessRequestOk, accessRequest, "/data", bits(0x1f))
	if ticket := a.u16(); ticket != 1 {
		t.Errorf("ticket %d, want 1", ticket)
	}
	a.end()
}
