package storage

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Group is one Raft group's share of the log: its raft.LogStore, its
// raft.StableStore, the bodies in its entries, its snapshots. All methods may be
// called from any goroutine. It is not a MonotonicLogStore: indexes may have
// gaps, and what lies before a snapshot stays until DeleteRange (raft.md, fact 8).
//
// Lock order: Group.mu, then Engine.segsMu or the cache's. Nothing that waits
// happens under any of them.
type Group struct {
	e     *Engine
	id    uint64
	snaps snapshots

	removed atomic.Bool
	dirty   atomic.Bool // stable values wait for the next record of this group

	mu        sync.RWMutex
	bounds    bounds
	compacted uint64 // highest index deleted because a snapshot covers it
	index     index  // also of entries below the log that still hold live bodies
	st        groupState
	liveKnown bool // what is below the log and has no live count is dead
	headers   bool // HeadersOnly

	logBytes      int64 // of entries in the log
	liveBytes     int64 // of those among them with live bodies
	snapIndex     uint64
	replayEntries uint64 // in the log and above the snapshot
	replayBytes   int64
	lastWall      int64

	w groupWriter
}

// groupWriter is what only the writer touches. It runs ahead of what Group shows
// by the batch under construction.
type groupWriter struct {
	bounds
	compacted uint64
	life      uint32
	removed   bool
	stateSeg  uint32 // where the latest state record lies
	stateOff  uint32
	lowSeg    uint32 // no segment before this one has records of the group
}

// bounds are a log's first and last index; empty when last < first.
type bounds struct{ first, last uint64 }

func (b *bounds) empty() bool { return b.first == 0 || b.last < b.first }

// add takes an entry in. An empty log begins with whatever comes first.
func (b *bounds) add(i uint64) {
	if b.empty() {
		*b = bounds{i, i}
		return
	}
	b.first, b.last = min(b.first, i), max(b.last, i)
}

var (
	_ raft.LogStore    = (*Group)(nil)
	_ raft.StableStore = (*Group)(nil)
)

func newGroup(e *Engine, id uint64) *Group {
	g := &Group{e: e, id: id}
	g.snaps.g = g
	return g
}

func (g *Group) noteSegment(seq uint32) {
	if g.w.lowSeg == 0 {
		g.w.lowSeg = seq
	}
}

// ID is the group's number.
func (g *Group) ID() uint64 { return g.id }

func (g *Group) isRemoved() bool { return g.removed.Load() }

func (g *Group) check() error {
	if g.e.dead.Load() {
		return g.e.Err()
	}
	if g.removed.Load() {
		return ErrRemoved
	}
	return nil
}

// stored reports whether there is anything to come back to.
func (g *Group) stored() bool {
	if g.isRemoved() {
		return false
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.bounds.first != 0 || g.st.term != 0 || g.st.voteTerm != 0 || len(g.st.more) > 0 || g.snapIndex != 0
}

// FirstIndex implements raft.LogStore.
func (g *Group) FirstIndex() (uint64, error) {
	if err := g.check(); err != nil {
		return 0, err
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	if i, ok := g.index.next(g.bounds.first); ok && !g.bounds.empty() && i <= g.bounds.last {
		return i, nil
	}
	return 0, nil
}

// LastIndex implements raft.LogStore.
func (g *Group) LastIndex() (uint64, error) {
	if err := g.check(); err != nil {
		return 0, err
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	if i, ok := g.index.prev(g.bounds.last); ok && !g.bounds.empty() && i >= g.bounds.first {
		return i, nil
	}
	return 0, nil
}

// HeadersOnly makes GetLog leave the data of command entries out. NewRaft reads
// the whole log and looks only at configurations; without this it would read
// every body from disk. Turn it off before the instance can be told a commit
// index. The first change to the group also turns it off: an instance that
// writes is past its start.
func (g *Group) HeadersOnly(on bool) {
	g.mu.Lock()
	g.headers = on
	g.mu.Unlock()
}

// GetLog implements raft.LogStore. The slices it sets are shared and immutable.
func (g *Group) GetLog(index uint64, l *raft.Log) error {
	if err := g.check(); err != nil {
		return err
	}
	g.mu.RLock()
	s := g.index.get(index)
	if s == nil || index < g.bounds.first || index > g.bounds.last {
		g.mu.RUnlock()
		return raft.ErrLogNotFound
	}
	*l = raft.Log{Index: index, Term: uint64(s.term), Type: raft.LogType(s.typ)}
	if g.headers && l.Type == raft.LogCommand {
		g.mu.RUnlock()
		return nil
	}
	var appended int64
	var err error
	l.Data, l.Extensions, appended, err = g.load(index, *s)
	if appended != 0 {
		l.AppendedAt = time.Unix(0, appended)
	}
	return err
}

// Entry returns an entry's data: of the log, or below it while bodies in it are
// live. The bytes are shared, never written again, and may be kept.
func (g *Group) Entry(index uint64) ([]byte, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	g.mu.RLock()
	s := g.index.get(index)
	if s == nil {
		g.mu.RUnlock()
		return nil, fmt.Errorf("entry %d of group %d: %w", index, g.id, ErrNotFound)
	}
	data, _, _, err := g.load(index, *s)
	return data, err
}

// load fetches a record's bytes from the cache or its segment. g.mu is held for
// reading and is given up here: while it is held, the segment cannot be freed.
func (g *Group) load(index uint64, s slot) (data, ext []byte, appended int64, err error) {
	data, ext, appended, ok := g.e.cache.get(g, index, s.term)
	if ok {
		g.mu.RUnlock()
		g.e.stats.hits.Add(1)
		return data, ext, appended, nil
	}
	seg := g.e.segment(s.seg)
	seg.refs.Add(1)
	g.mu.RUnlock()
	h, payload, err := seg.readRecord(s.off, s.size)
	seg.refs.Add(-1)
	g.e.stats.reads.Add(1)
	g.e.stats.readBytes.Add(uint64(s.size))
	if err == nil && (h.group != g.id || h.index != index || h.term != uint64(s.term)) {
		err = damaged(seg.name, int64(s.off), "another record in this place")
	}
	if err != nil {
		return nil, nil, 0, fmt.Errorf("entry %d of group %d: %w", index, g.id, err)
	}
	n := int(h.extLen)
	ext, data = payload[:n:n], payload[n:]
	if n == 0 {
		ext = nil
	}
	it := make([]cacheItem, 1)
	it[0] = cacheItem{key: cacheKey{g, index}, term: h.term, data: data, ext: ext, appended: h.appended}
	g.e.cache.add(it)
	return data, ext, h.appended, nil
}

// StoreLog implements raft.LogStore.
func (g *Group) StoreLog(l *raft.Log) error { return g.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore. It returns when the entries are durable.
// Their slices are kept: whoever made them must not write to them again.
func (g *Group) StoreLogs(logs []*raft.Log) error { return g.store(reqStore, logs) }

// StoreBodies stores entries for the bodies in them only: they do not become
// part of the log. So a replica that is brought up by a snapshot gets the bodies
// that the snapshot refers to. Live must follow, then LiveKnown.
func (g *Group) StoreBodies(logs []*raft.Log) error { return g.store(reqBodies, logs) }

func (g *Group) store(kind reqKind, logs []*raft.Log) error {
	if err := g.check(); err != nil {
		return err
	}
	if len(logs) == 0 {
		return nil
	}
	r := newRequest(kind, g)
	defer r.free()
	r.logs = logs
	for _, l := range logs {
		if len(l.Data)+len(l.Extensions) > MaxEntry || l.Index == 0 || l.Term > math.MaxUint32 {
			return fmt.Errorf("entry %d of group %d, term %d, %d bytes: %w", l.Index, g.id, l.Term, len(l.Data), ErrTooLarge)
		}
		// Here and not in the writer: callers have more than one processor.
		r.sums = append(r.sums, sum(sum(0, l.Extensions), l.Data))
	}
	g.wrote()
	return g.e.submit(r)
}

// wrote ends HeadersOnly at the first change.
func (g *Group) wrote() {
	g.mu.RLock()
	on := g.headers
	g.mu.RUnlock()
	if on {
		g.HeadersOnly(false)
	}
}

// DeleteRange implements raft.LogStore. The front of the log goes because a
// snapshot covers it: entries with live bodies stay readable through Entry. The
// back goes because it conflicts with the leader's: those entries are dead. All
// of the log counts as front if the snapshot covers it, else as back.
func (g *Group) DeleteRange(first, last uint64) error {
	if err := g.check(); err != nil {
		return err
	}
	r := newRequest(reqDelete, g)
	defer r.free()
	r.min, r.max = first, last
	return g.e.submit(r)
}

// LastAppended is this node's own wall clock when it stored the last entry of
// the log; zero when there is none. A new leader after a restart tells from it
// how long the group has stood still (reliability.md, The queue clock).
func (g *Group) LastAppended() (time.Time, error) {
	if err := g.check(); err != nil {
		return time.Time{}, err
	}
	g.mu.RLock()
	i, ok := g.index.prev(g.bounds.last)
	if !ok || g.bounds.empty() || i < g.bounds.first {
		g.mu.RUnlock()
		return time.Time{}, nil
	}
	if g.lastWall != 0 {
		defer g.mu.RUnlock()
		return time.Unix(0, g.lastWall), nil
	}
	s := *g.index.get(i)
	seg := g.e.segment(s.seg)
	seg.refs.Add(1)
	g.mu.RUnlock()
	h, _, err := seg.readRecord(s.off, s.size)
	seg.refs.Add(-1)
	if err != nil {
		return time.Time{}, fmt.Errorf("entry %d of group %d: %w", i, g.id, err)
	}
	return time.Unix(0, h.wall), nil
}

// Replay is what a restart would have to apply again: the log above the snapshot.
func (g *Group) Replay() (entries uint64, bytes int64) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.replayEntries, g.replayBytes
}

// Reclaimable is how many bytes a snapshot of everything applied would free at
// most: entries in the log without live bodies.
func (g *Group) Reclaimable() int64 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.logBytes - g.liveBytes
}

// enterLog counts an entry as part of the log; mu is held.
func (g *Group) enterLog(i uint64, size int64) {
	g.logBytes += size
	if i > g.snapIndex {
		g.replayEntries++
		g.replayBytes += size
	}
}

func (g *Group) snapshotIndex() uint64 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.snapIndex
}

// setSnapshot notes that a snapshot up to that index is durable.
func (g *Group) setSnapshot(i uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.snapIndex, g.replayEntries, g.replayBytes = i, 0, 0
	if g.bounds.empty() {
		return
	}
	g.index.each(max(i+1, g.bounds.first), g.bounds.last, func(_ uint64, s *slot) {
		g.replayEntries++
		g.replayBytes += int64(s.size)
	})
}
