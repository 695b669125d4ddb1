package vfs

import (
	"io"
	"path"
)

// FS is what storage asks of a file system. Names are slash-separated paths.
// Errors wrap io/fs's (fs.ErrNotExist, fs.ErrExist) as package os does. All
// methods may be called from any goroutine.
type FS interface {
	// MkdirAll makes a directory and its parents; one that exists is fine.
	MkdirAll(dir string) error
	// Create makes a new file open for reading and writing; an old one of that
	// name is emptied. The name is durable only after SyncDir.
	Create(name string) (File, error)
	// Open opens for reading.
	Open(name string) (File, error)
	// OpenReadWrite opens an existing file for both.
	OpenReadWrite(name string) (File, error)
	// Remove unlinks a file. Open files stay readable.
	Remove(name string) error
	// Rename replaces what had the new name. Durable only after SyncDir.
	Rename(from, to string) error
	// List names the entries of a directory, sorted.
	List(dir string) ([]Info, error)
	// Stat describes a file.
	Stat(name string) (Info, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
	// Lock takes an exclusive lock on a file that it makes if need be, or fails
	// at once. The lock ends with Close or with the process.
	Lock(name string) (io.Closer, error)
	// Space tells how much is free to this process, and how much there is in all.
	Space(dir string) (free, total uint64, err error)
}

// File is one open file. Calls at different offsets may run at the same time.
type File interface {
	io.ReaderAt
	io.WriterAt
	// WriteAtv writes the buffers one after another, starting at off, with as
	// few system calls as the system allows. Writing less is an error.
	WriteAtv(bufs [][]byte, off int64) error
	// Sync makes content and size durable (fdatasync). After an error the state
	// of what was written is unknown and must not be synced again (S3).
	Sync() error
	// Truncate sets the size; growth reads as zeros.
	Truncate(size int64) error
	Size() (int64, error)
	Close() error
}

// Info describes a directory entry.
type Info struct {
	Name string // without the directory
	Size int64
	Dir  bool
}

// ReadFile reads a small file whole. Its size decides what is allocated, so it
// is for files of our own.
func ReadFile(fs FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !(err == io.EOF && size == 0) {
		return nil, err
	}
	return b, nil
}

// WriteFile puts a small file in place atomically and durably: whoever reads
// the name later, even after a power cut, finds all of the old or all of the new.
func WriteFile(fs FS, name string, b []byte) error {
	tmp := name + ".tmp"
	f, err := fs.Create(tmp)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(b, 0); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := fs.Rename(tmp, name); err != nil {
		return err
	}
	return fs.SyncDir(path.Dir(name))
}
