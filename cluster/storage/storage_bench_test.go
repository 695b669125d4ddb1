package storage

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"mayfly/cluster/storage/vfs"
)

// BenchmarkStore: each group stores from one goroutine, as raft's main loop does,
// batch entries a call; the log is cut behind it, so that segments are recycled.
// Run with: go test -run XXX -bench Store -benchtime 1s ./cluster/storage
func BenchmarkStore(b *testing.B) {
	for _, size := range []int{100, 64 << 10} {
		for _, groups := range []int{1, 100} {
			for _, batch := range []int{1, 8} {
				b.Run(fmt.Sprintf("size=%d/groups=%d/batch=%d", size, groups, batch), func(b *testing.B) {
					benchStore(b, size, groups, batch)
				})
			}
		}
	}
}

func benchStore(b *testing.B, size, groups, batch int) {
	e, err := Open(vfs.OS, b.TempDir(), Options{})
	must(b, err)
	defer e.Close()
	data := body(1, 1, 1, size)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.SetBytes(int64(size))
	b.ReportAllocs()
	var wg sync.WaitGroup
	b.ResetTimer()
	for id := range groups {
		g := mustGroup(b, e, uint64(id+1))
		wg.Go(func() {
			logs := make([]*raft.Log, batch)
			for i := range logs {
				logs[i] = new(raft.Log)
			}
			next, cut := uint64(1), uint64(0)
			for left.Add(-int64(batch)) > -int64(batch) {
				for _, l := range logs {
					*l = raft.Log{Index: next, Term: 1, Data: data}
					next++
				}
				if err := g.StoreLogs(logs); err != nil {
					b.Error(err)
					return
				}
				if next-cut > 1000 {
					cut = next - 10
					if err := g.DeleteRange(1, cut); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	st := e.Stats()
	b.ReportMetric(float64(st.Syncs)/float64(b.N), "syncs/op")
	b.ReportMetric(float64(st.SyncTime.Microseconds())/float64(st.Batches), "µs/sync")
}

// BenchmarkOpen opens a gigabyte of 32 KiB entries.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	e, err := Open(vfs.OS, dir, Options{})
	must(b, err)
	data := body(1, 1, 1, 32<<10)
	for id := range uint64(8) {
		g := mustGroup(b, e, id+1)
		for i := uint64(1); i <= 4096; i += 64 {
			logs := make([]*raft.Log, 64)
			for k := range logs {
				logs[k] = &raft.Log{Index: i + uint64(k), Term: 1, Data: data}
			}
			must(b, g.StoreLogs(logs))
		}
	}
	must(b, e.Close())
	b.ReportAllocs()
	for b.Loop() {
		e, err := Open(vfs.OS, dir, Options{})
		must(b, err)
		must(b, e.Close())
	}
}

// BenchmarkEntry reads bodies that are not in memory any more, in order.
func BenchmarkEntry(b *testing.B) {
	e, err := Open(vfs.OS, b.TempDir(), Options{CacheBytes: 1 << 20})
	must(b, err)
	defer e.Close()
	g := mustGroup(b, e, 1)
	const entries, size = 2048, 32 << 10
	for i := uint64(1); i <= entries; i += 64 {
		pack(b, g, i, i+63, 1, size)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	i := uint64(0)
	for b.Loop() {
		if _, err := g.Entry(i%entries + 1); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkLive counts references up and down, as Apply does.
func BenchmarkLive(b *testing.B) {
	e, err := Open(vfs.NewMem(), "log", Options{})
	must(b, err)
	defer e.Close()
	g := mustGroup(b, e, 1)
	for i := uint64(1); i <= 1<<14; i += 1 << 10 {
		pack(b, g, i, i+1<<10-1, 1, 16)
	}
	b.ReportAllocs()
	i := uint64(0)
	for b.Loop() {
		g.Live(i&(1<<14-1)+1, 16)
		g.Release(i&(1<<14-1)+1, 16)
		i++
	}
}
