package storage

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"

	"mayfly/cluster/storage/vfs"
)

// segment is one file of the log. The tail is written, all others are sealed:
// complete, with a summary at the end, never written again until recycled.
type segment struct {
	seq      uint32
	name     string
	file     vfs.File
	seed     uint32
	capacity int64

	// live is the bytes of entries that an index points to; changed by whoever
	// changes an index.
	live atomic.Int64
	// refs counts readers. A segment is recycled only when nobody reads from it;
	// no new reader comes once no index points to it.
	refs atomic.Int32
	// shadow says that dead entries lie here which would come to life again if
	// the later records that overrule them went first. Until this segment is
	// freed no later one is. Changed by the writer only.
	shadow bool
	// broken keeps reclaim from a segment with a damaged live record. Writer only.
	broken bool

	// The writer's.
	end         int64 // where the next batch goes
	sealed      bool
	sum         *summary // of the tail; nil once sealed
	firstNumber uint64   // batch number before its first
	footerLen   int64
	footerSum   uint32
}

const (
	segSuffix   = ".log"
	spareSuffix = ".free"
	tmpSuffix   = ".tmp"
)

func segName(seq uint32) string { return fmt.Sprintf("%08x%s", seq, segSuffix) }

func parseSegName(name string) (uint32, bool) {
	hex, ok := strings.CutSuffix(name, segSuffix)
	if !ok || len(hex) != 8 {
		return 0, false
	}
	seq, err := strconv.ParseUint(hex, 16, 32)
	return uint32(seq), err == nil && seq > 0
}

// room tells whether a batch of that many bytes, which adds so much to the
// summary, fits before the summary and the trailer.
func (s *segment) room(batch, summaryMore int64) bool {
	return alignUp(s.end+batch)+alignUp(int64(len(s.sum.buf))+summaryMore)+block <= s.capacity
}

func (s *segment) fresh() bool { return s.end == segHeaderSize }

// seal writes the summary and syncs. A sealed segment is never written again.
func (s *segment) seal(lastNumber uint64) error {
	if err := s.writeSummary(s.sum.buf, lastNumber); err != nil {
		return err
	}
	s.sealed, s.sum = true, nil
	return nil
}

func (s *segment) writeSummary(foot []byte, lastNumber uint64) error {
	t := trailer{
		seq: s.seq, dataEnd: s.end, footerLen: int64(len(foot)),
		footerSum: sum(s.seed, foot), lastNumber: lastNumber,
	}
	pad := alignUp(t.footerLen) - t.footerLen
	if err := s.file.WriteAtv([][]byte{foot, zeros[:pad]}, s.end); err != nil {
		return err
	}
	if _, err := s.file.WriteAt(t.encode(s.seed), s.capacity-block); err != nil {
		return err
	}
	s.footerLen, s.footerSum = t.footerLen, t.footerSum
	return s.file.Sync()
}

// readSummary reads a sealed segment's summary back.
func (s *segment) readSummary() ([]byte, error) {
	b := make([]byte, s.footerLen)
	if err := readFull(s.file, b, s.end); err != nil {
		return nil, err
	}
	if sum(s.seed, b) != s.footerSum {
		return nil, damaged(s.name, s.end, "bad sum of the summary")
	}
	return b, nil
}

// loadTrailer reads the trailer, and reports whether there is a valid one with
// a valid summary; the summary is returned.
func (s *segment) loadTrailer() (foot []byte, last uint64, ok bool, err error) {
	b := make([]byte, block)
	if err := readFull(s.file, b, s.capacity-block); err != nil {
		return nil, 0, false, err
	}
	t, ok := decodeTrailer(b, s.seed)
	if !ok || t.seq != s.seq || t.dataEnd < segHeaderSize || t.dataEnd+alignUp(t.footerLen)+block > s.capacity || t.footerLen < 0 {
		return nil, 0, false, nil
	}
	s.end, s.footerLen, s.footerSum = t.dataEnd, t.footerLen, t.footerSum
	foot, err = s.readSummary()
	if err != nil {
		return nil, 0, false, nil
	}
	return foot, t.lastNumber, true, nil
}

// readRecord reads and verifies one record. The result is never written again.
func (s *segment) readRecord(off, size uint32) (recHeader, []byte, error) {
	var h recHeader
	b := make([]byte, size)
	if err := readFull(s.file, b, int64(off)); err != nil {
		return h, nil, fmt.Errorf("read %s at %d: %w", s.name, off, err)
	}
	if !h.decode(b, s.seed) || h.size() != int64(size) {
		return h, nil, damaged(s.name, int64(off), "bad sum of a record header")
	}
	payload := b[recHeaderSize:]
	if sum(0, payload) != h.payloadSum {
		return h, nil, damaged(s.name, int64(off), "bad sum of a record")
	}
	return h, payload, nil
}

func readFull(f vfs.File, b []byte, off int64) error {
	n, err := f.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

var zeros [block]byte
