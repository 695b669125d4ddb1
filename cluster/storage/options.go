package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"mayfly/internal/clock"
)

const (
	// MaxEntry bounds one entry's data and extensions together.
	MaxEntry = 1 << 30

	minSegment = 32 << 10
	maxSegment = 2 << 30

	defaultSegment   = 64 << 20
	defaultCache     = 32 << 20
	defaultBatch     = 4 << 20
	defaultReclaim   = 33
	defaultSpares    = 4
	defaultCopyRate  = 32 << 20
	defaultMarkAfter = 250 * time.Millisecond
)

// Options tune an engine. The zero value is fit for production.
type Options struct {
	// SegmentSize is the size of a log file in bytes; default 64 MiB.
	SegmentSize int64
	// CacheBytes bounds the entries kept in memory, all groups together: those
	// just stored and those read back. Beyond it the least recently used go.
	// It should exceed what is in flight, or followers re-read the disk. Default 32 MiB.
	CacheBytes int64
	// BatchBytes bounds one write; what does not fit waits for the next. Default 4 MiB.
	BatchBytes int64
	// ReclaimPercent: when less than this part of the sealed bytes is live, the
	// survivors of the emptiest segments are copied forward. Default 33.
	ReclaimPercent int
	// CopyBytesPerSecond bounds that copying. Default 32 MiB/s.
	CopyBytesPerSecond int64
	// Spares is how many used files wait to be written again; the rest is
	// deleted. At most one file is ever pre-written. Default 4.
	Spares int
	// MarkAfter is how long after the last write of a busy time the watermark
	// follows (between one and two times this). While the log stays busy it
	// follows every four times this. Default 250 ms.
	MarkAfter time.Duration
	// Clock is the time; default clock.Real.
	Clock clock.Clock
	// Logger gets what an operator must see; default discards.
	Logger *slog.Logger

	// inline keeps everything on the writer's goroutine, so that the sequence of
	// storage operations is the same in every run (crash-point enumeration).
	inline bool
}

func (o *Options) defaults() {
	if o.SegmentSize == 0 {
		o.SegmentSize = defaultSegment
	}
	o.SegmentSize = alignUp(o.SegmentSize)
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCache
	}
	if o.BatchBytes == 0 {
		o.BatchBytes = defaultBatch
	}
	if o.ReclaimPercent == 0 {
		o.ReclaimPercent = defaultReclaim
	}
	if o.CopyBytesPerSecond == 0 {
		o.CopyBytesPerSecond = defaultCopyRate
	}
	if o.Spares == 0 {
		o.Spares = defaultSpares
	}
	if o.MarkAfter == 0 {
		o.MarkAfter = defaultMarkAfter
	}
	if o.Clock == nil {
		o.Clock = clock.Real
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Validate reports the first setting that cannot work.
func (o Options) Validate() error {
	switch {
	case o.SegmentSize != 0 && (o.SegmentSize < minSegment || o.SegmentSize > maxSegment):
		return fmt.Errorf("segment size %d: want %d to %d bytes", o.SegmentSize, minSegment, maxSegment)
	case o.ReclaimPercent < 0 || o.ReclaimPercent > 90:
		return fmt.Errorf("reclaim percent %d: want 1 to 90", o.ReclaimPercent)
	case o.CacheBytes < 0 || o.BatchBytes < 0 || o.CopyBytesPerSecond < 0 || o.Spares < 0 || o.MarkAfter < 0:
		return errors.New("storage sizes, rates and times must not be negative")
	}
	return nil
}
