package queue

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSlabTwin holds the slab against a map: adds, frees, writes, freezes and
// trims at random; frozen views must never change.
func TestSlabTwin(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := slab{next: 1}
		twin := map[Pos]uint64{}
		type view struct {
			frozen *slab
			want   map[Pos]uint64
		}
		var views []view
		for step := range 20_000 {
			switch n := rng.IntN(100); {
			case n < 45 || len(twin) == 0:
				p, m := s.add()
				m.setState(stateReady)
				m.index = rng.Uint64()
				twin[p] = m.index
			case n < 55:
				p := pick(rng, twin, s.next)
				s.mut(p).index = uint64(step)
				twin[p] = uint64(step)
			case n < 98:
				p := pick(rng, twin, s.next)
				s.free(p)
				delete(twin, p)
			case n < 99 && step%10 == 0:
				views = append(views, view{s.freeze(), maps.Clone(twin)})
			default:
				s.trim()
			}
			if step%500 == 0 {
				compareSlab(t, seed, &s, twin)
			}
		}
		for _, v := range views {
			compareSlab(t, seed, v.frozen, v.want)
		}
		for p := range twin {
			s.free(p)
		}
		if s.trim(); s.count != 0 || len(s.pages) != 0 {
			t.Fatalf("seed %d: %d messages and %d pages left", seed, s.count, len(s.pages))
		}
	}
}

// pick gives some position that is there, mostly an old one.
func pick(rng *rand.Rand, twin map[Pos]uint64, next Pos) Pos {
	for p := Pos(rng.Uint64N(uint64(next))); ; p = (p + 1) % next {
		if _, ok := twin[p]; ok {
			return p
		}
	}
}

func compareSlab(t *testing.T, seed uint64, s *slab, twin map[Pos]uint64) {
	t.Helper()
	var got []Pos
	s.each(func(p Pos, m *message) bool {
		got = append(got, p)
		if m.index != twin[p] || s.get(p) != m {
			t.Fatalf("seed %d: message %d is %d, should be %d", seed, p, m.index, twin[p])
		}
		return true
	})
	if want := slices.Sorted(maps.Keys(twin)); !slices.Equal(got, want) || s.count != uint64(len(want)) {
		t.Fatalf("seed %d: positions %v, should be %v", seed, got, want)
	}
	for range 20 {
		p := Pos(rand.Uint64N(uint64(s.next) + 5000))
		if _, ok := twin[p]; ok != (s.get(p) != nil) {
			t.Fatalf("seed %d: message %d there: %v, should be %v", seed, p, !ok, ok)
		}
	}
}

// TestSlabStuck: one message that stays for ever costs its chunk, not a share of
// all that pass it.
func TestSlabStuck(t *testing.T) {
	s := slab{next: 1}
	_, m := s.add()
	m.setState(stateReady)
	for range 3_000_000 {
		p, m := s.add()
		m.setState(stateReady)
		s.free(p)
	}
	if len(s.pages) > 2 {
		t.Errorf("%d pages for one message", len(s.pages))
	}
	if s.get(1) == nil || s.count != 1 {
		t.Error("the message is gone")
	}
}

// TestSlabFlow: a queue in steady flow uses its chunks again.
func TestSlabFlow(t *testing.T) {
	s := slab{next: 1}
	round := func() {
		for range 1000 {
			p, m := s.add()
			m.setState(stateReady)
			if p > 100 {
				s.free(p - 100)
			}
		}
	}
	round()
	if n := testing.AllocsPerRun(100, round); n > 1 {
		t.Errorf("%v allocations for 1000 messages", n)
	}
}
