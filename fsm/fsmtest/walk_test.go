package fsmtest

import (
	"flag"
	"testing"
)

var (
	seed  = flag.Uint64("seed", 0, "walk this seed alone")
	first = flag.Uint64("first", 1, "first seed to walk")
	walks = flag.Int("walks", 60, "seeds to walk")
	steps = flag.Int("steps", 600, "entries per walk")
)

// TestWalk drives two machines and the model through made-up entries; half of the
// seeds snapshot and restore the second machine before every entry (style.md 10,
// reliability.md 3.1). Replay one with -seed.
func TestWalk(t *testing.T) {
	from, to := *first, *first+uint64(*walks)-1
	if *seed != 0 {
		from, to = *seed, *seed
	}
	t.Logf("seeds %d to %d", from, to)
	done := map[Op]int{}
	var deaths uint64
	for s := from; s <= to; s++ {
		w := Walk{Seed: s, Steps: *steps, Restore: s%2 == 0}
		if err := w.Run(); err != nil {
			t.Fatal(err)
		}
		for op, n := range w.Done {
			done[op] += n
		}
		deaths += w.Deaths
	}
	if *seed != 0 {
		return
	}
	for _, op := range Ops {
		if done[op] == 0 {
			t.Errorf("no walk made a %s", op)
		}
	}
	if deaths == 0 {
		t.Error("no walk saw a letter")
	}
}
