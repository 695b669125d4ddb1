package catalog

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"mayfly/queue/exchange"
)

var update = flag.Bool("update", false, "rewrite golden files")

// everyCommand has each kind with all its fields set.
func everyCommand() []Command {
	b := exchange.Binding{Source: "x", Dest: exchange.Dest{Queue: true, Name: "q"}, Key: "k", Args: args("a", 1)}
	cs := []Command{
		Seed{"/", "guest", "alg", []byte{1, 2}, []string{"administrator"}},
		PutVhost{"v", "d", []string{"a", "b"}, "quorum", true, true},
		DeleteVhost{"v"},
		PutVhostLimits{"v", NewLimit(0), NewLimit(math.MaxInt64)},
		PutUser{"u", "alg", []byte{0, 255}, []string{"t"}, NewLimit(1), NewLimit(-1)},
		DeleteUser{"u"},
		PutUserLimits{"u", NewLimit(5), Limit{}},
		PutPermission{"u", "v", "c", "w", "r"},
		DeletePermission{"u", "v"},
		PutTopicPermission{"u", "v", "x", "w", "r"},
		DeleteTopicPermission{"u", "v", "x", true},
		PutParameter{"v", "c", "n", []byte(`{"a":1}`)},
		DeleteParameter{"v", "c", "n"},
		PutGlobalParameter{"n", []byte("5")},
		DeleteGlobalParameter{"n"},
		DeclareExchange{"v", "x", "topic", true, true, true, args("alternate-exchange", "ae"), true},
		DeleteExchange{"v", "x", true},
		DeclareQueue{"v", "q", true, true, true, math.MaxUint64, args("x-message-ttl", 5), "u", true, true},
		DeleteQueue{300},
		Bind{"v", b, 7},
		Unbind{"v", b, 7},
		NodeUp{"mayfly@host"},
		NodeGone{math.MaxUint32},
		DropTransient{3},
	}
	return append(cs, Batch{Commands: []Command{cs[0], cs[1]}})
}

// TestCodec holds golden bytes of every kind: the log outlives the binary.
func TestCodec(t *testing.T) {
	var text strings.Builder
	kinds := map[uint64]bool{}
	for _, c := range everyCommand() {
		b := Encode(c)
		got, err := Decode(b)
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%T\n got %#v %v\nwant %#v", c, got, err, c)
		}
		for i := range b {
			if _, err := Decode(b[:i]); err == nil {
				t.Errorf("%T cut to %d of %d bytes was decoded", c, i, len(b))
			}
		}
		if _, err := Decode(append(bytes.Clone(b), 0)); err == nil {
			t.Errorf("%T with a byte too many was decoded", c)
		}
		kinds[uint64(b[1])] = true
		fmt.Fprintf(&text, "%T %s\n", c, hex.EncodeToString(b))
	}
	if len(kinds) != int(kindDropTransient) {
		t.Errorf("%d kinds tested of %d", len(kinds), kindDropTransient)
	}
	const golden = "testdata/commands.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("encodings differ from %s, which is what logs hold:\n%s", golden, text.String())
	}
}

func TestCodecRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"nothing":                  nil,
		"another format":           {2, byte(kindDeleteUser), 0},
		"kind 0":                   {1, 0},
		"unknown kind":             {1, 200, 1},
		"long form of a number":    {1, 0x80 | byte(kindDeleteUser), 0, 1, 'u'},
		"a number that never ends": append([]byte{1}, bytes.Repeat([]byte{0xff}, 20)...),
		"string of 2^63 bytes":     append([]byte{1, byte(kindDeleteUser)}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
		"batch of 2^32":            {1, byte(kindBatch), 0xff, 0xff, 0xff, 0xff, 0x0f},
		"boolean 2":                {1, byte(kindDeleteExchange), 0, 0, 2},
		"batch in a batch":         {1, byte(kindBatch), 1, byte(kindBatch), 0},
	} {
		if c, err := Decode(b); err == nil {
			t.Errorf("%s: decoded %#v", name, c)
		}
	}
	nested := Batch{Commands: []Command{&Batch{Commands: []Command{DeleteUser{"a"}, Batch{Commands: []Command{DeleteUser{"b"}}}}}, DeleteUser{"c"}}}
	want := Batch{Commands: []Command{DeleteUser{"a"}, DeleteUser{"b"}, DeleteUser{"c"}}}
	if got, err := Decode(Encode(nested)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("nested batch: %#v %v", got, err)
	}
}

// TestUndecodableStops: better absent than different.
func TestUndecodableStops(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an entry that cannot be decoded was passed over")
		}
	}()
	New().Apply(1, []byte{99})
}

// FuzzDecode: never panics; what is decoded has one encoding; applying it keeps the
// invariants.
func FuzzDecode(f *testing.F) {
	for _, c := range everyCommand() {
		f.Add(Encode(c))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Decode(data)
		if err != nil {
			return
		}
		if b := Encode(c); !bytes.Equal(b, data) {
			t.Fatalf("%#v\nread from %x\nwritten as %x", c, data, b)
		}
		m := New()
		for i, cmd := range []Command{PutVhost{Name: "/"}, PutVhost{Name: "v"}, PutUser{Name: "u"}, DeclareQueue{Vhost: "v", Name: "q"},
			DeclareExchange{Vhost: "v", Name: "x", Type: "topic"}, c, c} {
			m.Apply(uint64(i+1), Encode(cmd))
		}
		if err := m.Check(); err != nil {
			t.Fatalf("after %#v: %v", c, err)
		}
	})
}
