package catalog

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPmapAgainstTwin walks a pmap beside a Go map, keeping old versions, and
// checks that none of them ever changes.
func TestPmapAgainstTwin(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var m pmap[int]
		twin := map[string]int{}
		type version struct {
			m    pmap[int]
			twin map[string]int
		}
		var old []version
		for step := range 2000 {
			k := fmt.Sprint("k", r.IntN(1+int(seed)*40))
			if r.IntN(3) == 0 {
				m = m.without(k)
				delete(twin, k)
			} else {
				m = m.with(k, step)
				twin[k] = step
			}
			if step%200 == 0 {
				old = append(old, version{m, maps.Clone(twin)})
			}
		}
		for _, v := range append(old, version{m, twin}) {
			comparePmap(t, seed, v.m, v.twin)
		}
	}
}

func comparePmap(t *testing.T, seed uint64, m pmap[int], twin map[string]int) {
	t.Helper()
	want := slices.Sorted(maps.Keys(twin))
	if got := m.keys(); !slices.Equal(got, want) || m.len() != len(want) {
		t.Fatalf("seed %d: keys %v (len %d), want %v", seed, got, m.len(), want)
	}
	sorted := m.sorted()
	for i, k := range want {
		if v, ok := m.get(k); !ok || v != twin[k] || sorted[i] != v {
			t.Fatalf("seed %d: get %q = %d, %v; want %d", seed, k, v, ok, twin[k])
		}
		if v, ok := find(m, []byte(k)); !ok || v != twin[k] {
			t.Fatalf("seed %d: find bytes %q = %d, %v; want %d", seed, k, v, ok, twin[k])
		}
	}
	if _, ok := m.get("absent"); ok {
		t.Fatalf("seed %d: found what is not there", seed)
	}
}

// TestPmapCollisions drives the lowest level, which real names hardly reach, by
// giving all entries one hash.
func TestPmapCollisions(t *testing.T) {
	var root *pnode[int]
	root = &pnode[int]{}
	const h = 0x1234567890abcdef
	keys := []string{"d", "a", "c", "b", "e"}
	for i, k := range keys {
		root, _ = root.with(h, lastShift+levelBits, pslot[int]{key: k, val: i})
	}
	full := root
	for i := range root.slots[1:] {
		if root.slots[i].key >= root.slots[i+1].key {
			t.Fatalf("slots out of order: %v", root.slots)
		}
	}
	p := pair(pslot[int]{key: "y"}, h, pslot[int]{key: "x"}, h, 0)
	depth := 0
	for ; p.slots[0].sub != nil; p = p.slots[0].sub {
		depth++
	}
	if depth != lastShift/levelBits+1 || p.slots[0].key != "x" {
		t.Fatalf("pair of colliding keys at depth %d: %v", depth, p.slots)
	}
	for i, k := range keys {
		// A path of the key's own hash down to the node of collisions.
		n := full
		for shift := lastShift; shift >= 0; shift -= levelBits {
			n = &pnode[int]{bits: 1 << (hashKey(k) >> shift & levelMask), slots: []pslot[int]{{sub: n}}}
		}
		if v, ok := find(pmap[int]{root: n, n: len(keys)}, k); !ok || v != i {
			t.Fatalf("find %q among collisions: %d %v", k, v, ok)
		}
	}
	for _, k := range keys {
		root = root.without(h, lastShift+levelBits, k)
	}
	if root != nil || len(full.slots) != len(keys) {
		t.Fatalf("after removals: %v, old version has %d", root, len(full.slots))
	}
}

func BenchmarkPmapGet(b *testing.B) {
	var m pmap[int]
	keys := make([][]byte, 10000)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "some.queue.name.%d", i)
		m = m.with(string(keys[i]), i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, ok := find(m, keys[i]); !ok {
			b.Fatal("lost")
		}
		if i++; i == len(keys) {
			i = 0
		}
	}
}

func BenchmarkPmapWith(b *testing.B) {
	var m pmap[int]
	for i := range 10000 {
		m = m.with(fmt.Sprint("some.queue.name.", i), i)
	}
	b.ReportAllocs()
	for b.Loop() {
		m = m.with("some.queue.name.77", 1)
	}
}
