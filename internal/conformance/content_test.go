package conformance

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestLine034EmptyBody(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	ch.publish("", q, props{pType: "empty"}, "")
	ch.consume(q, "t", noAck)
	if m := ch.deliver(); m.body != "" || m.frames != 0 || m.props(t)[pType] != "empty" {
		t.Errorf("empty message came as %+v", m)
	}
	ch.quiet(q) // no body frame follows
	b := frameBytes(typeMethod, 1, method(basicPublish, uint16(0), "", q, bits(0)))
	b = append(b, frameBytes(typeHeader, 1, header(3, props{}.encode()))...)
	for _, part := range []string{"", "a", "", "", "bc"} {
		b = append(b, frameBytes(typeBody, 1, []byte(part))...)
	}
	ch.c.write(b)
	if m := ch.deliver(); m.body != "abc" || m.frames != 1 {
		t.Errorf("%q in %d frames, want abc in one", m.body, m.frames)
	}
}

// noise is text that repeats nowhere soon, so that lost or moved parts show.
func noise(n int) string {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strconv.Itoa(i * 7919))
	}
	return b.String()[:n]
}

func TestLine035SplitBodies(t *testing.T) {
	t.Parallel()
	in := openChannel(t, frameMax(4096))
	q := in.queue()
	in.consume(q, "t", noAck)
	out := openChannel(t)
	for _, n := range []int{1, 4096 - 9, 4096 - 8, 4096 - 7, 4096, 2 * (4096 - 8), 131072 - 8, 131072 - 7, 10 << 20} {
		body := noise(n)
		out.publish("", q, nil, body)
		m := in.deliver()
		if m.body != body {
			t.Fatalf("%d octets came back changed", n)
		}
		if want := (n + 4087) / 4088; m.frames != want {
			t.Errorf("%d octets came in %d frames of frame_max 4096, want %d", n, m.frames, want)
		}
	}
}

func TestLine036Interleaved(t *testing.T) {
	t.Parallel()
	c := open(t)
	q := c.channel(1).queue()
	const channels, parts = 100, 4
	for n := range channels {
		c.channel(uint16(2 + n))
	}
	part := func(n, i int) string { return fmt.Sprintf("[channel %d part %d]", n, i) }
	var b []byte
	want := map[string]bool{}
	for n := range channels {
		b = append(b, frameBytes(typeMethod, uint16(2+n), method(basicPublish, uint16(0), "", q, bits(0)))...)
	}
	for n := range channels {
		whole := ""
		for i := range parts {
			whole += part(n, i)
		}
		want[whole] = true
		b = append(b, frameBytes(typeHeader, uint16(2+n), header(uint64(len(whole)), props{}.encode()))...)
	}
	for i := range parts {
		for n := range channels {
			b = append(b, frameBytes(typeBody, uint16(2+(n*37+i)%channels), []byte(part((n*37+i)%channels, i)))...)
		}
	}
	c.write(b)
	ch := &channel{c, 1}
	ch.consume(q, "t", noAck)
	for range channels {
		if m := ch.deliver(); !want[m.body] {
			t.Fatalf("body %q is of no channel", m.body)
		} else {
			delete(want, m.body)
		}
	}
}

func TestLine037TooLarge(t *testing.T) {
	t.Parallel()
	t.Run("default limit", func(t *testing.T) {
		t.Parallel()
		c := open(t)
		ch, other := c.channel(1), c.channel(2)
		q := other.queue()
		ch.publish("", q, nil, noise(16<<20))
		ch.get(q, 1)
		ch.publish("", q, nil, noise(16<<20+1))
		ch.closed(preconditionFailed, "message size 16777217 is larger than configured max size 16777216", basicPublish)
		other.quiet(q)
		ch.open()
		ch.publish("", q, nil, "small")
		if got := ch.gets(q); len(got) != 1 || got[0] != "small" {
			t.Errorf("the queue holds %d messages", len(got))
		}
	})
	if broker.rabbit {
		return
	}
	t.Run("memory stays bounded", func(t *testing.T) {
		t.Parallel()
		s := serve(t, "--set", "amqp.max_message_size=64KiB")
		c := open(t, at(s.addr))
		before := s.residentBytes(t)
		body := []byte(noise(1 << 20))
		for n := range uint16(8) {
			ch := c.channel(n + 1)
			c.write(frameBytes(typeMethod, ch.n, method(basicPublish, uint16(0), "", "nowhere", bits(0))))
			c.write(frameBytes(typeHeader, ch.n, header(uint64(16*len(body)), props{}.encode())))
			for range 16 {
				for rest := body; len(rest) > 0; rest = rest[min(len(rest), 131064):] {
					c.write(frameBytes(typeBody, ch.n, rest[:min(len(rest), 131064)]))
				}
			}
			ch.closed(preconditionFailed, "message size 16777216 is larger than configured max size 65536", basicPublish)
			if grown := s.residentBytes(t) - before; grown > 48<<20 {
				t.Fatalf("%d refused messages of 16 MiB cost %d MiB", n+1, grown>>20)
			}
		}
	})
}

// trip publishes with raw properties and returns what a consumer is given.
func trip(t *testing.T, ch *channel, q string, properties []byte) *message {
	t.Helper()
	ch.c.write(publication(ch.n, ch.c.frameMax, "", q, 0, properties, []byte("body")))
	return ch.get(q, 1)
}

// every holds each field type, sorted by key since RabbitMQ sorts.
func every(nested ...field) table {
	return append(table{
		{"A-array", array{int32(1), "two", true, nil, array{int64(3)}, table{{"k", int8(-4)}}}},
		{"B-empty-array", array{}},
		{"D-decimal", decimal{2, 314}},
		{"F-empty-table", table{}},
		{"I-int32", int32(math.MinInt32)},
		{"S-empty", ""},
		{"S-string", "text with \x00, \xff and é"},
		{"T-stamp", stamp(1700000000)},
		{"V-void", nil},
		{"b-int8", int8(-128)},
		{"c-uint8", uint8(255)},
		{"d-double", math.Pi},
		{"f-float", float32(2.5)},
		{"i-uint32", uint32(math.MaxUint32)},
		{"l-int64", int64(math.MinInt64)},
		{"s-int16", int16(-32768)},
		{"t-false", false},
		{"t-true", true},
		{"u-uint16", uint16(65535)},
		{"x-bytes", []byte{0, 1, 0xfe, 0xff}},
	}, nested...)
}

func TestLine038FieldTags(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	check := func(t *testing.T, headers table) {
		t.Helper()
		sent := props{pHeaders: headers}.encode()
		if m := trip(t, ch, q, sent); !bytes.Equal(m.properties, sent) {
			t.Errorf("headers changed:\nsent %q\n got %q", sent, m.properties)
		}
	}
	check(t, every(field{"z-2", every(field{"z-3", every()})}))
	if !broker.rabbit { // RabbitMQ turns L into l and any true into 1; Mayfly keeps bytes (amqp.md 7)
		check(t, table{{"L", raw{'L', "\x80\x00\x00\x00\x00\x00\x00\x01"}}, {"t", raw{'t', "\x07"}}})
	}
}

func TestLine039NaN(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"NaN": math.NaN(), "infinity": math.Inf(1), "minus infinity": float32(math.Inf(-1)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch := openChannel(t)
			q := ch.queue()
			sent := props{pHeaders: table{{"f", v}}}.encode()
			if broker.rabbit { // 541 or a bare end; [M] of amqp.md 5
				ch.c.write(publication(1, 131072, "", q, 0, sent, nil))
				if f, err := ch.c.next(0, patience); err == nil && f.id() != connectionClose {
					t.Errorf("want the end, got %v", f)
				}
				return
			}
			if m := trip(t, ch, q, sent); !bytes.Equal(m.properties, sent) {
				t.Errorf("headers changed:\nsent %q\n got %q", sent, m.properties)
			}
		})
	}
}

func TestLine040DuplicateKeys(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	sent := props{pHeaders: table{{"z", "1"}, {"a", "2"}, {"z", "3"}, {"m", int32(4)}, {"a", "5"}}}
	// RabbitMQ sorts and keeps the first of each name; Mayfly keeps the bytes (amqp.md 7).
	want := pick(sent, props{pHeaders: table{{"a", "2"}, {"m", int32(4)}, {"z", "1"}}}).encode()
	if m := trip(t, ch, q, sent.encode()); !bytes.Equal(m.properties, want) {
		t.Errorf("headers\n got %q\nwant %q", m.properties, want)
	}
}

func TestLine041Properties(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	all := props{
		pContentType: "text/plain", pContentEncoding: "gzip", pHeaders: table{{"k", "v"}}, pDeliveryMode: uint8(2),
		pPriority: uint8(9), pCorrelationID: "corr", pReplyTo: "reply", pExpiration: "60000", pMessageID: "id-1",
		pTimestamp: uint64(1700000000), pType: "kind", pUserID: broker.user, pAppID: "app", pClusterID: "cluster",
	}
	check := func(t *testing.T, p props) {
		t.Helper()
		sent := p.encode()
		if m := trip(t, ch, q, sent); !bytes.Equal(m.properties, sent) {
			t.Errorf("properties changed:\nsent %q\n got %q", sent, m.properties)
		}
	}
	t.Run("none", func(t *testing.T) { check(t, props{}) })
	t.Run("all", func(t *testing.T) { check(t, all) })
	for bit, v := range all {
		t.Run(fmt.Sprintf("bit %d alone", bit), func(t *testing.T) { check(t, props{bit: v}) })
		if _, text := v.(string); text && bit != pExpiration && bit != pUserID {
			t.Run(fmt.Sprintf("bit %d empty", bit), func(t *testing.T) { check(t, props{bit: ""}) })
			t.Run(fmt.Sprintf("bit %d full", bit), func(t *testing.T) { check(t, props{bit: strings.Repeat("é", 127) + "x"}) })
		}
	}
	t.Run("empty headers", func(t *testing.T) { check(t, props{pHeaders: table{}}) })
	t.Run("odd numbers", func(t *testing.T) {
		check(t, props{pDeliveryMode: uint8(1), pPriority: uint8(255), pTimestamp: uint64(math.MaxUint64)})
		check(t, props{pDeliveryMode: uint8(0), pPriority: uint8(0), pTimestamp: uint64(0)})
	})
}

func TestLine042UTF8(t *testing.T) {
	t.Parallel()
	t.Run("queue name", func(t *testing.T) {
		ch := openChannel(t)
		ch.send(queueDeclare, declareArgs("bad\xff\xfename", exclusive, nil)...)
		ch.c.closed(frameError, "Malformed UTF-8 in shortstr", anyID)
	})
	t.Run("accepted elsewhere", func(t *testing.T) {
		ch := openChannel(t)
		q, _ := ch.declare(unique("żółw-ключ-🐢"), exclusive, nil)
		x := ch.exchange("fanout", 0)
		ch.bind(q, x, "")
		sent := props{pHeaders: table{{"k", "\xff\xfe"}}}.encode()
		ch.c.write(publication(1, 131072, x, "key\xff\xfe", 0, sent, nil))
		if m := ch.get(q, 1); m.key != "key\xff\xfe" || !bytes.Equal(m.properties, sent) {
			t.Errorf("came back with key %q, properties %q", m.key, m.properties)
		}
	})
}
