package storage

import "math"

// install makes a durable batch visible: indexes, counts and cache, in the order
// of the records. Locks one group at a time; the cache's mutex is a leaf.
func (e *Engine) install(b *batch) {
	fresh := 0
	for i := range b.ops {
		if b.ops[i].log != nil {
			fresh++
		}
	}
	var items []cacheItem
	if fresh > 0 {
		items = make([]cacheItem, 0, fresh)
		e.stats.entries.Add(uint64(fresh))
	}
	var cur *Group
	added := int64(0)
	for i := range b.ops {
		o := &b.ops[i]
		if o.g != cur {
			if cur != nil {
				cur.mu.Unlock()
			}
			if cur = o.g; cur != nil {
				cur.mu.Lock()
			}
		}
		switch o.kind {
		case recEntry:
			added += o.g.installEntry(o, b.seg)
			if o.log != nil {
				it := cacheItem{key: cacheKey{o.g, o.index}, term: o.term, data: o.log.Data, ext: o.log.Extensions}
				if !o.log.AppendedAt.IsZero() {
					it.appended = o.log.AppendedAt.UnixNano()
				}
				items = append(items, it)
			}
		case recState:
			o.g.installState(o, b.seg)
		}
	}
	if cur != nil {
		cur.mu.Unlock()
	}
	b.seg.live.Add(added)
	if fresh > 0 {
		e.cache.add(items)
	}
}

// installEntry points the index to a record; mu is held. It returns how many
// live bytes the segment gained.
func (g *Group) installEntry(o *op, seg *segment) int64 {
	s := slot{seg: seg.seq, off: o.off, size: o.size, term: uint32(o.term), typ: o.typ}
	old := g.index.get(o.index)
	if o.copied && o.log == nil { // carried forward by reclaim
		if old == nil || old.seg != o.src.seg || old.off != o.src.off {
			return 0 // released meanwhile: the copy is dead on arrival
		}
		g.e.dropped(old.seg, int64(old.size))
		old.seg, old.off, old.size = s.seg, s.off, s.size
		return int64(s.size)
	}
	if old != nil {
		g.overrule(o.index, old)
		g.e.dropped(old.seg, int64(old.size))
	}
	g.index.put(o.index, s)
	if !o.copied {
		g.bounds.add(o.index)
		g.logBytes += int64(s.size)
		if o.index > g.snapIndex {
			g.replayEntries++
			g.replayBytes += int64(s.size)
		}
		g.lastWall = o.wall
	}
	return int64(s.size)
}

// installState takes over what a state record says of the log; mu is held.
func (g *Group) installState(o *op, seg *segment) {
	g.w.stateSeg, g.w.stateOff = seg.seq, o.off
	g.installBounds(bounds{o.state.first, o.state.last}, o.state.compacted, o.change)
}

func (g *Group) installBounds(b bounds, compacted uint64, how change) {
	t := tally{e: g.e}
	switch how {
	case changePrefix:
		g.index.removeIf(g.bounds.first, b.first-1, func(i uint64, s *slot) bool {
			g.leaveLog(i, s)
			if s.live > 0 || !g.liveKnown {
				return false
			}
			t.add(s)
			return true
		})
	case changeSuffix:
		g.lastWall = 0 // of an entry that may be gone
		g.index.removeIf(b.last+1, math.MaxUint64, func(i uint64, s *slot) bool {
			g.overrule(i, s)
			t.add(s)
			return true
		})
	case changeRemove:
		g.index.removeIf(0, math.MaxUint64, func(i uint64, s *slot) bool {
			g.leaveLog(i, s)
			t.add(s)
			return true
		})
		g.removed.Store(true)
	}
	t.flush()
	g.bounds, g.compacted = b, compacted
	if how != changeNone {
		g.e.hinted()
	}
}

// tally adds up what dies in a segment: neighbours mostly die together.
type tally struct {
	e     *Engine
	seq   uint32
	bytes int64
}

func (t *tally) add(s *slot) {
	if s.seg != t.seq {
		t.flush()
		t.seq = s.seg
	}
	t.bytes += int64(s.size)
}

func (t *tally) flush() {
	if t.bytes > 0 {
		t.e.dropped(t.seq, t.bytes)
	}
	t.bytes = 0
}

// leaveLog takes an entry out of the log's sums; its body lives on.
func (g *Group) leaveLog(i uint64, s *slot) {
	if i < g.bounds.first || i > g.bounds.last || g.bounds.empty() {
		return
	}
	g.logBytes -= int64(s.size)
	if s.live > 0 {
		g.liveBytes -= int64(s.size)
	}
	if i > g.snapIndex {
		g.replayEntries--
		g.replayBytes -= int64(s.size)
	}
}

// overrule accounts for a record that is dead because a later one says so, and
// that would be taken for good without that one.
func (g *Group) overrule(i uint64, s *slot) {
	g.leaveLog(i, s)
	g.e.segment(s.seg).shadow = true
	g.e.cache.drop(g, i)
}
