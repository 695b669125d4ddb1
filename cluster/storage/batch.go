package storage

import (
	"time"

	"github.com/hashicorp/raft"
)

// smallPayload is what is cheaper to copy than to give a vector of its own.
const smallPayload = 1 << 10

// keepArena bounds the buffer that is kept from round to round.
const keepArena = 1 << 20

// op is one record of the batch under construction, and what to do once it is durable.
type op struct {
	kind   uint8
	copied bool
	g      *Group
	log    *raft.Log // entry just brought; nil for a copy
	index  uint64
	term   uint64
	typ    uint8
	life   uint32
	off    uint32
	size   uint32
	src    slot       // of a copy: where it was
	state  groupState // of a state record, without the stable values: what it made of the group
	change change
	wall   int64
}

// change is what a state record does to the entries, beyond setting bounds.
type change uint8

const (
	changeNone   change = iota
	changePrefix        // entries below first are in the log no more; live ones stay as bodies
	changeSuffix        // entries above last are dead
	changeRemove        // all are
)

// batch gathers records for one write.
type batch struct {
	seg    *segment
	seed   uint32
	size   int64 // bytes so far, header included
	arena  []byte
	vec    [][]byte
	from   int // where the vector's last slice begins in arena, or -1
	ops    []op
	wall   int64
	copied int64
	freed  []*segment
}

func (b *batch) reset(seg *segment, now time.Time) {
	if cap(b.arena) > keepArena {
		b.arena = nil
	}
	clear(b.ops)
	clear(b.vec)
	*b = batch{seg: seg, seed: seg.seed, arena: b.arena[:0], vec: b.vec[:0], ops: b.ops[:0], freed: b.freed[:0], wall: now.UnixNano(), from: -1}
	b.take(batchHeaderSize)
}

// take returns n bytes at the end of the batch to be filled.
func (b *batch) take(n int) []byte {
	if len(b.arena)+n > cap(b.arena) {
		// The old arena stays referenced by the vector until the write.
		b.arena = make([]byte, 0, max(64<<10, 2*cap(b.arena), n))
		b.from = -1
	}
	at := len(b.arena)
	b.arena = b.arena[:at+n]
	if b.from >= 0 {
		b.vec[len(b.vec)-1] = b.arena[b.from : at+n : at+n]
	} else {
		b.from = at
		b.vec = append(b.vec, b.arena[at:at+n:at+n])
	}
	b.size += int64(n)
	return b.arena[at : at+n]
}

// give adds bytes of others. They must stay as they are until the write is done.
func (b *batch) give(p []byte) {
	switch {
	case len(p) == 0:
	case len(p) <= smallPayload:
		copy(b.take(len(p)), p)
	default:
		b.vec = append(b.vec, p)
		b.from = -1
		b.size += int64(len(p))
	}
}

// fits tells whether a record of that size may still come in.
func (b *batch) fits(size int64, payloadInSummary int) bool {
	return b.seg.room(b.size+size, itemRoom+int64(payloadInSummary))
}

// record appends header and payload, and returns the op for it. The pointer is
// good until the next record.
func (b *batch) record(h *recHeader, ext, data []byte) *op {
	off := b.seg.end + b.size
	if h.wall == 0 { // a copy keeps its own
		h.wall = b.wall
	}
	h.put(b.take(recHeaderSize), b.seed)
	b.give(ext)
	b.give(data)
	b.ops = append(b.ops, op{
		kind: h.kind, copied: h.flags&flagCopy != 0, index: h.index, term: h.term, typ: h.typ,
		life: h.life, off: uint32(off), size: uint32(h.size()), wall: h.wall,
	})
	o := &b.ops[len(b.ops)-1]
	it := item{
		kind: h.kind, typ: h.typ, copied: o.copied, life: h.life, off: o.off, size: o.size,
		group: h.group, index: h.index, term: h.term,
	}
	if h.kind != recEntry {
		it.payload = data
	}
	b.seg.sum.add(&it)
	return o
}

// finish fills in the header and pads to a whole block, so that the kernel need
// not read what a part of a block held before.
func (b *batch) finish(number uint64) {
	h := batchHeader{
		seq: b.seg.seq, start: b.seg.end, durable: b.seg.end,
		length: uint32(b.size), count: uint32(len(b.ops)), number: number, wall: b.wall,
	}
	h.put(b.vec[0][:batchHeaderSize], b.seed)
	if pad := alignUp(b.size) - b.size; pad > 0 {
		b.vec = append(b.vec, zeros[:pad])
	}
}
