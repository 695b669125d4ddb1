package storage

import (
	"encoding/binary"
	"errors"
	"io/fs"
)

// The watermark file says up to where the log is known to be durable, apart from
// the log itself: damage to the log's end, however wide, is then not mistaken for
// a torn tail (S5). It has two blocks, written in turn, so that a torn write
// leaves the one before. It is written when the log falls idle, once a second
// while it is busy, at the end of recovery and at Close.
const (
	markFile  = "watermark"
	markMagic = 0x4d594657
	markLen   = 48
)

// mark is one block of the watermark file.
type mark struct {
	turn uint64 // which of the two is newer
	seq  uint32 // segment
	end  int64  // everything before this offset in it is durable, and all earlier segments
}

func (m mark) encode(logID uint64) []byte {
	b := make([]byte, block)
	le := binary.LittleEndian
	le.PutUint32(b[0:], markMagic)
	le.PutUint64(b[8:], logID)
	le.PutUint64(b[16:], m.turn)
	le.PutUint64(b[24:], uint64(m.seq))
	le.PutUint64(b[32:], uint64(m.end))
	le.PutUint32(b[4:], sum(0, b[8:markLen]))
	return b
}

func decodeMark(b []byte, logID uint64) (m mark, ok bool) {
	le := binary.LittleEndian
	if le.Uint32(b) != markMagic || le.Uint32(b[4:]) != sum(0, b[8:markLen]) || le.Uint64(b[8:]) != logID {
		return m, false
	}
	return mark{turn: le.Uint64(b[16:]), seq: uint32(le.Uint64(b[24:])), end: int64(le.Uint64(b[32:]))}, true
}

// writeMark notes durably that the whole log is durable up to here.
func (e *Engine) writeMark() error {
	w := &e.w
	m := mark{turn: w.marked.turn + 1, seq: w.tail.seq, end: w.tail.end}
	if _, err := w.markFile.WriteAt(m.encode(e.logID), int64(m.turn%2)*block); err != nil {
		return err
	}
	if err := w.markFile.Sync(); err != nil {
		return err
	}
	e.stats.syncs.Add(1)
	w.marked, w.mark = m, false
	return nil
}

// unmarked reports whether the log has grown since the last mark.
func (w *writer) unmarked() bool { return w.marked.seq != w.tail.seq || w.marked.end != w.tail.end }

// createMark makes the file, in a directory that is new.
func (e *Engine) createMark() (err error) {
	e.w.markFile, err = e.fs.Create(e.path(markFile))
	if err != nil {
		return err
	}
	if err := e.w.markFile.Truncate(2 * block); err != nil {
		return err
	}
	if err := e.writeMark(); err != nil {
		return err
	}
	return e.fs.SyncDir(e.dir) // before the identity says that the file must be there
}

// loadMark reads the newer of the valid blocks.
func (e *Engine) loadMark() error {
	f, err := e.fs.OpenReadWrite(e.path(markFile))
	if errors.Is(err, fs.ErrNotExist) {
		return damaged(markFile, 0, "missing")
	}
	if err != nil {
		return err
	}
	e.w.markFile = f
	var b [2 * block]byte
	if err := readFull(f, b[:], 0); err != nil {
		return damaged(markFile, 0, err.Error())
	}
	found := false
	for i := range int64(2) {
		m, ok := decodeMark(b[i*block:(i+1)*block], e.logID)
		if ok && (!found || m.turn > e.w.marked.turn) {
			e.w.marked, found = m, true
		}
	}
	if !found {
		return damaged(markFile, 0, "bad sum of the watermark")
	}
	return nil
}

// checkMark refuses a log that ends before its watermark.
func (e *Engine) checkMark() error {
	m, tail := e.w.marked, e.w.tail
	if tail.seq < m.seq || tail.seq == m.seq && tail.end < m.end {
		return damaged(tail.name, tail.end, "the log ends before its durable watermark")
	}
	return nil
}
