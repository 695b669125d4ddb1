package cluster

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"mayfly/fsm"
	"mayfly/queue"
)

// machine satisfies raft.FSM for a queue: it feeds committed entries to the pure
// machine, tells the store which bodies live, and, while this node leads, hands
// the effects to the outbox. All of it runs on the goroutine that applies.
type machine struct {
	g   *group
	fsm *fsm.Machine
	out queue.Outcome

	leadTerm atomic.Uint64 // term this node leads, 0 if none; set before its first entry is proposed
	resumed  uint64        // term whose outstanding effects were derived from state
	replayed uint64        // entries up to here were stored by an earlier run of this node
	halted   atomic.Bool
	answers  []any
}

func newMachine(g *group) *machine { return &machine{g: g, fsm: fsm.New()} }

// ApplyBatch is hop 6 of a publish (ARCHITECTURE.md).
func (m *machine) ApplyBatch(logs []*raft.Log) []any {
	for _, l := range logs {
		if l.Type == raft.LogCommand {
			m.apply(l.Index, l.Term, l.Data)
		}
	}
	if len(logs) > 0 {
		m.note(logs[len(logs)-1].Index)
	}
	if cap(m.answers) < len(logs) {
		m.answers = make([]any, len(logs))
	}
	return m.answers[:len(logs)]
}

func (m *machine) Apply(l *raft.Log) any {
	if l.Type == raft.LogCommand {
		m.apply(l.Index, l.Term, l.Data)
		m.note(l.Index)
	}
	return nil
}

// apply runs one entry through the machine. An entry that cannot be decoded, or
// that breaks an invariant, stops this replica: better absent than different.
func (m *machine) apply(index, term uint64, data []byte) {
	if m.halted.Load() {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			m.halt(fmt.Errorf("apply entry %d: %v", index, r))
		}
	}()
	m.out.Reset()
	if err := m.fsm.Apply(index, data, &m.out); err != nil {
		m.halt(fmt.Errorf("apply entry %d: %w", index, err))
		return
	}
	b := m.g.bodies
	if m.out.Live > 0 {
		b.Live(index, m.out.Live)
	}
	for _, r := range m.out.Released {
		b.Release(r.Index, r.N)
	}
	lead := term != 0 && term == m.leadTerm.Load()
	if !lead {
		for _, r := range m.out.Settled {
			b.Release(r.Index, r.N)
		}
		return
	}
	m.count() // before anybody hears of it: who was confirmed must not find the queue empty
	if m.resumed != term {
		m.resumed = term
		m.resume()
	} else {
		m.effects()
	}
	m.g.setWake(m.out.Wake, m.out.More)
}

// effects gives the outbox what Apply returned; letters go to the forwarder with
// what they say, since the box belongs to this goroutine.
func (m *machine) effects() {
	for i := range m.out.Effects {
		switch e := &m.out.Effects[i]; e.Kind {
		case queue.EffectForward:
			if l, ok := m.fsm.Letter(e.N); ok {
				m.g.letters.take(l)
			}
		case queue.EffectGone:
			m.g.ended.Store(true) // before anybody hears of it
		}
	}
	m.g.outbox.push(m.out.Effects)
}

// resume hands the outbox everything that is outstanding by state alone: all of
// failover (design.md, principle 3). What the term's first entry itself assigned
// is told by that; only what it settled at once is in no state any more.
func (m *machine) resume() {
	wake, more := m.out.Wake, m.out.More
	m.g.outbox.push(slices.DeleteFunc(m.out.Effects, func(e queue.Effect) bool {
		return e.Kind != queue.EffectDeliver || !e.Delivery.Settled
	}))
	m.out.Reset()
	m.fsm.Resume(&m.out)
	m.effects()
	m.out.Wake, m.out.More = wake, more
}

func (m *machine) halt(err error) {
	m.halted.Store(true)
	m.g.node.later(func() { m.g.fail(err) })
}

// note publishes the counts and the time that others read, after the entries up
// to index. Replayed ones say nothing about when they came (queueClock.anchor).
func (m *machine) note(index uint64) {
	m.count()
	m.g.lastStamp.Store(int64(m.fsm.Stamp()))
	if index > m.replayed {
		m.g.lastBoot.Store(int64(m.g.node.clock.Boot()))
	}
	m.g.replayable()
}

// count publishes the counts if they changed.
func (m *machine) count() {
	if s := m.fsm.Stat(); s != *m.g.stat.Load() {
		changed := s
		m.g.stat.Store(&changed)
	}
}

// Snapshot captures the state by reference; it is written while applying goes on.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	if m.halted.Load() {
		return nil, errGroupFailed
	}
	return snapshot{m.fsm.Snapshot()}, nil
}

// Restore replaces the state, and counts for the store which bodies live.
func (m *machine) Restore(r io.ReadCloser) error {
	defer r.Close()
	f, err := fsm.Restore(r)
	if err != nil {
		return fmt.Errorf("restore queue %d: %w", m.g.id, err)
	}
	m.fsm = f
	var run uint64
	var n uint32
	f.EachRef(func(index uint64) {
		if index != run && n > 0 {
			m.g.bodies.Live(run, n)
			n = 0
		}
		run = index
		n++
	})
	if n > 0 {
		m.g.bodies.Live(run, n)
	}
	m.count()
	m.g.lastStamp.Store(int64(f.Stamp()))
	return nil
}

type snapshot struct{ s *fsm.Snapshot }

func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := s.s.WriteTo(sink); err != nil {
		sink.Cancel()
		return err
	}
	return sink.Close()
}

func (s snapshot) Release() {}

var _ raft.BatchingFSM = (*machine)(nil)
