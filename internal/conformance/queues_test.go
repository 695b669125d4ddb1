package conformance

import (
	"strconv"
	"testing"
)

// fill publishes n messages "0", "1", ... to a queue and waits until they are in.
func (ch *channel) fill(q string, n int) {
	ch.c.t.Helper()
	before := ch.count(q).ready
	for i := range n {
		ch.publish("", q, nil, strconv.Itoa(i))
	}
	eventually(ch.c.t, func() bool { return ch.count(q).ready == before+uint32(n) },
		func() string { return "the messages never arrived in " + q })
}

func TestLine057PurgeAndDelete(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	ch.fill(q, 5)
	tag := ch.get(q, 0).delivery
	if n := ch.purge(q); n != 4 {
		t.Errorf("purged %d, want the 4 ready", n)
	}
	if n := ch.purge(q); n != 0 {
		t.Errorf("purged %d of an empty queue", n)
	}
	ch.nack(tag, 2)
	ch.counted(q, counts{1, 0})
	ch.fill(q, 2)
	ch.get(q, 0)
	if n := ch.deleteQueue(q, 0); n != 2 {
		t.Errorf("deleted with %d messages, want the 2 ready", n)
	}
	missing := unique("missing")
	if n := ch.deleteQueue(missing, ifUnused|ifEmpty); n != 0 {
		t.Errorf("delete of a missing queue answered %d", n)
	}
	ch.refused(notFound, "no "+rs(missing), queuePurge, uint16(0), missing, bits(0))
}

func TestLine058DeleteConditions(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	ch.fill(q, 1)
	consumer := ch.c.another()
	consumer.consume(q, "t", 0)
	tag := consumer.deliver().delivery
	inUse, notEmpty := rs(q)+" in use", rs(q)+" not empty"
	ch.refused(preconditionFailed, inUse, queueDelete, uint16(0), q, ifUnused)
	ch.refused(preconditionFailed, inUse, queueDelete, uint16(0), q, ifUnused|ifEmpty)
	consumer.cancel("t")
	consumer.nack(tag, 2)
	ch.counted(q, counts{1, 0})
	ch.refused(preconditionFailed, notEmpty, queueDelete, uint16(0), q, ifEmpty)
	ch.refused(preconditionFailed, notEmpty, queueDelete, uint16(0), q, ifUnused|ifEmpty)
	consumer.get(q, 0) // unacked does not count as not empty
	if n := ch.deleteQueue(q, ifUnused|ifEmpty); n != 0 {
		t.Errorf("deleted with %d", n)
	}
	full := ch.queue()
	ch.fill(full, 3)
	if n := ch.deleteQueue(full, ifUnused); n != 3 {
		t.Errorf("if-unused deleted with %d messages, want 3", n)
	}
}

func TestLine059ExclusiveAccess(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	same := ch.c.another()
	same.declare(q, exclusive, nil)
	same.bind(q, "amq.fanout", "")
	same.unbind(q, "amq.fanout", "")
	same.publish("", q, nil, "own")
	if m := same.get(q, 1); m.body != "own" {
		t.Errorf("got %q", m.body)
	}
	same.consume(q, "t", noAck)
	same.cancel("t")
	same.purge(q)

	other := openChannel(t)
	no := locked(q)
	other.refused(resourceLocked, no, queueDeclare, declareArgs(q, exclusive, nil)...)
	other.refused(resourceLocked, no, queueDeclare, declareArgs(q, passive, nil)...)
	other.refused(resourceLocked, no, basicConsume, consumeArgs(q, "t", 0, nil)...)
	other.refused(resourceLocked, no, basicGet, uint16(0), q, bits(0))
	other.refused(resourceLocked, no, queuePurge, uint16(0), q, bits(0))
	other.refused(resourceLocked, no, queueDelete, uint16(0), q, bits(0))
	other.refused(resourceLocked, no, queueBind, uint16(0), q, "amq.direct", "k", bits(0), table{})
	other.unbind(q, "amq.direct", "no such binding")
	other.confirms()
	other.publish("", q, nil, "publishing is allowed")
	other.confirmed(1, 1)
	if m := ch.get(q, 1); m.body != "publishing is allowed" {
		t.Errorf("got %q", m.body)
	}
	if n := same.deleteQueue(q, 0); n != 0 {
		t.Errorf("deleted with %d", n)
	}
}

func TestLine060ExclusiveEnds(t *testing.T) {
	t.Parallel()
	check := openChannel(t)
	gone := func(q string) {
		t.Helper()
		check.refused(notFound, "no "+rs(q), queueDeclare, declareArgs(q, passive, nil)...)
	}
	for range 10 {
		ch := openChannel(t)
		q, named := ch.queue(), ""
		ch.fill(q, 3)
		named, _ = ch.declare("", exclusive|durable|autoDelete, nil)
		ch.c.close()
		gone(q)
		gone(named)
	}
	t.Run("not with its channel", func(t *testing.T) {
		ch := openChannel(t)
		q := ch.queue()
		ch.close()
		ch.open()
		ch.declare(q, exclusive, nil)
	})
	t.Run("with the lost socket", func(t *testing.T) {
		ch := openChannel(t)
		q := ch.queue()
		ch.c.drop()
		eventually(t, func() bool { return !check.exists(q) }, func() string { return "the exclusive queue outlived its socket" })
	})
}

// exists asks passively, from any connection; a locked queue exists.
func (ch *channel) exists(q string) bool {
	t := ch.c.t
	t.Helper()
	ch.send(queueDeclare, declareArgs(q, passive, nil)...)
	f, err := ch.c.next(ch.n, patience)
	if err != nil {
		t.Fatal(err)
	}
	if f.id() == queueDeclareOk {
		return true
	}
	x := parseClose(&args{t, f.payload[4:]})
	ch.send(channelCloseOk)
	ch.open()
	return x.code != notFound
}

func TestLine061AutoDelete(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	declare := func() string {
		q, _ := ch.declare(unique("q"), autoDelete, nil)
		janitor.queue(t, q)
		return q
	}
	gone := func(q string) {
		t.Helper()
		eventually(t, func() bool { return !ch.exists(q) }, func() string { return "the queue outlived its last consumer" })
	}
	q := declare()
	ch.fill(q, 2)
	ch.get(q, 1)
	ch.count(q) // neither a get nor the lack of a consumer ends it
	a, b := ch.c.another(), ch.c.another()
	a.consume(q, "a", noAck)
	b.consume(q, "b", noAck)
	a.delivers("1")
	a.cancel("a")
	ch.count(q)
	b.cancel("b")
	gone(q)

	t.Run("by channel end", func(t *testing.T) {
		q := declare()
		c := ch.c.another()
		c.consume(q, "t", 0)
		c.close()
		gone(q)
	})
	t.Run("by connection end", func(t *testing.T) {
		q := declare()
		c := openChannel(t)
		c.consume(q, "t", 0)
		c.c.close()
		gone(q)
	})
	t.Run("by socket loss", func(t *testing.T) {
		q := declare()
		c := openChannel(t)
		c.consume(q, "t", 0)
		c.c.drop()
		gone(q)
	})
}

func TestLine062BindAndUnbind(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q, x := ch.queue(), ch.exchange("direct", 0)
	missing := unique("missing")
	ch.bind(q, x, "k")
	ch.bind(q, x, "k")
	ch.bind(q, x, "k", field{"a", 1}, field{"b", 2})
	ch.bind(q, x, "k", field{"b", 2}, field{"a", 1}) // the same binding
	ch.publish(x, "k", nil, "once")
	ch.unbind(q, x, "k", field{"a", 1}, field{"b", 2})
	ch.publish(x, "k", nil, "twice")
	ch.unbind(q, x, "k")
	ch.publish(x, "k", nil, "never")
	ch.unbind(q, x, "k")
	ch.unbind(q, x, "never bound")
	ch.unbind(missing, x, "k")
	ch.unbind(q, missing, "k")
	ch.unbind(missing, missing, "k")
	if got := ch.gets(q); len(got) != 2 || got[0] != "once" || got[1] != "twice" {
		t.Errorf("the queue holds %q, want once and twice", got)
	}
	ch.refused(notFound, "no "+rs(missing), queueBind, uint16(0), missing, x, "k", bits(0), table{})
	ch.refused(notFound, "no "+rx(missing), queueBind, uint16(0), q, missing, "k", bits(0), table{})
}

func TestLine063NoWait(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q, x := unique("q"), unique("x")
	nw := bits(1) // of the methods that have no other bit
	ch.send(queueDeclare, declareArgs(q, exclusive|noWait, nil)...)
	ch.send(exchangeDeclare, exchangeArgs(x, "fanout", noWait, nil)...)
	ch.send(queueBind, uint16(0), q, x, "", nw, table{})
	ch.send(exchangeBind, uint16(0), x, "amq.fanout", "conf-never", nw, table{})
	ch.publish(x, "", nil, "purged")
	ch.send(queuePurge, uint16(0), q, nw)
	ch.send(basicConsume, consumeArgs(q, "t", noAck|consumeNoWait, nil)...)
	ch.publish(x, "", nil, "delivered")
	ch.delivers("delivered")
	ch.send(basicCancel, "t", nw)
	ch.send(exchangeUnbind, uint16(0), x, "amq.fanout", "conf-never", nw, table{})
	ch.send(exchangeDelete, uint16(0), x, bits(2))
	ch.send(queueDelete, uint16(0), q, bits(4))
	ch.send(confirmSelect, nw)
	ch.quiet() // not one answer

	missing := unique("missing")
	ch.refused(notFound, "no "+rs(missing), queueDeclare, declareArgs(missing, passive|noWait, nil)...)
	ch.refused(notFound, "no "+rx(missing), exchangeDeclare, exchangeArgs(missing, "direct", passive|noWait, nil)...)
	ch.refused(notFound, "no "+rs(missing), queuePurge, uint16(0), missing, nw)
	ch.refused(notFound, "no "+rs(missing), basicConsume, consumeArgs(missing, "t", consumeNoWait, nil)...)
	ch.refused(accessRefused, "operation not permitted on the default exchange", exchangeDelete, uint16(0), "", bits(2))
	other := ch.queue()
	ch.refused(notFound, "no "+rx(missing), queueBind, uint16(0), other, missing, "", nw, table{})

	t.Run("a made tag shows in deliveries only", func(t *testing.T) {
		q := ch.queue()
		ch.send(basicConsume, consumeArgs(q, "", noAck|consumeNoWait, nil)...)
		ch.publish("", q, nil, "m")
		if m := ch.deliver(); len(m.tag) != 31 || m.tag[:9] != "amq.ctag-" {
			t.Errorf("consumer tag %q", m.tag)
		}
	})
}
