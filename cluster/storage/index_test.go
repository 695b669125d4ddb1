package storage

import (
	"slices"
	"testing"
)

func TestIndexAgainstMap(t *testing.T) {
	var x index
	twin := map[uint64]uint32{}
	r := newRand(3)
	for step := range 20000 {
		i := uint64(r.IntN(2000)) + 1
		switch r.IntN(10) {
		case 0:
			to := i + uint64(r.IntN(300))
			x.removeIf(i, to, func(j uint64, _ *slot) bool { return j%3 != 0 })
			for j := i; j <= to; j++ {
				if j%3 != 0 {
					delete(twin, j)
				}
			}
		case 1, 2:
			if x.get(i) != nil {
				x.drop(i)
				delete(twin, i)
			}
		default:
			x.put(i, slot{seg: 1, off: uint32(step)})
			twin[i] = uint32(step)
		}
		if x.used != len(twin) {
			t.Fatalf("step %d: %d in use, want %d", step, x.used, len(twin))
		}
	}
	var keys []uint64
	for i, off := range twin {
		keys = append(keys, i)
		if s := x.get(i); s == nil || s.off != off {
			t.Fatalf("slot %d: got %v, want offset %d", i, s, off)
		}
	}
	slices.Sort(keys)
	var walked []uint64
	x.each(0, ^uint64(0), func(i uint64, _ *slot) { walked = append(walked, i) })
	if !slices.Equal(keys, walked) {
		t.Fatalf("walk of %d slots, want %d", len(walked), len(keys))
	}
	for probe := range uint64(2100) {
		at, found := slices.BinarySearch(keys, probe)
		next, ok := x.next(probe)
		if ok != (at < len(keys)) || ok && next != keys[at] {
			t.Fatalf("next of %d: %d, %v", probe, next, ok)
		}
		if found {
			at++
		}
		prev, ok := x.prev(probe)
		if ok != (at > 0) || ok && prev != keys[at-1] {
			t.Fatalf("prev of %d: %d, %v", probe, prev, ok)
		}
	}
}
