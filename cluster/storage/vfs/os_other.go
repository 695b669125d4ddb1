//go:build !linux

package vfs

import (
	"errors"
	"io"
	"os"
)

// Systems other than Linux are for development: one write per buffer, full
// fsync, no lock and no free space figures.

func (f *osFile) WriteAtv(bufs [][]byte, off int64) error {
	for _, b := range bufs {
		if _, err := f.WriteAt(b, off); err != nil {
			return err
		}
		off += int64(len(b))
	}
	return nil
}

func (f *osFile) Sync() error { return f.File.Sync() }

func (osFS) Lock(name string) (io.Closer, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
}

func (osFS) Space(string) (free, total uint64, err error) { return 0, 0, errors.ErrUnsupported }
