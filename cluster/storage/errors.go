package storage

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed answers calls after Close.
	ErrClosed = errors.New("storage is closed")
	// ErrRemoved answers calls on a handle whose group was removed.
	ErrRemoved = errors.New("group was removed")
	// ErrNotFound means that the entry is not stored, or its bodies are no longer live.
	ErrNotFound = errors.New("entry is not stored")
	// ErrDamaged is what every DamageError is: data at or below the durable
	// watermark cannot be trusted. It is never served and never cut away (S5).
	ErrDamaged = errors.New("stored data is damaged")
	// ErrTooLarge refuses an entry above MaxEntry.
	ErrTooLarge = errors.New("entry is too large to store")
	// ErrOrder refuses an entry below the first index of a log that is not empty,
	// and the deletion of a range in the middle.
	ErrOrder = errors.New("not at an end of the log")
)

// DamageError says where the damage is.
type DamageError struct {
	File   string
	Offset int64
	What   string
}

func (d *DamageError) Error() string {
	return fmt.Sprintf("%s: %s at %d: %s", ErrDamaged, d.File, d.Offset, d.What)
}

// Is makes errors.Is(err, ErrDamaged) hold.
func (d *DamageError) Is(target error) bool { return target == ErrDamaged }

func damaged(file string, off int64, what string) error {
	return &DamageError{File: file, Offset: off, What: what}
}
