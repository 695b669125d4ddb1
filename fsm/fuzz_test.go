package fsm_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"mayfly/fsm"
	"mayfly/fsm/fsmtest"
)

// FuzzDecode is F5: Apply and a second decoder must agree on what is an entry; what
// is one survives being encoded again; no bytes bring the machine out of order.
func FuzzDecode(f *testing.F) {
	for _, c := range wireSamples() {
		e := fsmtest.Entry{Stamp: 1000, Commands: []fsmtest.Command{c, c}}
		f.Add(e.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := fsm.New()
		var out fsm.Outcome
		applied := m.Apply(1, data, &out)
		e, decoded := fsmtest.Decode(data)
		if (applied == nil) != (decoded == nil) {
			t.Fatalf("the machine says %v, the decoder %v", applied, decoded)
		}
		if applied != nil {
			return
		}
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		again, err := fsmtest.Decode(e.Bytes())
		if err != nil {
			t.Fatalf("encoded again, it cannot be decoded: %v", err)
		}
		if !bytes.Equal(again.Bytes(), e.Bytes()) {
			t.Fatal("encoding is not stable")
		}
		twin := fsm.New()
		if err := twin.Apply(1, e.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
	})
}

// byteSource makes decisions of a walk from fuzzed bytes. A counter is mixed in, or
// a run of equal bytes would be rejected by rand for ever.
type byteSource struct {
	b []byte
	n uint64
}

func (s *byteSource) Uint64() uint64 {
	var v [8]byte
	s.b = s.b[copy(v[:2], s.b):]
	s.n++
	return (binary.LittleEndian.Uint64(v[:])<<32 + s.n) * 0x9E3779B97F4A7C15
}

// FuzzApply is F6: bytes make a sequence of commands; two replicas, of which one is
// restored from a snapshot at fuzzed places, and the model agree after each entry.
func FuzzApply(f *testing.F) {
	for seed := range uint64(20) {
		var b []byte
		for i := range uint64(200) {
			b = binary.LittleEndian.AppendUint64(b, (seed+1)*(i+7)*0xC2B2AE3D27D4EB4F)
		}
		f.Add(b, seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, every bool) {
		src := &byteSource{b: data}
		w := fsmtest.Walk{Source: src, More: func() bool { return len(src.b) > 0 }, Steps: 120, Restore: every}
		if err := w.Run(); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzRestore is F8: a snapshot is refused, or it is a machine in order that gives
// the same snapshot again.
func FuzzRestore(f *testing.F) {
	for seed := range uint64(6) {
		w := fsmtest.Walk{Seed: seed + 1, Steps: 40 * int(seed+1)}
		if err := w.Run(); err != nil {
			f.Fatal(err)
		}
		var b bytes.Buffer
		w.Machine().Snapshot().WriteTo(&b)
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := fsm.Restore(bytes.NewReader(data))
		if err != nil {
			return
		}
		if err := m.Check(); err != nil {
			t.Fatalf("restored and out of order: %v", err)
		}
		var first, second bytes.Buffer
		m.Snapshot().WriteTo(&first)
		again, err := fsm.Restore(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatalf("its own snapshot is refused: %v", err)
		}
		if again.Snapshot().WriteTo(&second); !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatal("two snapshots of one state differ")
		}
		var out fsm.Outcome
		tick := fsm.AppendHeader(nil)
		fsm.PutStamp(tick, m.Stamp().Add(1000))
		if m.Applied() < 1<<63 {
			if err := m.Apply(m.Applied()+1, tick, &out); err != nil {
				t.Fatal(err)
			}
		}
	})
}
