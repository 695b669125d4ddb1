package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
)

// ErrCrashed answers every call after the crash point.
var ErrCrashed = errors.New("file system has crashed")

// Op is one call that changes something, as an Inject function sees it.
type Op struct {
	Number int    // 1, 2, 3, ... over the life of the Mem
	Kind   string // create write sync truncate rename remove syncdir mkdir
	Name   string
	Size   int // bytes of a write
}

// Fault is what is to happen to an Op.
type Fault struct {
	Err     error // nil: the call works
	Partial int   // bytes of a failing write that reach the file all the same
}

// Mem is a file system in memory that tells what is durable from what is not:
// content and size by File.Sync, names by SyncDir. Crash makes the file system
// that a power cut would leave. Safe for concurrent use.
type Mem struct {
	mu     sync.Mutex
	dirs   map[string]bool
	names  map[string]*inode // as processes see them
	stable map[string]*inode // as the disk has them
	ops    []dirOp           // changes of names since their directory was synced
	locks  map[string]bool
	count  int
	limit  int // the operation after which all fails; 0 = none
	inject func(Op) Fault
	total  uint64
}

// inode is a file's content: now, and on disk with the writes since.
type inode struct {
	data    []byte
	durable []byte
	pending []write
}

// write is one write or truncation that no sync has covered.
type write struct {
	off      int64
	data     []byte
	truncate bool // to off
	lost     bool // a sync failed over it: the kernel thinks that it is clean
}

type dirOp struct {
	dir      string
	from, to string // from "" = create, to "" = remove
	node     *inode
}

// NewMem returns an empty file system.
func NewMem() *Mem {
	return &Mem{
		dirs:  map[string]bool{".": true, "/": true},
		names: make(map[string]*inode), stable: make(map[string]*inode), locks: make(map[string]bool),
		total: 1 << 40,
	}
}

// Inject sets a function that is asked about every changing call; nil ends it.
// It must not call back into m.
func (m *Mem) Inject(f func(Op) Fault) {
	m.mu.Lock()
	m.inject = f
	m.mu.Unlock()
}

// CrashAfter lets n more changing calls work; then every call fails.
func (m *Mem) CrashAfter(n int) {
	m.mu.Lock()
	m.limit = m.count + n + 1
	m.mu.Unlock()
}

// Operations is how many changing calls there were.
func (m *Mem) Operations() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// change counts a changing call; m.mu is held.
func (m *Mem) change(kind, name string, size int) Fault {
	if m.crashed() {
		return Fault{Err: ErrCrashed}
	}
	m.count++
	if m.crashed() {
		return Fault{Err: ErrCrashed}
	}
	if m.inject != nil {
		return m.inject(Op{Number: m.count, Kind: kind, Name: name, Size: size})
	}
	return Fault{}
}

func (m *Mem) crashed() bool { return m.limit > 0 && m.count >= m.limit }

func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// MkdirAll makes directories durable at once.
func (m *Mem) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.change("mkdir", dir, 0); f.Err != nil {
		return pathError("mkdir", dir, f.Err)
	}
	for d := path.Clean(dir); !m.dirs[d]; d = path.Dir(d) {
		m.dirs[d] = true
	}
	return nil
}

func (m *Mem) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	if f := m.change("create", name, 0); f.Err != nil {
		return nil, pathError("create", name, f.Err)
	}
	if !m.dirs[path.Dir(name)] {
		return nil, pathError("create", name, fs.ErrNotExist)
	}
	n := m.names[name]
	if n == nil {
		n = &inode{}
		m.names[name] = n
		m.ops = append(m.ops, dirOp{dir: path.Dir(name), to: name, node: n})
	} else {
		n.truncate(0)
	}
	return &memFile{m: m, name: name, node: n}, nil
}

func (m *Mem) Open(name string) (File, error) { return m.open(name) }

func (m *Mem) OpenReadWrite(name string) (File, error) { return m.open(name) }

func (m *Mem) open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	if m.crashed() {
		return nil, pathError("open", name, ErrCrashed)
	}
	n := m.names[name]
	if n == nil {
		return nil, pathError("open", name, fs.ErrNotExist)
	}
	return &memFile{m: m, name: name, node: n}, nil
}

func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	if f := m.change("remove", name, 0); f.Err != nil {
		return pathError("remove", name, f.Err)
	}
	if m.names[name] == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	m.ops = append(m.ops, dirOp{dir: path.Dir(name), from: name, node: m.names[name]})
	delete(m.names, name)
	return nil
}

func (m *Mem) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, to = path.Clean(from), path.Clean(to)
	if f := m.change("rename", to, 0); f.Err != nil {
		return pathError("rename", from, f.Err)
	}
	n := m.names[from]
	if n == nil {
		return pathError("rename", from, fs.ErrNotExist)
	}
	delete(m.names, from)
	m.names[to] = n
	m.ops = append(m.ops, dirOp{dir: path.Dir(to), from: from, to: to, node: n})
	return nil
}

func (m *Mem) List(dir string) ([]Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = path.Clean(dir)
	if m.crashed() {
		return nil, pathError("list", dir, ErrCrashed)
	}
	if !m.dirs[dir] {
		return nil, pathError("list", dir, fs.ErrNotExist)
	}
	var infos []Info
	for name, n := range m.names {
		if path.Dir(name) == dir {
			infos = append(infos, Info{Name: path.Base(name), Size: int64(len(n.data))})
		}
	}
	for d := range m.dirs {
		if path.Dir(d) == dir && d != dir {
			infos = append(infos, Info{Name: path.Base(d), Dir: true})
		}
	}
	sort.Slice(infos, func(i, j int) bool { return infos[i].Name < infos[j].Name })
	return infos, nil
}

func (m *Mem) Stat(name string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = path.Clean(name)
	switch n := m.names[name]; {
	case m.crashed():
		return Info{}, pathError("stat", name, ErrCrashed)
	case n != nil:
		return Info{Name: path.Base(name), Size: int64(len(n.data))}, nil
	case m.dirs[name]:
		return Info{Name: path.Base(name), Dir: true}, nil
	}
	return Info{}, pathError("stat", name, fs.ErrNotExist)
}

func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = path.Clean(dir)
	if f := m.change("syncdir", dir, 0); f.Err != nil {
		return pathError("syncdir", dir, f.Err)
	}
	rest := m.ops[:0]
	for _, o := range m.ops {
		if o.dir == dir {
			o.apply(m.stable)
		} else {
			rest = append(rest, o)
		}
	}
	m.ops = rest
	return nil
}

func (o dirOp) apply(names map[string]*inode) {
	switch {
	case o.to == "":
		if names[o.from] == o.node {
			delete(names, o.from)
		}
	case o.from == "":
		names[o.to] = o.node
	default:
		if names[o.from] == o.node {
			delete(names, o.from)
		}
		names[o.to] = o.node
	}
}

// Lock locks a name; locks do not outlive a crash.
func (m *Mem) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.crashed() {
		return nil, pathError("lock", name, ErrCrashed)
	}
	if m.locks[name] {
		return nil, fmt.Errorf("lock %s: held by another", name)
	}
	m.locks[name] = true
	return memLock{m, name}, nil
}

type memLock struct {
	m    *Mem
	name string
}

func (l memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	delete(l.m.locks, l.name)
	return nil
}

// SetSpace sets the size that Space reports.
func (m *Mem) SetSpace(total uint64) {
	m.mu.Lock()
	m.total = total
	m.mu.Unlock()
}

func (m *Mem) Space(string) (free, total uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	used := uint64(0)
	for _, n := range m.names {
		used += uint64(len(n.data))
	}
	return m.total - min(used, m.total), m.total, nil
}

// Names lists all files, sorted.
func (m *Mem) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for n := range m.names {
		all = append(all, n)
	}
	slices.SortFunc(all, strings.Compare)
	return all
}

// Mutate changes a file on disk behind everybody's back: bits flipped at rest,
// a truncation, an old version put back. f gets a copy.
func (m *Mem) Mutate(name string, f func([]byte) []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[path.Clean(name)]
	if n == nil {
		return pathError("mutate", name, fs.ErrNotExist)
	}
	n.data = f(slices.Clone(n.data))
	n.durable, n.pending = slices.Clone(n.data), nil
	return nil
}
