package storage

import (
	"encoding/binary"
	"errors"
)

// summary lists a segment's records in log order, some eight bytes an entry.
// The writer builds it while the segment is written and puts it at its end, so
// that opening the log reads summaries and not data. State, inventory and freed
// records are in it whole.
type summary struct {
	buf  []byte
	end  int64 // end of the last record noted
	refs map[summaryKey]uint32
	last []summaryLast
}

type summaryKey struct {
	group uint64
	life  uint32
}

type summaryLast struct {
	key         summaryKey
	index, term uint64
}

// item is one record as a summary tells it.
type item struct {
	kind    uint8
	typ     uint8
	copied  bool
	life    uint32
	off     uint32
	size    uint32
	group   uint64
	index   uint64
	term    uint64
	payload []byte // of state, inventory and freed records
}

// itemRoom is more than any entry takes in a summary.
const itemRoom = 64

func newSummary() *summary { return &summary{refs: make(map[summaryKey]uint32)} }

func zigzag(d uint64) uint64   { return d<<1 ^ uint64(int64(d)>>63) }
func unzigzag(z uint64) uint64 { return z>>1 ^ -(z & 1) }

// add notes a record. First byte: kind in bits 0-1 (1..4 as 0..3), copied in
// bit 2, the raft type above.
func (s *summary) add(it *item) {
	b := s.buf
	first := (it.kind - 1) | it.typ<<3
	if it.copied {
		first |= 4
	}
	b = append(b, first)
	b = binary.AppendUvarint(b, uint64(int64(it.off)-s.end))
	b = binary.AppendUvarint(b, uint64(it.size))
	s.end = int64(it.off) + int64(it.size)
	if it.kind == recEntry || it.kind == recState {
		key := summaryKey{it.group, it.life}
		ref, known := s.refs[key]
		if !known {
			ref = uint32(len(s.last))
			s.refs[key] = ref
			s.last = append(s.last, summaryLast{key: key})
		}
		b = binary.AppendUvarint(b, uint64(ref))
		if !known {
			b = binary.AppendUvarint(b, it.group)
			b = binary.AppendUvarint(b, uint64(it.life))
		}
		if it.kind == recEntry {
			l := &s.last[ref]
			b = binary.AppendUvarint(b, zigzag(it.index-l.index-1))
			b = binary.AppendUvarint(b, zigzag(it.term-l.term))
			l.index, l.term = it.index, it.term
		}
	}
	if it.kind != recEntry {
		b = binary.AppendUvarint(b, uint64(len(it.payload)))
		b = append(b, it.payload...)
	}
	s.buf = b
}

var errSummary = errors.New("malformed summary")

// summaryReader walks a summary.
type summaryReader struct {
	b    []byte
	end  int64
	last []summaryLast
	bad  bool
}

func (r *summaryReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		r.b = nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// next fills it, and reports false at the end or at the first fault. The
// payload aliases the summary.
func (r *summaryReader) next(it *item) bool {
	if len(r.b) == 0 || r.bad {
		return false
	}
	first := r.b[0]
	r.b = r.b[1:]
	*it = item{kind: first&3 + 1, copied: first&4 != 0, typ: first >> 3}
	off := uint64(r.end) + r.uvarint()
	size := r.uvarint()
	if off > 1<<32-1 || size > 1<<32-1 {
		r.bad = true
		return false
	}
	it.off, it.size = uint32(off), uint32(size)
	r.end = int64(off + size)
	if it.kind == recEntry || it.kind == recState {
		ref := r.uvarint()
		if ref == uint64(len(r.last)) && !r.bad {
			k := summaryKey{group: r.uvarint()}
			k.life = uint32(r.uvarint())
			r.last = append(r.last, summaryLast{key: k})
		}
		if ref >= uint64(len(r.last)) {
			r.bad = true
			return false
		}
		l := &r.last[ref]
		it.group, it.life = l.key.group, l.key.life
		if it.kind == recEntry {
			l.index += unzigzag(r.uvarint()) + 1
			l.term += unzigzag(r.uvarint())
			it.index, it.term = l.index, l.term
		}
	}
	if it.kind != recEntry {
		n := r.uvarint()
		if n > uint64(len(r.b)) {
			r.bad = true
			return false
		}
		it.payload = r.b[:n:n]
		r.b = r.b[n:]
	}
	return !r.bad
}
