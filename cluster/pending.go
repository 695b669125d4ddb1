package cluster

import (
	"bytes"

	"mayfly/fsm"
)

// Batches: an entry is best at 16-64 KiB and never above 256 KiB, unless one
// message alone is larger (design.md, section 3; raft.md, section 1).
const (
	batchTarget   = 64 << 10
	maxInFlight   = 4       // entries handed to Raft and not yet applied
	maxPending    = 4 << 20 // bytes gathered and not yet handed over; then publishers wait
	minBatchAlloc = 1 << 10
)

// batch is one log entry being gathered or on its way. Numbers ascend in the
// order of proposing, so "applied up to batch n" answers for every command in it.
type batch struct {
	data []byte
	no   uint64
}

// pending is what waits to become log entries: sealed batches in order, and the
// open one. The group's mutex guards it.
type pending struct {
	sealed []batch
	open   []byte
	no     uint64 // number of the open batch
	bytes  int    // of all
	hint   int    // capacity for the next open batch: what the last one took
}

// room returns the open batch with space for a command of n bytes, sealing the
// one before when it is full. The caller appends to it and gives it to put.
func (p *pending) room(n int) []byte {
	if len(p.open) > fsm.HeaderSize && len(p.open)+n > batchTarget {
		p.seal()
	}
	if p.open == nil {
		size := max(minBatchAlloc, min(p.hint, batchTarget+batchTarget/8))
		p.open = fsm.AppendHeader(make([]byte, 0, max(size, n+fsm.HeaderSize)))
		p.bytes += len(p.open)
	}
	return p.open
}

// put takes the open batch back, with what was appended.
func (p *pending) put(b []byte) {
	p.bytes += len(b) - len(p.open)
	p.open = b
}

func (p *pending) seal() {
	p.hint = len(p.open) + len(p.open)/4
	p.sealed = append(p.sealed, batch{p.open, p.no})
	p.open = nil
	p.no++
}

func (p *pending) empty() bool { return len(p.sealed) == 0 && p.open == nil }

// take removes the oldest batch.
func (p *pending) take() batch {
	if len(p.sealed) == 0 {
		p.seal()
	}
	b := p.sealed[0]
	p.sealed[0].data = nil
	p.sealed = p.sealed[1:]
	p.bytes -= len(b.data)
	return b
}

// restore puts batches whose outcome is unknown back in front, in their order,
// to be proposed again; the machine ignores what it has (principle 4).
func (p *pending) restore(bs []batch) {
	front := make([]batch, 0, len(bs)+len(p.sealed))
	for _, b := range bs {
		p.bytes += len(b.data)
		// A copy: the log may keep the old bytes, and a new stamp goes into these.
		front = append(front, batch{bytes.Clone(b.data), b.no})
	}
	p.sealed = append(front, p.sealed...)
}
