package wire

import (
	"bytes"
	"testing"
)

// loop gives the same bytes for ever.
type loop struct {
	b  []byte
	at int
}

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.b[l.at:])
	l.at = (l.at + n) % len(l.b)
	return n, nil
}

var (
	benchPublish = payloadOf(&BasicPublish{Exchange: "orders", RoutingKey: "eu.west.created"})
	benchProps   = props(PropContentType|PropHeaders|PropDeliveryMode|PropMessageID, "text/plain",
		AppendString(AppendLong(AppendString(nil, "tenant", "acme"), "attempt", 3), "trace", "00-4bf92f3577b34da6a3ce929d0e0e4736-00"))
	benchBody = bytes.Repeat([]byte("x"), 256)
)

// benchStream is one message as a publisher sends it.
func benchStream() []byte {
	b := AppendMethod(nil, 1, &BasicPublish{Exchange: "orders", RoutingKey: "eu.west.created"})
	return AppendContent(b, 1, benchProps, benchBody, 131072)
}

// TestHotPathsDoNotAllocate is what the benchmarks report, as a test.
func TestHotPathsDoNotAllocate(t *testing.T) {
	r := NewReader(&loop{b: benchStream()}, 64<<10)
	ack := payloadOf(&BasicAck{DeliveryTag: 1})
	x, key := []byte("orders"), []byte("eu.west.created")
	edits := []PropEdit{{Flag: PropExpiration, Remove: true}}
	headerEdits := []HeaderEdit{{Key: "x-delivery-count", Value: AppendValue(nil, LongValue(1))}}
	out := make([]byte, 0, 4096)
	var p Publish
	var ps Properties
	for _, row := range []struct {
		name string
		f    func() error
	}{
		{"Next", func() error { _, err := r.Next(); return err }},
		{"DecodePublish", func() error { return DecodePublish(benchPublish, &p) }},
		{"DecodeAck", func() error { _, _, err := DecodeAck(ack); return err }},
		{"ParseProperties", func() error { return ParseProperties(benchProps, &ps) }},
		{"Headers.Get", func() error { _, _ = ps.Headers().Get("trace"); return nil }},
		{"Headers.All", func() error {
			for _, v := range ps.Headers().All() {
				_, _ = v.Int()
			}
			return nil
		}},
		{"AppendProperties", func() error { AppendProperties(out, &ps, edits, headerEdits); return nil }},
		{"AppendDeliver", func() error { AppendDeliver(out, 1, "ctag", 1, false, x, key); return nil }},
		{"AppendContent", func() error { AppendContent(out, 1, benchProps, benchBody, 131072); return nil }},
		{"AppendAck", func() error { AppendAck(out, 1, 1, true); return nil }},
	} {
		if err := row.f(); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if n := testing.AllocsPerRun(100, func() { _ = row.f() }); n != 0 {
			t.Errorf("%s allocates %v times", row.name, n)
		}
	}
}

func BenchmarkReaderNext(b *testing.B) {
	stream := benchStream()
	r := NewReader(&loop{b: stream}, 64<<10)
	r.SetMax(131072)
	b.SetBytes(int64(len(stream) / 3))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReaderLargeFrames(b *testing.B) {
	stream := AppendBody(nil, 1, make([]byte, 1<<20), 131072)
	r := NewReader(&loop{b: stream}, 64<<10)
	r.SetMax(131072)
	b.SetBytes(131072)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodePublish(b *testing.B) {
	var p Publish
	b.ReportAllocs()
	for b.Loop() {
		if err := DecodePublish(benchPublish, &p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeAck(b *testing.B) {
	payload := payloadOf(&BasicAck{DeliveryTag: 1})
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := DecodeAck(payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseProperties(b *testing.B) {
	var p Properties
	b.ReportAllocs()
	for b.Loop() {
		if err := ParseProperties(benchProps, &p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHeadersGet(b *testing.B) {
	var p Properties
	if err := ParseProperties(benchProps, &p); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := p.Headers().Get("trace"); !ok {
			b.Fatal("missing")
		}
	}
}

func BenchmarkAppendPropertiesWithHeader(b *testing.B) {
	var p Properties
	if err := ParseProperties(benchProps, &p); err != nil {
		b.Fatal(err)
	}
	edits := []HeaderEdit{{Key: "x-delivery-count", Value: AppendValue(nil, LongValue(1))}}
	out := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		out = AppendProperties(out[:0], &p, nil, edits)
	}
}

func BenchmarkAppendDelivery(b *testing.B) {
	x, key := []byte("orders"), []byte("eu.west.created")
	out := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		out = AppendDeliver(out[:0], 1, "ctag-1", 12345, false, x, key)
		out = AppendContent(out, 1, benchProps, benchBody, 131072)
	}
	b.SetBytes(int64(len(out)))
}

func BenchmarkDecodeQueueDeclare(b *testing.B) {
	payload := payloadOf(&QueueDeclare{Queue: "orders", Durable: true, Arguments: AppendLong(AppendString(nil, "x-queue-type", "quorum"), "x-message-ttl", 60000)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidateWorstTable(b *testing.B) {
	var t Table
	for i := range 8 {
		t = AppendArrayEntry(t, string(rune('a'+i)), voids(1023))
	}
	b.SetBytes(int64(len(t)))
	b.ReportAllocs()
	for b.Loop() {
		if err := t.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}
