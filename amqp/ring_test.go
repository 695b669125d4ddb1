package amqp

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The ring against a slice.
func TestRingTwin(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var r ring[int]
	var twin []int
	for i := range 200_000 {
		switch k := rnd.IntN(100); {
		case k < 55 || len(twin) == 0:
			*r.push() = i
			twin = append(twin, i)
		case k < 99:
			if got := r.pop(); got != twin[0] {
				t.Fatalf("popped %d, want %d", got, twin[0])
			}
			twin = twin[1:]
		default:
			odd := func(n *int) bool { return *n%3 != 0 }
			r.keep(odd)
			twin = slices.DeleteFunc(twin, func(n int) bool { return n%3 == 0 })
		}
		if r.len() != len(twin) || len(twin) > 0 && (*r.at(0) != twin[0] || *r.at(len(twin) - 1) != twin[len(twin)-1]) {
			t.Fatalf("step %d: differs", i)
		}
	}
	for r.len() > 0 {
		r.pop()
	}
	if 8*len(r.buf) > keepRing {
		t.Errorf("%d elements kept", len(r.buf))
	}
}
