package dlx

import (
	"math/rand"
	"slices"
	"testing"
)

func letters(p *Pending) []Letter {
	var ls []Letter
	for l := range p.All() {
		ls = append(ls, l)
	}
	return ls
}

// TestPendingTwin walks the box and a slice through the same random steps.
func TestPendingTwin(t *testing.T) {
	for seed := range int64(6) {
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewSource(seed))
		var p Pending
		var slow []Letter
		bytes := uint64(0)
		id := uint64(0)
		for step := range 8000 {
			switch k := r.Intn(10); {
			case k < 5+int(seed%2):
				id += 1 + uint64(r.Intn(100)/99*r.Intn(1000)) // dense, with rare gaps
				l := Letter{ID: id, Body: uint32(r.Intn(100)), Reason: Reason(1 + r.Intn(4)), Pos: id * 3}
				if !p.Put(l) {
					t.Fatalf("step %d: Put(%d) refused", step, id)
				}
				slow = append(slow, l)
				bytes += uint64(l.Body)
			case k < 9 && len(slow) > 0:
				i := 0
				if r.Intn(3) == 0 {
					i = r.Intn(len(slow))
				}
				l, ok := p.Remove(slow[i].ID)
				if !ok || l != slow[i] {
					t.Fatalf("step %d: Remove = %v %v, want %v", step, l, ok, slow[i])
				}
				if _, ok := p.Remove(slow[i].ID); ok {
					t.Fatalf("step %d: %d left twice", step, slow[i].ID)
				}
				bytes -= uint64(l.Body)
				slow = slices.Delete(slow, i, i+1)
			}
			if step%37 != 0 {
				continue
			}
			if p.Len() != len(slow) || p.Bytes() != bytes || p.Last() != id || !p.Ordered() {
				t.Fatalf("step %d: %d letters of %d bytes, last %d; want %d, %d, %d", step, p.Len(), p.Bytes(), p.Last(), len(slow), bytes, id)
			}
			if got := letters(&p); !slices.Equal(got, slow) {
				t.Fatalf("step %d: order differs", step)
			}
			first, ok := p.First()
			if ok != (len(slow) > 0) || (ok && first != slow[0]) {
				t.Fatalf("step %d: First = %v %v", step, first, ok)
			}
			if len(slow) > 0 {
				want := slow[r.Intn(len(slow))]
				if l, ok := p.Get(want.ID); !ok || l != want {
					t.Fatalf("step %d: Get(%d) = %v %v", step, want.ID, l, ok)
				}
				for l := range p.From(want.ID) {
					if l != want {
						t.Fatalf("step %d: From(%d) begins with %v", step, want.ID, l)
					}
					break
				}
			}
		}
	}
}

func TestPendingRefuses(t *testing.T) {
	var p Pending
	if p.Put(Letter{ID: 1}) {
		t.Error("a letter without a reason was taken")
	}
	p.Put(Letter{ID: 5, Reason: Expired})
	if p.Put(Letter{ID: 5, Reason: Expired}) || p.Put(Letter{ID: 4, Reason: Expired}) {
		t.Error("an ordinal was used twice (D-50)")
	}
	p.Remove(5)
	if p.Put(Letter{ID: 5, Reason: Expired}) || p.Last() != 5 {
		t.Error("an ordinal came back in an empty box (D-50)")
	}
	if _, ok := p.Get(0); ok {
		t.Error("letter 0 exists")
	}
	p.Put(Letter{ID: 6, Reason: Expired})
	p.Clear()
	if p.Len() != 0 || p.Last() != 6 || !p.Ordered() {
		t.Error("Clear kept letters or forgot the last ordinal")
	}
}

// TestPendingClone: a clone is what the box was, whatever happens to the box.
func TestPendingClone(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var p Pending
	type frozen struct {
		clone Pending
		want  []Letter
	}
	var taken []frozen
	id := uint64(0)
	for step := range 3000 {
		if id++; !p.Put(Letter{ID: id, Reason: Rejected, Body: 1}) {
			t.Fatal("Put refused")
		}
		if step%2 == 0 {
			p.Remove(id - uint64(r.Intn(int(min(id, 300)))))
		}
		if step%250 == 0 {
			taken = append(taken, frozen{p.Clone(), letters(&p)})
		}
	}
	for i := range taken {
		if !slices.Equal(letters(&taken[i].clone), taken[i].want) || !taken[i].clone.Ordered() {
			t.Errorf("clone %d changed with its box", i)
		}
	}
	c := p.Clone()
	want := letters(&p)
	for _, l := range want {
		c.Remove(l.ID)
	}
	c.Put(Letter{ID: id + 1, Reason: Expired})
	if !slices.Equal(letters(&p), want) {
		t.Error("the box changed with its clone")
	}
}

func TestPendingSteadyFlow(t *testing.T) {
	for _, depth := range []uint64{0, 1, 1000} {
		var p Pending
		id := uint64(0)
		for range depth {
			id++
			p.Put(Letter{ID: id, Reason: Expired})
		}
		flow := func() {
			for range 1000 {
				id++
				p.Put(Letter{ID: id, Reason: Expired})
				p.Remove(id - depth)
			}
		}
		flow()
		if got := testing.AllocsPerRun(20, flow); got > 1 {
			t.Errorf("depth %d: %.1f allocations per 1000 letters, want none", depth, got)
		}
	}
}

func BenchmarkPending(b *testing.B) {
	var p Pending
	id := uint64(0)
	for id < 10000 {
		id++
		p.Put(Letter{ID: id, Reason: Expired})
	}
	b.ReportAllocs()
	for b.Loop() {
		id++
		p.Put(Letter{ID: id, Reason: Expired})
		p.Remove(id - 5000)
		p.Remove(id - 10000)
	}
}

// TestPendingLongBacklog empties a box of many chunks from the front, as a target
// that was away for long does; then a box read back goes on where it was.
func TestPendingLongBacklog(t *testing.T) {
	var p Pending
	const n = 20000
	for id := uint64(1); id <= n; id++ {
		p.Put(Letter{ID: id, Reason: MaxLen, Body: 1})
	}
	for id := uint64(1); id <= n; id++ {
		if first, ok := p.First(); !ok || first.ID != id {
			t.Fatalf("First = %d %v, want %d (D-53)", first.ID, ok, id)
		}
		p.Remove(id)
		if id%3000 == 0 && !p.Ordered() {
			t.Fatalf("out of order after %d", id)
		}
	}
	if p.Len() != 0 || p.Bytes() != 0 || !p.Ordered() {
		t.Errorf("%d letters of %d bytes left", p.Len(), p.Bytes())
	}
	var back Pending
	back.SetLast(p.Last())
	if back.Put(Letter{ID: n, Reason: MaxLen}) || !back.Put(Letter{ID: n + 1, Reason: MaxLen}) {
		t.Error("a box read back does not go on after its last ordinal")
	}
}
