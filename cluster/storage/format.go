package storage

import (
	"encoding/binary"
	"hash/crc32"
)

// The byte layout of segment files. DESIGN.md has the pictures. Integers are
// little-endian. Every sum is CRC32C; those of headers are seeded with the log's
// random id and the segment's number, so that what an earlier use of the same
// file left behind, or a file of another node, never passes.
const (
	block = 4096 // batches start at multiples of this: no write touches a block that holds durable data

	segMagic     = 0x4d59464c // header block
	batchMagic   = 0x4d594642
	trailerMagic = 0x4d594654
	formatNumber = 1

	segHeaderSize   = block // header block of a segment
	segHeaderLen    = 48    // bytes of it that mean something
	trailerLen      = 56
	batchHeaderSize = 64
	recHeaderSize   = 64
)

// Kinds of records.
const (
	recEntry     = 1 // a Raft log entry
	recState     = 2 // a group's state: bounds, term, vote
	recInventory = 3 // which segments exist; first record of every segment
	recFreed     = 4 // segments that may be missing from now on
)

// flagCopy marks an entry that reclaim carried forward (or a body that came
// without its place in the log): it says nothing about the log's bounds.
const flagCopy = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func alignUp(n int64) int64 { return (n + block - 1) &^ (block - 1) }

func sum(seed uint32, b []byte) uint32 { return crc32.Update(seed, castagnoli, b) }

func segmentSeed(logID uint64, seq uint32) uint32 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], logID)
	binary.LittleEndian.PutUint64(b[8:], uint64(seq))
	return sum(0, b[:])
}

// segHeader opens a segment file.
type segHeader struct {
	logID    uint64
	seq      uint32
	capacity int64
}

func (h segHeader) encode() []byte {
	b := make([]byte, segHeaderSize)
	le := binary.LittleEndian
	le.PutUint32(b[0:], segMagic)
	le.PutUint32(b[8:], formatNumber)
	le.PutUint64(b[16:], h.logID)
	le.PutUint64(b[24:], uint64(h.seq))
	le.PutUint64(b[32:], uint64(h.capacity))
	le.PutUint32(b[4:], sum(segmentSeed(h.logID, h.seq), b[8:segHeaderLen]))
	return b
}

// decodeSegHeader checks everything but the sum's seed, which is in the header
// itself; the caller compares logID and seq with what it expects.
func decodeSegHeader(b []byte) (h segHeader, ok bool) {
	le := binary.LittleEndian
	if len(b) < segHeaderLen || le.Uint32(b) != segMagic || le.Uint32(b[8:]) != formatNumber {
		return h, false
	}
	h.logID = le.Uint64(b[16:])
	seq, capacity := le.Uint64(b[24:]), le.Uint64(b[32:])
	if seq == 0 || seq > 1<<32-1 || capacity > 1<<40 {
		return h, false
	}
	h.seq, h.capacity = uint32(seq), int64(capacity)
	return h, le.Uint32(b[4:]) == sum(segmentSeed(h.logID, h.seq), b[8:segHeaderLen])
}

// batchHeader opens a batch: what one write and one sync made durable together.
type batchHeader struct {
	seq     uint32
	start   int64 // its own offset
	durable int64 // the watermark: everything before this offset was durable when it was written
	length  uint32
	count   uint32
	number  uint64
	wall    int64 // this node's wall clock, nanoseconds
}

func (h batchHeader) put(b []byte, seed uint32) {
	le := binary.LittleEndian
	le.PutUint32(b[0:], batchMagic)
	le.PutUint64(b[8:], uint64(h.seq))
	le.PutUint64(b[16:], uint64(h.start))
	le.PutUint64(b[24:], uint64(h.durable))
	le.PutUint32(b[32:], h.length)
	le.PutUint32(b[36:], h.count)
	le.PutUint64(b[40:], h.number)
	le.PutUint64(b[48:], uint64(h.wall))
	le.PutUint64(b[56:], 0)
	le.PutUint32(b[4:], sum(seed, b[8:batchHeaderSize]))
}

func decodeBatchHeader(b []byte, seed uint32) (h batchHeader, ok bool) {
	le := binary.LittleEndian
	if len(b) < batchHeaderSize || le.Uint32(b) != batchMagic {
		return h, false
	}
	if le.Uint32(b[4:]) != sum(seed, b[8:batchHeaderSize]) {
		return h, false
	}
	h = batchHeader{
		seq:     uint32(le.Uint64(b[8:])),
		start:   int64(le.Uint64(b[16:])),
		durable: int64(le.Uint64(b[24:])),
		length:  le.Uint32(b[32:]),
		count:   le.Uint32(b[36:]),
		number:  le.Uint64(b[40:]),
		wall:    int64(le.Uint64(b[48:])),
	}
	return h, h.length >= batchHeaderSize
}

// recHeader opens a record; extensions and data follow it. The sum over the
// payload is made by the goroutine that brings it, before it reaches the writer.
type recHeader struct {
	payloadSum uint32
	kind       uint8
	typ        uint8 // raft.LogType
	flags      uint8
	life       uint32 // how often this group was made anew on this node
	extLen     uint32
	dataLen    uint32
	group      uint64
	index      uint64
	term       uint64
	appended   int64 // raft.Log.AppendedAt, nanoseconds; 0 = not set
	wall       int64 // this node's wall clock when it was written
}

func (h *recHeader) size() int64 { return recHeaderSize + int64(h.extLen) + int64(h.dataLen) }

func (h *recHeader) put(b []byte, seed uint32) {
	_ = b[recHeaderSize-1]
	le := binary.LittleEndian
	le.PutUint32(b[4:], h.payloadSum)
	b[8], b[9], b[10], b[11] = h.kind, h.typ, h.flags, 0
	le.PutUint32(b[12:], h.life)
	le.PutUint32(b[16:], h.extLen)
	le.PutUint32(b[20:], h.dataLen)
	le.PutUint64(b[24:], h.group)
	le.PutUint64(b[32:], h.index)
	le.PutUint64(b[40:], h.term)
	le.PutUint64(b[48:], uint64(h.appended))
	le.PutUint64(b[56:], uint64(h.wall))
	le.PutUint32(b[0:], sum(seed, b[4:recHeaderSize]))
}

func (h *recHeader) decode(b []byte, seed uint32) bool {
	if len(b) < recHeaderSize {
		return false
	}
	le := binary.LittleEndian
	if le.Uint32(b) != sum(seed, b[4:recHeaderSize]) {
		return false
	}
	*h = recHeader{
		payloadSum: le.Uint32(b[4:]),
		kind:       b[8], typ: b[9], flags: b[10],
		life:    le.Uint32(b[12:]),
		extLen:  le.Uint32(b[16:]),
		dataLen: le.Uint32(b[20:]),
		group:   le.Uint64(b[24:]),
		index:   le.Uint64(b[32:]),
		term:    le.Uint64(b[40:]), appended: int64(le.Uint64(b[48:])),
		wall: int64(le.Uint64(b[56:])),
	}
	return h.kind >= recEntry && h.kind <= recFreed
}

// trailer is the last block of a sealed segment and points to its summary.
type trailer struct {
	seq        uint32
	dataEnd    int64
	footerLen  int64
	footerSum  uint32
	lastNumber uint64
}

func (t trailer) encode(seed uint32) []byte {
	b := make([]byte, block)
	le := binary.LittleEndian
	le.PutUint32(b[0:], trailerMagic)
	le.PutUint64(b[8:], uint64(t.seq))
	le.PutUint64(b[16:], uint64(t.dataEnd))
	le.PutUint64(b[24:], uint64(t.footerLen))
	le.PutUint32(b[32:], t.footerSum)
	le.PutUint64(b[40:], t.lastNumber)
	le.PutUint32(b[4:], sum(seed, b[8:trailerLen]))
	return b
}

func decodeTrailer(b []byte, seed uint32) (t trailer, ok bool) {
	le := binary.LittleEndian
	if len(b) < trailerLen || le.Uint32(b) != trailerMagic || le.Uint32(b[4:]) != sum(seed, b[8:trailerLen]) {
		return t, false
	}
	return trailer{
		seq:        uint32(le.Uint64(b[8:])),
		dataEnd:    int64(le.Uint64(b[16:])),
		footerLen:  int64(le.Uint64(b[24:])),
		footerSum:  le.Uint32(b[32:]),
		lastNumber: le.Uint64(b[40:]),
	}, true
}
