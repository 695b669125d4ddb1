package fsm

import (
	"encoding/binary"

	"mayfly/ttl"
)

// An entry is one log entry of a queue's group: a header and then commands, one
// after another. All of them share one stamp. An entry without commands is a tick.
//
//	version 1 | flags 1 | stamp 8, big-endian | command ...
const (
	HeaderSize = 10

	flagsAt = 1
	stampAt = 2

	flagLead = 1
)

// MaxStamp bounds stamps, so that no deadline can overflow.
const MaxStamp ttl.Stamp = 1 << 56

// AppendHeader begins an entry. The stamp is put in when it is proposed.
func AppendHeader(dst []byte) []byte {
	return append(dst, Version, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

// PutStamp gives a begun entry its stamp.
func PutStamp(entry []byte, s ttl.Stamp) {
	binary.BigEndian.PutUint64(entry[stampAt:], uint64(s))
}

// StampOf is the stamp of an entry.
func StampOf(entry []byte) ttl.Stamp {
	return ttl.Stamp(binary.BigEndian.Uint64(entry[stampAt:]))
}

// MarkLead marks the first entry of a leadership, and the first after a start:
// the idle lease begins anew with it.
func MarkLead(entry []byte) { entry[flagsAt] |= flagLead }
