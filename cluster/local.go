package cluster

import (
	"errors"
	"sync"
)

// localHost orders the entries of an exclusive queue: it dies with its
// connection, so it is not replicated, but it is the same machine (design.md,
// section 3). Entries are applied by whoever proposes, the group's proposer.
type localHost struct {
	g     *group
	index uint64
}

const localTerm = 1

func (h *localHost) propose(data []byte) func() error {
	h.index++
	h.g.bodies.(*memoryBodies).keep(h.index, data)
	h.g.machine.apply(h.index, localTerm, data)
	h.g.machine.note(h.index)
	return nil
}

func (h *localHost) verify() error { return nil }
func (h *localHost) stop()         {}

// openLocal is open for an exclusive queue.
func (g *group) openLocal() {
	g.bodies = &memoryBodies{entries: map[uint64]*memoryEntry{}}
	g.machine.leadTerm.Store(localTerm)
	g.mu.Lock()
	g.host = &localHost{g: g}
	stopped := g.stopped
	if !stopped {
		g.done.Add(1)
		g.done.Go(g.proposeLoop)
		g.done.Go(g.landLoop)
	}
	g.mu.Unlock()
	if stopped {
		return
	}
	go g.outbox.run()
	g.lead(g.node.clock.Now())
}

var errBodyGone = errors.New("message body is gone")

// memoryBodies keeps the entries of a local queue while a body in them lives.
type memoryBodies struct {
	mu      sync.Mutex
	entries map[uint64]*memoryEntry
}

type memoryEntry struct {
	data []byte
	live uint32
}

// keep holds an entry that is about to be applied; Live or nothing follows.
func (b *memoryBodies) keep(index uint64, data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.entries[index-1]; ok && e.live == 0 {
		delete(b.entries, index-1)
	}
	b.entries[index] = &memoryEntry{data: data}
}

func (b *memoryBodies) Entry(index uint64) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.entries[index]
	if !ok {
		return nil, errBodyGone
	}
	return e.data, nil
}

func (b *memoryBodies) Live(index uint64, n uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.entries[index]; ok {
		e.live += n
	}
}

func (b *memoryBodies) Release(index uint64, n uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.entries[index]
	if !ok {
		return
	}
	e.live -= min(n, e.live)
	if e.live == 0 {
		delete(b.entries, index)
	}
}
