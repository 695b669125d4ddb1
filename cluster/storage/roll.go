package storage

import (
	"fmt"
	"slices"
	"sync"

	"mayfly/cluster/storage/vfs"
)

// inventory lists the segments that must be there from now on; a freed record
// takes some off it again. So a file that is missing is noticed at open (S5).
func (e *Engine) inventory() []byte {
	e.segsMu.RLock()
	seqs := make([]uint32, 0, len(e.segs))
	for seq := range e.segs {
		seqs = append(seqs, seq)
	}
	e.segsMu.RUnlock()
	slices.Sort(seqs)
	return appendSeqs(nil, seqs)
}

// roll goes on in the next segment, made large enough for a record of that many
// bytes. The order matters to recovery: the successor is in place, empty, before
// the tail is sealed, and the tail is sealed before the successor is written. So
// a sealed segment without a successor means that a file is missing.
func (e *Engine) roll(need int64) error {
	w := &e.w
	inv := int64(len(e.inventory())) + 8
	least := segHeaderSize + alignUp(batchHeaderSize+2*recHeaderSize+inv+need) + alignUp(2*itemRoom+inv+need/64) + 2*block
	capacity := max(e.opts.SegmentSize, alignUp(least))
	if w.tail.fresh() {
		w.tail.sum = newSummary() // an inventory that was noted and never written
	}
	next := w.next
	w.next = nil
	if next != nil && next.capacity < capacity {
		if err := e.discard(next); err != nil {
			return err
		}
		next = nil
	}
	if next == nil {
		var err error
		if next, err = e.makeSegment(w.tail.seq+1, capacity); err != nil {
			return err
		}
	}
	if err := w.tail.seal(w.number); err != nil {
		return err
	}
	e.adopt(next)
	e.stats.rolls.Add(1)
	e.hinted()
	return nil
}

// adopt makes an empty segment the tail.
func (e *Engine) adopt(s *segment) {
	s.sum, s.firstNumber = newSummary(), e.w.number
	e.segsMu.Lock()
	e.segs[s.seq] = s
	e.segsMu.Unlock()
	e.w.tail = s
}

// makeSegment puts an empty segment file in place, durably: header first, name
// last, so that a file of that name always has its header.
func (e *Engine) makeSegment(seq uint32, capacity int64) (*segment, error) {
	f, from, err := e.takeFile(capacity)
	if err != nil {
		return nil, err
	}
	s := &segment{
		seq: seq, name: segName(seq), file: f, seed: segmentSeed(e.logID, seq),
		capacity: capacity, end: segHeaderSize,
	}
	if _, err := f.WriteAt(segHeader{e.logID, seq, capacity}.encode(), 0); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	if err := e.fs.Rename(e.path(from), e.path(s.name)); err != nil {
		return nil, err
	}
	return s, e.fs.SyncDir(e.dir)
}

// takeFile gives a used file of the right size, or a new sparse one.
func (e *Engine) takeFile(capacity int64) (vfs.File, string, error) {
	if capacity == e.opts.SegmentSize {
		if name := e.spares.take(); name != "" {
			f, err := e.fs.OpenReadWrite(e.path(name))
			return f, name, err
		}
	}
	const name = "next" + tmpSuffix
	f, err := e.fs.Create(e.path(name))
	if err != nil {
		return nil, "", err
	}
	return f, name, f.Truncate(capacity)
}

// discard removes an empty successor that is too small.
func (e *Engine) discard(s *segment) error {
	if err := s.file.Close(); err != nil {
		return err
	}
	if err := e.fs.Remove(e.path(s.name)); err != nil {
		return err
	}
	return e.fs.SyncDir(e.dir)
}

// recycle closes a freed segment's file and keeps it as a spare, or deletes it.
// Its name needs no sync: opening the log knows that it is free (recFreed).
func (e *Engine) recycle(s *segment) error {
	if err := s.file.Close(); err != nil {
		return err
	}
	return e.recycleFile(s.name, s.seq, s.capacity)
}

func (e *Engine) recycleFile(name string, seq uint32, capacity int64) error {
	spare := fmt.Sprintf("%08x%s", seq, spareSuffix)
	if capacity != e.opts.SegmentSize || !e.spares.put(spare, e.opts.Spares) {
		return e.fs.Remove(e.path(name))
	}
	return e.fs.Rename(e.path(name), e.path(spare))
}

// sparePool holds the names of files that wait to be written again. Its mutex
// is a leaf.
type sparePool struct {
	mu      sync.Mutex
	names   []string
	making  bool
	gaveUp  bool // making one failed: the disk is full, or worse
	stopped bool
	maker   sync.WaitGroup
}

func (p *sparePool) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.names) == 0 {
		return ""
	}
	n := p.names[0]
	p.names = p.names[1:]
	return n
}

func (p *sparePool) put(name string, limit int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.names) >= limit {
		return false
	}
	p.names = append(p.names, name)
	return true
}

func (p *sparePool) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.names)
}

// start reports whether a spare is wanted and nobody makes one yet.
func (p *sparePool) start() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.names) > 0 || p.making || p.gaveUp || p.stopped {
		return false
	}
	p.making = true
	p.maker.Add(1)
	return true
}

func (p *sparePool) finish(name string, err error) {
	p.mu.Lock()
	p.making = false
	p.gaveUp = err != nil
	if err == nil {
		p.names = append(p.names, name)
	}
	p.mu.Unlock()
	p.maker.Done()
}

// wait stops a maker and waits for its end.
func (p *sparePool) wait() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.maker.Wait()
}

func (p *sparePool) isStopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
}

// prepareSpare writes one file full of zeros in the background: a sync after
// overwriting written blocks takes half of the time of one that must allocate
// them (raft.md, Disk). Only one is ever made ahead; after the first reclaim
// used files take its place.
func (e *Engine) prepareSpare() {
	if e.opts.inline || !e.spares.start() {
		return
	}
	// The goroutine ends by itself or at the next slice after Close.
	go func() {
		const tmp, name = "spare" + tmpSuffix, "prepared" + spareSuffix
		err := e.writeZeros(tmp)
		if err == nil {
			err = e.fs.Rename(e.path(tmp), e.path(name))
		}
		if err != nil && !e.spares.isStopped() {
			e.log.Warn("no spare segment prepared", "err", err)
		}
		e.spares.finish(name, err)
	}()
}

// writeZeros syncs every few MiB, so that the tail's own syncs never wait long.
func (e *Engine) writeZeros(name string) error {
	const slice, syncEvery = 256 << 10, 4 << 20
	f, err := e.fs.Create(e.path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, slice)
	for off := int64(0); off < e.opts.SegmentSize; off += slice {
		if e.spares.isStopped() || e.dead.Load() {
			return ErrClosed
		}
		n := min(slice, e.opts.SegmentSize-off)
		if _, err := f.WriteAt(buf[:n], off); err != nil {
			return err
		}
		if (off+slice)%syncEvery == 0 || off+slice >= e.opts.SegmentSize {
			if err := f.Sync(); err != nil {
				return err
			}
		}
	}
	return nil
}
