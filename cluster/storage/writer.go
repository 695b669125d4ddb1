package storage

import (
	"time"

	"mayfly/cluster/storage/vfs"
	"mayfly/internal/clock"
)

// writer is what only the writer's goroutine touches (and recovery, before that
// goroutine starts).
type writer struct {
	ticker  clock.Ticker
	tail    *segment
	next    *segment   // the tail's successor when a crash left it in place already
	number  uint64     // of the last batch
	pending []*request // taken from the queue, not yet wholly in a batch
	placed  []*request // wholly in the batch under construction
	batch   batch

	markFile vfs.File
	marked   mark
	mark     bool   // write a mark now
	ticked   uint64 // number at the last tick
	ticks    int    // since the last mark

	budget   int64         // bytes that reclaim may copy
	refilled time.Duration // when budget grew last
	victim   *victim
	draining []*segment // freed, but somebody still reads from them
}

// run is the writer's goroutine: gather, write, sync, install, answer, again.
func (e *Engine) run() {
	defer close(e.done)
	for e.gather() {
		if err := e.round(); err != nil {
			e.fail(err)
		}
	}
	e.mu.Lock()
	err, left := e.err, e.queue
	e.queue = nil
	e.mu.Unlock()
	for _, rs := range [][]*request{e.w.placed, e.w.pending, left} {
		for _, r := range rs {
			r.done <- err // never nil: without a failure nothing is left
		}
	}
}

// gather waits for work. False ends the writer.
func (e *Engine) gather() bool {
	w := &e.w
	for {
		e.mu.Lock()
		err, closing := e.err, e.closing
		w.pending = append(w.pending, e.queue...)
		clear(e.queue)
		e.queue = e.queue[:0]
		e.mu.Unlock()
		switch {
		case err != nil:
			return false
		case len(w.pending) > 0 || w.mark:
			return true
		case closing:
			w.mark = w.unmarked()
			return w.mark
		case e.mayReclaim():
			return true
		}
		select {
		case <-e.wake:
		case <-w.ticker.C():
			e.tick()
		}
	}
}

// markTicks bounds how long a busy log goes without a mark.
const markTicks = 4

// tick runs a few times a second.
func (e *Engine) tick() {
	w := &e.w
	w.ticks++
	idle := w.ticked == w.number
	w.ticked = w.number
	if w.unmarked() && (idle || w.ticks >= markTicks) {
		w.mark, w.ticks = true, 0
	}
	e.refill()
	e.release()
	if e.drops.Swap(false) {
		e.hint.Store(true)
	}
}

// round makes one batch durable.
func (e *Engine) round() error {
	w := &e.w
	if err := e.begin(); err != nil {
		return err
	}
	if err := e.reclaim(); err != nil {
		return err
	}
	if err := e.place(); err != nil {
		return err
	}
	if len(w.batch.ops) > 0 {
		if err := e.commit(); err != nil {
			return err
		}
	}
	if w.mark {
		if err := e.writeMark(); err != nil {
			return err
		}
	}
	for i, r := range w.placed {
		w.placed[i] = nil
		r.done <- nil
	}
	w.placed = w.placed[:0]
	return nil
}

// begin starts a batch, in the next segment if not even an empty one fits. The
// first record of a segment is the inventory.
func (e *Engine) begin() error {
	w := &e.w
	if !w.tail.room(batchHeaderSize, itemRoom) {
		if err := e.roll(0); err != nil {
			return err
		}
	}
	w.batch.reset(w.tail, e.clock.Now())
	if w.tail.fresh() && len(w.tail.sum.buf) == 0 {
		payload := e.inventory()
		w.batch.record(&recHeader{kind: recInventory, payloadSum: sum(0, payload), dataLen: uint32(len(payload))}, nil, payload)
	}
	return nil
}

// place moves pending requests into the batch until it is full.
func (e *Engine) place() error {
	w := &e.w
	n := 0
	var err error
	for n < len(w.pending) {
		var done bool
		if done, err = e.placeRequest(w.pending[n]); !done || err != nil {
			break
		}
		n++
	}
	// Also after an error: each request must be answered once.
	rest := copy(w.pending, w.pending[n:])
	clear(w.pending[rest:])
	w.pending = w.pending[:rest]
	return err
}

// placeRequest puts what it can of one request into the batch, and reports
// whether that was all of it. A request that cannot be granted is answered here.
func (e *Engine) placeRequest(r *request) (bool, error) {
	w := &e.w
	if r.g != nil && r.g.w.removed && r.kind != reqRevive {
		r.done <- ErrRemoved
		return true, nil
	}
	done, err := true, error(nil)
	switch r.kind {
	case reqStore, reqBodies:
		done, err = e.placeLogs(r)
	case reqDelete:
		done, err = e.placeDelete(r)
	case reqState:
		done, err = e.placeState(r.g, r.g.w.bounds, r.g.w.compacted, changeNone)
	case reqRemove:
		done, err = e.placeState(r.g, bounds{}, 0, changeRemove)
	case reqRevive:
		e.revive(r.g)
	}
	if err == ErrOrder {
		r.done <- err
		return true, nil
	}
	if done && err == nil {
		w.placed = append(w.placed, r)
	}
	return done, err
}

// admit makes room for one more record. False means that the batch must be
// written first.
func (e *Engine) admit(size int64, inSummary int) (bool, error) {
	b := &e.w.batch
	if b.fits(size, inSummary) && (b.size < e.opts.BatchBytes || len(b.ops) == 0) {
		return true, nil
	}
	if len(b.ops) > 1 || len(b.ops) == 1 && b.ops[0].kind != recInventory {
		return false, nil
	}
	if len(b.ops) == 1 && b.fits(size, inSummary) {
		return true, nil
	}
	// An empty batch, and still no room: the next segment, made large enough.
	if err := e.roll(size + int64(inSummary)); err != nil {
		return false, err
	}
	return true, e.begin()
}

func (e *Engine) placeLogs(r *request) (bool, error) {
	g := r.g
	for ; r.next < len(r.logs); r.next++ {
		l := r.logs[r.next]
		if g.dirty.Load() {
			if ok, err := e.placeState(g, g.w.bounds, g.w.compacted, changeNone); !ok || err != nil {
				return false, err
			}
		}
		if r.kind == reqStore && !g.w.empty() && l.Index < g.w.first {
			return false, ErrOrder
		}
		h := recHeader{
			payloadSum: r.sums[r.next], kind: recEntry, typ: uint8(l.Type), life: g.w.life,
			extLen: uint32(len(l.Extensions)), dataLen: uint32(len(l.Data)),
			group: g.id, index: l.Index, term: l.Term,
		}
		if !l.AppendedAt.IsZero() {
			h.appended = l.AppendedAt.UnixNano()
		}
		if r.kind == reqBodies {
			h.flags = flagCopy
		}
		if ok, err := e.admit(h.size(), 0); !ok || err != nil {
			return false, err
		}
		o := e.w.batch.record(&h, l.Extensions, l.Data)
		o.g, o.log = g, l
		if r.kind == reqStore {
			g.w.add(l.Index)
		}
		g.noteSegment(e.w.tail.seq)
	}
	return true, nil
}

// placeDelete turns DeleteRange into a state record. Only an end of the log can
// be deleted: the front because a snapshot covers it, the back because it
// conflicts with the leader's log.
func (e *Engine) placeDelete(r *request) (bool, error) {
	g := r.g
	b, compacted, how := g.w.bounds, g.w.compacted, changePrefix
	switch {
	case b.empty() || r.max < b.first || r.min > b.last || r.max < r.min:
		return true, nil
	case r.min <= b.first && r.max >= b.last && b.last > g.snapshotIndex():
		b.last, how = b.first-1, changeSuffix // all of it, with no snapshot to cover it
	case r.min <= b.first:
		compacted = max(compacted, min(r.max, b.last))
		b.first = min(r.max, b.last) + 1
	case r.max >= b.last:
		b.last, how = r.min-1, changeSuffix
	default:
		return false, ErrOrder
	}
	return e.placeState(g, b, compacted, how)
}

// placeState writes all of a group's state, bounds as given.
func (e *Engine) placeState(g *Group, b bounds, compacted uint64, how change) (bool, error) {
	st := groupState{first: b.first, last: b.last, compacted: compacted, removed: how == changeRemove}
	payload := g.encodeState(&st)
	h := recHeader{kind: recState, life: g.w.life, group: g.id, payloadSum: sum(0, payload), dataLen: uint32(len(payload))}
	if ok, err := e.admit(h.size(), len(payload)); !ok || err != nil {
		g.dirty.Store(true) // what it was to carry still waits
		return false, err
	}
	o := e.w.batch.record(&h, nil, payload)
	o.g, o.state, o.change = g, st, how
	g.w.bounds, g.w.compacted, g.w.removed = b, compacted, st.removed
	g.noteSegment(e.w.tail.seq)
	return true, nil
}

// revive puts a new, empty handle in a removed group's place. Its records carry
// the next life, so that none of the old ones is ever taken for its own; its
// first record is its state, which says so.
func (e *Engine) revive(old *Group) {
	e.groupsMu.Lock()
	defer e.groupsMu.Unlock()
	if cur := e.groups[old.id]; cur != nil && cur != old {
		return // somebody else's request came first
	}
	g := newGroup(e, old.id)
	g.w = old.w
	g.w.life++
	g.w.bounds, g.w.compacted, g.w.removed = bounds{}, 0, false
	g.liveKnown = true
	g.dirty.Store(true)
	e.groups[g.id] = g
}

// commit writes and syncs the batch and lets everybody see it.
func (e *Engine) commit() error {
	w := &e.w
	b := &w.batch
	b.finish(w.number + 1)
	begin := e.clock.Boot()
	e.stats.syncStart.Store(int64(begin))
	err := w.tail.file.WriteAtv(b.vec, w.tail.end)
	if err == nil {
		err = w.tail.file.Sync()
	}
	took := e.clock.Boot() - begin
	e.stats.syncStart.Store(0)
	if err != nil {
		return err
	}
	e.stats.batches.Add(1)
	e.stats.syncs.Add(1)
	e.stats.syncNanos.Add(int64(took))
	e.stats.lastSync.Store(int64(took))
	e.stats.bytes.Add(uint64(alignUp(b.size)))
	w.number++
	w.tail.end += alignUp(b.size)
	e.install(b)
	return e.afterCommit()
}

// afterCommit frees what the batch said is free and prepares for the next segment.
func (e *Engine) afterCommit() error {
	w := &e.w
	for _, s := range w.batch.freed {
		e.free(s)
	}
	e.release()
	if w.tail.end > w.tail.capacity/4 && e.worthZeroing() {
		e.prepareSpare()
	}
	return nil
}

// worthZeroing: overwriting written blocks halves the time of a small sync, and
// gains nothing on large ones.
func (e *Engine) worthZeroing() bool {
	t := e.w.tail
	return e.w.number-t.firstNumber > uint64(t.end/(16<<10))
}
