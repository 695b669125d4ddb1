package storage

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"mayfly/cluster/storage/vfs"
)

const identityFile = "identity"

// firstSize is the size of the very first segment. It is small because it is
// sparse, and writing to unwritten blocks is slow: by the time it is full, a
// prepared one is there.
const firstSize = 4 << 20

// recovery is what Open gathers.
type recovery struct {
	e        *Engine
	segs     []*segment        // with a valid header, ascending
	foots    map[uint32][]byte // summaries of the sealed ones
	headless map[string]int64  // *.log files without a valid header, and their sizes
	spares   []vfs.Info
	lastAt   int64 // where the last batch of the tail begins, or 0
	lastLen  int64
}

// recover reads the directory back. It leaves a tail whose every batch is
// durable and proved to be so.
func (e *Engine) recover() error {
	known, err := e.readIdentity()
	if err != nil {
		return err
	}
	r := &recovery{e: e, foots: make(map[uint32][]byte), headless: make(map[string]int64)}
	infos, err := e.fs.List(e.dir)
	if err != nil {
		return err
	}
	if !known {
		if err := e.clearUnborn(infos); err != nil {
			return err
		}
		if err := e.firstSegment(); err != nil {
			return err
		}
	} else {
		if err := r.list(infos); err != nil {
			return err
		}
		if err := e.loadMark(); err != nil {
			return err
		}
		if err := r.findTail(); err != nil {
			return err
		}
		if err := e.checkMark(); err != nil {
			return err
		}
		if err := r.checkComplete(); err != nil {
			return err
		}
		if err := r.apply(); err != nil {
			return err
		}
		if err := r.harden(); err != nil {
			return err
		}
	}
	if err := e.loadSnapshots(); err != nil {
		return err
	}
	e.w.budget = copyStep
	e.hint.Store(true)
	if e.w.unmarked() {
		return e.writeMark()
	}
	return nil
}

func (e *Engine) readIdentity() (bool, error) {
	b, err := vfs.ReadFile(e.fs, e.path(identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if len(b) != 12 || binary.LittleEndian.Uint32(b[8:]) != sum(0, b[:8]) {
		return false, damaged(identityFile, 0, "bad sum")
	}
	e.logID = binary.LittleEndian.Uint64(b)
	return true, nil
}

// clearUnborn empties a directory whose first opening was cut short: the
// identity is its last step, so nothing was ever stored. Anything that was
// stored without an identity is damage.
func (e *Engine) clearUnborn(infos []vfs.Info) error {
	for _, i := range infos {
		if !strings.HasSuffix(i.Name, segSuffix) && !strings.HasSuffix(i.Name, tmpSuffix) && !strings.HasSuffix(i.Name, spareSuffix) {
			continue
		}
		if i.Name != segName(1) && strings.HasSuffix(i.Name, segSuffix) {
			return damaged(identityFile, 0, "missing, but there is "+i.Name)
		}
		if i.Name == segName(1) {
			used, err := e.hasBatch(i.Name)
			if err != nil {
				return err
			}
			if used {
				return damaged(identityFile, 0, "missing, but the log is not empty")
			}
		}
		if err := e.fs.Remove(e.path(i.Name)); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) hasBatch(name string) (bool, error) {
	f, err := e.fs.Open(e.path(name))
	if err != nil {
		return false, err
	}
	defer f.Close()
	b := make([]byte, segHeaderSize+batchHeaderSize)
	if err := readFull(f, b, 0); err != nil {
		return false, nil
	}
	h, ok := decodeSegHeader(b)
	if !ok {
		return false, nil
	}
	_, ok = decodeBatchHeader(b[segHeaderSize:], segmentSeed(h.logID, h.seq))
	return ok, nil
}

func (e *Engine) firstSegment() error {
	var b [12]byte
	rand.Read(b[:8]) // never fails: crypto/rand aborts the program instead
	e.logID = binary.LittleEndian.Uint64(b[:])
	s, err := e.makeSegment(1, min(e.opts.SegmentSize, firstSize))
	if err != nil {
		return err
	}
	e.adopt(s)
	if err := e.createMark(); err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b[8:], sum(0, b[:8]))
	return vfs.WriteFile(e.fs, e.path(identityFile), b[:])
}

// list opens the segment files and sorts the others out.
func (r *recovery) list(infos []vfs.Info) error {
	e := r.e
	for _, i := range infos {
		switch {
		case strings.HasSuffix(i.Name, tmpSuffix):
			if err := e.fs.Remove(e.path(i.Name)); err != nil {
				return err
			}
		case strings.HasSuffix(i.Name, spareSuffix):
			r.spares = append(r.spares, i)
		case strings.HasSuffix(i.Name, segSuffix):
			if err := r.openSegment(i); err != nil {
				return err
			}
		}
	}
	if len(r.segs) == 0 {
		return damaged(segName(1), 0, "no segment is left")
	}
	slices.SortFunc(r.segs, func(a, b *segment) int { return int(int64(a.seq) - int64(b.seq)) })
	return nil
}

func (r *recovery) openSegment(i vfs.Info) error {
	e := r.e
	seq, ok := parseSegName(i.Name)
	if !ok {
		return fmt.Errorf("file %s does not belong here", i.Name)
	}
	f, err := e.fs.OpenReadWrite(e.path(i.Name))
	if err != nil {
		return err
	}
	b := make([]byte, segHeaderLen)
	var h segHeader
	if err := readFull(f, b, 0); err == nil {
		h, ok = decodeSegHeader(b)
	} else {
		ok = false
	}
	if !ok || h.logID != e.logID || h.seq != seq {
		// Perhaps a freed one whose file is in use again under another name.
		r.headless[i.Name] = i.Size
		return f.Close()
	}
	s := &segment{
		seq: seq, name: i.Name, file: f, seed: segmentSeed(e.logID, seq),
		capacity: h.capacity, end: segHeaderSize,
	}
	r.segs = append(r.segs, s)
	e.segs[seq] = s
	if i.Size < h.capacity {
		return damaged(i.Name, i.Size, "file is truncated")
	}
	return nil
}

// findTail decides where the log ends. A successor is made before the tail is
// sealed, and the tail is sealed before the successor is written (roll).
func (r *recovery) findTail() error {
	e := r.e
	n := len(r.segs)
	for _, s := range r.segs {
		foot, last, ok, err := s.loadTrailer()
		if err != nil {
			return err
		}
		if ok {
			s.sealed = true
			r.foots[s.seq] = foot
			e.w.number = max(e.w.number, last)
		} else {
			s.end = segHeaderSize
		}
	}
	tail := r.segs[n-1]
	if tail.sealed {
		return damaged(segName(tail.seq+1), 0, "missing: its predecessor is complete")
	}
	tail.firstNumber = e.w.number
	if err := r.scan(tail); err != nil {
		return err
	}
	if tail.fresh() && n > 1 && !r.segs[n-2].sealed {
		e.w.next, tail = tail, r.segs[n-2]
		delete(e.segs, e.w.next.seq)
		r.segs = r.segs[:n-1]
		if err := r.scan(tail); err != nil {
			return err
		}
	}
	for _, s := range r.segs[:len(r.segs)-1] {
		if !s.sealed {
			return damaged(s.name, s.capacity-block, "bad trailer or summary")
		}
	}
	e.w.tail = tail
	return nil
}

// checkComplete compares the files with the last inventory, less what was freed
// since. A file too many is a freed one whose renaming was lost.
func (r *recovery) checkComplete() error {
	e := r.e
	want, err := r.inventory()
	if err != nil {
		return err
	}
	for seq := range want {
		if _, ok := e.segs[seq]; !ok {
			if _, headless := r.headless[segName(seq)]; headless {
				return damaged(segName(seq), 0, "bad segment header")
			}
			return damaged(segName(seq), 0, "missing")
		}
	}
	keep := r.segs[:0]
	for _, s := range r.segs {
		if want[s.seq] || s == e.w.tail {
			keep = append(keep, s)
			continue
		}
		delete(e.segs, s.seq)
		if err := e.recycle(s); err != nil {
			return err
		}
	}
	r.segs = keep
	for name := range r.headless {
		if seq, _ := parseSegName(name); seq > e.w.tail.seq {
			return damaged(name, 0, "bad segment header")
		}
		if err := e.fs.Remove(e.path(name)); err != nil {
			return err
		}
	}
	for _, i := range r.spares {
		if i.Size == e.opts.SegmentSize && e.spares.put(i.Name, e.opts.Spares) {
			continue
		}
		if err := e.fs.Remove(e.path(i.Name)); err != nil {
			return err
		}
	}
	return nil
}

func (r *recovery) summaryOf(s *segment) []byte {
	if s.sealed {
		return r.foots[s.seq]
	}
	return s.sum.buf
}

// inventory is the set of segments that must be there.
func (r *recovery) inventory() (map[uint32]bool, error) {
	want := make(map[uint32]bool)
	at := len(r.segs) - 1
	for ; at >= 0 && len(want) == 0; at-- {
		if err := r.readInventory(r.segs[at], want); err != nil {
			return nil, err
		}
	}
	// Freed records may stand in segments later than the inventory only when
	// those never got one of their own, which is when they hold nothing at all.
	for _, s := range r.segs[at+1:] {
		want[s.seq] = true
	}
	return want, nil
}

func (r *recovery) readInventory(s *segment, want map[uint32]bool) error {
	rd := summaryReader{b: r.summaryOf(s)}
	var it item
	for rd.next(&it) {
		if it.kind != recInventory && it.kind != recFreed {
			continue
		}
		seqs, err := parseSeqs(it.payload)
		if err != nil {
			return damaged(s.name, int64(it.off), err.Error())
		}
		for _, q := range seqs {
			if it.kind == recInventory {
				want[q] = true
			} else {
				delete(want, q)
			}
		}
	}
	if rd.bad {
		return damaged(s.name, s.end, errSummary.Error())
	}
	return nil
}
