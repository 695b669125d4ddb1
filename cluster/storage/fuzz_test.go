package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"mayfly/cluster/storage/vfs"
)

// readAllSnapshots lists the group's snapshots and reads them to the end.
func readAllSnapshots(g *Group) error {
	list, err := g.Snapshots().List()
	if err != nil {
		return err
	}
	for _, m := range list {
		_, r, err := g.Snapshots().Open(m.ID)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, r)
		if err == nil && n != m.Size {
			err = errors.New("snapshot of another size than it says")
		}
		if cerr := r.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tamper applies a fuzzer's edits to the files whose name has one of the
// suffixes: 7 bytes each: file, kind, 4 of offset, value.
func tamper(t testing.TB, fs *vfs.Mem, edits []byte, suffixes ...string) {
	var names []string
	for _, n := range fs.Names() {
		for _, s := range suffixes {
			if strings.HasSuffix(n, s) {
				names = append(names, n)
			}
		}
	}
	for ; len(edits) >= 7 && len(names) > 0; edits = edits[7:] {
		name := names[int(edits[0])%len(names)]
		off, v := binary.LittleEndian.Uint32(edits[2:]), edits[6]
		must(t, fs.Mutate(name, func(b []byte) []byte {
			if len(b) == 0 {
				return b
			}
			at := int(off) % len(b)
			switch edits[1] % 5 {
			case 0:
				b[at] ^= v
			case 1:
				return b[:at]
			case 2: // zero a range
				clear(b[at:min(len(b), at+int(v)*64)])
			case 3: // copy a block over another
				from := int(v) * block % len(b)
				copy(b[at&^(block-1):], b[from:min(len(b), from+block)])
			case 4: // a run of rubbish
				for i := at; i < min(len(b), at+64); i++ {
					b[i] += v
				}
			}
			return b
		}))
	}
}

// F7: recovery from mutated segments. What opens is all of what was written and
// marked durable; a record that is damaged is refused when read; nothing is
// invented.
func FuzzRecovery(f *testing.F) {
	base := damagedLog(f)
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 1})
	f.Add([]byte{1, 1, 0, 64, 0, 0, 0, 2, 3, 0, 16, 0, 0, 2})
	f.Add([]byte{2, 2, 0, 16, 0, 0, 255})
	f.Add([]byte{0, 4, 40, 16, 0, 0, 9, 1, 0, 0, 112, 0, 0, 128})
	f.Fuzz(func(t *testing.T, edits []byte) {
		fs := base.Crash(vfs.All)
		tamper(t, fs, edits[:min(len(edits), 70)], segSuffix)
		if _, err := judge(fs); err != nil {
			t.Fatal(err)
		}
	})
}

// F8: a mutated snapshot is refused, or equal to what was written.
func FuzzSnapshot(f *testing.F) {
	base := damagedLog(f)
	f.Add([]byte{})
	f.Add([]byte{0, 0, 52, 0, 0, 0, 255})
	f.Add([]byte{0, 1, 0, 64, 0, 0, 0})
	f.Add([]byte{0, 0, 48, 0, 0, 0, 1, 0, 3, 0, 16, 0, 0, 2})
	f.Fuzz(func(t *testing.T, edits []byte) {
		fs := base.Crash(vfs.All)
		tamper(t, fs, edits[:min(len(edits), 70)], snapSuffix)
		e := mustOpen(t, fs, crashOptions())
		defer e.Close()
		g := mustGroup(t, e, 1)
		list, err := g.Snapshots().List()
		if err == nil {
			var r io.ReadCloser
			if _, r, err = g.Snapshots().Open(list[0].ID); err == nil {
				var b []byte
				if b, err = io.ReadAll(r); err == nil && string(b) != strings.Repeat("state", 30000) {
					t.Fatal("a snapshot is served that was not written")
				}
			}
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}

// FuzzSummary feeds the parsers behind the sums: no panic, no allocation from a
// claimed length, and what is read back is what was noted.
func FuzzSummary(f *testing.F) {
	s := newSummary()
	s.add(&item{kind: recInventory, off: segHeaderSize + 64, size: 70, payload: []byte{1, 2, 3}})
	s.add(&item{kind: recState, off: 5000, size: 80, group: 9, life: 1, payload: (&groupState{term: 3}).append(nil)})
	s.add(&item{kind: recEntry, off: 5080, size: 100, group: 9, life: 1, index: 77, term: 3, typ: 5, copied: true})
	f.Add(s.buf)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := summaryReader{b: b}
		again := newSummary()
		var it item
		for r.next(&it) {
			again.add(&it)
			var st groupState
			if st.decode(it.payload) == nil {
				var st2 groupState
				if err := st2.decode(st.append(nil)); err != nil {
					t.Fatal(err)
				}
			}
			if seqs, err := parseSeqs(it.payload); err == nil {
				if back, err := parseSeqs(appendSeqs(nil, seqs)); err != nil || len(back) != len(seqs) {
					t.Fatalf("segments %v came back as %v, %v", seqs, back, err)
				}
			}
		}
		r1, r2 := summaryReader{b: b}, summaryReader{b: again.buf}
		var a, c item
		for r2.next(&c) {
			if !r1.next(&a) {
				t.Fatal("one more item than there was")
			}
			if a.payload == nil {
				a.payload = []byte{}
			}
			if c.payload == nil {
				c.payload = []byte{}
			}
			same := a.kind == c.kind && a.typ == c.typ && a.copied == c.copied && a.life == c.life && a.off == c.off &&
				a.size == c.size && a.group == c.group && a.index == c.index && a.term == c.term && bytes.Equal(a.payload, c.payload)
			if !same {
				t.Fatalf("item %+v came back as %+v", a, c)
			}
		}
	})
}
