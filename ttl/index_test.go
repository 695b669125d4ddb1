package ttl

import (
	"math/rand"
	"slices"
	"testing"
)

// slowIndex is the dumb twin: a sorted slice.
type slowIndex []entry

func (s *slowIndex) add(e entry) bool {
	i, found := s.find(e)
	if found || e.at == Never {
		return false
	}
	*s = slices.Insert(*s, i, e)
	return true
}

func (s *slowIndex) remove(e entry) bool {
	i, found := s.find(e)
	if found {
		*s = slices.Delete(*s, i, i+1)
	}
	return found
}

func (s *slowIndex) find(e entry) (int, bool) {
	return slices.BinarySearchFunc(*s, e, func(a, b entry) int {
		switch {
		case a.less(b):
			return -1
		case b.less(a):
			return 1
		}
		return 0
	})
}

func same(t *testing.T, step int, x *Index, s slowIndex) {
	t.Helper()
	if x.Len() != len(s) || !x.Ordered() {
		t.Fatalf("step %d: Len %d, want %d; ordered %v", step, x.Len(), len(s), x.Ordered())
	}
	at, ok := x.Next()
	if ok != (len(s) > 0) || (ok && at != s[0].at) {
		t.Fatalf("step %d: Next %d %v, want first of %d", step, at, ok, len(s))
	}
	i := 0
	for at, pos := range x.All() {
		if s[i] != (entry{at, pos}) {
			t.Fatalf("step %d: entry %d is %v, want %v", step, i, entry{at, pos}, s[i])
		}
		i++
	}
}

// TestIndexTwin walks the index and its twin through the same random steps,
// under several habits of deadlines.
func TestIndexTwin(t *testing.T) {
	habits := []struct {
		name     string
		deadline func(r *rand.Rand, now Stamp) Stamp
		grow     int // of ten steps, how many add
	}{
		{"one ttl", func(r *rand.Rand, now Stamp) Stamp { return now + 5000 }, 6},
		{"random ttl", func(r *rand.Rand, now Stamp) Stamp { return now + 1 + Stamp(r.Intn(5000)) }, 6},
		{"few stamps", func(r *rand.Rand, now Stamp) Stamp { return 1 + Stamp(r.Intn(7)) }, 5},
		{"falling", func(r *rand.Rand, now Stamp) Stamp { return 100000 - now }, 7},
	}
	for _, h := range habits {
		t.Run(h.name, func(t *testing.T) {
			seed := int64(len(h.name))*7919 + 1
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewSource(seed))
			var x Index
			var s slowIndex
			now := Stamp(1)
			for step := range 20000 {
				if step%7 == 0 {
					now++
				}
				k := r.Intn(10)
				switch {
				case k < h.grow:
					e := entry{h.deadline(r, now), uint64(r.Intn(1 << 20))}
					if got, want := x.Add(e.at, e.pos), s.add(e); got != want {
						t.Fatalf("step %d: Add(%v) = %v, want %v", step, e, got, want)
					}
				case k < 9 && len(s) > 0:
					e := s[r.Intn(len(s))]
					if r.Intn(10) == 0 {
						e.pos++
					}
					if got, want := x.Remove(e.at, e.pos), s.remove(e); got != want {
						t.Fatalf("step %d: Remove(%v) = %v, want %v", step, e, got, want)
					}
				case len(s) > 0 && r.Intn(20) == 0:
					due := s[r.Intn(min(len(s), 400))].at
					limit := r.Intn(300)
					var got slowIndex
					n := x.PopDue(due, limit, func(at Stamp, pos uint64) { got = append(got, entry{at, pos}) })
					want := 0
					for want < limit && want < len(s) && s[want].at <= due {
						want++
					}
					if n != want || !slices.Equal(got, s[:want]) {
						t.Fatalf("step %d: PopDue(%d, %d) gave %d, want %d", step, due, limit, n, want)
					}
					s = slices.Delete(s, 0, want)
				}
				if step%97 == 0 {
					same(t, step, &x, s)
				}
			}
			same(t, -1, &x, s)
			for len(s) > 0 {
				e := s[r.Intn(len(s))]
				if !s.remove(e) || !x.Remove(e.at, e.pos) {
					t.Fatalf("cannot remove %v", e)
				}
			}
			same(t, -2, &x, s)
		})
	}
}

func TestIndexEmpty(t *testing.T) {
	var x Index
	if _, ok := x.Next(); ok || x.Len() != 0 || x.Remove(1, 1) || !x.Ordered() {
		t.Error("the zero index is not empty")
	}
	if x.Add(Never, 1) {
		t.Error("Never was added")
	}
	if _, _, ok := x.Pop(1 << 50); ok {
		t.Error("popped from nothing")
	}
	x.Add(5, 1)
	if _, _, ok := x.Pop(4); ok {
		t.Error("popped before its time (S12)")
	}
	if at, pos, ok := x.Pop(5); !ok || at != 5 || pos != 1 {
		t.Errorf("Pop(5) = %d %d %v, want what is due at 5 (T-12)", at, pos, ok)
	}
}

// TestIndexPopMayChangeIt: what fn adds in the past is popped in the same pass.
func TestIndexPopMayChangeIt(t *testing.T) {
	var x Index
	x.Add(10, 1)
	var got []uint64
	x.PopDue(10, 5, func(at Stamp, pos uint64) {
		got = append(got, pos)
		if pos < 3 {
			x.Add(10, pos+1)
		}
	})
	if !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("popped %v, want [1 2 3]", got)
	}
}

// TestIndexMemory holds the promise of 24 bytes an entry at random deadlines, and
// of 17 when they ascend.
func TestIndexMemory(t *testing.T) {
	size := func(x *Index) float64 {
		n := cap(x.blocks) * 48
		for i := range x.blocks {
			n += cap(x.blocks[i].buf) * 16
		}
		return float64(n) / float64(x.Len())
	}
	var up, random Index
	r := rand.New(rand.NewSource(1))
	for i := range 200000 {
		up.Add(Stamp(i+1), uint64(i))
		random.Add(1+Stamp(r.Int63n(1<<40)), uint64(i))
	}
	if got := size(&up); got > 17 {
		t.Errorf("ascending: %.1f bytes an entry, want at most 17", got)
	}
	if got := size(&random); got > 24 {
		t.Errorf("random: %.1f bytes an entry, want at most 24", got)
	}
}

// TestIndexSteadyFlow: a queue through which messages flow allocates nothing per
// message, whether it holds one or thousands.
func TestIndexSteadyFlow(t *testing.T) {
	for _, depth := range []int{0, 1, 200, 255, 5000} {
		var x Index
		next, first := uint64(1), uint64(1)
		for range depth {
			x.Add(Stamp(next), next)
			next++
		}
		flow := func() {
			for range 1000 {
				x.Add(Stamp(next), next)
				next++
				if !x.Remove(Stamp(first), first) {
					t.Fatal("lost an entry")
				}
				first++
			}
		}
		flow()
		if got := testing.AllocsPerRun(20, flow); got > 1 {
			t.Errorf("depth %d: %.1f allocations per 1000 messages, want none", depth, got)
		}
	}
}

// TestIndexLongBacklog pops through a list of many blocks, in order to the last.
func TestIndexLongBacklog(t *testing.T) {
	var x Index
	const n = 50000
	for i := range uint64(n) {
		x.Add(Stamp(1+(i*7919)%n), i)
	}
	last, count := entry{}, 0
	for {
		at, pos, ok := x.Pop(n)
		if !ok {
			break
		}
		if e := (entry{at, pos}); count > 0 && !last.less(e) {
			t.Fatalf("%v after %v (T-32)", e, last)
		} else {
			last = e
		}
		if count++; count%5000 == 0 && !x.Ordered() {
			t.Fatalf("out of order after %d", count)
		}
	}
	if count != n || x.Len() != 0 {
		t.Errorf("popped %d, left %d, want %d and none", count, x.Len(), n)
	}
	x.Add(1, 1)
	if x.Clear(); x.Len() != 0 || x.Remove(1, 1) {
		t.Error("Clear left something")
	}
}
