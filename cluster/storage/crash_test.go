package storage

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"mayfly/cluster/storage/vfs"
	"mayfly/internal/clock"
)

// Crash-point enumeration (reliability.md 3.3). A script of acknowledged steps
// is run once per storage operation and cut after it; every legal remainder of
// the disk is recovered and must equal the state after some step that the crash
// may have reached: all acknowledged steps, and possibly part of the next one.

var fullCrash = flag.Bool("fullcrash", false, "try every subset at each crash point, not a sample")

// world is what the script has been told is durable.
type world map[uint64]*groupModel

type groupModel struct {
	First, Last    uint64
	Terms          map[uint64]uint64 // of the entries in the log
	Live           map[uint64]uint64 // live bodies below it: index to term
	Term, VoteTerm uint64
	VoteFor        string
	Snapshot       uint64
}

const modelSize = 700 // of every entry's data

func (w world) clone() world {
	c := make(world, len(w))
	for id, g := range w {
		n := *g
		n.Terms, n.Live = maps.Clone(g.Terms), maps.Clone(g.Live)
		c[id] = &n
	}
	return c
}

func (w world) group(id uint64) *groupModel {
	if w[id] == nil {
		w[id] = &groupModel{Terms: map[uint64]uint64{}, Live: map[uint64]uint64{}}
	}
	return w[id]
}

// script runs steps against an engine and keeps the worlds that a crash now may
// be recovered to.
type script struct {
	t      *testing.T
	e      *Engine
	err    error // the crash
	now    world
	before world   // as acknowledged
	maybe  []world // what the step in progress may have made of it, in turn
}

// step does something durable. after holds the worlds it goes through.
func (s *script) step(do func() error, after ...world) {
	if s.err != nil {
		return
	}
	s.maybe = after
	if s.err = do(); s.err != nil {
		return
	}
	s.now = after[len(after)-1]
	s.before, s.maybe = s.now, nil
}

func (s *script) group(id uint64) *Group {
	g, err := s.e.Group(id)
	if err != nil && s.err == nil {
		s.err = err
	}
	return g
}

func (s *script) append(id, from, to, term uint64) {
	g := s.group(id)
	if s.err != nil {
		return
	}
	var logs []*raft.Log
	var after []world
	w := s.now
	for i := from; i <= to; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: term, Data: body(id, i, term, modelSize)})
		w = w.clone()
		m := w.group(id)
		if m.Last < m.First || m.First == 0 {
			m.First = i
		}
		m.Last = i
		m.Terms[i] = term
		after = append(after, w)
	}
	s.step(func() error { return g.StoreLogs(logs) }, after...)
}

func (s *script) truncate(id, from uint64) {
	g := s.group(id)
	w := s.now.clone()
	m := w.group(id)
	last := m.Last
	m.Last = from - 1
	maps.DeleteFunc(m.Terms, func(i, _ uint64) bool { return i >= from })
	s.step(func() error { return g.DeleteRange(from, last) }, w)
}

func (s *script) compact(id, to uint64) {
	g := s.group(id)
	w := s.now.clone()
	m := w.group(id)
	first := m.First
	for i := first; i <= to; i++ {
		delete(m.Terms, i)
	}
	m.First = to + 1
	s.step(func() error { return g.DeleteRange(first, to) }, w)
}

// live marks bodies; it is not stored, so every world agrees at once.
func (s *script) live(id, index uint64) {
	if s.err != nil {
		return
	}
	s.group(id).Live(index, 1)
	s.now = s.now.clone()
	m := s.now.group(id)
	m.Live[index] = m.Terms[index]
	s.before = s.now
}

func (s *script) vote(id, term uint64, who string) {
	g := s.group(id)
	w1 := s.now.clone()
	w1.group(id).Term = term
	s.step(func() error { return g.SetUint64([]byte(keyTerm), term) }, w1)
	if s.err != nil {
		return
	}
	w2 := s.now.clone()
	m := w2.group(id)
	m.VoteTerm, m.VoteFor = term, who
	s.step(func() error {
		if err := g.SetUint64([]byte(keyVoteTerm), term); err != nil {
			return err
		}
		return g.Set([]byte(keyVoteFor), []byte(who))
	}, w2)
}

func snapState(id, index uint64) string {
	return fmt.Sprintf("state of %d at %d ", id, index) + string(body(id, index, 0, 5000))
}

func (s *script) snapshot(id, index uint64) {
	g := s.group(id)
	w := s.now.clone()
	w.group(id).Snapshot = index
	s.step(func() error {
		k, err := g.Snapshots().Create(1, index, 1, raft.Configuration{}, 1, nil)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(k, snapState(id, index)); err != nil {
			return err
		}
		return k.Close()
	}, w)
}

func (s *script) remove(id uint64) {
	w := s.now.clone()
	delete(w, id)
	s.step(func() error { return s.e.Remove(id) }, w)
}

// settle lets the writer reclaim.
func (s *script) settle() {
	s.step(func() error {
		for freed := ^uint64(0); s.e.Stats().Freed != freed || s.e.hint.Load(); {
			freed = s.e.Stats().Freed
			s.e.hinted()
			if err := syncAll(s.e); err != nil {
				return err
			}
		}
		return nil
	}, s.now)
}

// observe reads a recovered engine as a world.
func observe(e *Engine, live world) (world, error) {
	w := world{}
	for _, id := range e.Groups() {
		g, err := e.Group(id)
		if err != nil {
			return nil, err
		}
		m, err := observeGroup(g)
		if err != nil {
			return nil, err
		}
		if l := live[id]; l != nil {
			for i := range l.Live {
				g.Live(i, 1)
			}
		}
		g.LiveKnown()
		if l := live[id]; l != nil {
			for i, term := range l.Live {
				b, err := g.Entry(i)
				if err != nil {
					return nil, err
				}
				if string(b) != string(body(id, i, term, modelSize)) {
					return nil, fmt.Errorf("live body %d of group %d differs", i, id)
				}
				m.Live[i] = term
			}
		}
		w[id] = m
	}
	return w, nil
}

func observeGroup(g *Group) (*groupModel, error) {
	m := &groupModel{Terms: map[uint64]uint64{}, Live: map[uint64]uint64{}}
	g.mu.RLock() // the engine is at work already: it carries state forward
	m.First, m.Last = g.bounds.first, g.bounds.last
	g.mu.RUnlock()
	for i := max(m.First, 1); i <= m.Last; i++ {
		var l raft.Log
		if err := g.GetLog(i, &l); err == raft.ErrLogNotFound {
			continue
		} else if err != nil {
			return nil, err
		}
		if string(l.Data) != string(body(g.id, i, l.Term, modelSize)) {
			return nil, fmt.Errorf("entry %d of group %d differs", i, g.id)
		}
		m.Terms[i] = l.Term
	}
	m.Term, _ = g.GetUint64([]byte(keyTerm))
	m.VoteTerm, _ = g.GetUint64([]byte(keyVoteTerm))
	who, _ := g.Get([]byte(keyVoteFor))
	m.VoteFor = string(who)
	list, err := g.Snapshots().List()
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		m.Snapshot = list[0].Index
		_, r, err := g.Snapshots().Open(list[0].ID)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		if string(b) != snapState(g.id, m.Snapshot) {
			return nil, fmt.Errorf("snapshot %d of group %d differs", m.Snapshot, g.id)
		}
		return m, r.Close()
	}
	return m, nil
}

func crashOptions() Options {
	return Options{SegmentSize: minSegment, Spares: 2, inline: true, Clock: clock.NewFake()}
}

// recovered opens what a crash left and compares. It then goes on working, cuts
// the power again, and compares once more.
func (s *script) recovered(fs *vfs.Mem) error {
	e, err := Open(fs, "log", crashOptions())
	if err != nil {
		if s.e == nil && errors.Is(err, ErrDamaged) {
			return fmt.Errorf("directory of an unfinished first start: %w", err)
		}
		return err
	}
	got, err := observe(e, s.before)
	if err != nil {
		return err
	}
	ok := false
	for _, w := range append([]world{s.before}, s.maybe...) {
		ok = ok || sameWorld(got, w)
	}
	if !ok {
		return fmt.Errorf("recovered\n%s, acknowledged\n%s, and perhaps part of\n%s", got, s.before, lastWorld(s.maybe))
	}
	g, err := e.Group(77)
	if err != nil {
		return err
	}
	if err := g.StoreLog(&raft.Log{Index: 1, Term: 1, Data: body(77, 1, 1, modelSize)}); err != nil {
		return err
	}
	m := got.group(77)
	m.First, m.Last, m.Terms[1] = 1, 1, 1
	e2, err := Open(fs.Crash(vfs.None), "log", crashOptions())
	if err != nil {
		return fmt.Errorf("after a second power cut: %w", err)
	}
	again, err := observe(e2, s.before)
	if err != nil {
		return fmt.Errorf("after a second power cut: %w", err)
	}
	if !sameWorld(again, got) {
		return fmt.Errorf("after a second power cut\n%s, want\n%s", again, got)
	}
	return errors.Join(e.Close(), e2.Close())
}

// sameWorld: a group that is there but holds nothing equals one that is not.
func sameWorld(a, b world) bool {
	norm := func(w world) world {
		c := w.clone()
		for id, g := range c {
			if g.Last < g.First || g.First == 0 {
				g.First, g.Last = 0, 0
			}
			if len(g.Terms) == 0 && len(g.Live) == 0 && g.Term == 0 && g.VoteTerm == 0 && g.Snapshot == 0 {
				delete(c, id)
			}
		}
		return c
	}
	return reflect.DeepEqual(norm(a), norm(b))
}

func lastWorld(ws []world) world {
	if len(ws) == 0 {
		return nil
	}
	return ws[len(ws)-1]
}

func (w world) String() string {
	out := ""
	for _, id := range slices.Sorted(maps.Keys(w)) {
		g := w[id]
		out += fmt.Sprintf("  group %d: log %d..%d (%d entries), term %d, vote %d for %q, snapshot %d, %d live\n",
			id, g.First, g.Last, len(g.Terms), g.Term, g.VoteTerm, g.VoteFor, g.Snapshot, len(g.Live))
	}
	return out
}

// subsets are the remainders that are tried at one crash point.
func subsets(pending int, r *rand.Rand) []vfs.Keep {
	ks := []vfs.Keep{vfs.None}
	if pending == 0 {
		return ks
	}
	ks = append(ks, vfs.All)
	for _, n := range []int{1, 511, 512, 4095, 4096} {
		ks = append(ks, vfs.Torn(n))
	}
	singles := r.Perm(pending)
	random := 20
	if !*fullCrash {
		singles, random = singles[:min(pending, 4)], 6
	}
	for _, k := range singles {
		ks = append(ks, vfs.Without(k), vfs.Only(k))
	}
	if pending < 3 {
		return ks
	}
	for range random {
		chosen := make([]bool, pending)
		for i := range chosen {
			chosen[i] = r.IntN(2) == 0
		}
		ks = append(ks, func(i, _, size int) int {
			if chosen[i] {
				return size
			}
			return 0
		})
	}
	return ks
}

// runScript runs steps until they end or the file system crashes.
func runScript(t *testing.T, fs *vfs.Mem, steps func(s *script)) *script {
	s := &script{t: t, now: world{}, before: world{}}
	s.e, s.err = Open(fs, "log", crashOptions())
	if s.err != nil {
		return s
	}
	steps(s)
	if s.err != nil && s.e.Err() == nil {
		t.Fatalf("script: %v", s.err)
	}
	if s.err == nil {
		s.err = s.e.Close()
	} else if _, err := s.e.Group(1); err == nil {
		t.Fatal("a failed engine answers as if nothing had happened (S3)")
	}
	return s
}

// enumerate cuts the script after each of its storage operations.
func enumerate(t *testing.T, steps func(s *script)) {
	whole := vfs.NewMem()
	if s := runScript(t, whole, steps); s.err != nil {
		t.Fatalf("without a crash: %v", s.err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	tried := 0
	for n := range whole.Operations() + 1 {
		fs := vfs.NewMem()
		fs.CrashAfter(n)
		s := runScript(t, fs, steps)
		for _, keep := range subsets(fs.Pending(), r) {
			tried++
			if err := s.recovered(fs.Crash(keep)); err != nil {
				t.Fatalf("crash after operation %d of %d, %d units pending, case %d: %v", n, whole.Operations(), fs.Pending(), tried, err)
			}
		}
	}
	t.Logf("%d operations, %d recoveries", whole.Operations(), tried)
}
