package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
)

// groupState is what a state record holds: the whole of it each time, so that
// only a group's latest state record matters.
type groupState struct {
	removed   bool
	first     uint64 // the log's bounds; empty when last < first
	last      uint64
	compacted uint64 // highest index deleted because a snapshot covers it
	term      uint64 // stable values of the names that raft uses
	voteTerm  uint64
	voteFor   []byte
	more      []stableValue // others, sorted by key
}

type stableValue struct{ key, val []byte }

const stateVersion = 1

func (s *groupState) append(b []byte) []byte {
	flags := byte(0)
	if s.removed {
		flags |= 1
	}
	b = append(b, stateVersion, flags)
	for _, v := range [...]uint64{s.first, s.last, s.compacted, s.term, s.voteTerm, uint64(len(s.voteFor))} {
		b = binary.AppendUvarint(b, v)
	}
	b = append(b, s.voteFor...)
	b = binary.AppendUvarint(b, uint64(len(s.more)))
	for _, m := range s.more {
		b = binary.AppendUvarint(b, uint64(len(m.key)))
		b = append(b, m.key...)
		b = binary.AppendUvarint(b, uint64(len(m.val)))
		b = append(b, m.val...)
	}
	return b
}

var errState = errors.New("malformed state record")

func (s *groupState) decode(b []byte) error {
	if len(b) < 2 || b[0] != stateVersion {
		return errState
	}
	*s = groupState{removed: b[1]&1 != 0}
	b = b[2:]
	ok := true
	num := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			ok = false
			return 0
		}
		b = b[n:]
		return v
	}
	str := func() []byte {
		n := num()
		if n > uint64(len(b)) {
			ok = false
			return nil
		}
		v := bytes.Clone(b[:n])
		b = b[n:]
		return v
	}
	s.first, s.last, s.compacted, s.term, s.voteTerm = num(), num(), num(), num(), num()
	s.voteFor = str()
	for n := num(); n > 0 && ok; n-- {
		s.more = append(s.more, stableValue{key: str(), val: str()})
	}
	if !ok || len(b) != 0 {
		return errState
	}
	return nil
}

func (s *groupState) get(key []byte) []byte {
	i, found := slices.BinarySearchFunc(s.more, key, func(m stableValue, k []byte) int { return bytes.Compare(m.key, k) })
	if !found {
		return nil
	}
	return s.more[i].val
}

func (s *groupState) set(key, val []byte) {
	i, found := slices.BinarySearchFunc(s.more, key, func(m stableValue, k []byte) int { return bytes.Compare(m.key, k) })
	v := stableValue{key: bytes.Clone(key), val: bytes.Clone(val)}
	if found {
		s.more[i] = v
		return
	}
	s.more = slices.Insert(s.more, i, v)
}

// appendSeqs and parseSeqs carry lists of segment numbers (inventory, freed).
func appendSeqs(b []byte, seqs []uint32) []byte {
	prev := uint32(0)
	for _, s := range seqs {
		b = binary.AppendUvarint(b, uint64(s-prev))
		prev = s
	}
	return b
}

func parseSeqs(b []byte) ([]uint32, error) {
	var seqs []uint32
	prev := uint64(0)
	for len(b) > 0 {
		d, n := binary.Uvarint(b)
		if n <= 0 || d == 0 || prev+d > 1<<32-1 {
			return nil, errors.New("malformed list of segments")
		}
		prev += d
		seqs = append(seqs, uint32(prev))
		b = b[n:]
	}
	return seqs, nil
}
