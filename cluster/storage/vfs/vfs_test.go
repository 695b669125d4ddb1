package vfs

import (
	"bytes"
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Both file systems behave alike where nothing fails.
func TestConformance(t *testing.T) {
	for name, f := range map[string]struct {
		fs  FS
		dir string
	}{"os": {OS, t.TempDir()}, "mem": {NewMem(), "root"}} {
		t.Run(name, func(t *testing.T) { conform(t, f.fs, f.dir+"/d/e") })
	}
}

func conform(t *testing.T, fsys FS, dir string) {
	must(t, fsys.MkdirAll(dir))
	must(t, fsys.MkdirAll(dir))
	f, err := fsys.Create(dir + "/a")
	must(t, err)
	must(t, f.WriteAtv([][]byte{[]byte("hello "), nil, []byte("world")}, 3))
	if _, err := f.WriteAt([]byte("abc"), 0); err != nil {
		t.Fatal(err)
	}
	var many [][]byte // more than the kernel takes at once
	for i := range 2500 {
		many = append(many, bytes.Repeat([]byte{byte(i)}, i%7))
	}
	must(t, f.WriteAtv(many, 100))
	must(t, f.Sync())
	want := append([]byte("abchello world"), make([]byte, 86)...)
	want = append(want, bytes.Join(many, nil)...)
	got, err := ReadFile(fsys, dir+"/a")
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Fatalf("read back %d bytes, want %d", len(got), len(want))
	}
	must(t, f.Truncate(5))
	if n, err := f.Size(); n != 5 || err != nil {
		t.Fatalf("size %d, %v", n, err)
	}
	must(t, f.Truncate(10))
	b := make([]byte, 10)
	if n, err := f.ReadAt(b, 0); n != 10 || err != nil || string(b) != "abche\x00\x00\x00\x00\x00" {
		t.Fatalf("read %d bytes %q, %v", n, b, err)
	}
	if n, err := f.ReadAt(b, 8); n != 2 || err == nil {
		t.Fatalf("short read: %d, %v", n, err)
	}
	must(t, f.Close())
	must(t, WriteFile(fsys, dir+"/b", []byte("old")))
	must(t, WriteFile(fsys, dir+"/b", []byte("new")))
	must(t, fsys.Rename(dir+"/a", dir+"/c"))
	infos, err := fsys.List(dir)
	must(t, err)
	if len(infos) != 2 || infos[0] != (Info{Name: "b", Size: 3}) || infos[1] != (Info{Name: "c", Size: 10}) {
		t.Fatalf("list %v", infos)
	}
	if i, err := fsys.Stat(dir); err != nil || !i.Dir || i.Name != "e" {
		t.Fatalf("stat of the directory: %v, %v", i, err)
	}
	must(t, fsys.Remove(dir+"/c"))
	for _, err := range []error{fsys.Remove(dir + "/c"), fsys.Rename(dir+"/c", dir+"/d")} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("missing file: %v", err)
		}
	}
	if _, err := fsys.Open(dir + "/c"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("open of a missing file: %v", err)
	}
	l, err := fsys.Lock(dir + "/lock")
	must(t, err)
	if _, err := fsys.Lock(dir + "/lock"); err == nil {
		t.Fatal("locked twice")
	}
	must(t, l.Close())
	l, err = fsys.Lock(dir + "/lock")
	must(t, err)
	must(t, l.Close())
	must(t, fsys.SyncDir(dir))
	if free, total, err := fsys.Space(dir); err != nil || free == 0 || free > total {
		t.Fatalf("space %d of %d, %v", free, total, err)
	}
}

func memWith(t *testing.T) (*Mem, File) {
	t.Helper()
	m := NewMem()
	f, err := m.Create("a")
	must(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte{1}, 3*pageSize), 0)
	must(t, err)
	must(t, f.Sync())
	must(t, m.SyncDir("."))
	return m, f
}

func TestCrashSubsets(t *testing.T) {
	m, f := memWith(t)
	_, err := f.WriteAt(bytes.Repeat([]byte{2}, 2*pageSize), 100)
	must(t, err)
	must(t, m.Rename("a", "b"))
	if n := m.Pending(); n != 4 { // the rename and three pages
		t.Fatalf("%d units pending, want 4", n)
	}
	for name, c := range map[string]struct {
		keep Keep
		file string
		twos int
	}{
		"none":         {None, "a", 0},
		"all":          {All, "b", 2 * pageSize},
		"no rename":    {Without(0), "a", 2 * pageSize},
		"first page":   {Only(1), "a", pageSize - 100},
		"without last": {Without(3), "b", 2*pageSize - 100},
		"torn":         {Torn(7), "b", 2*pageSize - 100 + 7},
	} {
		b, err := ReadFile(m.Crash(c.keep), c.file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := bytes.Count(b, []byte{2}); got != c.twos || len(b) != 3*pageSize {
			t.Errorf("%s: %d new bytes of %d, want %d", name, got, len(b), c.twos)
		}
	}
}

// After a failed sync, data is readable, counts as clean, and is gone after a
// power cut even if a later sync succeeds; written again, it stays.
func TestFailedSyncLosesPages(t *testing.T) {
	m, f := memWith(t)
	two := bytes.Repeat([]byte{2}, pageSize)
	_, err := f.WriteAt(two, 0)
	must(t, err)
	m.Inject(func(o Op) Fault {
		if o.Kind == "sync" {
			return Fault{Err: syscall.EIO}
		}
		return Fault{}
	})
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("sync: %v", err)
	}
	m.Inject(nil)
	must(t, f.Sync())
	count := func(m *Mem) int {
		b, err := ReadFile(m, "a")
		must(t, err)
		return bytes.Count(b, []byte{2})
	}
	if now, cut := count(m), count(m.Crash(All)); now != pageSize || cut != 0 {
		t.Fatalf("%d new bytes now, %d after a power cut", now, cut)
	}
	_, err = f.WriteAt(two, 0)
	must(t, err)
	must(t, f.Sync())
	if cut := count(m.Crash(None)); cut != pageSize {
		t.Fatalf("written again: %d new bytes after a power cut", cut)
	}
}

func TestCrashAfter(t *testing.T) {
	m, f := memWith(t)
	m.CrashAfter(1)
	_, err := f.WriteAt([]byte{2}, 0)
	must(t, err)
	if err := f.Sync(); !errors.Is(err, ErrCrashed) {
		t.Fatalf("after the crash: %v", err)
	}
	if _, err := m.Open("a"); !errors.Is(err, ErrCrashed) {
		t.Fatalf("after the crash: %v", err)
	}
	m.Inject(func(Op) Fault { t.Error("asked after the crash"); return Fault{} })
	if err := m.Remove("a"); !errors.Is(err, ErrCrashed) {
		t.Fatalf("after the crash: %v", err)
	}
	must(t, f.Close())
}

func TestPartialWrite(t *testing.T) {
	m, f := memWith(t)
	m.Inject(func(o Op) Fault { return Fault{Err: syscall.ENOSPC, Partial: 5} })
	if _, err := f.WriteAt(bytes.Repeat([]byte{2}, 10), 0); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("write: %v", err)
	}
	m.Inject(nil)
	b, err := ReadFile(m, "a")
	must(t, err)
	if n := bytes.Count(b, []byte{2}); n != 5 {
		t.Fatalf("%d bytes arrived, want 5", n)
	}
}
