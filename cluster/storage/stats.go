package storage

import (
	"sync/atomic"
	"time"
)

// counters are kept by whoever does the work.
type counters struct {
	batches, syncs, entries, bytes atomic.Uint64
	copied, freed, rolls           atomic.Uint64
	hits, reads, readBytes         atomic.Uint64
	syncNanos, lastSync            atomic.Int64
	syncStart                      atomic.Int64 // boot time of the write in progress, or 0
}

// Stats is the engine as its metrics show it. Counts are since Open.
type Stats struct {
	Groups       int
	Segments     int   // files of the log, the tail included
	SegmentBytes int64 // their sizes
	LiveBytes    int64 // records in them that something still refers to
	Spares       int   // used files waiting to be written again
	CacheBytes   int64

	Batches     uint64 // writes
	Syncs       uint64
	Entries     uint64 // stored by groups
	Bytes       uint64 // written, padding and copies included
	CopiedBytes uint64 // written again by reclaim
	Freed       uint64 // segments given back
	Rolls       uint64 // segments begun
	CacheHits   uint64
	DiskReads   uint64 // records read from files
	DiskBytes   uint64
	SyncTime    time.Duration // all writes with their syncs together
	LastSync    time.Duration // the latest one
}

// Stats takes a reading.
func (e *Engine) Stats() Stats {
	s := Stats{
		CacheBytes:  e.cache.used(),
		Batches:     e.stats.batches.Load(),
		Syncs:       e.stats.syncs.Load(),
		Entries:     e.stats.entries.Load(),
		Bytes:       e.stats.bytes.Load(),
		CopiedBytes: e.stats.copied.Load(),
		Freed:       e.stats.freed.Load(),
		Rolls:       e.stats.rolls.Load(),
		CacheHits:   e.stats.hits.Load(),
		DiskReads:   e.stats.reads.Load(),
		DiskBytes:   e.stats.readBytes.Load(),
		SyncTime:    time.Duration(e.stats.syncNanos.Load()),
		LastSync:    time.Duration(e.stats.lastSync.Load()),
		Spares:      e.spares.count(),
	}
	e.groupsMu.RLock()
	s.Groups = len(e.groups)
	e.groupsMu.RUnlock()
	e.segsMu.RLock()
	defer e.segsMu.RUnlock()
	s.Segments = len(e.segs)
	for _, seg := range e.segs {
		s.SegmentBytes += seg.capacity
		s.LiveBytes += seg.live.Load()
	}
	return s
}
