package vfs

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxVec is the kernel's IOV_MAX.
const maxVec = 1024

func (f *osFile) WriteAtv(bufs [][]byte, off int64) error {
	for len(bufs) > 0 {
		part := bufs[:min(len(bufs), maxVec)]
		want := 0
		for _, b := range part {
			want += len(b)
		}
		n, err := unix.Pwritev(f.fd, part, off)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "pwritev", Path: f.Name(), Err: err}
		}
		off += int64(n)
		if n == want {
			bufs = bufs[len(part):]
			continue
		}
		// The kernel stops short at a full disk, at its 2 GiB limit and at
		// signals; only the first is an error, and asking again tells which.
		if n == 0 {
			return &os.PathError{Op: "pwritev", Path: f.Name(), Err: io.ErrShortWrite}
		}
		rest, err := f.finishShort(part, n, off)
		if err != nil {
			return err
		}
		off += rest
		bufs = bufs[len(part):]
	}
	return nil
}

// finishShort writes what a short pwritev of part left over after n bytes, and
// returns how much that was. The caller's slices stay as they are.
func (f *osFile) finishShort(part [][]byte, n int, off int64) (int64, error) {
	start := off
	for _, b := range part {
		if n >= len(b) {
			n -= len(b)
			continue
		}
		if _, err := f.WriteAt(b[n:], off); err != nil {
			return 0, err
		}
		off += int64(len(b) - n)
		n = 0
	}
	return off - start, nil
}

func (f *osFile) Sync() error {
	for {
		switch err := unix.Fdatasync(f.fd); err {
		case nil:
			return nil
		case unix.EINTR: // a signal, not a failure of the disk
		default:
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}

func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}

func (osFS) Space(dir string) (free, total uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize), nil
}
