package storage

// Bodies outlive the log: an entry below the log's first index stays readable
// while the state machine refers to a body in it. How many it refers to is
// counted per entry, in memory only, and told again after a restart: each
// reference of the restored snapshot (Live), then LiveKnown, then the replayed
// entries as they are applied.

// Live adds n references to bodies in an entry. Entries that are not stored are
// ignored: a snapshot may refer to what a later entry released.
func (g *Group) Live(index uint64, n uint32) {
	if n == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.index.get(index)
	if s == nil {
		return
	}
	if s.live == 0 && g.inLog(index) {
		g.liveBytes += int64(s.size)
	}
	s.live += n
}

// Release takes n references off. With the last one, an entry below the log is
// gone; in the log it waits for DeleteRange.
func (g *Group) Release(index uint64, n uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.index.get(index)
	if s == nil || s.live == 0 || n == 0 {
		return
	}
	if s.live > n {
		s.live -= n
		return
	}
	s.live = 0
	if g.inLog(index) {
		g.liveBytes -= int64(s.size)
		return
	}
	g.e.dropped(s.seg, int64(s.size))
	g.index.drop(index)
}

// LiveKnown says that every reference of the restored state has been told: what
// lies below the log without one is dead.
func (g *Group) LiveKnown() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.liveKnown {
		return
	}
	g.liveKnown = true
	t := tally{e: g.e}
	g.index.removeIf(0, ^uint64(0), func(i uint64, s *slot) bool {
		if s.live > 0 || g.inLog(i) {
			return false
		}
		t.add(s)
		return true
	})
	t.flush()
	g.e.hinted()
}

// ResetLive forgets all references, because the state machine is about to be
// restored in a running process: nothing is dead until LiveKnown.
func (g *Group) ResetLive() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.liveKnown = false
	g.liveBytes = 0
	g.index.each(0, ^uint64(0), func(_ uint64, s *slot) { s.live = 0 })
}

func (g *Group) inLog(i uint64) bool {
	return !g.bounds.empty() && i >= g.bounds.first && i <= g.bounds.last
}
