package fsm_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"mayfly/fsm"
	"mayfly/fsm/fsmtest"
	"mayfly/queue"
)

// TestSnapshotBeside: a snapshot is written by another goroutine while the machine
// goes on, and says what was, not what is (run with -race).
func TestSnapshotBeside(t *testing.T) {
	m := fsm.New()
	var out fsm.Outcome
	index, seq := uint64(0), uint64(0)
	step := func(settle ...queue.Pos) {
		index++
		e := fsmtest.Entry{Stamp: 1000}
		for range 50 {
			seq++
			e.Commands = append(e.Commands, fsmtest.Command{Op: fsmtest.Publish, Session: 1, Seq: seq, Message: queue.Message{TTL: queue.NoTTL}})
		}
		e.Commands = append(e.Commands, fsmtest.Command{Op: fsmtest.Settle, Session: 2, Positions: settle})
		if err := m.Apply(index, e.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
	}
	index++
	first := fsmtest.Entry{Stamp: 1000, Commands: []fsmtest.Command{{Op: fsmtest.Attach, Session: 2, Seq: 1, Spec: queue.ConsumerSpec{Number: 1, Prefetch: 3000}}}}
	if err := m.Apply(index, first.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		step()
	}
	var done sync.WaitGroup
	for round := range queue.Pos(20) {
		var now, later bytes.Buffer
		stat, s := m.Stat(), m.Snapshot()
		m.Snapshot().WriteTo(&now)
		done.Go(func() {
			if _, err := s.WriteTo(&later); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(now.Bytes(), later.Bytes()) {
				t.Error("the snapshot changed while the machine went on")
			}
			r, err := fsm.Restore(&later)
			if err != nil || r.Stat() != stat || r.Applied() != s.Applied() {
				t.Errorf("restored %+v, %v, should be %+v", r, err, stat)
			}
		})
		for i := range queue.Pos(10) {
			step(round*30+i*3+1, round*30+i*3+2, round*30+i*3+3)
		}
	}
	done.Wait()
}

// TestRestoreRefuses: a snapshot that is cut or changed anywhere is refused or is a
// machine in order; it never panics.
func TestRestoreRefuses(t *testing.T) {
	w := fsmtest.Walk{Seed: 7, Steps: 120}
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w.Machine().Snapshot().WriteTo(&b)
	whole := b.Bytes()
	for n := range whole {
		if _, err := fsm.Restore(bytes.NewReader(whole[:n])); err == nil {
			t.Fatalf("restored from %d of %d bytes", n, len(whole))
		}
		changed := bytes.Clone(whole)
		changed[n] ^= 0x41
		if m, err := fsm.Restore(bytes.NewReader(changed)); err == nil {
			if err := m.Check(); err != nil {
				t.Fatalf("byte %d changed: %v", n, err)
			}
		}
	}
}

// TestSnapshotWriteFails: the error of the writer comes out.
func TestSnapshotWriteFails(t *testing.T) {
	if _, err := fsm.New().Snapshot().WriteTo(broken{}); err == nil {
		t.Error("no error")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestFlowDoesNotAllocate: a message that comes, is assigned and is settled costs
// no allocation.
func TestFlowDoesNotAllocate(t *testing.T) {
	m := fsm.New()
	var out fsm.Outcome
	index := uint64(0)
	apply := func(data []byte) {
		index++
		if err := m.Apply(index, data, &out); err != nil {
			t.Fatal(err)
		}
	}
	apply(fsm.AppendAttach(fsm.AppendHeader(nil), 2, 1, queue.ConsumerSpec{Number: 1, Prefetch: 1000}))
	const batch = 64
	data := make([]byte, 0, 16<<10)
	settled := make([]queue.Pos, batch)
	msg := queue.Message{Exchange: []byte("x"), Key: []byte("k"), Body: make([]byte, 100), TTL: queue.NoTTL}
	seq, pos := uint64(0), queue.Pos(1)
	round := func() {
		data = fsm.AppendHeader(data[:0])
		for range batch {
			seq++
			data = fsm.AppendEnqueue(data, 1, seq, &msg)
		}
		for i := range settled {
			settled[i] = pos
			pos++
		}
		apply(data)
		data = fsm.AppendSettle(fsm.AppendHeader(data[:0]), 2, settled)
		apply(data)
	}
	for range 100 {
		round()
	}
	if n := testing.AllocsPerRun(200, round); n > 1 {
		t.Errorf("%v allocations for %d messages", n, batch)
	}
	if s := m.Stat(); s.Unacked != 0 || s.Ready != 0 {
		t.Errorf("%+v", s)
	}
}
