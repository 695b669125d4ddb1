package exchange

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"mayfly/amqp/wire"
)

// args makes a table from pairs of key and value.
func args(pairs ...any) wire.Table {
	var t wire.Table
	for i := 0; i < len(pairs); i += 2 {
		key := pairs[i].(string)
		switch v := pairs[i+1].(type) {
		case string:
			t = wire.AppendString(t, key, v)
		case int:
			t = wire.AppendLong(t, key, int64(v))
		case bool:
			t = wire.AppendBool(t, key, v)
		case nil:
			t = wire.AppendVoid(t, key)
		case wire.Value:
			t = wire.AppendRaw(t, key, v)
		}
	}
	return t
}

func headersOf(a wire.Table) *Exchange {
	e, _ := New(Spec{Name: "h", Kind: Headers}).Bind(Binding{Source: "h", Dest: Dest{Queue: true, Name: "q"}, Key: "ignored", Args: a})
	return e
}

// TestHeadersTable is the tables of amqp.md 13, cell by cell.
func TestHeadersTable(t *testing.T) {
	double := wire.Value{Tag: 'd', Data: []byte{0x3f, 0xf0, 0, 0, 0, 0, 0, 0}} // 1.0
	float := wire.Value{Tag: 'f', Data: []byte{0x3f, 0x80, 0, 0}}
	byte1 := wire.Value{Tag: 'b', Data: []byte{1}}
	ubyte1 := wire.Value{Tag: 'B', Data: []byte{1}}
	list := func(vs ...wire.Value) wire.Value {
		var a wire.Array
		for _, v := range vs {
			a = wire.AppendValue(a, v)
		}
		return wire.ArrayValue(a)
	}
	tests := []struct {
		name    string
		binding wire.Table
		headers wire.Table
		want    bool
	}{
		{"absent x-match: all", args("a", 1, "b", 2), args("a", 1, "b", 2), true},
		{"absent x-match: one missing", args("a", 1, "b", 2), args("a", 1), false},
		{"all: every argument", args("x-match", "all", "a", 1, "b", "x"), args("b", "x", "c", 9, "a", 1), true},
		{"all: one differs", args("x-match", "all", "a", 1, "b", "x"), args("b", "y", "a", 1), false},
		{"all: x- does not count", args("x-match", "all", "a", 1, "x-b", 2), args("a", 1), true},
		{"all: none, with headers", args("x-match", "all"), args("a", 1), true},
		{"all: none, without headers", args("x-match", "all"), nil, true},
		{"all: only x-, without headers", args("x-b", 2), nil, true},
		{"no arguments at all", nil, nil, true},
		{"any: one of two", args("x-match", "any", "a", 1, "b", 2), args("b", 2), true},
		{"any: neither", args("x-match", "any", "a", 1, "b", 2), args("a", 2, "b", 1), false},
		{"any: x- does not count", args("x-match", "any", "a", 1, "x-b", 2), args("x-b", 2), false},
		{"any: none", args("x-match", "any"), args("a", 1), false},
		{"any: none, without headers", args("x-match", "any"), nil, false},
		{"any: only x-", args("x-match", "any", "x-b", 2), args("x-b", 2), false},
		{"all-with-x: x- counts", args("x-match", "all-with-x", "a", 1, "x-b", 2), args("a", 1), false},
		{"all-with-x: both", args("x-match", "all-with-x", "a", 1, "x-b", 2), args("a", 1, "x-b", 2), true},
		{"all-with-x: only x-match", args("x-match", "all-with-x"), nil, true},
		{"any-with-x: the x- one", args("x-match", "any-with-x", "a", 1, "x-b", 2), args("x-b", 2), true},
		{"any-with-x: only x-match", args("x-match", "any-with-x"), args("x-match", "any-with-x"), false},
		{"void: present", args("a", nil), args("a", "whatever"), true},
		{"void: present as void", args("a", nil), args("a", nil), true},
		{"void: missing", args("a", nil), args("b", 1), false},
		{"value against void", args("a", 1), args("a", nil), false},
		{"integers of other width", args("a", byte1), args("a", 1), true},
		{"integers, unsigned", args("a", 1), args("a", ubyte1), true},
		{"integers differ", args("a", byte1), args("a", 2), false},
		{"1 and 1.0", args("a", 1), args("a", double), false},
		{"1.0 and 1", args("a", double), args("a", 1), false},
		{"1.0 float and double", args("a", float), args("a", double), true},
		{"\"1\" and 1", args("a", "1"), args("a", 1), false},
		{"true and 1", args("a", true), args("a", 1), false},
		{"true and true", args("a", true), args("a", true), true},
		{"true and false", args("a", true), args("a", false), false},
		{"arrays equal", args("a", list(byte1, wire.StringValue("x"))), args("a", list(wire.LongValue(1), wire.StringValue("x"))), true},
		{"arrays in other order", args("a", list(byte1, wire.StringValue("x"))), args("a", list(wire.StringValue("x"), byte1)), false},
		{"tables equal", args("a", wire.TableValue(args("p", 1, "q", 2))), args("a", wire.TableValue(args("q", 2, "p", byte1))), true},
		{"tables differ", args("a", wire.TableValue(args("p", 1))), args("a", wire.TableValue(args("p", 1, "q", 2))), false},
		{"case of names", args("A", 1), args("a", 1), false},
		{"timestamps", args("a", wire.TimestampValue(5)), args("a", wire.TimestampValue(5)), true},
		{"timestamp and integer", args("a", wire.TimestampValue(5)), args("a", 5), false},
		{"duplicate header: the first counts", args("a", 1), args("a", 1, "a", 2), true},
		{"duplicate header: not the second", args("a", 2), args("a", 1, "a", 2), false},
		{"duplicate argument: the first counts", args("a", 1, "a", 2), args("a", 1), true},
		{"empty string", args("a", ""), args("a", ""), true},
	}
	var r Router
	for _, tt := range tests {
		got := len((*Table)(nil).Route(headersOf(tt.binding), &Message{Key: []byte("k"), Headers: tt.headers}, &r)) == 1
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestCheckArgs(t *testing.T) {
	tests := []struct {
		kind Kind
		args wire.Table
		want string
	}{
		{Headers, nil, ""},
		{Headers, args("x-match", "any-with-x"), ""},
		{Headers, args("x-match", "some"), `Invalid x-match field value <<"some">>; expected all, any, all-with-x, or any-with-x`},
		{Headers, args("x-match", wire.IntValue(1)), "Invalid x-match field type signedint (value 1); expected longstr"},
		{Direct, args("x-match", "some"), ""},
	}
	for _, tt := range tests {
		if got := CheckArgs(tt.kind, tt.args); got != tt.want {
			t.Errorf("CheckArgs = %q, want %q", got, tt.want)
		}
	}
}

// slowMatch is the rule of amqp.md 13 written down once more, without any
// preparation.
func slowMatch(binding, headers wire.Table) bool {
	mode := "all"
	if v, ok := binding.Get("x-match"); ok {
		mode = string(v.Data)
	}
	seen := map[string]bool{"x-match": true}
	matched, counted := 0, 0
	for k, v := range binding.All() {
		if seen[string(k)] || (!strings.HasSuffix(mode, "-with-x") && strings.HasPrefix(string(k), "x-")) {
			continue
		}
		seen[string(k)] = true
		counted++
		if h, ok := headers.GetBytes(k); ok && (v.Tag == 'V' || wire.ValueEqual(v, h)) {
			matched++
		}
	}
	if strings.HasPrefix(mode, "any") {
		return matched > 0
	}
	return matched == counted
}

func TestHeadersTwin(t *testing.T) {
	for seed := range int64(6) {
		t.Logf("seed %d", seed)
		rnd := rand.New(rand.NewSource(seed))
		random := func(most int) wire.Table {
			var pairs []any
			for range rnd.Intn(most + 1) {
				key := []string{"a", "b", "c", "d", "x-a", "x-b"}[rnd.Intn(6)]
				pairs = append(pairs, key, []any{1, 2, "1", true, nil, wire.IntValue(1)}[rnd.Intn(6)])
			}
			return args(pairs...)
		}
		e := New(Spec{Name: "h", Kind: Headers})
		var list []Binding
		for i := range 60 {
			a := random(4)
			if m := []string{"", "all", "any", "all-with-x", "any-with-x"}[rnd.Intn(5)]; m != "" {
				a = append(a, args("x-match", m)...)
			}
			b := Binding{Source: "h", Dest: Dest{Queue: true, Name: string(rune('A' + i%40))}, Args: a}
			var added bool
			if e, added = e.Bind(b); added {
				list = append(list, b)
			}
		}
		for range 10 {
			i := rnd.Intn(len(list))
			e, _ = e.Unbind(list[i])
			list = slices.Delete(list, i, i+1)
		}
		var r Router
		for range 1000 {
			h := random(12)
			var want []string
			for _, b := range list {
				if slowMatch(b.Args, h) {
					want = append(want, b.Dest.Name)
				}
			}
			slices.Sort(want)
			want = slices.Compact(want)
			if got := (*Table)(nil).Route(e, &Message{Headers: h}, &r); !slices.Equal(got, want) {
				t.Fatalf("headers %x: %q, want %q", h, got, want)
			}
		}
	}
}

// FuzzHeaders is F10: any valid tables of binding and message match as the rule says.
func FuzzHeaders(f *testing.F) {
	f.Add([]byte(args("x-match", "any", "a", 1, "x-b", nil)), []byte(args("a", wire.IntValue(1))))
	f.Add([]byte(args("x-match", "all-with-x", "x-b", nil)), []byte(args("x-b", true, "x-b", 2)))
	f.Add([]byte(args("a", "s", "a", 2)), []byte(nil))
	f.Add([]byte(args("x-match", wire.BoolValue(true))), []byte(args("\xff", 1)))
	f.Fuzz(func(t *testing.T, a, h []byte) {
		binding, headers := wire.Table(a), wire.Table(h)
		if binding.Validate() != nil || headers.Validate() != nil || CheckArgs(Headers, binding) != "" {
			return
		}
		var r Router
		got := len((*Table)(nil).Route(headersOf(binding), &Message{Headers: headers}, &r)) == 1
		if want := slowMatch(binding, headers); got != want {
			t.Fatalf("binding %q, headers %q: %v, want %v", a, h, got, want)
		}
	})
}
