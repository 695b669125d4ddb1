package exchange

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// world builds a table from lines: "name kind [alternate]" and "source > dest key",
// where the destination is a queue if its name is in capitals.
func world(t *testing.T, lines ...string) *Table {
	t.Helper()
	var table *Table
	for _, line := range lines {
		f := strings.Fields(line)
		if f[1] != ">" {
			kind, ok := ParseKind(f[1])
			if !ok {
				t.Fatalf("no kind %q", f[1])
			}
			s := Spec{Name: f[0], Kind: kind}
			if len(f) > 2 {
				s.Alternate = f[2]
			}
			table = table.With(New(s))
			continue
		}
		b := Binding{Source: f[0], Dest: Dest{strings.ToUpper(f[2]) == f[2], f[2]}}
		if len(f) > 3 {
			b.Key = f[3]
		}
		e, added := table.Get(f[0]).Bind(b)
		if !added {
			t.Fatalf("%q is there twice", line)
		}
		table = table.With(e)
	}
	return table
}

func route(table *Table, from, key string, extra ...string) []string {
	m := &Message{Key: []byte(key)}
	for _, k := range extra {
		m.Extra = append(m.Extra, []byte(k))
	}
	var r Router
	return table.Route(table.Get(from), m, &r)
}

// TestRoute is amqp.md 13 beyond the single exchange (checklist 72, 73).
func TestRoute(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		key   string
		extra []string
		want  []string
	}{
		{"nothing bound", []string{"e direct"}, "k", nil, nil},
		{"direct: exact bytes", []string{"e direct", "e > A k", "e > B K", "e > C kk"}, "k", nil, []string{"A"}},
		{"fanout: key ignored", []string{"e fanout", "e > B x", "e > A"}, "k", nil, []string{"A", "B"}},
		{"one copy for overlapping bindings", []string{"e topic", "e > A #", "e > A k", "e > A *"}, "k", nil, []string{"A"}},
		{"one copy for CC", []string{"e direct", "e > A k", "e > A l", "e > B l"}, "k", []string{"l", "l", "k"}, []string{"A", "B"}},
		{"CC on a topic", []string{"e topic", "e > A a.*", "e > B b.#"}, "a.x", []string{"b"}, []string{"A", "B"}},
		{"e2e", []string{"e direct", "f fanout", "e > f k", "f > A"}, "k", nil, []string{"A"}},
		{"e2e and queue", []string{"e direct", "f direct", "e > f k", "e > B k", "f > A k", "f > C other"}, "k", nil, []string{"A", "B"}},
		{"e2e diamond", []string{"e fanout", "f fanout", "g fanout", "h fanout", "e > f", "e > g", "f > h", "g > h", "h > A", "f > A"}, "k", nil, []string{"A"}},
		{"e2e cycle", []string{"e fanout", "f fanout", "e > f", "f > e", "f > A", "e > B"}, "k", nil, []string{"A", "B"}},
		{"e2e to itself", []string{"e fanout", "e > e", "e > A"}, "k", nil, []string{"A"}},
		{"e2e to nowhere", []string{"e fanout", "e > gone", "e > A"}, "k", nil, []string{"A"}},
		{"alternate when nothing matched", []string{"e direct f", "f fanout", "e > A x", "f > B"}, "k", nil, []string{"B"}},
		{"alternate not used after a match", []string{"e direct f", "f fanout", "e > A k", "f > B"}, "k", nil, []string{"A"}},
		{"alternate keeps the key", []string{"e direct f", "f direct", "f > A k", "f > B x"}, "k", nil, []string{"A"}},
		{"alternate of the alternate", []string{"e direct f", "f direct g", "g fanout", "g > A"}, "k", nil, []string{"A"}},
		{"alternates in a loop", []string{"e direct f", "f direct e"}, "k", nil, nil},
		{"alternate is itself", []string{"e direct e"}, "k", nil, nil},
		{"alternate missing", []string{"e direct gone"}, "k", nil, nil},
		{"alternate judged per exchange on the path", []string{"e fanout", "f direct g", "g fanout", "e > f", "e > A", "f > B x", "g > C"}, "k", nil, []string{"A", "C"}},
		{"a match that leads nowhere is a match", []string{"e fanout g", "f fanout", "g fanout", "e > f", "g > A"}, "k", nil, nil},
		{"alternate with CC that matches", []string{"e direct f", "f fanout", "e > A l", "f > B"}, "k", []string{"l"}, []string{"A"}},
		{"loop of alternate and e2e", []string{"e direct f", "f fanout", "f > e", "f > A"}, "k", nil, []string{"A"}},
	}
	for _, tt := range tests {
		if got := route(world(t, tt.lines...), "e", tt.key, tt.extra...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// slowRoute follows the rule with maps.
func slowRoute(table *Table, from string, keys []string) []string {
	queues, visited := map[string]bool{}, map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		e := table.Get(name)
		if e == nil || visited[name] {
			return
		}
		visited[name] = true
		matched := map[Dest]bool{}
		for _, b := range e.Bindings() {
			for _, k := range keys {
				switch {
				case e.Kind == Fanout, e.Kind == Direct && b.Key == k, e.Kind == Topic && matches(splitKey(b.Key), splitKey(k)):
					matched[b.Dest] = true
				}
			}
		}
		if len(matched) == 0 {
			visit(e.Alternate)
		}
		for d := range matched {
			if d.Queue {
				queues[d.Name] = true
			} else {
				visit(d.Name)
			}
		}
	}
	visit(from)
	return slices.Sorted(maps.Keys(queues))
}

// TestRouteTwin makes random graphs of exchanges and compares with the rule. One
// Router serves all, so nothing may be left over in it.
func TestRouteTwin(t *testing.T) {
	var r Router
	for seed := range int64(60) {
		rnd := rand.New(rand.NewSource(seed))
		n := 1 + rnd.Intn(30)
		name := func() string { return fmt.Sprint("e", rnd.Intn(n+1)) } // one of them does not exist
		var table *Table
		for i := range n {
			e := New(Spec{Name: fmt.Sprint("e", i), Kind: Kind(1 + rnd.Intn(3))})
			if rnd.Intn(2) == 0 {
				e = e.WithAlternate(name())
			}
			for range rnd.Intn(6) {
				d := Dest{true, fmt.Sprint("Q", rnd.Intn(20))}
				if rnd.Intn(2) == 0 {
					d = Dest{false, name()}
				}
				e, _ = e.Bind(Binding{Source: e.Name, Dest: d, Key: randomKey(rnd, "ab*#", 2)})
			}
			table = table.With(e)
		}
		for range 60 {
			from := fmt.Sprint("e", rnd.Intn(n))
			keys := []string{randomKey(rnd, "ab", 2)}
			for rnd.Intn(3) == 0 {
				keys = append(keys, randomKey(rnd, "ab", 2))
			}
			m := &Message{Key: []byte(keys[0])}
			for _, k := range keys[1:] {
				m.Extra = append(m.Extra, []byte(k))
			}
			want := slowRoute(table, from, keys)
			if got := table.Route(table.Get(from), m, &r); !slices.Equal(got, want) {
				t.Fatalf("seed %d, from %s by %q: %q, want %q", seed, from, keys, got, want)
			}
		}
	}
}

func TestTable(t *testing.T) {
	var table *Table
	if table.Get("e") != nil || table.GetBytes([]byte("e")) != nil || table.Len() != 0 || len(table.All()) != 0 || table.Without("e") != nil {
		t.Error("a nil table is not empty")
	}
	var versions []*Table
	for i := range 200 {
		versions = append(versions, table)
		table = table.With(New(Spec{Name: fmt.Sprintf("e%03d", i), Kind: Direct}))
	}
	for i, v := range versions {
		if v.Len() != i || v.Get(fmt.Sprintf("e%03d", i)) != nil {
			t.Fatalf("version %d has %d exchanges", i, v.Len())
		}
		all := v.All()
		for k, e := range all {
			if want := fmt.Sprintf("e%03d", k); e.Name != want || v.GetBytes([]byte(want)) != e {
				t.Fatalf("version %d: exchange %d is %s", i, k, e.Name)
			}
		}
	}
	less := table.Without("e007").Without("nothing")
	if less.Len() != 199 || less.Get("e007") != nil || table.Get("e007") == nil {
		t.Error("Without changed the wrong table")
	}
	replaced := table.With(New(Spec{Name: "e007", Kind: Topic}))
	if replaced.Len() != 200 || replaced.Get("e007").Kind != Topic || table.Get("e007").Kind != Direct {
		t.Error("With did not replace")
	}
}

// TestHashShares: shares follow the weights, and change no more than they must.
func TestHashShares(t *testing.T) {
	e := New(Spec{Name: "e", Kind: ConsistentHash})
	for i, w := range []string{"1", "2", "3", "0", "10"} {
		e, _ = e.Bind(Binding{Source: "e", Dest: q(fmt.Sprint("q", i)), Key: w})
	}
	more, _ := e.Bind(Binding{Source: "e", Dest: q("q5"), Key: "4"})
	const n = 40000
	var r Router
	got := map[string]int{}
	for i := range n {
		m := &Message{Key: []byte(fmt.Sprint("key", i))}
		before := (*Table)(nil).Route(e, m, &r)[0]
		got[before]++
		if after := (*Table)(nil).Route(more, m, &r)[0]; after != before && after != "q5" {
			t.Fatalf("key %s moved from %s to %s", m.Key, before, after)
		}
		if again := (*Table)(nil).Route(e, m, &r)[0]; again != before {
			t.Fatalf("key %s went to %s and to %s", m.Key, before, again)
		}
	}
	for i, w := range []int{1, 2, 3, 0, 10} {
		want := n * w / 16
		if k := got[fmt.Sprint("q", i)]; k < want*93/100 || k > want*107/100 {
			t.Errorf("weight %d got %d messages, want about %d", w, k, want)
		}
	}
	// The choice is the same on every node and for ever.
	for key, want := range map[string]string{"a": "q2", "b": "q4", "orders.1": "q4", "": "q2"} {
		if got := (*Table)(nil).Route(e, &Message{Key: []byte(key)}, &r)[0]; got != want {
			t.Errorf("key %q goes to %s, want %s", key, got, want)
		}
	}
	byHeader := New(Spec{Name: "e", Kind: ConsistentHash, Args: args("hash-header", "h")})
	byHeader.weights = e.weights
	for _, key := range []string{"a", "b", "orders.1"} {
		want := (*Table)(nil).Route(e, &Message{Key: []byte(key)}, &r)[0]
		if got := (*Table)(nil).Route(byHeader, &Message{Key: []byte("x"), Headers: args("h", key)}, &r)[0]; got != want {
			t.Errorf("header %q goes to %s, want %s", key, got, want)
		}
	}
}

func TestMinusLog(t *testing.T) {
	for _, tt := range []struct{ x, want uint64 }{
		{1<<63 - 1, 1 << 32}, {1<<62 - 1, 2 << 32}, {0, 64 << 32}, {1<<64 - 1, 1},
		{6521908912666391105, 6442450945}, // 2^64/2^1.5
	} {
		if got := minusLog(tt.x); got < tt.want-1 || got > tt.want+1 {
			t.Errorf("minusLog(%d) = %d, want %d", tt.x, got, tt.want)
		}
	}
}

func TestLocalRandom(t *testing.T) {
	table := world(t, "e x-local-random", "f fanout", "e > A", "e > B", "e > f", "f > C")
	r := Router{Seed: 7}
	got := map[string]int{}
	for range 3000 {
		names := table.Route(table.Get("e"), &Message{}, &r)
		if len(names) != 1 {
			t.Fatalf("routed to %q, want one", names)
		}
		got[names[0]]++
	}
	for _, name := range []string{"A", "B", "C"} {
		if got[name] < 800 || got[name] > 1200 {
			t.Errorf("%s was chosen %d times of 3000", name, got[name])
		}
	}
}
