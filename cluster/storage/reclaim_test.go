package storage

import (
	"errors"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"mayfly/cluster/storage/vfs"
)

// What a conflict overruled must not come back to life when the segment with
// the overruling records is freed before the one with the overruled.
func TestOverruledEntriesStayDead(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, crashOptions())
	pin := mustGroup(t, e, 2)
	pack(t, pin, 1, 16, 1, modelSize) // keeps the first segment from being the emptiest
	g := mustGroup(t, e, 1)
	pack(t, g, 1, 12, 1, 100)
	must(t, g.DeleteRange(5, 12))
	if e.w.tail.seq == 1 {
		t.Fatal("the truncation lies beside what it truncates: nothing to test")
	}
	pack(t, g, 5, 150, 2, modelSize)
	snapshot(t, g, 150, 2, "x")
	must(t, g.DeleteRange(1, 149))
	drain(t, e, g)
	if e.Stats().Freed == 0 {
		t.Fatal("nothing was reclaimed")
	}
	must(t, e.Close())
	e = mustOpen(t, fs, crashOptions())
	defer e.Close()
	g = mustGroup(t, e, 1)
	for i := uint64(5); i <= 12; i++ {
		b, err := g.Entry(i)
		if err == nil && len(b) != modelSize {
			t.Fatalf("entry %d of term 1 is back", i)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
	}
}

// A tombstone lives as long as there are records that it must keep down.
func TestTombstoneOutlivesItsSegment(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, crashOptions())
	pin, g := mustGroup(t, e, 2), mustGroup(t, e, 1)
	pack(t, g, 1, 5, 1, modelSize)
	pack(t, pin, 1, 20, 1, modelSize)
	churn := mustGroup(t, e, 3)
	pack(t, churn, 1, 40, 1, modelSize)
	must(t, e.Remove(1))
	pack(t, churn, 41, 150, 1, modelSize)
	snapshot(t, churn, 150, 1, "x")
	must(t, churn.DeleteRange(1, 149))
	drain(t, e, churn)
	if e.Stats().Freed < 2 {
		t.Fatalf("%d segments were reclaimed", e.Stats().Freed)
	}
	must(t, e.Close())
	e = mustOpen(t, fs, crashOptions())
	defer e.Close()
	if got := e.Groups(); !slices.Equal(got, []uint64{2, 3}) {
		t.Fatalf("groups %v, want [2 3]", got)
	}
}

// A reader keeps a freed segment's file from being written again.
func TestReaderHoldsSegment(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, crashOptions())
	defer e.Close()
	g := mustGroup(t, e, 1)
	pack(t, g, 1, 150, 1, modelSize)
	first := e.segment(1)
	first.refs.Add(1)
	snapshot(t, g, 150, 1, "x")
	must(t, g.DeleteRange(1, 149))
	drain(t, e, g)
	if e.segment(1) != nil {
		t.Fatal("segment 1 was not freed")
	}
	if _, err := fs.Stat("log/" + segName(1)); err != nil {
		t.Fatalf("the file of a segment that is read was recycled: %v", err)
	}
	first.refs.Add(-1)
	fill(t, g, 151, 152, 1, 10)
	if _, err := fs.Stat("log/" + segName(1)); err == nil {
		t.Fatal("the file was never recycled")
	}
}

// Space stays bounded when a few messages live for ever in a stream of short ones.
func TestSparseSegmentsAreCompacted(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, crashOptions())
	g := mustGroup(t, e, 1)
	for i := uint64(1); i <= 3000; i++ {
		fill(t, g, i, i, 1, modelSize)
		if i%60 == 0 {
			g.Live(i, 1)
		}
		if i%200 == 0 {
			snapshot(t, g, i, 1, "x")
			must(t, g.DeleteRange(1, i-1))
		}
	}
	drain(t, e, g)
	st := e.Stats()
	if st.Segments > 10 {
		t.Fatalf("%d segments for 50 live entries (%d copied bytes)", st.Segments, st.CopiedBytes)
	}
	for i := uint64(60); i <= 3000; i += 60 {
		e.cache.drop(g, i)
		wantBody(t, g, i, 1, modelSize)
	}
	must(t, e.Close())
	if got := st.LiveBytes; got < 50*modelSize || got > 100*modelSize {
		t.Fatalf("%d live bytes", got)
	}
}

// Bodies that come with an installed snapshot are readable and are no part of
// the log, before and after a restart.
func TestStoredBodiesAreNotLog(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, crashOptions())
	g := mustGroup(t, e, 1)
	snapshot(t, g, 50, 3, "x")
	g.ResetLive()
	must(t, g.StoreBodies([]*raft.Log{entry(g, 10, 2, modelSize), entry(g, 20, 2, modelSize), entry(g, 30, 3, modelSize)}))
	g.Live(10, 1)
	g.Live(20, 1)
	g.LiveKnown()
	wantBounds(t, g, 0, 0)
	fill(t, g, 51, 52, 3, modelSize)
	for range 2 {
		wantBounds(t, g, 51, 52)
		wantBody(t, g, 10, 2, modelSize)
		wantBody(t, g, 20, 2, modelSize)
		if n, _ := g.Replay(); n != 2 {
			t.Fatalf("%d entries to replay, want 2", n)
		}
		must(t, e.Close())
		e = mustOpen(t, fs, crashOptions())
		g = mustGroup(t, e, 1)
	}
	g.Live(20, 1)
	g.LiveKnown()
	for _, i := range []uint64{10, 30} {
		if _, err := g.Entry(i); !errors.Is(err, ErrNotFound) {
			t.Fatalf("body %d without a reference: %v", i, err)
		}
	}
	must(t, e.Close())
}
