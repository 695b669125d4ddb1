package storage

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/cluster/storage/vfs"
	"mayfly/internal/clock"
)

// Engine is a node's shared log. Open makes one; it has one goroutine, the
// writer, which ends with Close or with the first failure, and at most one
// other that prepares the next segment. All methods may be called from any
// goroutine.
type Engine struct {
	fs    vfs.FS
	dir   string
	opts  Options
	clock clock.Clock
	log   *slog.Logger
	logID uint64
	lock  io.Closer
	cache *cache
	stats counters

	// mu guards what callers and the writer exchange.
	mu      sync.Mutex
	queue   []*request
	closing bool
	err     error
	wake    chan struct{} // one token: there is something to do

	failed chan struct{} // closed at the first failure
	dead   atomic.Bool   // err is set
	done   chan struct{} // closed when the writer has ended

	groupsMu sync.RWMutex
	groups   map[uint64]*Group

	segsMu sync.RWMutex
	segs   map[uint32]*segment // all but spares

	spares  sparePool
	snapSeq atomic.Uint64 // numbers temporary snapshot files

	hint  atomic.Bool // there may be something to reclaim
	drops atomic.Bool // something died since the last tick

	w writer // the writer's own
}

// Open opens or makes the log in dir, which it locks. What was durable is there
// again; a torn end beyond the durable watermark is cut, and damage at or below
// it is refused with ErrDamaged (S5).
func Open(fs vfs.FS, dir string, o Options) (*Engine, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.defaults()
	e := &Engine{
		fs: fs, dir: dir, opts: o, clock: o.Clock, log: o.Logger,
		cache:  newCache(o.CacheBytes),
		wake:   make(chan struct{}, 1),
		failed: make(chan struct{}),
		done:   make(chan struct{}),
		groups: make(map[uint64]*Group),
		segs:   make(map[uint32]*segment),
	}
	if err := fs.MkdirAll(e.path(snapDir)); err != nil {
		return nil, fmt.Errorf("make log directory: %w", err)
	}
	lock, err := fs.Lock(e.path("lock"))
	if err != nil {
		return nil, fmt.Errorf("log directory %s is in use: %w", dir, err)
	}
	e.lock = lock
	if err := e.recover(); err != nil {
		e.closeFiles()
		return nil, fmt.Errorf("open log %s: %w", dir, err)
	}
	e.w.ticker = e.clock.NewTicker(o.MarkAfter)
	e.w.refilled = e.clock.Boot()
	go e.run()
	return e, nil
}

func (e *Engine) path(name string) string { return e.dir + "/" + name }

// ID is a random number drawn when the directory was first used: another disk
// has another.
func (e *Engine) ID() uint64 { return e.logID }

// Failed is closed when the engine has failed. It then refuses every call: what
// it could not write may be lost, and only recovery from disk tells (S3).
func (e *Engine) Failed() <-chan struct{} { return e.failed }

// Err is nil while the engine works; then what it failed with, or ErrClosed.
func (e *Engine) Err() error {
	if !e.dead.Load() {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// fail makes the first storage error final.
func (e *Engine) fail(err error) error {
	e.mu.Lock()
	first := e.err == nil
	if first {
		e.err = fmt.Errorf("storage failed: %w", err)
		e.dead.Store(true)
		close(e.failed)
	}
	err = e.err
	e.mu.Unlock()
	if first {
		e.log.Error("storage failed; no more writes", "dir", e.dir, "err", err)
		e.poke()
	}
	return err
}

// poke wakes the writer.
func (e *Engine) poke() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Group returns the handle of a group, the same one each time, and makes the
// group if it is new. A group that was removed starts empty.
func (e *Engine) Group(id uint64) (*Group, error) {
	if err := e.Err(); err != nil {
		return nil, err
	}
	e.groupsMu.RLock()
	g := e.groups[id]
	e.groupsMu.RUnlock()
	if g != nil && !g.isRemoved() {
		return g, nil
	}
	e.groupsMu.Lock()
	g = e.groups[id]
	if g == nil {
		g = newGroup(e, id)
		g.liveKnown = true
		e.groups[id] = g
	}
	e.groupsMu.Unlock()
	if !g.isRemoved() {
		return g, nil
	}
	// The writer knows what the old life of the group still needs.
	r := newRequest(reqRevive, g)
	defer r.free()
	if err := e.submit(r); err != nil {
		return nil, err
	}
	return e.lookup(id), nil
}

func (e *Engine) lookup(id uint64) *Group {
	e.groupsMu.RLock()
	defer e.groupsMu.RUnlock()
	return e.groups[id]
}

// Groups lists, ascending, the groups that have anything stored.
func (e *Engine) Groups() []uint64 {
	e.groupsMu.RLock()
	all := slices.Collect(maps.Values(e.groups))
	e.groupsMu.RUnlock()
	ids := make([]uint64, 0, len(all))
	for _, g := range all {
		if g.stored() {
			ids = append(ids, g.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Remove forgets a group, its entries, bodies and snapshots, durably. Its handle
// answers ErrRemoved from then on. Unknown groups are no error.
func (e *Engine) Remove(id uint64) error {
	g := e.lookup(id)
	if g == nil || g.isRemoved() {
		return e.Err()
	}
	r := newRequest(reqRemove, g)
	defer r.free()
	if err := e.submit(r); err != nil {
		return err
	}
	return g.snaps.removeAll()
}

// Close writes what waits, marks it durable and ends the writer. Later calls
// answer ErrClosed.
func (e *Engine) Close() error {
	e.mu.Lock()
	again := e.closing
	e.closing = true
	e.mu.Unlock()
	e.poke()
	<-e.done
	if again {
		return nil
	}
	e.spares.wait()
	e.mu.Lock()
	err := e.err
	if err == nil {
		e.err = ErrClosed
		e.dead.Store(true)
	}
	e.mu.Unlock()
	e.w.ticker.Stop()
	if cerr := e.closeFiles(); err == nil {
		err = cerr
	}
	return err
}

func (e *Engine) closeFiles() error {
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	e.segsMu.Lock()
	for _, s := range e.segs {
		note(s.file.Close())
	}
	e.segsMu.Unlock()
	for _, s := range e.w.draining {
		note(s.file.Close())
	}
	if n := e.w.next; n != nil {
		note(n.file.Close())
	}
	if f := e.w.markFile; f != nil {
		note(f.Close())
	}
	note(e.lock.Close())
	return first
}

// segment finds a segment by number; callers know that it is there, because an
// index they hold the lock of points to it.
func (e *Engine) segment(seq uint32) *segment {
	e.segsMu.RLock()
	defer e.segsMu.RUnlock()
	return e.segs[seq]
}

// dropped accounts for entries that no index points to any more.
func (e *Engine) dropped(seq uint32, size int64) {
	s := e.segment(seq)
	if s.live.Add(-size) <= 0 {
		e.hinted()
	} else if !e.drops.Load() {
		e.drops.Store(true)
	}
}

// hinted tells the writer that there may be something to reclaim.
func (e *Engine) hinted() {
	if e.hint.CompareAndSwap(false, true) {
		e.poke()
	}
}

// SyncAge is how long the write and sync in progress has been running; 0 when
// there is none. A leader whose disk stalls hands its groups away (L6).
func (e *Engine) SyncAge() time.Duration {
	since := e.stats.syncStart.Load()
	if since == 0 {
		return 0
	}
	return max(0, e.clock.Boot()-time.Duration(since))
}
