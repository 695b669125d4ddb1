package storage

import (
	"slices"
)

const (
	copyStep  = 1 << 20   // copied in one batch when nothing else waits
	copySlice = 256 << 10 // and when something does
)

// victim is the segment that is being emptied.
type victim struct {
	seg     *segment
	r       summaryReader
	cur     item // the next record to look at, if held
	held    bool
	touched map[*Group]bool // groups whose state was written after their first copy
}

// refill lets time grow what may be copied.
func (e *Engine) refill() {
	w := &e.w
	now := e.clock.Boot()
	passed := max(0, now-w.refilled)
	w.refilled = now
	w.budget = min(w.budget+e.opts.CopyBytesPerSecond*passed.Milliseconds()/1000, max(e.opts.CopyBytesPerSecond, copyStep))
}

// mayReclaim reports whether reclaim has something to do right now.
func (e *Engine) mayReclaim() bool {
	w := &e.w
	if w.victim == nil && e.hint.CompareAndSwap(true, false) {
		e.choose()
	}
	return w.victim != nil && (w.budget > 0 || e.opts.inline)
}

// choose picks the next victim: one without anything live; or, when too little
// of the sealed bytes is live, the one with the least. Not one later than a
// segment that holds overruled entries: freeing what overrules them would bring
// them back to life at the next open.
func (e *Engine) choose() {
	var sealed []*segment
	var total, live int64
	e.segsMu.RLock()
	for _, s := range e.segs {
		if s.sealed && !s.broken {
			sealed = append(sealed, s)
			total += s.capacity
			live += s.live.Load()
		}
	}
	e.segsMu.RUnlock()
	if len(sealed) == 0 {
		return
	}
	slices.SortFunc(sealed, func(a, b *segment) int { return int(int64(a.seq) - int64(b.seq)) })
	best := sealed[0]
	var shadow *segment
	for _, s := range sealed {
		if s.live.Load()*best.capacity < best.live.Load()*s.capacity {
			best = s
		}
		if shadow == nil && s.shadow {
			shadow = s
		}
	}
	sparse := total >= 3*e.opts.SegmentSize && live*100 < total*int64(e.opts.ReclaimPercent)
	if best.live.Load() > 0 && !sparse {
		return
	}
	if shadow != nil && shadow.seq < best.seq {
		best = shadow
	}
	foot, err := best.readSummary()
	if err != nil {
		e.giveUp(best, err)
		return
	}
	e.w.victim = &victim{seg: best, r: summaryReader{b: foot, end: 0}, touched: make(map[*Group]bool)}
}

// giveUp leaves a segment alone that cannot be read. What is live in it answers
// with the damage when it is asked for.
func (e *Engine) giveUp(s *segment, err error) {
	e.log.Error("segment cannot be reclaimed", "segment", s.name, "err", err)
	s.broken = true
	e.w.victim = nil
	e.hint.Store(true)
}

// reclaim puts some of the victim's survivors into the batch, before anything
// else: a copy then can never come after a record of the same batch that
// overrules it. When the last is in, the batch also says that the segment is free.
func (e *Engine) reclaim() error {
	w := &e.w
	if !e.mayReclaim() {
		return nil
	}
	step := int64(copyStep)
	if len(w.pending) > 0 {
		step = copySlice
	}
	v := w.victim
	for w.batch.copied < step {
		if !v.held && !v.r.next(&v.cur) {
			break
		}
		v.held = true
		ok, err := e.carry(v)
		if err != nil {
			return err
		}
		if !ok {
			return nil // the batch is full; or the victim was given up
		}
		v.held = false
	}
	if v.held || len(v.r.b) > 0 && !v.r.bad {
		return nil
	}
	if v.r.bad {
		e.giveUp(v.seg, errSummary)
		return nil
	}
	payload := appendSeqs(nil, []uint32{v.seg.seq})
	h := recHeader{kind: recFreed, payloadSum: sum(0, payload), dataLen: uint32(len(payload))}
	if ok, err := e.admit(h.size(), len(payload)); !ok || err != nil {
		return err
	}
	w.batch.record(&h, nil, payload)
	w.batch.freed = append(w.batch.freed, v.seg)
	return nil
}

// carry copies one record forward if something still needs it. False: not now.
func (e *Engine) carry(v *victim) (bool, error) {
	it := &v.cur
	if it.kind != recEntry && it.kind != recState {
		return true, nil
	}
	g := e.lookup(it.group)
	if g == nil {
		return true, nil
	}
	if it.kind == recState {
		if g.w.stateSeg != v.seg.seq || g.w.stateOff != it.off {
			return true, nil
		}
		if g.w.removed && !e.existsIn(g.w.lowSeg, v.seg.seq) {
			e.forgetGroup(g) // nothing older is left that the tombstone must keep down
			return true, nil
		}
		return e.carryState(g, v)
	}
	g.mu.RLock()
	s := g.index.get(it.index)
	wanted := s != nil && s.seg == v.seg.seq && s.off == it.off
	var src slot
	if wanted {
		src = *s
	}
	g.mu.RUnlock()
	if !wanted {
		return true, nil
	}
	// Copies do not say where the log begins and ends, so the state must.
	if !v.touched[g] {
		if ok, err := e.carryState(g, v); !ok || err != nil {
			return false, err
		}
	}
	h, payload, err := v.seg.readRecord(src.off, src.size)
	if err == nil && (h.group != g.id || h.index != it.index || h.term != it.term) {
		err = damaged(v.seg.name, int64(src.off), "another record in this place")
	}
	if err != nil {
		e.giveUp(v.seg, err)
		return false, nil
	}
	h.flags |= flagCopy
	if ok, err := e.admit(h.size(), 0); !ok || err != nil {
		return false, err
	}
	o := e.w.batch.record(&h, payload[:h.extLen], payload[h.extLen:])
	o.g, o.src = g, src
	e.copied(h.size())
	return true, nil
}

func (e *Engine) carryState(g *Group, v *victim) (bool, error) {
	how := changeNone
	if g.w.removed {
		how = changeRemove
	}
	before := e.w.batch.size
	ok, err := e.placeState(g, g.w.bounds, g.w.compacted, how)
	if ok && err == nil {
		v.touched[g] = true
		e.copied(e.w.batch.size - before)
	}
	return ok, err
}

func (e *Engine) copied(n int64) {
	e.w.batch.copied += n
	e.w.budget -= n
	e.stats.copied.Add(uint64(n))
}

// existsIn reports whether a segment numbered from <= n < before is still there.
func (e *Engine) existsIn(from, before uint32) bool {
	e.segsMu.RLock()
	defer e.segsMu.RUnlock()
	for seq := range e.segs {
		if seq >= from && seq < before {
			return true
		}
	}
	return false
}

func (e *Engine) forgetGroup(g *Group) {
	e.groupsMu.Lock()
	defer e.groupsMu.Unlock()
	if e.groups[g.id] == g {
		delete(e.groups, g.id)
	}
}

// free takes a segment out of the log; the record that says so is durable.
func (e *Engine) free(s *segment) {
	e.segsMu.Lock()
	delete(e.segs, s.seq)
	e.segsMu.Unlock()
	e.w.draining = append(e.w.draining, s)
	e.w.victim = nil
	e.stats.freed.Add(1)
	e.hint.Store(true) // perhaps there is another one
}

// release recycles freed segments that nobody reads from any more.
func (e *Engine) release() {
	w := &e.w
	if len(w.draining) == 0 {
		return
	}
	w.draining = slices.DeleteFunc(w.draining, func(s *segment) bool {
		if s.refs.Load() > 0 {
			return false
		}
		if err := e.recycle(s); err != nil {
			e.fail(err)
		}
		return true
	})
}
