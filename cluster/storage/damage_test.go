package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"mayfly/cluster/storage/vfs"
)

// damagedLog is a closed log of several segments: everything in it is below the
// watermark. The snapshot of group 1 is at 20.
func damagedLog(t testing.TB) *vfs.Mem {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, crashOptions())
	g := mustGroup(t, e, 1)
	fill(t, g, 1, 30, 1, modelSize)
	snapshot(t, g, 20, 1, strings.Repeat("state", 30000))
	must(t, g.SetUint64([]byte(keyTerm), 4))
	fill(t, g, 31, 75, 4, modelSize)
	must(t, e.Close())
	return fs
}

// judge opens a log made by damagedLog that was tampered with. It must refuse,
// or serve all of what was acknowledged, entries that fail their sum excepted.
func judge(fs *vfs.Mem) (refused bool, err error) {
	e, err := Open(fs, "log", crashOptions())
	if errors.Is(err, ErrDamaged) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer e.Close()
	g, err := e.Group(1)
	if err != nil {
		return false, err
	}
	first, _ := g.FirstIndex()
	last, _ := g.LastIndex()
	term, _ := g.GetUint64([]byte(keyTerm))
	if first != 1 || last != 75 || term != 4 {
		return false, fmt.Errorf("log %d..%d, term %d: acknowledged work was cut away", first, last, term)
	}
	for i := first; i <= last; i++ {
		var l raft.Log
		err := g.GetLog(i, &l)
		switch {
		case errors.Is(err, ErrDamaged):
			refused = true
		case err != nil:
			return refused, err
		case string(l.Data) != string(body(1, i, l.Term, modelSize)) || l.Term != 1+3*min(1, i/31):
			return refused, fmt.Errorf("entry %d is served with wrong bytes", i)
		}
	}
	if _, err := g.Snapshots().List(); errors.Is(err, ErrDamaged) {
		return true, nil
	} else if err != nil {
		return refused, err
	}
	return refused, nil
}

// Every byte that means something is covered by a sum: a flipped bit in any
// record, header or summary is refused, at open or when the record is read (S5).
func TestBitFlipsAreRefused(t *testing.T) {
	base := damagedLog(t)
	refusals := 0
	for _, name := range base.Names() {
		if !strings.HasSuffix(name, segSuffix) && !strings.HasSuffix(name, identityFile) && !strings.HasSuffix(name, markFile) {
			continue
		}
		size := 0
		must(t, base.Mutate(name, func(b []byte) []byte { size = len(b); return b }))
		for off := 0; off < size; off += 97 {
			fs := base.Crash(vfs.All)
			must(t, fs.Mutate(name, func(b []byte) []byte { b[off] ^= 1 << (off % 8); return b }))
			refused, err := judge(fs)
			if err != nil {
				t.Fatalf("bit flip in %s at %d: %v", name, off, err)
			}
			if refused {
				refusals++
			}
		}
	}
	if refusals < 500 {
		t.Fatalf("only %d flips were noticed", refusals)
	}
}

func TestTruncatedAndMissingFilesAreRefused(t *testing.T) {
	base := damagedLog(t)
	var segs []string
	for _, name := range base.Names() {
		if strings.HasSuffix(name, segSuffix) {
			segs = append(segs, name)
		}
	}
	if len(segs) < 3 {
		t.Fatalf("only %d segments", len(segs))
	}
	expect := func(what string, fs *vfs.Mem) {
		t.Helper()
		if e, err := Open(fs, "log", crashOptions()); !errors.Is(err, ErrDamaged) {
			if err == nil {
				e.Close()
			}
			t.Errorf("%s: got %v, want ErrDamaged", what, err)
		}
	}
	for _, name := range segs {
		fs := base.Crash(vfs.All)
		must(t, fs.Remove(name))
		expect("without "+name, fs)
		for _, n := range []int{0, 1, segHeaderSize, minSegment / 2, minSegment - 1} {
			fs := base.Crash(vfs.All)
			must(t, fs.Mutate(name, func(b []byte) []byte { return b[:n] }))
			expect(fmt.Sprintf("%s cut to %d", name, n), fs)
		}
		for _, from := range segs {
			if from == name {
				continue
			}
			var old []byte
			fs := base.Crash(vfs.All)
			must(t, fs.Mutate(from, func(b []byte) []byte { old = slices.Clone(b); return b }))
			must(t, fs.Mutate(name, func([]byte) []byte { return old }))
			expect(from+" in place of "+name, fs)
		}
	}
	fs := base.Crash(vfs.All)
	must(t, fs.Remove("log/"+identityFile))
	expect("without identity", fs)
	fs = base.Crash(vfs.All)
	for _, name := range segs {
		must(t, fs.Remove(name))
	}
	expect("without any segment", fs)
}

// The last batch before a crash is not proved durable: damaged, it is cut. With
// one more batch behind it, or the watermark, it is refused.
func TestTornTailIsCutAndDamageIsNot(t *testing.T) {
	for _, proof := range []string{"", "batch", "mark"} {
		fs := vfs.NewMem()
		e := mustOpen(t, fs, crashOptions())
		g := mustGroup(t, e, 1)
		fill(t, g, 1, 10, 1, modelSize)
		fill(t, g, 11, 11, 1, modelSize)
		tail, at := e.w.tail.name, e.w.tail.end-block
		cut := fs.Crash(vfs.None)
		switch proof {
		case "batch":
			fill(t, g, 12, 12, 1, modelSize)
			cut = fs.Crash(vfs.None)
		case "mark":
			must(t, e.Close())
			cut = fs.Crash(vfs.None)
		}
		must(t, cut.Mutate("log/"+tail, func(b []byte) []byte { b[at+300] ^= 4; return b }))
		e2, err := Open(cut, "log", crashOptions())
		if proof != "" {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("damage below the watermark (%s): %v", proof, err)
			}
			continue
		}
		must(t, err)
		wantBounds(t, mustGroup(t, e2, 1), 1, 10)
	}
}

func TestDamagedSnapshotsAreRefused(t *testing.T) {
	base := damagedLog(t)
	var name string
	for _, n := range base.Names() {
		if strings.HasSuffix(n, snapSuffix) {
			name = n
		}
	}
	size := 0
	must(t, base.Mutate(name, func(b []byte) []byte { size = len(b); return b }))
	for off := 0; off < size; off += 509 {
		fs := base.Crash(vfs.All)
		must(t, fs.Mutate(name, func(b []byte) []byte { b[off] ^= 0x10; return b }))
		if err := readSnapshot(t, fs); !errors.Is(err, ErrDamaged) {
			t.Fatalf("snapshot with a flipped bit at %d: %v", off, err)
		}
	}
	for _, n := range []int{0, 10, snapHeaderLen, size / 2, size - 1} {
		fs := base.Crash(vfs.All)
		must(t, fs.Mutate(name, func(b []byte) []byte { return b[:n] }))
		if err := readSnapshot(t, fs); !errors.Is(err, ErrDamaged) {
			t.Fatalf("snapshot cut to %d: %v", n, err)
		}
	}
	// Two chunks change places.
	fs := base.Crash(vfs.All)
	must(t, fs.Mutate(name, func(b []byte) []byte {
		conf := size - 150000 - 3*chunkHeader
		first := slices.Clone(b[conf : conf+chunkHeader+snapChunk])
		copy(b[conf:], b[conf+chunkHeader+snapChunk:][:chunkHeader+snapChunk])
		copy(b[conf+chunkHeader+snapChunk:], first)
		return b
	}))
	if err := readSnapshot(t, fs); !errors.Is(err, ErrDamaged) {
		t.Fatalf("swapped chunks: %v", err)
	}
	if err := readSnapshot(t, base.Crash(vfs.All)); err != nil {
		t.Fatalf("untouched: %v", err)
	}
}

func readSnapshot(t testing.TB, fs *vfs.Mem) error {
	e := mustOpen(t, fs, crashOptions())
	defer e.Close()
	return readAllSnapshots(mustGroup(t, e, 1))
}

// A snapshot that is missing, or older than what the log was cut for, is noticed.
func TestMissingSnapshotIsRefused(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, crashOptions())
	g := mustGroup(t, e, 1)
	fill(t, g, 1, 20, 1, 10)
	snapshot(t, g, 10, 1, "old")
	old := fs.Crash(vfs.All)
	snapshot(t, g, 15, 1, "new")
	must(t, g.DeleteRange(1, 12))
	must(t, e.Close())
	var name, oldName string
	for _, n := range fs.Names() {
		if strings.HasSuffix(n, snapSuffix) {
			name = n
		}
	}
	for _, n := range old.Names() {
		if strings.HasSuffix(n, snapSuffix) {
			oldName = n
		}
	}
	gone := fs.Crash(vfs.All)
	must(t, gone.Remove(name))
	if err := readSnapshot(t, gone); !errors.Is(err, ErrDamaged) {
		t.Fatalf("missing snapshot: %v", err)
	}
	var content []byte
	must(t, old.Mutate(oldName, func(b []byte) []byte { content = slices.Clone(b); return b }))
	f, err := gone.Create(oldName)
	must(t, err)
	_, err = f.WriteAt(content, 0)
	must(t, err)
	if err := readSnapshot(t, gone); !errors.Is(err, ErrDamaged) {
		t.Fatalf("old snapshot put back: %v", err)
	}
}

// A segment whose live record is damaged is not reclaimed, and stops nothing else.
func TestReclaimLeavesDamageAlone(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, crashOptions())
	g := mustGroup(t, e, 1)
	fill(t, g, 1, 200, 1, modelSize)
	g.Live(3, 1)
	g.Live(100, 1)
	s := *g.index.get(3)
	must(t, fs.Mutate("log/"+segName(s.seg), func(b []byte) []byte { b[s.off+100] ^= 1; return b }))
	snapshot(t, g, 200, 1, "x")
	must(t, g.DeleteRange(1, 199))
	drain(t, e, g)
	e.cache.drop(g, 3)
	if _, err := g.Entry(3); !errors.Is(err, ErrDamaged) {
		t.Fatalf("damaged body: %v", err)
	}
	wantBody(t, g, 100, 1, modelSize)
	if n := e.Stats().Segments; n > 4 {
		t.Fatalf("%d segments left", n)
	}
	must(t, e.Close())
}
