package exchange

import (
	"fmt"
	"math/rand"
	"reflect"
	"testing"
)

// TestTreeTwin changes a tree and a map alike, and looks at old versions again
// at the end: they must be what they were.
func TestTreeTwin(t *testing.T) {
	for seed := range int64(5) {
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewSource(seed))
		var tr tree[int]
		twin := map[string]int{}
		type version struct {
			tr   tree[int]
			want map[string]int
		}
		var old []version
		keys := []int{3, 40, 500, 3000, 3000}[seed]
		for step := range 6000 {
			k := fmt.Sprint("key", r.Intn(keys))
			if r.Intn(2) == 0 {
				tr, twin[k] = tr.with(k, step), step
			} else {
				tr = tr.without(k)
				delete(twin, k)
			}
			if step%600 == 0 {
				c := map[string]int{}
				for k, v := range twin {
					c[k] = v
				}
				old = append(old, version{tr, c})
			}
		}
		for i, v := range append(old, version{tr, twin}) {
			got := map[string]int{}
			for _, l := range v.tr.leaves() {
				got[l.key] = l.val
				if x, ok := v.tr.getBytes(hashBytes([]byte(l.key)), []byte(l.key)); !ok || x != l.val {
					t.Fatalf("version %d: getBytes(%s) = %d %v", i, l.key, x, ok)
				}
			}
			if !reflect.DeepEqual(got, v.want) || v.tr.n != len(v.want) {
				t.Fatalf("version %d is not what it was", i)
			}
		}
		// The shape follows from the keys alone, not from the way to them.
		var built tree[int]
		for _, l := range tr.leaves() {
			built = built.with(l.key, l.val)
		}
		if !reflect.DeepEqual(built.leaves(), tr.leaves()) {
			t.Error("equal maps differ in shape")
		}
	}
}

// TestTreeCollisions drives keys with one and the same hash through branches.
func TestTreeCollisions(t *testing.T) {
	var b *branch[int]
	const h = 0x1234567890abcdef
	for i := range 20 {
		b = b.with(lastShift+5, h, fmt.Sprint("k", (i*7)%20), i)
	}
	for i := range 20 {
		old, want := b, len(b.leaves)
		b = b.without(lastShift+5, h, fmt.Sprint("k", i))
		if len(b.leaves) != want-1 || len(old.leaves) != want {
			t.Fatalf("%d leaves left, %d in the old branch, of %d", len(b.leaves), len(old.leaves), want)
		}
	}
}
