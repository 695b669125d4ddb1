package storage

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"mayfly/cluster/storage/vfs"
)

// The byte layout of a snapshot file: a header with the Raft metadata, then
// chunks of [length, sum, bytes]. All sums are seeded with the log's id, the
// group, index and term, those of chunks also with their number: an old chunk,
// or one of another place, never passes (S5).
const (
	snapMagic     = 0x4d594653
	snapVersion   = 1
	snapHeaderLen = 72
	snapChunk     = 64 << 10
	chunkHeader   = 8
	maxSnapConfig = 1 << 20
)

// snapHeader is a snapshot's metadata.
type snapHeader struct {
	version     raft.SnapshotVersion
	group       uint64
	index       uint64
	term        uint64
	configIndex uint64
	size        int64 // of the state, without chunk headers
	config      []byte
}

func (h *snapHeader) length() int64 { return snapHeaderLen + int64(len(h.config)) }

func (h *snapHeader) seed(logID uint64) uint32 {
	var b [32]byte
	le := binary.LittleEndian
	le.PutUint64(b[0:], logID)
	le.PutUint64(b[8:], h.group)
	le.PutUint64(b[16:], h.index)
	le.PutUint64(b[24:], h.term)
	return sum(0, b[:])
}

func chunkSum(seed, number uint32, b []byte) uint32 {
	var n [4]byte
	binary.LittleEndian.PutUint32(n[:], number)
	return sum(sum(seed, n[:]), b)
}

func (h *snapHeader) encode(logID uint64) []byte {
	b := make([]byte, snapHeaderLen, h.length())
	le := binary.LittleEndian
	le.PutUint32(b[0:], snapMagic)
	le.PutUint32(b[8:], snapVersion)
	le.PutUint32(b[12:], uint32(h.version))
	le.PutUint64(b[16:], h.group)
	le.PutUint64(b[24:], h.index)
	le.PutUint64(b[32:], h.term)
	le.PutUint64(b[40:], h.configIndex)
	le.PutUint64(b[48:], uint64(h.size))
	le.PutUint32(b[56:], uint32(len(h.config)))
	b = append(b, h.config...)
	le.PutUint32(b[4:], sum(h.seed(logID), b[8:]))
	return b
}

// readSnapHeader reads and verifies a header. want holds group, index and term.
func readSnapHeader(f vfs.File, name string, logID uint64, want snapHeader) (h snapHeader, err error) {
	b := make([]byte, snapHeaderLen)
	if err := readFull(f, b, 0); err != nil {
		if err == io.ErrUnexpectedEOF {
			return h, damaged(name, 0, "snapshot is cut short")
		}
		return h, err
	}
	le := binary.LittleEndian
	n := le.Uint32(b[56:])
	if le.Uint32(b) != snapMagic || le.Uint32(b[8:]) != snapVersion || n > maxSnapConfig {
		return h, damaged(name, 0, "bad snapshot header")
	}
	config := make([]byte, n)
	if err := readFull(f, config, snapHeaderLen); err != nil {
		return h, damaged(name, snapHeaderLen, "snapshot is cut short")
	}
	h = snapHeader{
		version: raft.SnapshotVersion(le.Uint32(b[12:])),
		group:   le.Uint64(b[16:]), index: le.Uint64(b[24:]), term: le.Uint64(b[32:]),
		configIndex: le.Uint64(b[40:]), size: int64(le.Uint64(b[48:])), config: config,
	}
	if sum(sum(want.seed(logID), b[8:]), config) != le.Uint32(b[4:]) {
		return h, damaged(name, 0, "bad sum of the snapshot header")
	}
	if h.group != want.group || h.index != want.index || h.term != want.term || h.size < 0 {
		return h, damaged(name, 0, "another snapshot under this name")
	}
	return h, nil
}

func (h *snapHeader) meta(id string) *raft.SnapshotMeta {
	return &raft.SnapshotMeta{
		Version: h.version, ID: id, Index: h.index, Term: h.term,
		Configuration:      raft.DecodeConfiguration(h.config),
		ConfigurationIndex: h.configIndex, Size: h.size,
	}
}

// snapReader gives a snapshot's state, chunk by verified chunk. Memory: one chunk.
type snapReader struct {
	f      vfs.File
	name   string
	seed   uint32
	at     int64
	left   int64 // state not yet read from the file
	number uint32
	buf    []byte // verified and not yet given
	chunk  [chunkHeader + snapChunk]byte
}

func (r *snapReader) Read(p []byte) (int, error) {
	if len(r.buf) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		if err := r.fill(); err != nil {
			return 0, fmt.Errorf("read snapshot: %w", err)
		}
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

// fill reads the next chunk. All but the last are full, so its length is known
// before it is read.
func (r *snapReader) fill() error {
	n := min(r.left, snapChunk)
	b := r.chunk[:chunkHeader+n]
	if err := readFull(r.f, b, r.at); err != nil {
		if err == io.ErrUnexpectedEOF {
			return damaged(r.name, r.at, "snapshot is cut short")
		}
		return err
	}
	le := binary.LittleEndian
	if int64(le.Uint32(b)) != n || le.Uint32(b[4:]) != chunkSum(r.seed, r.number, b[chunkHeader:]) {
		return damaged(r.name, r.at, "bad sum of a snapshot chunk")
	}
	r.buf = b[chunkHeader:]
	r.at += int64(len(b))
	r.left -= n
	r.number++
	return nil
}

func (r *snapReader) Close() error { return r.f.Close() }
