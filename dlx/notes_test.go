package dlx

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func bs(ss ...string) [][]byte {
	out := make([][]byte, len(ss))
	for i, s := range ss {
		out[i] = []byte(s)
	}
	return out
}

func TestNotesRoundTrip(t *testing.T) {
	long := strings.Repeat("k", 255)
	death := Death{Queue: []byte("q"), Reason: Expired, Count: 1 << 40, Time: 1790000000, Exchange: []byte("x"),
		Keys: bs("a", "", long), Expiration: []byte("60000")}
	tests := []struct {
		name string
		n    Notes
	}{
		{"empty", Notes{}},
		{"bcc", Notes{BCC: bs("a", "", long)}},
		{"rerouted", Notes{Rerouted: true}},
		{"all", Notes{BCC: bs("b"), Rerouted: true, First: Origin{Rejected, []byte("w"), []byte{}}, Deaths: []Death{death, {Queue: []byte("w"), Reason: Rejected, Count: 1, Exchange: []byte{}}}}},
		{"later release", Notes{Rerouted: true, other: []byte{99, 2, 'h', 'i'}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.n.Append([]byte("before"))[len("before"):]
			var got Notes
			if err := got.Parse(b); err != nil {
				t.Fatalf("Parse(%x): %v", b, err)
			}
			if again := got.Append(nil); !bytes.Equal(again, b) {
				t.Errorf("written again: %x, want %x", again, b)
			}
			if len(got.BCC) == 0 {
				got.BCC = nil
			}
			if len(got.Deaths) == 0 {
				got.Deaths = nil
			}
			if !reflect.DeepEqual(got, tt.n) {
				t.Errorf("got %+v, want %+v", got, tt.n)
			}
		})
	}
	if b := AppendBCC(nil, nil); b != nil {
		t.Errorf("a message without BCC got annotations %x", b)
	}
	n := Notes{BCC: bs("a", "bc")}
	if got, want := AppendBCC(nil, n.BCC), n.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("AppendBCC = %x, want %x", got, want)
	}
}

// TestNotesGolden pins the bytes: they are in logs.
func TestNotesGolden(t *testing.T) {
	n := Notes{BCC: bs("k"), Rerouted: true, First: Origin{Rejected, []byte("w"), []byte("x")},
		Deaths: []Death{{Queue: []byte("w"), Reason: Rejected, Count: 2, Time: 300, Exchange: []byte("x"), Keys: bs("a"), Expiration: []byte("5")}}}
	want := "\x01" + "\x01\x01k" + "\x02\x00" + "\x03\x05\x01\x01w\x01x" + "\x04\x0c\x01\x02\xac\x02\x01w\x01x\x015\x01a"
	if got := n.Append(nil); string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNotesRefused(t *testing.T) {
	for _, b := range []string{
		"\x02",                                 // a later version
		"\x01\x01",                             // no length
		"\x01\x01\x05ab",                       // too short
		"\x01\x01\x81\x00a",                    // length written the long way
		"\x01\x02\x01a",                        // flag with a value
		"\x01\x03\x03\x01\x00\x00",             // first death without a death
		"\x01\x03\x03\x09\x00\x00",             // unknown reason
		"\x01\x04\x06\x01\x01\x01\x00\x00\x00", // death without first death
		"\x01\x04\x01\x01",                     // half a death
	} {
		var n Notes
		if err := n.Parse([]byte(b)); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", b, n)
		}
	}
}

func FuzzNotes(f *testing.F) {
	f.Add([]byte("\x01\x01\x01k\x02\x00\x03\x05\x01\x01w\x01x\x04\x0c\x01\x02\xac\x02\x01w\x01x\x015\x01a"))
	f.Add([]byte{})
	f.Add([]byte("\x01\x63\x01a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var n, again Notes
		if n.Parse(b) != nil {
			return
		}
		out := n.Append(nil)
		if err := again.Parse(out); err != nil {
			t.Fatalf("Parse(%q) of own writing: %v", out, err)
		}
		if third := again.Append(nil); !bytes.Equal(third, out) {
			t.Fatalf("unstable: %q, then %q", out, third)
		}
	})
}

// TestCycles is D-30 to D-32. Histories are newest first.
func TestCycles(t *testing.T) {
	h := func(pairs ...string) Notes {
		var n Notes
		for _, p := range pairs {
			queue, reason, _ := strings.Cut(p, " ")
			r, ok := ParseReason(reason)
			if !ok {
				t.Fatalf("no reason %q", reason)
			}
			n.Deaths = append(n.Deaths, Death{Queue: []byte(queue), Reason: r})
		}
		return n
	}
	tests := []struct {
		name   string
		n      Notes
		target string
		want   bool
	}{
		{"first expiry, back to itself", h("A expired"), "A", true},
		{"first expiry, elsewhere", h("A expired"), "B", false},
		{"A B A by expiry", h("B expired", "A expired"), "A", true},
		{"reject to itself", h("A rejected"), "A", false},
		{"reject to itself again", h("A rejected"), "A", false},
		{"A expired, B rejected, A", h("B rejected", "A expired"), "A", false},
		{"B rejected, A expired, B", h("A expired", "B rejected"), "B", false},
		{"rejected before the appearance", h("B expired", "A expired", "C rejected"), "A", true},
		{"maxlen", h("A maxlen"), "A", true},
		{"delivery limit", h("A delivery_limit"), "A", true},
		{"appearance itself rejected", h("B expired", "A rejected"), "A", false},
		{"both pairs of A, the rejected one older", h("A expired", "A rejected"), "A", true},
	}
	for _, tt := range tests {
		if got := tt.n.Cycles(tt.target); got != tt.want {
			t.Errorf("%s: Cycles(%s) = %v, want %v", tt.name, tt.target, got, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	for r := Rejected; r <= DeliveryLimit; r++ {
		if got, ok := ParseReason(r.String()); !ok || got != r || !AllReasons.Has(r) || !Reasons(0).With(r).Has(r) || Reasons(0).Has(r) {
			t.Errorf("reason %v does not come back", r)
		}
	}
	for s := ExactlyOnce; s <= AtMostOnce; s++ {
		if got, ok := ParseStrategy(s.String()); !ok || got != s {
			t.Errorf("strategy %v does not come back", s)
		}
	}
	if _, ok := ParseReason("unknown"); ok || Reason(0).String() != "unknown" {
		t.Error("reason 0 has a name")
	}
	if _, ok := ParseStrategy("never"); ok {
		t.Error("a strategy that does not exist")
	}
	if ReasonOff.String() != "reason_off" || int(ReasonOff) != Causes-1 || Cause(99).String() != "unknown" {
		t.Error("causes and their names do not line up")
	}
}
