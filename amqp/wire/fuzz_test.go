package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"
)

// chunks gives data in pieces of the sizes wanted, over and over.
type chunks struct {
	data  []byte
	sizes []byte
	i     int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := len(c.data)
	if len(c.sizes) > 0 {
		n = 1 + int(c.sizes[c.i%len(c.sizes)])
		c.i++
	}
	n = copy(p, c.data[:min(n, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

// trace is all that a reader says about an input, and the largest buffer it had.
func trace(r *Reader) (frames []Frame, err error, peak int) {
	for {
		f, err := r.Next()
		peak = max(peak, len(r.buf))
		if err != nil {
			return frames, err, peak
		}
		f.Payload = bytes.Clone(f.Payload)
		frames = append(frames, f)
	}
}

// F1: the same result for every split, and a heap that follows the input.
func FuzzReader(f *testing.F) {
	f.Add(benchStream(), []byte{0, 6, 200}, uint32(4096), uint32(0))
	f.Add([]byte(frame(FrameMethod, 0, "\x00\x0A\x00\x0B"+string(make([]byte, 300)))), []byte{9}, uint32(100), uint32(1000))
	f.Add([]byte("\x03\x00\x01\xFF\xFF\xFF\xFFabc"), []byte{2}, uint32(0), uint32(0))
	f.Fuzz(func(t *testing.T, data, sizes []byte, frameMax, large uint32) {
		open := func(src io.Reader, buf int) *Reader {
			r := NewReader(src, buf)
			r.SetMax(frameMax)
			r.AllowLarge(int(large))
			return r
		}
		want, wantErr, _ := trace(open(&chunks{data: data}, len(data)+minBuffer))
		for _, buf := range []int{minBuffer, 4096} {
			got, err, peak := trace(open(&chunks{data: data, sizes: sizes}, buf))
			if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("split: %d frames and %v, whole: %d frames and %v", len(got), err, len(want), wantErr)
			}
			// The old buffer lives on while the new one is filled.
			if bound := 4*len(data) + 64<<10; peak+peak/2 > bound {
				t.Fatalf("buffer of %d bytes for %d bytes of input", peak, len(data))
			}
		}
		if e := (*Error)(nil); !errors.As(wantErr, &e) && wantErr != io.EOF && wantErr != io.ErrUnexpectedEOF {
			t.Fatalf("ended with %v", wantErr)
		}
	})
}

// census counts what X3 bounds, by a walk of its own.
type census struct{ depth, widest, total int }

func (c *census) table(t Table, depth int) Table {
	var out Table
	c.depth, c.widest = max(c.depth, depth), max(c.widest, t.Len())
	for k, v := range t.All() {
		out = AppendRaw(out, string(k), c.value(v, depth))
	}
	return out
}

func (c *census) value(v Value, depth int) Value {
	c.total++
	if t, ok := v.Table(); ok {
		return TableValue(c.table(t, depth+1))
	}
	if a, ok := v.Array(); ok {
		c.depth = max(c.depth, depth+1)
		var out []byte
		for e := range a.All() {
			out = AppendValue(out, c.value(e, depth+1))
		}
		return ArrayValue(out)
	}
	return v
}

// F2: what passes Validate is within the bounds and is rebuilt to the same bytes
// from its values; what does not can still be walked.
func FuzzTable(f *testing.F) {
	f.Add([]byte(oneOfEach))
	f.Add([]byte(nest("\x01kF", 65)))
	f.Add([]byte(AppendArrayEntry(nil, "a", voids(9000))))
	f.Add([]byte("\x01kF\xFF\xFF\xFF\xFF"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tab := Table(data)
		_, _ = tab.Get("k")
		_ = TableValue(tab).Text()
		if err := tab.Validate(); err != nil {
			if e := (*Error)(nil); !errors.As(err, &e) || e.Code != 502 {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		var c census
		if again := c.table(tab, 1); !bytes.Equal(again, data) {
			t.Fatalf("rebuilt as %q, was %q", again, data)
		}
		if c.depth > maxNesting || c.widest > maxTableEntries || c.total > maxFrameValues {
			t.Fatalf("X3 passed %+v", c)
		}
		if !ValueEqual(TableValue(tab), TableValue(slices.Clone(tab))) {
			t.Fatal("not equal to its copy")
		}
		for k, v := range tab.All() {
			if first, ok := tab.GetBytes(k); !ok || v.TypeName() == "unknown" || first.Tag == 0 {
				t.Fatalf("key %q: %v %v", k, v, first)
			}
		}
	})
}

// F3, methods: decode, encode, decode is stable, and the decoders of the hot
// path say what Decode says.
func FuzzMethod(f *testing.F) {
	for _, id := range allIDs() {
		f.Add(payloadOf(filled(id)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(data)
		if len(data) >= 4 {
			if hot, hotErr := decodeHot(data); hot != nil {
				if !sameFault(hotErr, err) || err == nil && !bytes.Equal(payloadOf(hot), payloadOf(m)) {
					t.Fatalf("hot %+v (%v), slow %+v (%v)", hot, hotErr, m, err)
				}
			}
		}
		if err != nil {
			if e := (*Error)(nil); !errors.As(err, &e) || e.Code < 501 || e.Code > 503 || len(e.Text) > 2*maxText {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		again, err := Decode(payloadOf(m))
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("%+v came back as %+v (%v)", m, again, err)
		}
	})
}

// F3, content header: verbatim without edits; with them, what is named changes
// and nothing else.
func FuzzProperties(f *testing.F) {
	f.Add(props(allFlags, "text", oneOfEach), "S")
	f.Add(props(PropHeaders, "", AppendVoid(AppendVoid(nil, "k"), "k")), "k")
	f.Add(props(0, "", nil), "")
	f.Add([]byte("\x20\x00\x00\x00\x00\x03\x01kn"), "k")
	f.Fuzz(func(t *testing.T, raw []byte, key string) {
		payload := append(be.AppendUint64(be.AppendUint32(nil, 60<<16), 5), raw...)
		h, err := DecodeHeader(payload)
		if err != nil {
			t.Fatal(err)
		}
		var p, q Properties
		if err := ParseProperties(h.Props, &p); err != nil {
			if e := (*Error)(nil); !errors.As(err, &e) || e.Code != 501 {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		if got := AppendProperties(nil, &p, nil, nil); !bytes.Equal(got, raw) {
			t.Fatalf("copied as %q, was %q", got, raw)
		}
		if len(key) > 255 {
			return
		}
		edits := []PropEdit{{Flag: PropExpiration, Remove: true}, {Flag: PropReplyTo, Value: AppendShortstr(nil, "new")}}
		set := AppendProperties(nil, &p, edits, []HeaderEdit{{Key: key, Value: AppendValue(nil, IntValue(7))}})
		if err := ParseProperties(set, &q); err != nil {
			if p.Headers().Len() < maxTableEntries-1 {
				t.Fatalf("after the edits: %v", err)
			}
			return
		}
		reply, _ := q.ReplyTo()
		v, _ := q.Headers().Get(key)
		if q.Has(PropExpiration) || string(reply) != "new" || v.Text() != "7" || v.Tag != 'I' {
			t.Fatalf("edits lost: %q", set)
		}
		checkOthers(t, &p, &q, key)
	})
}

// checkOthers wants every header but key, and every short string that is not
// edited, to be the same bytes in the same order.
func checkOthers(t *testing.T, p, q *Properties, key string) {
	t.Helper()
	others := func(p *Properties) Table {
		var out Table
		for k, v := range p.Headers().All() {
			if string(k) != key {
				out = AppendRaw(out, string(k), v)
			}
		}
		return out
	}
	if !bytes.Equal(others(p), others(q)) {
		t.Fatalf("headers %q became %q", p.Headers(), q.Headers())
	}
	for _, s := range shorts {
		if s.flag == PropExpiration || s.flag == PropReplyTo {
			continue
		}
		a, okA := s.get(p)
		b, okB := s.get(q)
		if okA != okB || !bytes.Equal(a, b) {
			t.Fatalf("property %016b: %q became %q", s.flag, a, b)
		}
	}
}

// F3, the stock client: a message that its encoder wrote reads the same here,
// and what is written here its decoder reads the same.
func FuzzStockContent(f *testing.F) {
	s := newStock(f, nil)
	ch := s.channel(f)
	returns := ch.NotifyReturn(make(chan amqp091.Return, 1))
	f.Add([]byte(oneOfEach), "text/plain", "60000", byte(9), int64(1<<33), []byte("body"))
	f.Add([]byte{}, "", "", byte(0), int64(0), []byte{})
	f.Fuzz(func(t *testing.T, headers []byte, text, expiration string, small byte, seconds int64, body []byte) {
		if Table(headers).Validate() != nil || len(text) > 255 || len(expiration) > 255 || len(headers) > 60_000 || len(body) > 1<<20 || seconds < 0 {
			return
		}
		msg := amqp091.Publishing{
			ContentType: text, CorrelationId: text, MessageId: text, AppId: text, Expiration: expiration,
			Priority: small, DeliveryMode: small / 2, Body: body,
		}
		if seconds > 0 && seconds < math.MaxInt64>>10 {
			msg.Timestamp = time.Unix(seconds, 0)
		}
		if h := toStock(Table(headers)); len(h) > 0 && comparable091(h) {
			msg.Headers = h
		}
		h, got, back := s.publishAndEcho(t, ch, returns, msg)
		var p Properties
		ok(t, ParseProperties(h.Props, &p))
		checkStockProperties(t, &p, msg)
		if !bytes.Equal(got, body) || !bytes.Equal(back.Body, body) || back.ContentType != text || back.Expiration != expiration ||
			len(back.Headers)+len(msg.Headers) > 0 && !reflect.DeepEqual(back.Headers, msg.Headers) {
			t.Fatalf("sent %+v, back came %+v", msg, back)
		}
	})
}

// comparable091 leaves out what the client itself does not keep: NaN is no equal
// of itself, and it writes only timestamps that time.Time can hold.
func comparable091(v any) bool {
	switch v := v.(type) {
	case amqp091.Table:
		for _, e := range v {
			if !comparable091(e) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !comparable091(e) {
				return false
			}
		}
	case float32:
		return v == v
	case float64:
		return v == v
	case time.Time:
		return v.Unix() >= 0 && v.Unix() < math.MaxInt64>>10
	}
	return true
}
