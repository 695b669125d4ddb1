package storage

import "slices"

// scan reads the batches of an unsealed segment, rebuilds its summary and finds
// its end. A batch that is not whole ends the log if nothing valid comes after
// it: one batch is written and synced before the next is begun, so a later one
// proves that this one was durable, and then it is damaged (S5).
func (r *recovery) scan(s *segment) error {
	s.sum = newSummary()
	s.end = segHeaderSize
	r.lastAt, r.lastLen = 0, 0
	var buf []byte
	for s.end+batchHeaderSize <= s.capacity {
		h, ok, err := r.readBatch(s, &buf)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		noteBatch(s, h, buf)
		r.lastAt, r.lastLen = s.end, alignUp(int64(h.length))
		r.e.w.number = max(r.e.w.number, h.number)
		s.end += r.lastLen
	}
	return r.nothingAfter(s)
}

// nothingAfter looks for batches beyond the end that was found.
func (r *recovery) nothingAfter(s *segment) error {
	const window = 1 << 20
	buf := make([]byte, min(window, s.capacity-s.end))
	for at := s.end; at < s.capacity; at += window {
		b := buf[:min(window, s.capacity-at)]
		if err := readFull(s.file, b, at); err != nil {
			return err
		}
		for i := 0; i+batchHeaderSize <= len(b); i += block {
			if le32(b[i:]) != batchMagic {
				continue
			}
			h, ok := decodeBatchHeader(b[i:], s.seed)
			if ok && h.seq == s.seq && h.start == at+int64(i) && h.durable > s.end {
				return damaged(s.name, s.end, "bad batch below the durable watermark")
			}
		}
	}
	return nil
}

func le32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// readBatch reads and verifies the batch at s.end. Its length is believed only
// once the header's sum and the segment's bounds agree with it.
func (r *recovery) readBatch(s *segment, buf *[]byte) (h batchHeader, ok bool, err error) {
	b := slices.Grow((*buf)[:0], block)[:batchHeaderSize]
	if err := readFull(s.file, b, s.end); err != nil {
		return h, false, err
	}
	h, ok = decodeBatchHeader(b, s.seed)
	if !ok || h.seq != s.seq || h.start != s.end || h.start+alignUp(int64(h.length)) > s.capacity {
		return h, false, nil
	}
	b = slices.Grow(b[:0], int(h.length))[:h.length]
	*buf = b
	if err := readFull(s.file, b, s.end); err != nil {
		return h, false, err
	}
	rest := b[batchHeaderSize:]
	for range h.count {
		var rec recHeader
		if !rec.decode(rest, s.seed) || rec.size() > int64(len(rest)) || sum(0, rest[recHeaderSize:rec.size()]) != rec.payloadSum {
			return h, false, nil
		}
		rest = rest[rec.size():]
	}
	return h, len(rest) == 0, nil
}

// noteBatch puts a verified batch's records into the segment's summary.
func noteBatch(s *segment, h batchHeader, b []byte) {
	at := int64(batchHeaderSize)
	for range h.count {
		var rec recHeader
		rec.decode(b[at:], s.seed)
		it := item{
			kind: rec.kind, typ: rec.typ, copied: rec.flags&flagCopy != 0, life: rec.life,
			off: uint32(s.end + at), size: uint32(rec.size()), group: rec.group, index: rec.index, term: rec.term,
		}
		if rec.kind != recEntry {
			it.payload = b[at+recHeaderSize : at+rec.size()]
		}
		s.sum.add(&it)
		at += rec.size()
	}
}

// harden makes what was read of the tail durable before anybody acts on it. The
// last batch may be in the kernel's memory only: the process, not the machine,
// may have died before its sync, and after a failed sync the kernel calls it
// clean though it never reached the disk. So it is written again, then synced.
func (r *recovery) harden() error {
	e := r.e
	if r.lastLen > 0 {
		b := make([]byte, r.lastLen)
		if err := readFull(e.w.tail.file, b, r.lastAt); err != nil {
			return err
		}
		if _, err := e.w.tail.file.WriteAt(b, r.lastAt); err != nil {
			return err
		}
	}
	if err := e.w.tail.file.Sync(); err != nil {
		return err
	}
	if n := len(r.segs); n > 1 && e.w.tail.fresh() {
		// The same for the summary of the one before: nothing in the tail proves it yet.
		if err := r.segs[n-2].writeSummary(r.foots[r.segs[n-2].seq], e.w.number); err != nil {
			return err
		}
	}
	return e.fs.SyncDir(e.dir)
}

// apply replays the summaries, oldest first, into groups and indexes.
func (r *recovery) apply() error {
	for _, s := range r.segs {
		rd := summaryReader{b: r.summaryOf(s)}
		var it item
		for rd.next(&it) {
			if err := r.applyItem(s, &it); err != nil {
				return err
			}
		}
		if rd.bad {
			return damaged(s.name, s.end, errSummary.Error())
		}
	}
	return nil
}

func (r *recovery) applyItem(s *segment, it *item) error {
	if it.kind != recEntry && it.kind != recState {
		return nil
	}
	g := r.e.groups[it.group]
	if g == nil {
		g = newGroup(r.e, it.group)
		g.w.life = it.life
		r.e.groups[it.group] = g
	}
	g.noteSegment(s.seq)
	switch {
	case it.life < g.w.life:
		return nil // of a group that was removed since
	case it.life > g.w.life:
		g.wipe(it.life)
	}
	if it.kind == recState {
		return g.recoverState(s, it)
	}
	if g.w.removed {
		return nil
	}
	o := op{
		kind: recEntry, copied: it.copied, index: it.index, term: it.term, typ: it.typ,
		off: it.off, size: it.size,
	}
	if it.copied {
		if old := g.index.get(it.index); old != nil {
			// The same record, already carried forward when the crash came; it
			// overrules nothing.
			if uint64(old.term) != it.term {
				g.overrule(it.index, old)
			} else {
				g.leaveLog(it.index, old)
			}
			r.e.dropped(old.seg, int64(old.size))
			g.index.drop(it.index)
		}
		g.index.put(it.index, slot{seg: s.seq, off: o.off, size: o.size, term: uint32(o.term), typ: o.typ})
		if !g.bounds.empty() && it.index >= g.bounds.first && it.index <= g.bounds.last {
			g.enterLog(it.index, int64(o.size))
		}
		s.live.Add(int64(it.size))
		return nil
	}
	s.live.Add(g.installEntry(&o, s))
	g.w.bounds = g.bounds
	return nil
}

// wipe begins a new life of a group.
func (g *Group) wipe(life uint32) {
	g.installBounds(bounds{}, 0, changeRemove)
	g.removed.Store(false)
	g.st = groupState{}
	g.w.life, g.w.removed, g.w.bounds, g.w.compacted = life, false, bounds{}, 0
}

// recoverState takes a state record over. Entries above its last are dead; those
// below its first may still be live as bodies, which only the state machine knows.
func (g *Group) recoverState(s *segment, it *item) error {
	var st groupState
	if err := st.decode(it.payload); err != nil {
		return damaged(s.name, int64(it.off), err.Error())
	}
	o := op{off: it.off, state: st, change: changeSuffix}
	if st.removed {
		o.change = changeRemove
	} else if st.first > g.bounds.first && !g.bounds.empty() {
		g.index.each(g.bounds.first, st.first-1, g.leaveLog)
		g.bounds.first = st.first
	}
	g.installState(&o, s)
	g.st = st
	g.w.bounds, g.w.compacted, g.w.removed = g.bounds, g.compacted, st.removed
	return nil
}
