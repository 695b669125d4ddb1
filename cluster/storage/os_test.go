package storage

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"mayfly/cluster/storage/vfs"
	"mayfly/internal/clock"
)

// The same on a real file system: roll, recycle, reopen.
func TestOnDisk(t *testing.T) {
	dir := t.TempDir()
	o := Options{SegmentSize: 256 << 10}
	open := func() *Engine {
		e, err := Open(vfs.OS, dir, o)
		must(t, err)
		return e
	}
	e := open()
	g := mustGroup(t, e, 1)
	for round := range uint64(4) {
		pack(t, g, round*1000+1, round*1000+1000, 1, 1000)
		g.Live(round*1000+7, 1)
		snapshot(t, g, round*1000+990, 1, "state")
		must(t, g.DeleteRange(1, round*1000+990))
		must(t, e.Close())
		e = open()
		g = mustGroup(t, e, 1)
		wantBounds(t, g, round*1000+991, round*1000+1000)
		for r := range round + 1 {
			wantBody(t, g, r*1000+7, 1, 1000)
			g.Live(r*1000+7, 1)
		}
		g.LiveKnown()
		must(t, syncAll(e))
	}
	if st := e.Stats(); st.Segments > 12 {
		t.Fatalf("%d segments, %d of them freed", st.Segments, st.Freed)
	}
	must(t, e.Close())
}

// One file is written ahead, in the background, and used at the next roll.
func TestSpareIsPrepared(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, Options{SegmentSize: 256 << 10})
	g := mustGroup(t, e, 1)
	i := uint64(0)
	for e.w.tail.end < 100<<10 { // no request is in flight: the writer does not touch it
		i++
		must(t, g.StoreLog(entry(g, i, 1, 100)))
	}
	must(t, syncAll(e))
	e.spares.maker.Wait()
	if n := e.Stats().Spares; n != 1 {
		t.Fatalf("%d spares, want 1", n)
	}
	for e.Stats().Rolls == 0 {
		i++
		must(t, g.StoreLog(entry(g, i, 1, 100)))
	}
	must(t, e.Close())
	e = mustOpen(t, fs, Options{SegmentSize: 256 << 10})
	wantBounds(t, mustGroup(t, e, 1), 1, i)
	must(t, e.Close())
}

// The watermark follows when the log falls idle; a log without work does nothing.
func TestMarkFollowsIdle(t *testing.T) {
	fs, c := vfs.NewMem(), clock.NewFake()
	e := mustOpen(t, fs, Options{SegmentSize: minSegment, Clock: c, inline: true})
	g := mustGroup(t, e, 1)
	fill(t, g, 1, 3, 1, 10)
	marks := make(chan struct{}, 10)
	fs.Inject(func(o vfs.Op) vfs.Fault {
		if o.Kind == "sync" && o.Name == "log/"+markFile {
			marks <- struct{}{}
		}
		return vfs.Fault{}
	})
	for range 2 {
		c.Advance(defaultMarkAfter)
		must(t, syncAll(e))
	}
	<-marks
	before := fs.Operations()
	for range 10 {
		c.Advance(defaultMarkAfter)
		must(t, syncAll(e))
	}
	if n := fs.Operations() - before; n != 0 {
		t.Fatalf("an idle log made %d changing calls", n)
	}
	must(t, e.Close())
}

// Ten thousand idle groups cost little memory, and a restart that needs nothing
// of their entries reads none of them.
func TestIdleGroupsAreSmall(t *testing.T) {
	const groups = 10000
	dir := t.TempDir() // real files: those of the twin would count as heap
	o := Options{SegmentSize: 4 << 20, CacheBytes: 1 << 16}
	open := func() *Engine {
		e, err := Open(vfs.OS, dir, o)
		must(t, err)
		return e
	}
	e := open()
	var wg sync.WaitGroup
	for part := range uint64(100) {
		wg.Go(func() {
			for id := part*groups/100 + 1; id <= (part+1)*groups/100; id++ {
				g, err := e.Group(id)
				if err == nil {
					err = g.SetUint64([]byte(keyTerm), 1)
				}
				if err == nil {
					err = g.StoreLog(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: make([]byte, 80)})
				}
				if err == nil {
					err = g.StoreLog(&raft.Log{Index: 2, Term: 2, Type: raft.LogNoop})
				}
				if err == nil {
					err = g.SetUint64([]byte(keyVoteTerm), 2)
				}
				if err == nil {
					err = g.Set([]byte(keyVoteFor), []byte("node-1"))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	must(t, e.Close())
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	e = nil
	heap() // what sync.Pool holds goes in the second collection
	before := heap()
	e = open()
	perGroup := (int64(heap()) - int64(before)) / groups
	if perGroup <= 0 || perGroup > 1024 {
		t.Errorf("%d bytes an idle group", perGroup)
	}
	t.Logf("%d bytes an idle group", perGroup)
	if n := len(e.Groups()); n != groups {
		t.Errorf("%d groups, want %d", n, groups)
	}
	if n := e.Stats().DiskReads; n != 0 {
		t.Errorf("%d records were read", n)
	}
	must(t, e.Close())
}

// The writer and the maker of spares end with Close.
func TestCloseEndsGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 10 {
		e := mustOpen(t, vfs.NewMem(), Options{SegmentSize: 256 << 10})
		g := mustGroup(t, e, 1)
		fill(t, g, 1, 60, 1, 2000)
		must(t, e.Close())
		must(t, e.Close())
	}
	for runtime.NumGoroutine() > before+2 { // other tests' may still be ending
		runtime.Gosched()
	}
}

func TestStalledSyncShows(t *testing.T) {
	fs, c := vfs.NewMem(), clock.NewFake()
	e := mustOpen(t, fs, Options{SegmentSize: minSegment, Clock: c, inline: true})
	g := mustGroup(t, e, 1)
	stalled, resume := make(chan struct{}), make(chan struct{})
	fs.Inject(func(o vfs.Op) vfs.Fault {
		if o.Kind == "sync" {
			close(stalled)
			<-resume
		}
		return vfs.Fault{}
	})
	done := make(chan error, 1)
	go func() { done <- g.StoreLog(entry(g, 1, 1, 10)) }()
	<-stalled
	c.Advance(3 * time.Second)
	if age := e.SyncAge(); age != 3*time.Second {
		t.Errorf("a sync that began 3s ago shows as %v", age)
	}
	close(resume)
	must(t, <-done)
	fs.Inject(nil)
	if age := e.SyncAge(); age != 0 {
		t.Errorf("no sync in progress, yet %v", age)
	}
	must(t, e.Close())
}
