package fsm

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"mayfly/queue"
)

// A snapshot is: magic, version, index of the last entry, the queue's image. It
// holds state, no bodies. Its integrity is the store's business.
const snapshotMagic = 'M'

// Snapshot is a machine's state at one moment. It is cheap to take, and may be
// written by another goroutine while the machine goes on.
type Snapshot struct {
	applied uint64
	image   *queue.Image
}

// Snapshot takes the state.
func (m *Machine) Snapshot() *Snapshot {
	return &Snapshot{applied: m.applied, image: m.q.Image()}
}

// Applied is the index of the last entry in it.
func (s *Snapshot) Applied() uint64 { return s.applied }

// WriteTo writes the snapshot. Equal states give equal bytes.
func (s *Snapshot) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(binary.AppendUvarint([]byte{snapshotMagic, Version}, s.applied))
	if err != nil {
		return int64(n), err
	}
	more, err := s.image.WriteTo(w)
	return int64(n) + more, err
}

// Restore reads a snapshot, and refuses one that does not fit together.
func Restore(r io.Reader) (*Machine, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var head [2]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	if head[0] != snapshotMagic || head[1] == 0 || head[1] > Version {
		return nil, fmt.Errorf("read snapshot: no snapshot of a queue of version 1 to %d", Version)
	}
	applied, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	q, err := queue.Load(in)
	if err != nil {
		return nil, err
	}
	return &Machine{q: q, applied: applied}, nil
}
