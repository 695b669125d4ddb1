package cluster

import (
	"bytes"
	"testing"

	"mayfly/fsm"
)

// TestPendingBatches: commands of the given sizes become batches of the given
// sizes, numbered in order, and the bytes add up.
func TestPendingBatches(t *testing.T) {
	const h = fsm.HeaderSize
	for _, c := range []struct {
		name     string
		commands []int
		batches  []int
	}{
		{"nothing", nil, nil},
		{"one", []int{10}, []int{h + 10}},
		{"a tick", []int{0}, []int{h}},
		{"a tick joins", []int{0, 5, 0}, []int{h + 5}},
		{"up to the target", []int{batchTarget - h - 1, 1}, []int{batchTarget}},
		{"above the target", []int{batchTarget - h, 1}, []int{batchTarget, h + 1}},
		{"a large one is alone", []int{10, 3 * batchTarget, 10}, []int{h + 10, h + 3*batchTarget, h + 10}},
		{"a large one first", []int{5 * batchTarget, 5}, []int{h + 5*batchTarget, h + 5}},
		{"many", []int{40 << 10, 40 << 10, 20 << 10}, []int{h + 40<<10, h + 60<<10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pending{no: 1}
			sum := 0
			for _, n := range c.commands {
				p.put(append(p.room(n), make([]byte, n)...))
			}
			for _, n := range c.batches {
				sum += n
			}
			if p.bytes != sum {
				t.Fatalf("%d bytes pending, want %d", p.bytes, sum)
			}
			for i, n := range c.batches {
				if p.empty() {
					t.Fatalf("%d batches, want %d", i, len(c.batches))
				}
				if b := p.take(); len(b.data) != n || b.no != uint64(i+1) {
					t.Fatalf("batch %d: number %d, %d bytes; want %d", i+1, b.no, len(b.data), n)
				}
			}
			if !p.empty() || p.bytes != 0 {
				t.Fatalf("left over: empty %v, %d bytes", p.empty(), p.bytes)
			}
		})
	}
}

// TestPendingRestore: what failed comes first again, under its old numbers, as a
// copy, since the log may hold the old bytes.
func TestPendingRestore(t *testing.T) {
	p := pending{no: 1}
	for i := range 3 {
		p.put(append(p.room(batchTarget), bytes.Repeat([]byte{byte(i)}, batchTarget)...))
	}
	a, b := p.take(), p.take()
	before := p.bytes
	p.restore([]batch{a, b})
	if p.bytes != before+len(a.data)+len(b.data) {
		t.Fatalf("%d bytes after restore", p.bytes)
	}
	for want := uint64(1); want <= 3; want++ {
		got := p.take()
		if got.no != want {
			t.Fatalf("batch %d comes at place %d", got.no, want)
		}
		if want == 1 && &got.data[0] == &a.data[0] {
			t.Fatal("the bytes are shared with the log")
		}
	}
	if p.bytes != 0 || !p.empty() {
		t.Fatal("bytes do not add up")
	}
}
