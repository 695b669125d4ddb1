package amqp

import (
	"bytes"
	"sync"
	"sync/atomic"

	"mayfly/amqp/wire"
)

// Bounds of what is put aside for a channel whose worker waits for a queue or
// the catalogue; beyond them the connection's reader waits too.
const (
	maxBacklogFrames = 4096
	maxBacklogBytes  = 1 << 20 // at least one frame, however large
)

// keptFrame is a copy of a frame, its number in the order of arrival implied.
type keptFrame struct {
	typ     byte
	payload []byte
}

// backlog keeps the frames of a channel in order while its worker is busy, so
// that the other channels of the connection go on. put is the reader's, next the
// worker's.
type backlog struct {
	busy atomic.Bool // a worker runs; cleared under mu

	mu      sync.Mutex
	changed sync.Cond // broadcast when there is room, the worker ends, or all is dropped
	frames  ring[keptFrame]
	bytes   int
	dropped bool   // the channel is over: frames vanish
	taken   uint64 // jobs and frames that workers have begun
	covered uint64 // of those, the last one for which the catalogue view is fresh enough
}

// put takes a frame if a worker is busy; false means: execute it yourself.
func (b *backlog) put(f wire.Frame) bool {
	if !b.busy.Load() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.busy.Load() && !b.dropped && b.full(len(f.Payload)) {
		b.changed.Wait()
	}
	if b.dropped {
		return true
	}
	if !b.busy.Load() {
		return false
	}
	*b.frames.push() = keptFrame{f.Type, bytes.Clone(f.Payload)}
	b.bytes += len(f.Payload)
	return true
}

func (b *backlog) full(n int) bool {
	return b.frames.len() >= maxBacklogFrames || b.bytes > 0 && b.bytes+n > maxBacklogBytes
}

// begin marks the worker busy with its first job.
func (b *backlog) begin() {
	b.mu.Lock()
	b.taken++
	b.busy.Store(true)
	b.mu.Unlock()
}

// next gives the worker the next frame; without one the worker is over.
func (b *backlog) next() (keptFrame, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dropped || b.frames.len() == 0 {
		b.busy.Store(false)
		b.changed.Broadcast()
		return keptFrame{}, false
	}
	f := b.frames.pop()
	b.bytes -= len(f.payload)
	b.taken++
	b.changed.Broadcast()
	return f, true
}

// drop forgets what waits and will wait: the channel failed or is over.
func (b *backlog) drop() {
	b.mu.Lock()
	b.dropped = true
	for b.frames.len() > 0 {
		b.frames.pop()
	}
	b.bytes = 0
	b.changed.Broadcast()
	b.mu.Unlock()
}

// wait returns when no worker is busy.
func (b *backlog) wait() {
	b.mu.Lock()
	for b.busy.Load() {
		b.changed.Wait()
	}
	b.mu.Unlock()
}

// fresh tells whether a catch-up has covered what is being executed; otherwise
// it gives the mark to hand to cover after one: all that has arrived by now.
func (b *backlog) fresh() (bool, uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken <= b.covered, b.taken + uint64(b.frames.len())
}

// cover notes a catch-up that began when fresh gave the mark. One round to the
// catalogue's leader so serves every unroutable publish that waited meanwhile.
func (b *backlog) cover(mark uint64) {
	b.mu.Lock()
	b.covered = max(b.covered, mark)
	b.mu.Unlock()
}
