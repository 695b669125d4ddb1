package conformance

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"
)

func TestLine088ConsumeOkFirst(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	ch.fill(q, 20)
	pattern := regexp.MustCompile(`^amq\.ctag-[A-Za-z0-9_-]{22}$`)
	for range 20 {
		tag := ch.consume(q, "", 0) // fails if a delivery comes before consume-ok
		if !pattern.MatchString(tag) {
			t.Errorf("made tag %q", tag)
		}
		for i := range 20 {
			if m := ch.deliver(); m.tag != tag || m.body != fmt.Sprint(i) {
				t.Fatalf("delivery %d is %q for %q", i, m.body, m.tag)
			}
		}
		ch.cancel(tag)
		ch.call(basicRecoverOk, basicRecover, bits(1)).end()
		ch.counted(q, counts{20, 0})
	}
	missing := unique("missing")
	ch.refused(notFound, "no "+rs(missing), basicConsume, consumeArgs(missing, "t", 0, nil)...)
}

func TestLine089TagReuse(t *testing.T) {
	t.Parallel()
	c := open(t)
	a, b := c.channel(1), c.channel(2)
	q := a.queue()
	a.consume(q, "t", 0)
	b.consume(q, "t", 0) // another channel, another tag
	a.cancel("t")
	a.consume(q, "t", 0) // free again
	a.hard(notAllowed, "attempt to reuse consumer tag 't'", basicConsume, consumeArgs(q, "t", 0, nil)...)
}

func TestLine090ExclusiveConsumer(t *testing.T) {
	t.Parallel()
	c := open(t)
	a, b := c.channel(1), c.channel(2)
	q := a.shared()
	inUse := rs(q) + " in exclusive use"
	a.consume(q, "first", consumeExclusive)
	b.refused(accessRefused, inUse, basicConsume, consumeArgs(q, "second", 0, nil)...)
	b.refused(accessRefused, inUse, basicConsume, consumeArgs(q, "second", consumeExclusive, nil)...)
	a.cancel("first")
	a.consume(q, "plain", 0)
	b.refused(accessRefused, inUse, basicConsume, consumeArgs(q, "second", consumeExclusive, nil)...)
	b.consume(q, "second", 0)
}

func TestLine092PrefetchSize(t *testing.T) {
	t.Parallel()
	openChannel(t).hard(notImplemented, "prefetch_size!=0 (5)", basicQos, uint32(5), uint16(1), bits(0))
}

func TestLine093Get(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	a := ch.call(basicGetEmpty, basicGet, uint16(0), q, bits(0))
	if cluster := a.short(); cluster != "" {
		t.Errorf("get-empty carries %q", cluster)
	}
	a.end()
	ch.fill(q, 4)
	ch.qos(1, false)
	for i := range 4 {
		m := ch.get(q, bits(i%2)) // every second is no-ack; tags count all
		if m.left != uint32(3-i) || m.delivery != uint64(i+1) || m.redelivered || m.body != fmt.Sprint(i) {
			t.Errorf("get %d: %+v", i, m)
		}
	}
	ch.getEmpty(q)
	missing := unique("missing")
	ch.refused(notFound, "no "+rs(missing), basicGet, uint16(0), missing, bits(0))
}

func TestLine099Cancel(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	ch.cancel("never seen")
	q := ch.queue()
	ch.fill(q, 3)
	ch.qos(2, false)
	ch.consume(q, "t", 0)
	ms := ch.delivers("0", "1")
	ch.cancel("t")
	ch.cancel("t")
	ch.counted(q, counts{1, 0}) // the unacked stay with the channel
	ch.ack(ms[0].delivery, false)
	ch.nack(ms[1].delivery, 2)
	if got := ch.gets(q); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("the queue holds %q, want 1 and 2", got)
	}
	ch.quiet()
}

func TestLine100ServerCancel(t *testing.T) {
	t.Parallel()
	check := openChannel(t)
	told, untold := openChannel(t), openChannel(t, without("consumer_cancel_notify"))
	q := check.shared()
	told.consume(q, "told", 0)
	told.consume(q, "also", noAck)
	untold.consume(q, "untold", 0)
	check.deleteQueue(q, 0)
	tags := map[string]bool{}
	for range 2 {
		a := told.expect(basicCancel)
		tags[a.short()] = true
		if o := a.u8(); o != 1 {
			t.Errorf("basic.cancel with flags %#x, want nowait", o)
		}
		a.end()
	}
	if !tags["told"] || !tags["also"] {
		t.Errorf("cancelled %v", tags)
	}
	told.cancel("told") // crossing is harmless
	told.quiet()
	untold.quiet()
	untold.cancel("untold")
	told.consume(check.shared(), "told", 0) // the tag is free
}

func TestLine101AckAfterDelete(t *testing.T) {
	t.Parallel()
	ch := openChannel(t, without("consumer_cancel_notify"))
	q := ch.queue()
	ch.fill(q, 4)
	ch.consume(q, "t", 0)
	ms := ch.delivers("0", "1", "2", "3")
	if n := ch.deleteQueue(q, 0); n != 0 {
		t.Errorf("deleted with %d ready", n)
	}
	ch.ack(ms[0].delivery, false)
	ch.nack(ms[1].delivery, 2)
	ch.reject(ms[2].delivery, false)
	ch.ack(ms[3].delivery, true)
	ch.quiet()
	ch.ack(ms[3].delivery, false) // settled is settled
	ch.closed(preconditionFailed, "unknown delivery tag 4", basicAck)
}

func TestLine102ConsumerPriorities(t *testing.T) {
	t.Parallel()
	c := open(t)
	check := c.channel(1)
	consumer := func(q, tag string, prefetch uint16, a ...field) *channel {
		ch := c.another()
		ch.qos(prefetch, false)
		ch.consume(q, tag, 0, a...)
		return ch
	}
	t.Run("higher first while it has credit", func(t *testing.T) {
		q := check.queue()
		low := consumer(q, "low", 10, field{"x-priority", -1})
		high := consumer(q, "high", 2, field{"x-priority", 5})
		mid := consumer(q, "mid", 1)
		for i := range 6 {
			check.publish("", q, nil, fmt.Sprint(i))
		}
		ms := high.takes(2, "highest")
		mid.takes(1, "no priority is 0")
		low.takes(3, "lowest")
		high.ack(ms[1].delivery, true)
		for i := range 2 {
			check.publish("", q, nil, fmt.Sprint(10+i))
		}
		high.delivers("10", "11")
	})
	t.Run("equal ones take turns", func(t *testing.T) {
		q := check.queue()
		a, b := consumer(q, "a", 0), consumer(q, "b", 0)
		for i := range 10 {
			check.publish("", q, nil, fmt.Sprint(i))
		}
		if x, y := a.takes(5, "first of two"), b.takes(5, "second of two"); x[0].body == y[0].body {
			t.Error("both were given the same")
		}
	})
	t.Run("bad value", func(t *testing.T) {
		q := check.queue()
		text := "invalid arg 'x-priority' for " + rs(q) + `: "expected integer, got longstr"`
		check.refused(preconditionFailed, text, basicConsume, consumeArgs(q, "t", 0, table{{"x-priority", "5"}})...)
	})
}

func TestLine103AckTimeout(t *testing.T) {
	t.Parallel()
	// RabbitMQ takes the limit from the queue, Mayfly's server is given a short one.
	here, limit := at(broker.addr), []field{{"x-consumer-timeout", 1000}}
	if !broker.rabbit {
		here, limit = at(serve(t, "--set", "queue.consumer_timeout=1s").addr), nil
	}
	check := openChannel(t, here)
	q := check.shared(limit...)
	check.fill(q, 2)
	ch := openChannel(t, here, without("consumer_cancel_notify"))
	ch.qos(1, false)
	begin := time.Now()
	ch.consume(q, "t", 0)
	ch.deliver()
	ch.closed(preconditionFailed, "delivery acknowledgement on channel 1 timed out. Timeout value used: 1000 ms. …", anyID)
	if took := time.Since(begin); took < time.Second || took > pick(4*time.Second, 10*time.Second) {
		t.Errorf("timed out after %v, want 1 to 2 s", took)
	}
	check.counted(q, counts{2, 0})
	if m := check.get(q, 1); m.body != "0" || !m.redelivered {
		t.Errorf("then came %q, redelivered %v", m.body, m.redelivered)
	}
}

func TestLine104SingleActiveConsumer(t *testing.T) {
	t.Parallel()
	check := openChannel(t)
	q := check.shared(field{"x-single-active-consumer", true})
	var cs []*channel
	for i := range 4 {
		cs = append(cs, openChannel(t))
		cs[i].consume(q, fmt.Sprintf("c%d", i), 0)
	}
	send := func(body string) { check.publish("", q, nil, body) }
	send("0")
	cs[0].ack(cs[0].delivers("0")[0].delivery, false)
	send("1")
	cs[0].ack(cs[0].delivers("1")[0].delivery, false)
	cs[0].cancel("c0")
	send("2")
	cs[1].delivers("2")
	cs[1].close()
	if m := cs[2].delivers("2")[0]; !m.redelivered {
		t.Error("2 came again without the flag")
	}
	cs[2].c.drop()
	if m := cs[3].delivers("2")[0]; !m.redelivered {
		t.Error("2 came again without the flag")
	}
	for _, ch := range cs[:2] {
		if f, err := ch.c.next(1, time.Millisecond); !errors.Is(err, errSilence) {
			t.Errorf("an inactive consumer was given %v, %v", f, err)
		}
	}
	if !broker.rabbit { // queues-ttl-dlx.md C-24; RabbitMQ has it for quorum queues
		text := "cannot obtain access to locked " + rs(q) + ". basic.get operations are not supported by quorum queues with single active consumer"
		check.refused(resourceLocked, text, basicGet, uint16(0), q, bits(0))
	}
}
