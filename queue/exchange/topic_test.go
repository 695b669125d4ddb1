package exchange

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// matches is the naive matcher: recursion over the words, as the rule is written.
func matches(pattern, key []string) bool {
	if len(pattern) == 0 {
		return len(key) == 0
	}
	switch {
	case pattern[0] == "#":
		return matches(pattern[1:], key) || (len(key) > 0 && matches(pattern, key[1:]))
	case len(key) == 0:
		return false
	case pattern[0] == "*" || pattern[0] == key[0]:
		return matches(pattern[1:], key[1:])
	}
	return false
}

func splitKey(key string) []string {
	if key == "" {
		return nil
	}
	return strings.Split(key, ".")
}

func topicOf(patterns ...string) *Exchange {
	e := New(Spec{Name: "t", Kind: Topic})
	for _, p := range patterns {
		e, _ = e.Bind(Binding{Source: "t", Dest: Dest{Queue: true, Name: p}, Key: p})
	}
	return e
}

// TestTopicTable is the table of amqp.md 13, cell by cell.
func TestTopicTable(t *testing.T) {
	all := []string{"", "a", "b", ".", "..", "a.", ".a", "a.b", "a..b", "a.b.", "x.y.a", "a.x.b", "a.x.y.b", "ab", "a*", "a#", "*", "#"}
	tests := []struct {
		pattern   string
		yes, no   []string
		otherwise int // of all other keys: 1 match, -1 do not, 0 not said
	}{
		{"#", []string{""}, nil, 1},
		{"*", []string{"a", "b"}, []string{"", "a.b", "."}, 0},
		{"", []string{""}, []string{"a"}, -1},
		{"*.*", []string{"a.b", ".", "a.", ".a"}, []string{"a", ".."}, 0},
		{"#.a", []string{"a", ".a", "x.y.a"}, []string{""}, -1},
		{"a.#", []string{"a", "a.b", "a.", "a..b"}, []string{"", ".a"}, 0},
		{"a.#.b", []string{"a.b", "a..b", "a.x.y.b"}, []string{"a", "a.b."}, 0},
		{"a.*.b", []string{"a.x.b", "a..b"}, []string{"a.b"}, -1},
		{"*.#", []string{"."}, []string{""}, 1},
		{"#.*", []string{"."}, []string{""}, 1},
		{"#.#", nil, nil, 1},
		{"a*", []string{"a*"}, []string{"ab"}, -1},
		{"a#", []string{"a#"}, []string{"ab"}, -1},
	}
	var table *Table
	var r Router
	for _, tt := range tests {
		e := topicOf(tt.pattern)
		for _, key := range slices.Concat(all, tt.yes, tt.no) {
			got := len(table.Route(e, &Message{Key: []byte(key)}, &r)) == 1
			want, said := tt.otherwise > 0, tt.otherwise != 0
			if slices.Contains(tt.yes, key) {
				want, said = true, true
			}
			if slices.Contains(tt.no, key) {
				want, said = false, true
			}
			if said && got != want {
				t.Errorf("pattern %q, key %q: %v, want %v", tt.pattern, key, got, want)
			}
			if naive := matches(splitKey(tt.pattern), splitKey(key)); naive != got {
				t.Errorf("pattern %q, key %q: %v, naive matcher %v", tt.pattern, key, got, naive)
			}
		}
	}
}

func randomKey(r *rand.Rand, words string, most int) string {
	parts := make([]string, r.Intn(most+1))
	for i := range parts {
		if c := words[r.Intn(len(words))]; c != '-' {
			parts[i] = string(c)
		}
	}
	return strings.Join(parts, ".")
}

// TestTopicTwin binds and unbinds random patterns and compares with the naive
// matcher over a plain list; old versions keep their answers.
func TestTopicTwin(t *testing.T) {
	type version struct {
		e        *Exchange
		patterns []string
	}
	for seed := range int64(8) {
		t.Logf("seed %d", seed)
		rnd := rand.New(rand.NewSource(seed))
		var versions []version
		e := topicOf()
		var patterns []string
		for step := range 400 {
			p := randomKey(rnd, "ab-*##", 5)
			b := Binding{Source: "t", Dest: Dest{Queue: true, Name: p}, Key: p}
			if i := slices.Index(patterns, p); i >= 0 {
				var ok bool
				if e, ok = e.Unbind(b); !ok {
					t.Fatalf("step %d: cannot unbind %q", step, p)
				}
				patterns = slices.Delete(slices.Clone(patterns), i, i+1)
			} else {
				var ok bool
				if e, ok = e.Bind(b); !ok {
					t.Fatalf("step %d: cannot bind %q", step, p)
				}
				patterns = append(slices.Clone(patterns), p)
			}
			if step%10 == 0 {
				versions = append(versions, version{e, patterns})
			}
		}
		var r Router
		for range 3000 {
			v := versions[rnd.Intn(len(versions))]
			key := randomKey(rnd, "ab-c", 6)
			var want []string
			for _, p := range v.patterns {
				if matches(splitKey(p), splitKey(key)) {
					want = append(want, p)
				}
			}
			slices.Sort(want)
			if got := (*Table)(nil).Route(v.e, &Message{Key: []byte(key)}, &r); !slices.Equal(got, want) {
				t.Fatalf("key %q: %q, want %q", key, got, want)
			}
		}
		for _, p := range patterns {
			e, _ = e.Unbind(Binding{Source: "t", Dest: Dest{Queue: true, Name: p}, Key: p})
		}
		if e.topic != nil || e.BindingCount() != 0 {
			t.Error("an exchange without bindings still has a trie")
		}
	}
}

// FuzzTopic is F10: equal to the naive matcher, three patterns at a time.
func FuzzTopic(f *testing.F) {
	f.Add("#.a.#", "a.*", "#", "x.a.y")
	f.Add("*.#", "#.*", "#.#", ".")
	f.Add("", "a#", "a*", "")
	f.Add("#.a.#.a.#.b", "*.*.#", "a..b", "a..b.a.b")
	f.Fuzz(func(t *testing.T, p1, p2, p3, key string) {
		if strings.Count(p1, "#")+strings.Count(p2, "#")+strings.Count(p3, "#") > 12 || len(key) > 60 || max(len(p1), len(p2), len(p3)) > maxKey {
			return // the naive matcher would not come back
		}
		patterns := []string{p1, p2, p3}
		e := topicOf(patterns...)
		var want []string
		for _, p := range patterns {
			if matches(splitKey(p), splitKey(key)) {
				want = append(want, p)
			}
		}
		slices.Sort(want)
		want = slices.Compact(want)
		var r Router
		if got := (*Table)(nil).Route(e, &Message{Key: []byte(key)}, &r); !slices.Equal(got, want) {
			t.Fatalf("patterns %q, key %q: %q, want %q", patterns, key, got, want)
		}
		for _, p := range patterns {
			e, _ = e.Unbind(Binding{Source: "t", Dest: Dest{Queue: true, Name: p}, Key: p})
		}
		if e.topic != nil {
			t.Fatal("the trie is not empty")
		}
	})
}

// TestTopicWork is the other half of F10: the patterns that make a matcher with
// backtracking run for ever cost a step for each word and reached node, and what
// no frame can carry costs nothing. Steps are counted, so a busy machine does not matter.
func TestTopicWork(t *testing.T) {
	mib := func(s string) string { return strings.Repeat(s, (1<<20)/len(s)) }
	full := strings.Repeat("a.", 127)
	tests := []struct {
		name, pattern, key string
		reached            int // nodes that may be reached at the end
	}{
		{"long pattern", mib("#.a."), full, 0},
		{"long key", "#.a.#", mib("a."), 0},
		{"hashes", strings.Repeat("#.", 127), full, 4},
		{"hashes and stars", strings.Repeat("#.*.", 63), full, 130},
		{"hashes and words", strings.Repeat("#.a.", 63) + "z", full, 130},
		{"one hash, long tail", "#." + strings.Repeat("a.", 125) + "z", full, 130},
	}
	for _, tt := range tests {
		e := topicOf(tt.pattern)
		var r Router
		(*Table)(nil).Route(e, &Message{Key: []byte(tt.key)}, &r)
		if got := len(r.topic.now) + len(r.topic.always); got > tt.reached {
			t.Errorf("%s: %d nodes reached, want at most %d", tt.name, got, tt.reached)
		}
		if len(tt.pattern) > maxKey && (e.BindingCount() != 1 || e.topic != nil) {
			t.Errorf("%s: bound %d times", tt.name, e.BindingCount())
		}
		if e, _ = e.UnbindDest(Dest{Queue: true, Name: tt.pattern}); e.BindingCount() != 0 || e.topic != nil {
			t.Errorf("%s: cannot be unbound", tt.name)
		}
	}
}

func TestPatternWords(t *testing.T) {
	for in, want := range map[string]string{"#.#": "#", "#.*": "*.#", "#.*.#.*.a": "*.*.#.a", "a.#.#.b": "a.#.b", "*.#": "*.#", ".#.": ".#.", "##.#": "##.#"} {
		if got := strings.Join(patternWords(in), "."); got != want {
			t.Errorf("patternWords(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestTopicPersistence: what was routed by an old exchange stays so.
func TestTopicPersistence(t *testing.T) {
	old := topicOf("a.*", "#")
	before := fmt.Sprint(old.Bindings())
	var r Router
	m := &Message{Key: []byte("a.b")}
	next := old
	for i := range 100 {
		p := fmt.Sprint("a.b.", i)
		next, _ = next.Bind(Binding{Source: "t", Dest: Dest{Queue: true, Name: p}, Key: "a.b"})
	}
	next, _ = next.UnbindDest(Dest{Queue: true, Name: "#"})
	if got := (*Table)(nil).Route(old, m, &r); !slices.Equal(got, []string{"#", "a.*"}) || fmt.Sprint(old.Bindings()) != before {
		t.Errorf("the old exchange routes to %q", got)
	}
	if got := (*Table)(nil).Route(next, m, &r); len(got) != 101 {
		t.Errorf("the new exchange routes to %d queues, want 101", len(got))
	}
}
