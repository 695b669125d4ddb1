package dlx

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mayfly/amqp/wire"
	"mayfly/ttl"
)

// message is an envelope in a test, its slices its own.
type message struct {
	exchange, key string
	props         []byte
	ann           []byte
}

func (m message) parts() Parts {
	return Parts{Exchange: []byte(m.exchange), Key: []byte(m.key), Props: m.props, Annotations: m.ann}
}

// props writes properties with headers and expiration; a content type stands for the rest.
func props(headers wire.Table, expiration string) []byte {
	edits := []wire.PropEdit{{Flag: wire.PropContentType, Value: wire.AppendShortstr(nil, "text/plain")}}
	if expiration != "" {
		edits = append(edits, wire.PropEdit{Flag: wire.PropExpiration, Value: wire.AppendShortstr(nil, expiration)})
	}
	if headers != nil {
		v := wire.AppendValue(nil, wire.TableValue(headers))[1:]
		edits = append(edits, wire.PropEdit{Flag: wire.PropHeaders, Value: v})
	}
	var none wire.Properties
	if err := wire.ParseProperties([]byte{0, 0}, &none); err != nil {
		panic(err)
	}
	return wire.AppendProperties(nil, &none, edits, nil)
}

func strs(keys ...string) wire.Value {
	var a wire.Array
	for _, k := range keys {
		a = wire.AppendValue(a, wire.StringValue(k))
	}
	return wire.ArrayValue(a)
}

// show prints a value of a header, strings bare, tables as {k v, …}.
func show(v wire.Value) string {
	if a, ok := v.Array(); ok {
		var parts []string
		for e := range a.All() {
			parts = append(parts, show(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if tb, ok := v.Table(); ok {
		var parts []string
		for k, e := range tb.All() {
			parts = append(parts, string(k)+" "+show(e))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return string(v.Tag) + ":" + v.Text()
}

func header(t *testing.T, m message, key string) string {
	t.Helper()
	var p wire.Properties
	if err := wire.ParseProperties(m.props, &p); err != nil {
		t.Fatal(err)
	}
	v, ok := p.Headers().Get(key)
	if !ok {
		return "absent"
	}
	return show(v)
}

// die rewrites once and checks what holds for every death.
func die(t *testing.T, w *Rewriter, m message, reason Reason, queue string, to Target) (message, *Moved) {
	t.Helper()
	moved, cause, err := w.Rewrite(m.parts(), &Letter{ID: 1, Reason: reason, At: ttl.Stamp(1790000000999)}, queue, to)
	if err != nil || cause != NotDropped {
		t.Fatalf("Rewrite: %v, %v", cause, err)
	}
	out := message{string(moved.Exchange), string(moved.Key), slices.Clone(moved.Props), slices.Clone(moved.Annotations)}
	var p wire.Properties
	if err := wire.ParseProperties(out.props, &p); err != nil {
		t.Fatalf("new properties: %v", err)
	}
	if p.Has(wire.PropExpiration) {
		t.Error("expiration is still there (D-7)")
	}
	if ct, _ := p.ContentType(); string(ct) != "text/plain" {
		t.Errorf("content type is %q (D-7)", ct)
	}
	if !bytes.Equal(moved.Headers, p.Headers()) {
		t.Error("Moved.Headers are not those of Moved.Props")
	}
	return out, moved
}

func keys(bs [][]byte) []string {
	out := []string{}
	for _, b := range bs {
		out = append(out, string(b))
	}
	return out
}

// TestRewriteExample is the example seen on a broker (section 4.2): W rejects to
// R, R sends back by TTL, three rounds.
func TestRewriteExample(t *testing.T) {
	var w Rewriter
	m := message{exchange: "X", key: "orig.key", props: props(nil, "60000")}
	for range 3 {
		m, _ = die(t, &w, m, Rejected, "W", Target{Exchange: "", Key: "R", HasKey: true})
		m, _ = die(t, &w, m, Expired, "R", Target{Exchange: "", Key: "W", HasKey: true})
	}
	want := map[string]string{
		"x-death": "[{count l:3, reason S:expired, queue S:R, time T:1790000000, exchange S:, routing-keys [S:R]}, " +
			"{original-expiration S:60000, count l:3, reason S:rejected, queue S:W, time T:1790000000, exchange S:X, routing-keys [S:orig.key]}]",
		"x-first-death-reason": "S:rejected", "x-first-death-queue": "S:W", "x-first-death-exchange": "S:X",
		"x-last-death-reason": "S:expired", "x-last-death-queue": "S:R", "x-last-death-exchange": "S:",
	}
	for k, v := range want {
		if got := header(t, m, k); got != v {
			t.Errorf("%s is %s, want %s", k, got, v)
		}
	}
	if m.exchange != "" || m.key != "W" {
		t.Errorf("published to %q %q (D-5)", m.exchange, m.key)
	}
}

// TestRewriteKeys is D-3 to D-5: which keys route, which are recorded, over two hops.
func TestRewriteKeys(t *testing.T) {
	headers := wire.AppendRaw(nil, "CC", strs("c1", "c2"))
	headers = wire.AppendRaw(headers, "other", wire.LongValue(7))
	first := message{exchange: "X", key: "k", props: props(headers, ""), ann: AppendBCC(nil, bs("b1"))}
	keep, own := Target{Exchange: "D"}, Target{Exchange: "D", Key: "dk", HasKey: true}
	tests := []struct {
		name   string
		hops   []Target
		key    string
		extra  []string
		routed string // routing-keys of the newest death
	}{
		{"no key", []Target{keep}, "k", []string{"c1", "c2", "b1"}, "[S:k, S:c1, S:c2]"},
		{"own key", []Target{own}, "dk", []string{}, "[S:k, S:c1, S:c2]"},
		{"no key twice", []Target{keep, keep}, "k", []string{"c1", "c2", "b1"}, "[S:k, S:c1, S:c2]"},
		{"own key, then none", []Target{own, keep}, "dk", []string{}, "[S:dk]"},
		{"none, then own key", []Target{keep, own}, "dk", []string{}, "[S:k, S:c1, S:c2]"},
		{"empty key of its own", []Target{{Exchange: "D", HasKey: true}}, "", []string{}, "[S:k, S:c1, S:c2]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var w Rewriter
			m := first
			var moved *Moved
			for i, to := range tt.hops {
				m, moved = die(t, &w, m, Rejected, fmt.Sprint("q", i), to)
			}
			if m.key != tt.key || !slices.Equal(keys(moved.Extra), tt.extra) {
				t.Errorf("routed by %q and %q, want %q and %q", m.key, moved.Extra, tt.key, tt.extra)
			}
			if got := header(t, m, "x-death"); !strings.HasSuffix(strings.SplitAfter(got, "]}")[0], "routing-keys "+tt.routed+"}") {
				t.Errorf("x-death is %s, want routing-keys %s", got, tt.routed)
			}
			if got := header(t, m, "CC"); got != "[S:c1, S:c2]" {
				t.Errorf("CC is %s: it stays (D-4)", got)
			}
			if got := header(t, m, "BCC"); got != "absent" {
				t.Errorf("BCC is %s", got)
			}
		})
	}
}

// TestRewriteUntrusted is D-25 and D-26: what a client wrote counts for nothing
// and is overwritten.
func TestRewriteUntrusted(t *testing.T) {
	forged := wire.AppendRaw(nil, "x-death", strs("not a table"))
	forged = wire.AppendString(forged, "x-first-death-reason", "forged")
	forged = wire.AppendString(forged, "mine", "kept")
	forged = wire.AppendString(forged, "x-last-death-queue", "forged")
	forged = wire.AppendLong(forged, "x-death", 9)
	var w Rewriter
	m, _ := die(t, &w, message{exchange: "X", key: "k", props: props(forged, "")}, MaxLen, "q", Target{Exchange: "D"})
	if got, want := header(t, m, "x-death"), "[{count l:1, reason S:maxlen, queue S:q, time T:1790000000, exchange S:X, routing-keys [S:k]}]"; got != want {
		t.Errorf("x-death is %s, want %s", got, want)
	}
	if got := header(t, m, "x-first-death-reason"); got != "S:maxlen" {
		t.Errorf("x-first-death-reason is %s", got)
	}
	var p wire.Properties
	if err := wire.ParseProperties(m.props, &p); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for k := range p.Headers().All() {
		seen[string(k)]++
	}
	if len(seen) != 8 || seen["x-death"] != 1 || seen["mine"] != 1 {
		t.Errorf("headers are %v, want mine and the seven", seen)
	}

	// A consumer that publishes a dead letter itself starts a fresh history.
	m.ann = nil
	m, _ = die(t, &w, m, MaxLen, "q", Target{Exchange: "D"})
	if got := header(t, m, "x-death"); !strings.Contains(got, "count l:1") {
		t.Errorf("x-death is %s, want count 1 (D-25)", got)
	}
}

// TestRewriteHistory is D-21: order, counts, and what stays as it was.
func TestRewriteHistory(t *testing.T) {
	var w Rewriter
	m := message{exchange: "X", key: "k", props: props(nil, "5")}
	m, _ = die(t, &w, m, Expired, "a", Target{Exchange: "D1"})
	m, _ = die(t, &w, m, Rejected, "a", Target{Exchange: "D2"})
	m, _ = die(t, &w, m, DeliveryLimit, "b", Target{Exchange: "D3"})
	m, moved := die(t, &w, m, Expired, "a", Target{Exchange: "D4"})
	want := "[{original-expiration S:5, count l:2, reason S:expired, queue S:a, time T:1790000000, exchange S:X, routing-keys [S:k]}, " +
		"{count l:1, reason S:delivery_limit, queue S:b, time T:1790000000, exchange S:D2, routing-keys [S:k]}, " +
		"{count l:1, reason S:rejected, queue S:a, time T:1790000000, exchange S:D1, routing-keys [S:k]}]"
	if got := header(t, m, "x-death"); got != want {
		t.Errorf("x-death is\n%s, want\n%s", got, want)
	}
	if got := header(t, m, "x-last-death-exchange"); got != "S:D3" {
		t.Errorf("x-last-death-exchange is %s, want that of this death (D-23)", got)
	}
	if !moved.Notes.Cycles("a") || !moved.Notes.Cycles("b") || moved.Notes.Cycles("c") {
		t.Error("cycles are not seen (D-30)")
	}
}

// TestRewriteHopCap is D-34.
func TestRewriteHopCap(t *testing.T) {
	var w Rewriter
	m := message{exchange: "", key: "k", props: props(nil, "")}
	for i := range 2000 {
		moved, cause, err := w.Rewrite(m.parts(), &Letter{Reason: Rejected, At: 1}, fmt.Sprint("q", i), Target{})
		if err != nil {
			t.Fatal(err)
		}
		if cause == History {
			if i < 300 || i > maxPairs {
				t.Errorf("dropped after %d queues", i)
			}
			return
		}
		m = message{"", "k", slices.Clone(moved.Props), slices.Clone(moved.Annotations)}
		var p wire.Properties
		if err := wire.ParseProperties(m.props, &p); err != nil {
			t.Fatal(err)
		}
		if v, _ := p.Headers().Get("x-death"); len(v.Data) > maxXDeath {
			t.Fatalf("x-death has %d bytes", len(v.Data))
		}
	}
	t.Error("never dropped")
}

func TestRewriteBroken(t *testing.T) {
	var w Rewriter
	if _, _, err := w.Rewrite(Parts{Props: []byte{0, 0}, Annotations: []byte{7}}, &Letter{Reason: Expired}, "q", Target{}); err == nil {
		t.Error("broken annotations were taken")
	}
	if _, _, err := w.Rewrite(Parts{Props: []byte{0}}, &Letter{Reason: Expired}, "q", Target{}); err == nil {
		t.Error("broken properties were taken")
	}
}

// TestRewriteReuse: a Rewriter gives the same whether new or used.
func TestRewriteReuse(t *testing.T) {
	var used Rewriter
	one := message{exchange: "X", key: "k", props: props(wire.AppendRaw(nil, "CC", strs("c")), "7"), ann: AppendBCC(nil, bs("b"))}
	two := message{exchange: "Y", key: "l", props: props(nil, "")}
	for range 3 {
		for _, m := range []message{one, two} {
			for range 4 {
				var fresh Rewriter
				a, ma := die(t, &used, m, Expired, "q", Target{Exchange: "D"})
				extra := keys(ma.Extra)
				b, mb := die(t, &fresh, m, Expired, "q", Target{Exchange: "D"})
				if !bytes.Equal(a.props, b.props) || !bytes.Equal(a.ann, b.ann) || !slices.Equal(extra, keys(mb.Extra)) {
					t.Fatalf("used %+v, fresh %+v", a, b)
				}
				m = a
			}
		}
	}
}

func BenchmarkRewrite(b *testing.B) {
	var w Rewriter
	m := message{exchange: "X", key: "k", props: props(wire.AppendString(nil, "trace", "0123456789"), "60000")}
	in := m.parts()
	l := &Letter{ID: 1, Reason: Expired, At: 1790000000999}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := w.Rewrite(in, l, "hold.E.K.2000", Target{Exchange: "E", Key: "K", HasKey: true}); err != nil {
			b.Fatal(err)
		}
	}
}
