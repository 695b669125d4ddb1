package vfs

import (
	"io"
	"io/fs"
	"slices"
)

type memFile struct {
	m    *Mem
	name string
	node *inode

	closed bool
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable(); err != nil {
		return 0, pathError("read", f.name, err)
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) usable() error {
	if f.m.crashed() {
		return ErrCrashed
	}
	if f.closed {
		return fs.ErrClosed
	}
	return nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.WriteAtv([][]byte{p}, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *memFile) WriteAtv(bufs [][]byte, off int64) error {
	p := slices.Concat(bufs...)
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return pathError("write", f.name, fs.ErrClosed)
	}
	// A call at the crash point may have done all of its work and never returned,
	// so what it writes counts as pending.
	before := f.m.crashed()
	ft := f.m.change("write", f.name, len(p))
	switch {
	case ft.Err == nil || ft.Err == ErrCrashed && !before:
		f.node.write(p, off)
	case ft.Partial > 0:
		f.node.write(p[:min(ft.Partial, len(p))], off)
	}
	if ft.Err != nil {
		return pathError("write", f.name, ft.Err)
	}
	return nil
}

func (n *inode) write(p []byte, off int64) {
	n.data = writeAt(n.data, p, off)
	n.pending = append(n.pending, write{off: off, data: slices.Clone(p)})
}

func writeAt(b, p []byte, off int64) []byte {
	if grow := off + int64(len(p)) - int64(len(b)); grow > 0 {
		b = append(b, make([]byte, grow)...)
	}
	copy(b[off:], p)
	return b
}

func (n *inode) truncate(size int64) {
	n.data = resize(n.data, size)
	n.pending = append(n.pending, write{off: size, truncate: true})
}

func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return slices.Clone(b[:size])
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

// Sync makes the content durable, or fails and leaves what was pending in the
// state that Linux leaves it in: readable, clean to the kernel, not on disk.
func (f *memFile) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return pathError("sync", f.name, fs.ErrClosed)
	}
	if ft := f.m.change("sync", f.name, 0); ft.Err != nil {
		if ft.Err != ErrCrashed {
			for i := range f.node.pending {
				f.node.pending[i].lost = true
			}
		}
		return pathError("sync", f.name, ft.Err)
	}
	n := f.node
	keep := n.pending[:0]
	for _, w := range n.pending {
		if w.lost {
			keep = append(keep, w)
			continue
		}
		n.durable = w.apply(n.durable)
	}
	n.pending = keep
	return nil
}

func (w write) apply(b []byte) []byte {
	if w.truncate {
		return resize(b, w.off)
	}
	return writeAt(b, w.data, w.off)
}

func (f *memFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return pathError("truncate", f.name, fs.ErrClosed)
	}
	if ft := f.m.change("truncate", f.name, 0); ft.Err != nil {
		return pathError("truncate", f.name, ft.Err)
	}
	f.node.truncate(size)
	return nil
}

func (f *memFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable(); err != nil {
		return 0, pathError("stat", f.name, err)
	}
	return int64(len(f.node.data)), nil
}

// Close works after a crash too, so that what was opened can be let go.
func (f *memFile) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.closed = true
	return nil
}
