package exchange

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"mayfly/amqp/wire"
)

func q(name string) Dest { return Dest{Queue: true, Name: name} }
func x(name string) Dest { return Dest{Name: name} }

// TestBindIdentity: what makes two bindings the same.
func TestBindIdentity(t *testing.T) {
	base := Binding{Source: "e", Dest: q("q"), Key: "k", Args: args("a", 1, "b", 2)}
	tests := []struct {
		name string
		b    Binding
		same bool
	}{
		{"itself", base, true},
		{"arguments in other order", Binding{"e", q("q"), "k", args("b", 2, "a", 1)}, true},
		{"a duplicate argument", Binding{"e", q("q"), "k", args("a", 1, "b", 2, "a", 9)}, true},
		{"the other letter for long", Binding{"e", q("q"), "k", args("a", wire.Value{Tag: 'L', Data: wire.LongValue(1).Data}, "b", 2)}, true},
		{"other key", Binding{"e", q("q"), "K", base.Args}, false},
		{"other argument", Binding{"e", q("q"), "k", args("a", 1, "b", 3)}, false},
		{"no argument", Binding{"e", q("q"), "k", nil}, false},
		{"an exchange of that name", Binding{"e", x("q"), "k", base.Args}, false},
	}
	for _, kind := range []Kind{Direct, Fanout, Topic, Headers, LocalRandom, ConsistentHash} {
		e, _ := New(Spec{Name: "e", Kind: kind}).Bind(base)
		for _, tt := range tests {
			more, added := e.Bind(tt.b)
			if added == tt.same || more.BindingCount() != 2-b2i(tt.same) {
				t.Errorf("%v, %s: added %v", kind, tt.name, added)
			}
			if less, removed := e.Unbind(tt.b); removed != tt.same || less.BindingCount() != 1-b2i(tt.same) {
				t.Errorf("%v, %s: removed %v", kind, tt.name, removed)
			}
			if tt.same && more != e {
				t.Errorf("%v, %s: a repeated bind made another exchange", kind, tt.name)
			}
		}
		if e.BindingCount() != 1 || len(e.Bindings()) != 1 {
			t.Errorf("%v: the exchange itself changed", kind)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestBindingsTwin walks exchanges of all types and a plain list through random
// binds and unbinds, checks what they list and route, and looks at old versions
// again at the end.
func TestBindingsTwin(t *testing.T) {
	type version struct {
		e    *Exchange
		list []Binding
	}
	for _, kind := range []Kind{Direct, Fanout, Topic, Headers, LocalRandom, ConsistentHash} {
		t.Run(kind.String(), func(t *testing.T) {
			seed := int64(kind)
			t.Logf("seed %d", seed)
			rnd := rand.New(rand.NewSource(seed))
			e := New(Spec{Name: "e", Kind: kind})
			var list []Binding
			var versions []version
			find := func(b Binding) int {
				return slices.IndexFunc(list, func(c Binding) bool { return reflect.DeepEqual(b, c) })
			}
			for step := range 3000 {
				b := Binding{Source: "e", Dest: Dest{rnd.Intn(4) > 0, fmt.Sprint("d", rnd.Intn(12))}, Key: fmt.Sprint(rnd.Intn(5))}
				if rnd.Intn(3) == 0 {
					b.Args = args("a", rnd.Intn(2))
				}
				i := find(b)
				switch k := rnd.Intn(20); {
				case k < 10:
					var added bool
					if e, added = e.Bind(b); added != (i < 0) {
						t.Fatalf("step %d: added %v", step, added)
					} else if added {
						list = append(slices.Clone(list), b)
					}
				case k < 19:
					var removed bool
					if e, removed = e.Unbind(b); removed != (i >= 0) {
						t.Fatalf("step %d: removed %v", step, removed)
					} else if removed {
						list = slices.Delete(slices.Clone(list), i, i+1)
					}
				default:
					var n int
					want := len(list)
					list = slices.DeleteFunc(slices.Clone(list), func(c Binding) bool { return c.Dest == b.Dest })
					if e, n = e.UnbindDest(b.Dest); n != want-len(list) {
						t.Fatalf("step %d: %d unbound, want %d", step, n, want-len(list))
					}
				}
				if step%50 == 0 {
					versions = append(versions, version{e, list})
				}
			}
			for i, v := range versions {
				checkBindings(t, i, v.e, v.list)
			}
			for i := range 12 {
				e, _ = e.UnbindDest(q(fmt.Sprint("d", i)))
				e, _ = e.UnbindDest(x(fmt.Sprint("d", i)))
			}
			empty := New(Spec{Name: "e", Kind: kind})
			e.headers, e.weights = e.headers[:0], e.weights[:0]
			if e.BindingCount() != 0 || len(e.Bindings()) != 0 || e.all != nil || e.topic != nil || e.keys != empty.keys || e.bindings != empty.bindings {
				t.Error("an exchange without bindings is not empty")
			}
		})
	}
}

func checkBindings(t *testing.T, i int, e *Exchange, list []Binding) {
	t.Helper()
	got := e.Bindings()
	if len(got) != len(list) || e.BindingCount() != len(list) {
		t.Fatalf("version %d: %d bindings, count %d, want %d", i, len(got), e.BindingCount(), len(list))
	}
	byDest := map[Dest][]Binding{}
	for _, b := range got {
		if !slices.ContainsFunc(list, func(c Binding) bool { return reflect.DeepEqual(b, c) }) {
			t.Fatalf("version %d: lists %v", i, b)
		}
		byDest[b.Dest] = append(byDest[b.Dest], b)
	}
	for d, want := range byDest {
		if got := e.BindingsTo(d); !reflect.DeepEqual(got, want) {
			t.Fatalf("version %d: BindingsTo(%v) = %v, want %v", i, d, got, want)
		}
	}
	var r Router
	for key := range 5 {
		k := fmt.Sprint(key)
		var want []string
		for _, b := range list {
			if b.Dest.Queue && (e.Kind == Fanout || e.Kind == Headers && b.Args == nil || e.Kind != Headers && b.Key == k) {
				want = append(want, b.Dest.Name)
			}
		}
		slices.Sort(want)
		want = slices.Compact(want)
		got := (*Table)(nil).Route(e, &Message{Key: []byte(k)}, &r)
		if e.Kind == LocalRandom || e.Kind == ConsistentHash {
			for _, name := range got {
				if len(got) != 1 || len(e.BindingsTo(q(name))) == 0 {
					t.Fatalf("version %d: %v routes to %q", i, e.Kind, got)
				}
			}
		} else if !slices.Equal(got, want) {
			t.Fatalf("version %d, key %s: %q, want %q", i, k, got, want)
		}
	}
}

func TestBindingsSorted(t *testing.T) {
	e := New(Spec{Name: "e", Kind: Topic})
	want := []Binding{
		{"e", q("a"), "k", nil}, {"e", q("a"), "k", args("a", 1)}, {"e", q("a"), "k", args("a", 2)},
		{"e", q("a"), "long", nil}, {"e", q("b"), "", nil}, {"e", x("a"), "a", nil},
	}
	for _, i := range rand.New(rand.NewSource(3)).Perm(len(want)) {
		e, _ = e.Bind(want[i])
	}
	if got := e.Bindings(); !reflect.DeepEqual(got, want) {
		t.Errorf("Bindings = %v, want %v", got, want)
	}
}

func TestKinds(t *testing.T) {
	for k := Direct; k <= ConsistentHash; k++ {
		if got, ok := ParseKind(k.String()); !ok || got != k {
			t.Errorf("%v does not come back", k)
		}
	}
	for _, s := range []string{"", "unknown", "Direct", "x-delayed-message"} {
		if k, ok := ParseKind(s); ok {
			t.Errorf("%q is type %v", s, k)
		}
	}
	tests := []struct {
		got, want string
	}{
		{CheckKey(ConsistentHash, "10"), ""},
		{CheckKey(ConsistentHash, "ten"), `The binding key must be an integer: <<"ten">>`},
		{CheckKey(LocalRandom, ""), ""},
		{CheckKey(LocalRandom, "k"), "Non-empty binding 'k' key not permitted"},
		{CheckKey(Topic, "ten"), ""},
		{CheckDeclare(ConsistentHash, args("hash-header", "h")), ""},
		{CheckDeclare(ConsistentHash, args("hash-header", 1)), "Unsupported type of hash-header: long"},
		{CheckDeclare(ConsistentHash, args("hash-property", "message_id")), "Unsupported property: message_id"},
		{CheckDeclare(Direct, args("hash-property", "message_id")), ""},
	}
	for i, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("check %d: %q, want %q", i, tt.got, tt.want)
		}
	}
}

func TestSplitCC(t *testing.T) {
	list := func(names ...string) wire.Value {
		var a wire.Array
		for i, n := range names {
			if i == 1 {
				a = wire.AppendValue(a, wire.LongValue(5)) // skipped
			}
			a = wire.AppendValue(a, wire.StringValue(n))
		}
		return wire.ArrayValue(a)
	}
	tests := []struct {
		headers wire.Table
		cc, bcc string
		detail  string
	}{
		{nil, "[]", "[]", ""},
		{args("other", 1), "[]", "[]", ""},
		{args("CC", list("a", "b"), "BCC", list("c")), "[a b]", "[c]", ""},
		{args("CC", list()), "[]", "[]", ""},
		{args("cc", "a"), "[]", "[]", ""},
		{args("CC", "a"), "[]", "[]", `{unacceptable_type_in_header,"CC",longstr}`},
		{args("CC", list("a"), "BCC", wire.IntValue(1)), "[a]", "[]", `{unacceptable_type_in_header,"BCC",signedint}`},
		{args("BCC", nil, "CC", nil), "[]", "[]", `{unacceptable_type_in_header,"CC",void}`},
	}
	for i, tt := range tests {
		cc, bcc, detail := SplitCC(tt.headers, nil, nil)
		if fmt.Sprintf("%s", cc) != tt.cc || fmt.Sprintf("%s", bcc) != tt.bcc || detail != tt.detail {
			t.Errorf("row %d: %s %s %q, want %s %s %q", i, cc, bcc, detail, tt.cc, tt.bcc, tt.detail)
		}
	}
}
