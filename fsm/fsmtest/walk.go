package fsmtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"mayfly/fsm"
	"mayfly/queue"
)

// Walk is a random walk: entries made up from a seed go to two machines and to the
// model, and after each of them everything must agree.
type Walk struct {
	Seed    uint64
	Steps   int
	Restore bool // snapshot and restore the second machine before each step, else before every 64th

	// Source makes the decisions in place of the seed, while More says so.
	Source rand.Source
	More   func() bool

	rng      *rand.Rand
	a, b     *fsm.Machine
	model    *Model
	bodies   map[uint64]int64 // live bodies by log entry, as outcomes tell
	sessions []*walkSession
	births   uint32
	stamp    int64
	index    uint64
	cfg      queue.Config
	granted  map[queue.Pos]queue.SessionID // assignments told and not ended, as a client sees them
	letters  []uint64
	ended    bool

	Done   map[Op]int // commands made
	Deaths uint64
}

type walkSession struct {
	id        queue.SessionID
	seq       uint64
	sent      []Command // numbered ones, for repeats
	consumers map[uint32]queue.ConsumerSpec
	got       map[uint32]uint64
	number    uint32
}

// Run walks. The error names the seed and the step.
func (w *Walk) Run() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
		if err != nil {
			err = fmt.Errorf("seed %d, step %d of %d: %w", w.Seed, w.index, w.Steps, err)
		}
	}()
	w.start()
	for range w.Steps {
		if w.More != nil && !w.More() {
			return nil
		}
		if w.ended && w.rng.IntN(8) == 0 {
			w.open()
		}
		e := w.entry()
		if err := w.step(&e); err != nil {
			return err
		}
	}
	return nil
}

// Machine is the first of the two.
func (w *Walk) Machine() *fsm.Machine { return w.a }

func (w *Walk) start() {
	if w.Source == nil {
		w.Source = rand.NewPCG(w.Seed, 0x6d6179666c79)
	}
	w.rng = rand.New(w.Source)
	w.stamp = 1_000_000
	w.Done = map[Op]int{}
	w.cfg = w.config(queue.Defaults())
	w.open()
}

// open begins with a new queue.
func (w *Walk) open() {
	w.a, w.b, w.model = fsm.New(), fsm.New(), NewModel()
	w.bodies, w.granted = map[uint64]int64{}, map[queue.Pos]queue.SessionID{}
	w.letters, w.sessions, w.ended = nil, nil, false
	for range 3 {
		w.join()
	}
}

// join adds a session.
func (w *Walk) join() {
	w.births++
	id := queue.SessionID(uint64(1+w.rng.IntN(3))<<32 | uint64(w.births))
	w.sessions = append(w.sessions, &walkSession{id: id, consumers: map[uint32]queue.ConsumerSpec{}, got: map[uint32]uint64{}})
}

func (w *Walk) step(e *Entry) error {
	w.index++
	data := e.Bytes()
	if w.Restore || w.index%64 == 0 {
		if err := w.restore(); err != nil {
			return err
		}
	}
	var outA, outB fsm.Outcome
	frozen := w.a.Snapshot()
	if w.index%16 != 0 {
		frozen = nil
	}
	var before bytes.Buffer
	if frozen != nil {
		frozen.WriteTo(&before)
	}
	if err := w.a.Apply(w.index, data, &outA); err != nil {
		return err
	}
	if err := w.b.Apply(w.index, data, &outB); err != nil {
		return err
	}
	if frozen != nil { // what is frozen does not change under a later Apply
		var after bytes.Buffer
		if frozen.WriteTo(&after); !bytes.Equal(before.Bytes(), after.Bytes()) {
			return fmt.Errorf("a snapshot changed after it was taken")
		}
	}
	if err := w.compare(e, &outA, &outB); err != nil {
		return fmt.Errorf("%w\nentry: %s", err, e)
	}
	w.learn(&outA)
	return nil
}

func (w *Walk) restore() error {
	var b bytes.Buffer
	if _, err := w.b.Snapshot().WriteTo(&b); err != nil {
		return err
	}
	image := slices.Clone(b.Bytes())
	m, err := fsm.Restore(&b)
	if err != nil {
		return err
	}
	w.b = m
	var again bytes.Buffer
	w.b.Snapshot().WriteTo(&again)
	if !bytes.Equal(image, again.Bytes()) {
		return fmt.Errorf("snapshot, restore, snapshot: other bytes")
	}
	return nil
}

// compare is invariant 4, the invariants in full, and the model.
func (w *Walk) compare(e *Entry, a, b *fsm.Outcome) error {
	switch {
	case w.a.Digest() != w.b.Digest():
		return fmt.Errorf("digests differ: %x and %x", w.a.Digest(), w.b.Digest())
	case !slices.Equal(a.Effects, b.Effects):
		return fmt.Errorf("effects differ:\n%s\nand\n%s", Words(a.Effects), Words(b.Effects))
	case !slices.Equal(a.Released, b.Released) || !slices.Equal(a.Settled, b.Settled):
		return fmt.Errorf("releases differ: %v %v and %v %v", a.Released, a.Settled, b.Released, b.Settled)
	case a.Live != b.Live || a.Wake != b.Wake || a.More != b.More:
		return fmt.Errorf("outcomes differ: %d %d %v and %d %d %v", a.Live, a.Wake, a.More, b.Live, b.Wake, b.More)
	}
	if err := w.a.Check(); err != nil {
		return err
	}
	if err := w.b.Check(); err != nil {
		return fmt.Errorf("second machine: %w", err)
	}
	if err := w.countBodies(a); err != nil {
		return err
	}
	want := w.model.Apply(w.index, e)
	got := slices.Clone(a.Effects)
	for i := range got {
		got[i].Delivery.Ref.Off, got[i].Delivery.Ref.Size = 0, 0
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the machine says:\n%s\nthe model says:\n%s", Words(got), Words(want))
	}
	return w.compareCounts()
}

func (w *Walk) compareCounts() error {
	m, s := w.model, w.a.Stat()
	ready := len(m.ready())
	if s.Ready != uint64(ready) || s.Unacked != uint64(len(m.messages)-ready) || s.Bytes != uint64(m.bytes()) || int(s.Consumers) != len(m.consumers) {
		return fmt.Errorf("the machine counts %+v, the model %d ready, %d in all, %d bytes, %d consumers", s, ready, len(m.messages), m.bytes(), len(m.consumers))
	}
	if n, _ := w.a.Letters(); n != len(m.letters) {
		return fmt.Errorf("%d letters, the model has %d", n, len(m.letters))
	}
	for _, l := range m.letters {
		got, ok := w.a.Letter(l.ID)
		got.Off, got.Size = 0, 0
		if !ok || got != l {
			return fmt.Errorf("letter %+v, the model has %+v", got, l)
		}
	}
	deaths := w.a.Counters().Deaths
	for reason, n := range deaths {
		if n != m.dead[dlxReason(reason)] {
			return fmt.Errorf("%d deaths of reason %v, the model counts %d", n, dlxReason(reason), m.dead[dlxReason(reason)])
		}
	}
	return nil
}

// countBodies checks that what outcomes say about bodies adds up to what the
// machine still refers to.
func (w *Walk) countBodies(out *fsm.Outcome) error {
	w.bodies[w.index] += int64(out.Live)
	for _, rs := range [][]fsm.Release{out.Released, out.Settled} {
		for _, r := range rs {
			w.bodies[r.Index] -= int64(r.N)
		}
	}
	refs := map[uint64]int64{}
	w.a.EachRef(func(index uint64) { refs[index]++ })
	for index, n := range w.bodies {
		if refs[index] != n {
			return fmt.Errorf("entry %d: outcomes leave %d bodies, the machine refers to %d", index, n, refs[index])
		}
		if n == 0 {
			delete(w.bodies, index)
		}
	}
	for index, n := range refs {
		if w.bodies[index] != n {
			return fmt.Errorf("entry %d: the machine refers to %d bodies, outcomes leave %d", index, n, w.bodies[index])
		}
	}
	return nil
}

// learn notes what clients would know.
func (w *Walk) learn(out *fsm.Outcome) {
	for i := range out.Effects {
		e := &out.Effects[i]
		switch e.Kind {
		case queue.EffectDeliver:
			if s := w.session(e.Session); s != nil {
				s.got[e.Consumer]++
			}
			if !e.Delivery.Settled {
				w.granted[e.Delivery.Pos] = e.Session
			}
		case queue.EffectGot:
			if e.Found && !e.Delivery.Settled {
				w.granted[e.Delivery.Pos] = e.Session
			}
		case queue.EffectForward:
			w.letters = append(w.letters, e.N)
			w.Deaths++
		case queue.EffectGone:
			w.ended = true
		}
	}
}

func (w *Walk) session(id queue.SessionID) *walkSession {
	for _, s := range w.sessions {
		if s.id == id {
			return s
		}
	}
	return nil
}
