package conformance

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLine075MissingExchange(t *testing.T) {
	t.Parallel()
	for _, confirms := range []bool{false, true} {
		ch := openChannel(t)
		if confirms {
			ch.confirms()
		}
		missing := unique("missing")
		ch.publishWith(missing, "k", mandatory, nil, "m")
		ch.closed(notFound, "no "+rx(missing), basicPublish) // and no ack before
		ch.open()
		ch.quiet()
	}
}

func TestLine076Immediate(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	ch.publishWith(unique("missing"), "k", immediate, nil, "m") // checked before the exchange
	ch.c.closed(notImplemented, "immediate=true", basicPublish)
}

func TestLine077Mandatory(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	ch.confirms()
	x := ch.exchange("direct", 0)
	p := props{
		pMessageID: "id", pHeaders: table{{"spring_returned_message_correlation", "c"}, {"x-dotnet-pub-seq-no", int64(7)}},
		pDeliveryMode: uint8(2), pReplyTo: "somewhere", pExpiration: "60000",
	}.encode()
	body := noise(300000)
	ch.c.write(publication(ch.n, ch.c.frameMax, x, "no one", mandatory, p, []byte(body)))
	m := ch.returned()
	if m.code != noRoute || m.text != "NO_ROUTE" || m.exchange != x || m.key != "no one" {
		t.Errorf("return %d %q %q %q", m.code, m.text, m.exchange, m.key)
	}
	if !bytes.Equal(m.properties, p) || m.body != body {
		t.Errorf("the returned message is changed: %q, %d octets of body", m.properties, len(m.body))
	}
	if a := ch.confirm(); a.seq != 1 || a.nack {
		t.Errorf("after the return: %+v, want the ack of 1", a)
	}
	q := ch.queue()
	ch.publishWith("", q, mandatory, nil, "routed")
	ch.confirmed(2, 2) // no return
	t.Run("without confirms", func(t *testing.T) {
		ch := openChannel(t)
		ch.publishWith("", unique("missing"), mandatory, nil, "m")
		if m := ch.returned(); m.exchange != "" || m.body != "m" {
			t.Errorf("returned %+v", m)
		}
		ch.publishWith("", unique("missing"), mandatory, nil, "")
		ch.returned()
		ch.quiet()
	})
}

func TestLine078Unroutable(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	ch.confirms()
	for seq := uint64(1); seq <= 10; seq++ {
		ch.publish("", unique("missing"), nil, "m")
		if nacked := ch.confirmed(seq, seq); nacked != nil {
			t.Error("an unroutable message was nacked")
		}
	}
}

func TestLine079EveryPublishIsAnswered(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	ch.confirms()
	q := ch.queue(field{"x-max-length", 1000})
	one := publication(ch.n, ch.c.frameMax, "", q, 0, props{pDeliveryMode: uint8(2)}.encode(), []byte("0123456789"))
	batch := bytes.Repeat(one, 1000)
	const total = 100_000
	for range total / 1000 {
		ch.c.write(batch)
	}
	if nacked := ch.confirmed(1, total); nacked != nil {
		t.Errorf("%d of them were refused", len(nacked))
	}
	ch.quiet() // not one answer more
}

func TestLine080MultipleCoversNoOther(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	full := ch.queue(field{"x-max-length", 2}, field{"x-overflow", "reject-publish"})
	ch.fill(full, 2)
	free := ch.queue()
	ch.confirms()
	to := []string{full, free, unique("missing")}
	var b []byte
	var want []uint64
	const total = 3000
	for seq := uint64(1); seq <= total; seq++ {
		b = append(b, publication(ch.n, ch.c.frameMax, "", to[seq%3], 0, props{}.encode(), []byte("m"))...)
		if seq%3 == 0 {
			want = append(want, seq)
		}
	}
	ch.c.write(b)
	nacked := ch.confirmed(1, total)
	slices.Sort(nacked)
	if !slices.Equal(nacked, want) {
		t.Errorf("%d publishes nacked, want the %d to the full queue", len(nacked), len(want))
	}
	ch.quiet()
}

func TestLine081RejectPublish(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	limited := []field{{"x-max-length", 2}, {"x-overflow", "reject-publish"}}
	q := ch.queue(limited...)
	for range 6 { // no confirms: dropped in silence
		ch.publish("", q, nil, "m")
	}
	if got := ch.gets(q); len(got) != 2 {
		t.Errorf("the queue took %d, want 2", len(got))
	}
	ch.confirms()
	var nacked []uint64
	for seq := uint64(1); seq <= 6; seq++ {
		ch.publishWith("", q, mandatory, nil, "m") // refused is not unroutable: no return
		nacked = append(nacked, ch.confirmed(seq, seq)...)
	}
	if !slices.Equal(nacked, []uint64{3, 4, 5, 6}) {
		t.Errorf("nacked %v, want 3 to 6 (queues-ttl-dlx.md L-4)", nacked)
	}
	t.Run("one of two refuses", func(t *testing.T) {
		ch := openChannel(t)
		x, tight, wide := ch.exchange("fanout", 0), ch.queue(field{"x-max-length", 1}, field{"x-overflow", "reject-publish"}), ch.queue()
		ch.bind(tight, x, "")
		ch.bind(wide, x, "")
		ch.confirms()
		var nacked []uint64
		for seq := uint64(1); seq <= 3; seq++ {
			ch.publish(x, "", nil, "m")
			nacked = append(nacked, ch.confirmed(seq, seq)...)
		}
		if !slices.Equal(nacked, []uint64{2, 3}) {
			t.Errorf("nacked %v, want 2 and 3 (queues-ttl-dlx.md L-6)", nacked)
		}
		if got := ch.gets(wide); len(got) != 3 {
			t.Errorf("the other queue holds %d, want 3", len(got))
		}
	})
}

func TestLine082Select(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	ch.publish("", q, nil, "does not count")
	ch.confirms()
	ch.publish("", q, nil, "1")
	ch.confirmed(1, 1)
	ch.confirms()
	ch.publish("", q, nil, "2")
	ch.confirmed(2, 2)
	ch.refused(preconditionFailed, "cannot switch from confirm to tx mode", txSelect)
	ch.call(txSelectOk, txSelect).end()
	ch.call(txSelectOk, txSelect).end()
	ch.refused(preconditionFailed, "cannot switch from tx to confirm mode", confirmSelect, bits(0))
	ch.confirms()
	ch.publish("", q, nil, "numbers start anew")
	ch.confirmed(1, 1)
}

func TestLine083TxPublish(t *testing.T) {
	t.Parallel()
	ch, check := openChannel(t), openChannel(t)
	q := check.shared()
	ch.call(txSelectOk, txSelect).end()
	ch.publish("", q, nil, "a")
	ch.publish("", q, nil, "b")
	ch.getEmpty(q)
	check.getEmpty(q)
	ch.call(txCommitOk, txCommit).end()
	if got := check.gets(q); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("after commit the queue holds %q", got)
	}
	ch.publish("", q, nil, "c")
	ch.call(txRollbackOk, txRollback).end()
	ch.call(txCommitOk, txCommit).end()
	check.getEmpty(q)
	ch.publish("", q, nil, "d")
	ch.close() // implicit rollback
	check.getEmpty(q)

	t.Run("return comes before commit-ok", func(t *testing.T) {
		ch.open()
		ch.call(txSelectOk, txSelect).end()
		ch.publishWith("", unique("missing"), mandatory, nil, "lost")
		ch.publish("", q, nil, "kept")
		ch.quiet()
		ch.send(txCommit)
		if m := ch.returned(); m.body != "lost" {
			t.Errorf("returned %q", m.body)
		}
		ch.expect(txCommitOk).end()
		if got := check.gets(q); !slices.Equal(got, []string{"kept"}) {
			t.Errorf("after commit the queue holds %q", got)
		}
	})
	t.Run("checks are immediate", func(t *testing.T) {
		missing := unique("missing")
		ch.publish(missing, "k", nil, "m")
		ch.closed(notFound, "no "+rx(missing), basicPublish)
		ch.open()
	})
	t.Run("partial refusal", func(t *testing.T) {
		full := ch.queue(field{"x-max-length", 1}, field{"x-overflow", "reject-publish"})
		ch.fill(full, 1)
		ch.call(txSelectOk, txSelect).end()
		ch.publish("", full, nil, "refused")
		ch.send(txCommit)
		ch.closed(preconditionFailed, "partial tx completion", txCommit)
	})
}

func TestLine084TxAck(t *testing.T) {
	t.Parallel()
	c := open(t)
	ch, check := c.channel(1), c.channel(2)
	q := check.queue()
	check.fill(q, 3)
	ch.call(txSelectOk, txSelect).end()
	ch.consume(q, "t", 0)
	ms := ch.delivers("0", "1", "2")
	ch.ack(ms[0].delivery, false)
	ch.call(txRollbackOk, txRollback).end()
	ch.ack(ms[0].delivery, false)
	ch.nack(ms[1].delivery, 0)
	ch.call(txCommitOk, txCommit).end()
	ch.close()
	if m := check.get(q, 1); m.body != "2" || !m.redelivered {
		t.Errorf("left is %q, redelivered %v; want 2 alone", m.body, m.redelivered)
	}
	check.getEmpty(q)

	check.fill(q, 1)
	ch.open()
	ch.call(txSelectOk, txSelect).end()
	tag := ch.get(q, 0).delivery
	ch.ack(tag, false)
	ch.ack(tag, false)
	ch.closed(preconditionFailed, "unknown delivery tag 1", basicAck)
	check.counted(q, counts{1, 0}) // the transaction is rolled back

	t.Run("requeue waits for the commit", func(t *testing.T) {
		ch.open()
		ch.call(txSelectOk, txSelect).end()
		tag := ch.get(q, 0).delivery
		ch.reject(tag, true)
		check.getEmpty(q)
		ch.call(txCommitOk, txCommit).end()
		check.counted(q, counts{1, 0})
	})
}

func TestLine085NotTransactional(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	ch.refused(preconditionFailed, "channel is not transactional", txCommit)
	ch.refused(preconditionFailed, "channel is not transactional", txRollback)
	ch.confirms()
	ch.refused(preconditionFailed, "channel is not transactional", txCommit)
}

func TestLine086UserID(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	ch.publish("", q, props{pUserID: broker.user}, "own")
	foreign := props{pUserID: "somebody"}
	imp := openChannel(t, as("conf-impersonator", "conf-impersonator"))
	imp.confirms()
	imp.publish("", q, foreign, "impersonated")
	imp.confirmed(1, 1)
	if got := ch.gets(q); !slices.Equal(got, []string{"own", "impersonated"}) {
		t.Errorf("the queue holds %q", got)
	}
	ch.publish("", q, foreign, "m")
	ch.closed(preconditionFailed, "user_id property set to 'somebody' but authenticated user was '"+broker.user+"'", basicPublish)
}

func TestLine087Expiration(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	for _, row := range []struct{ value, detail string }{
		{"abc", "no_integer"},
		{"", "no_integer"},
		{" 5", "no_integer"},
		{"-1", "{value_negative,-1}"},
		{"10s", `{leftover_string,"s"}`},
		{"1.5", `{leftover_string,".5"}`},
		{"1099511627776", "{value_too_large,1099511627776}"},
		{"315360000001", "{value_too_large,315360000001}"},
	} {
		t.Run(row.value, func(t *testing.T) {
			ch.publish("", q, props{pExpiration: row.value}, "m")
			ch.closed(preconditionFailed, "invalid expiration '"+row.value+"': "+row.detail, basicPublish)
			ch.open()
		})
	}
	t.Run("the largest", func(t *testing.T) {
		ch.publish("", q, props{pExpiration: "315360000000"}, "m")
		if m := ch.get(q, 1); m.props(t)[pExpiration] != "315360000000" {
			t.Errorf("came with %v", m.props(t))
		}
	})
	t.Run("0", func(t *testing.T) {
		ch.publish("", q, props{pExpiration: "0"}, "gone at once")
		ch.getEmpty(q)
		ch.consume(q, "t", noAck)
		ch.publish("", q, props{pExpiration: "0"}, "straight to a consumer")
		ch.delivers("straight to a consumer")
		ch.cancel("t")
	})
	t.Run("50 ms", func(t *testing.T) {
		ch.confirms()
		ch.publish("", q, props{pExpiration: "50"}, strings.Repeat("m", 10))
		ch.confirmed(1, 1)
		pause(200 * time.Millisecond)
		ch.getEmpty(q)
	})
}
