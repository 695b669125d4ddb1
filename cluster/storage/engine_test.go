package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/hashicorp/raft"

	"mayfly/cluster/storage/vfs"
)

func small() Options { return Options{SegmentSize: 64 << 10, inline: true} }

func mustOpen(t testing.TB, fs vfs.FS, o Options) *Engine {
	t.Helper()
	e, err := Open(fs, "log", o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return e
}

func mustGroup(t testing.TB, e *Engine, id uint64) *Group {
	t.Helper()
	g, err := e.Group(id)
	if err != nil {
		t.Fatalf("group %d: %v", id, err)
	}
	return g
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// body is the data that an entry of that group, index and term has.
func body(group, index, term uint64, size int) []byte {
	b := make([]byte, 0, size+8)
	r := rand.NewPCG(group<<32|index, term)
	for len(b) < size {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b[:size:size]
}

func entry(g *Group, index, term uint64, size int) *raft.Log {
	return &raft.Log{Index: index, Term: term, Data: body(g.id, index, term, size)}
}

// fill stores entries from..to one by one.
func fill(t testing.TB, g *Group, from, to, term uint64, size int) {
	t.Helper()
	for i := from; i <= to; i++ {
		must(t, g.StoreLog(entry(g, i, term, size)))
	}
}

// pack stores entries from..to at once, so that they lie close together.
func pack(t testing.TB, g *Group, from, to, term uint64, size int) {
	t.Helper()
	var logs []*raft.Log
	for i := from; i <= to; i++ {
		logs = append(logs, entry(g, i, term, size))
	}
	must(t, g.StoreLogs(logs))
}

func wantBounds(t testing.TB, g *Group, first, last uint64) {
	t.Helper()
	f, err := g.FirstIndex()
	must(t, err)
	l, err := g.LastIndex()
	must(t, err)
	if f != first || l != last {
		t.Fatalf("group %d: log is %d..%d, want %d..%d", g.id, f, l, first, last)
	}
}

func wantEntry(t testing.TB, g *Group, index, term uint64, size int) {
	t.Helper()
	var l raft.Log
	if err := g.GetLog(index, &l); err != nil {
		t.Fatalf("group %d entry %d: %v", g.id, index, err)
	}
	if l.Index != index || l.Term != term || !bytes.Equal(l.Data, body(g.id, index, term, size)) {
		t.Fatalf("group %d entry %d: got index %d term %d and %d bytes", g.id, index, l.Index, l.Term, len(l.Data))
	}
}

func wantBody(t testing.TB, g *Group, index, term uint64, size int) {
	t.Helper()
	b, err := g.Entry(index)
	if err != nil {
		t.Fatalf("body %d of group %d: %v", index, g.id, err)
	}
	if !bytes.Equal(b, body(g.id, index, term, size)) {
		t.Fatalf("body %d of group %d differs", index, g.id)
	}
}

func TestStoreAndReopen(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, small())
	g := mustGroup(t, e, 7)
	wantBounds(t, g, 0, 0)
	if err := g.GetLog(1, &raft.Log{}); err != raft.ErrLogNotFound {
		t.Fatalf("empty log: got %v, want ErrLogNotFound", err)
	}
	must(t, g.SetUint64([]byte(keyTerm), 3))
	must(t, g.SetUint64([]byte(keyVoteTerm), 3))
	must(t, g.Set([]byte(keyVoteFor), []byte("me")))
	must(t, g.Set([]byte("other"), []byte("value")))
	var logs []*raft.Log
	for i := uint64(1); i <= 300; i++ {
		l := entry(g, i, 3, int(i)*13%3000)
		if i%10 == 0 {
			l.Type, l.Extensions = raft.LogConfiguration, []byte{byte(i)}
		}
		logs = append(logs, l)
	}
	for c := range slices.Chunk(logs, 17) {
		must(t, g.StoreLogs(c))
	}
	h := mustGroup(t, e, 1<<63)
	fill(t, h, 5, 8, 1, 100) // begins above 1
	for range 2 {
		g, h = mustGroup(t, e, 7), mustGroup(t, e, 1<<63)
		wantBounds(t, g, 1, 300)
		wantBounds(t, h, 5, 8)
		for i := uint64(1); i <= 300; i++ {
			wantEntry(t, g, i, 3, int(i)*13%3000)
		}
		var l raft.Log
		must(t, g.GetLog(20, &l))
		if l.Type != raft.LogConfiguration || !bytes.Equal(l.Extensions, []byte{20}) {
			t.Fatalf("entry 20: type %v, extensions %v", l.Type, l.Extensions)
		}
		if v, _ := g.GetUint64([]byte(keyTerm)); v != 3 {
			t.Fatalf("term %d, want 3", v)
		}
		if v, _ := g.GetUint64([]byte(keyVoteTerm)); v != 3 {
			t.Fatalf("vote term %d, want 3", v)
		}
		if v, _ := g.Get([]byte(keyVoteFor)); string(v) != "me" {
			t.Fatalf("vote for %q, want me", v)
		}
		if v, _ := g.Get([]byte("other")); string(v) != "value" {
			t.Fatalf("other %q, want value", v)
		}
		if got := e.Groups(); !slices.Equal(got, []uint64{7, 1 << 63}) {
			t.Fatalf("groups %v", got)
		}
		n, size := g.Replay()
		if n != 300 || size < 300*recHeaderSize {
			t.Fatalf("replay of %d entries, %d bytes", n, size)
		}
		must(t, e.Close())
		e = mustOpen(t, fs, small())
	}
	must(t, e.Close())
	if _, err := g.FirstIndex(); !errors.Is(err, ErrClosed) {
		t.Fatalf("after close: %v", err)
	}
}

func TestTruncateBothEnds(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, small())
	g := mustGroup(t, e, 1)
	fill(t, g, 1, 100, 1, 500)
	must(t, g.DeleteRange(81, 100)) // conflict
	wantBounds(t, g, 1, 80)
	fill(t, g, 81, 90, 2, 400)
	must(t, g.DeleteRange(1, 50)) // compaction
	wantBounds(t, g, 51, 90)
	if err := g.DeleteRange(60, 70); err != ErrOrder {
		t.Fatalf("delete in the middle: %v", err)
	}
	if err := g.StoreLog(entry(g, 3, 2, 1)); err != ErrOrder {
		t.Fatalf("store below the log: %v", err)
	}
	check := func() {
		t.Helper()
		wantBounds(t, g, 51, 90)
		wantEntry(t, g, 80, 1, 500)
		wantEntry(t, g, 81, 2, 400)
		if err := g.GetLog(91, &raft.Log{}); err != raft.ErrLogNotFound {
			t.Fatalf("entry 91: %v", err)
		}
		if err := g.GetLog(50, &raft.Log{}); err != raft.ErrLogNotFound {
			t.Fatalf("entry 50: %v", err)
		}
	}
	check()
	must(t, e.Close())
	e = mustOpen(t, fs, small())
	g = mustGroup(t, e, 1)
	check()
	// All of it, with nothing to cover it: a conflict. Then a gap.
	must(t, g.DeleteRange(51, 90))
	wantBounds(t, g, 0, 0)
	fill(t, g, 200, 201, 3, 10)
	fill(t, g, 210, 211, 3, 10)
	wantBounds(t, g, 200, 211)
	must(t, g.DeleteRange(200, 205))
	wantBounds(t, g, 210, 211)
	must(t, e.Close())
	e = mustOpen(t, fs, small())
	g = mustGroup(t, e, 1)
	wantBounds(t, g, 210, 211)
	if _, err := g.Entry(60); !errors.Is(err, ErrNotFound) {
		t.Fatalf("entry 60 after its truncation: %v", err)
	}
	must(t, e.Close())
}

func TestBodiesOutliveTheLog(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, small())
	g := mustGroup(t, e, 1)
	fill(t, g, 1, 2000, 1, 500)
	for i := uint64(10); i <= 2000; i += 100 {
		g.Live(i, 2)
	}
	snapshot(t, g, 1990, 1, "state")
	must(t, g.DeleteRange(1, 1990))
	drain(t, e, g)
	before := e.Stats()
	if before.Segments > 6 {
		t.Fatalf("%d segments for 20 live entries", before.Segments)
	}
	wantBounds(t, g, 1991, 2000)
	for i := uint64(10); i <= 1990; i += 100 {
		wantBody(t, g, i, 1, 500)
	}
	if _, err := g.Entry(11); !errors.Is(err, ErrNotFound) {
		t.Fatalf("dead body: %v", err)
	}
	must(t, e.Close())
	e = mustOpen(t, fs, small())
	g = mustGroup(t, e, 1)
	wantBounds(t, g, 1991, 2000)
	for i := uint64(10); i <= 1990; i += 100 {
		wantBody(t, g, i, 1, 500) // not known yet which are live
		if i != 210 {
			g.Live(i, 1)
		}
	}
	g.LiveKnown()
	if _, err := g.Entry(210); !errors.Is(err, ErrNotFound) {
		t.Fatalf("body without a reference: %v", err)
	}
	g.Release(310, 1)
	if _, err := g.Entry(310); !errors.Is(err, ErrNotFound) {
		t.Fatalf("released body: %v", err)
	}
	wantBody(t, g, 410, 1, 500)
	must(t, e.Close())
}

// drain makes the writer reclaim all that it will.
func drain(t testing.TB, e *Engine, g *Group) {
	t.Helper()
	for {
		freed := e.Stats().Freed
		e.hinted()
		must(t, syncAll(e))
		if e.Stats().Freed == freed && !e.hint.Load() {
			return
		}
	}
}

// syncAll returns when the writer has done all that it had to do.
func syncAll(e *Engine) error {
	r := newRequest(reqSync, nil)
	defer r.free()
	return e.submit(r)
}

func snapshot(t testing.TB, g *Group, index, term uint64, state string) {
	t.Helper()
	conf := raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "a"}}}
	k, err := g.Snapshots().Create(1, index, term, conf, 1, nil)
	must(t, err)
	_, err = io.WriteString(k, state)
	must(t, err)
	must(t, k.Close())
}

func TestRemoveAndRevive(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, small())
	g, other := mustGroup(t, e, 1), mustGroup(t, e, 2)
	fill(t, g, 1, 500, 1, 300)
	must(t, g.SetUint64([]byte(keyTerm), 9))
	snapshot(t, g, 400, 1, "state")
	fill(t, other, 1, 10, 1, 300)
	must(t, e.Remove(1))
	must(t, e.Remove(1))
	must(t, e.Remove(99))
	if _, err := g.LastIndex(); err != ErrRemoved {
		t.Fatalf("removed group: %v", err)
	}
	reopen := func() {
		must(t, e.Close())
		e = mustOpen(t, fs, small())
	}
	reopen()
	if got := e.Groups(); !slices.Equal(got, []uint64{2}) {
		t.Fatalf("groups %v, want [2]", got)
	}
	g = mustGroup(t, e, 1)
	wantBounds(t, g, 0, 0)
	if list, err := g.Snapshots().List(); err != nil || len(list) != 0 {
		t.Fatalf("snapshots of a removed group: %v, %v", list, err)
	}
	fill(t, g, 3, 5, 7, 20)
	wantBounds(t, g, 3, 5)
	reopen()
	g = mustGroup(t, e, 1)
	wantBounds(t, g, 3, 5)
	wantEntry(t, g, 4, 7, 20)
	if v, _ := g.GetUint64([]byte(keyTerm)); v != 0 {
		t.Fatalf("term %d survived the removal", v)
	}
	if _, err := g.Entry(100); !errors.Is(err, ErrNotFound) {
		t.Fatalf("entry of the former life: %v", err)
	}
	must(t, e.Remove(1))
	must(t, e.Remove(2))
	g = mustGroup(t, e, 3)
	fill(t, g, 1, 400, 1, 1000)
	must(t, g.DeleteRange(1, 399))
	drain(t, e, g)
	if n := e.Stats().Groups; n != 1 {
		t.Fatalf("%d groups in memory, want 1: tombstones must go with what they cover", n)
	}
	must(t, e.Close())
}

func TestHeadersOnly(t *testing.T) {
	e := mustOpen(t, vfs.NewMem(), small())
	defer e.Close()
	g := mustGroup(t, e, 1)
	fill(t, g, 1, 3, 1, 100)
	must(t, g.StoreLog(&raft.Log{Index: 4, Term: 1, Type: raft.LogConfiguration, Data: []byte("c")}))
	g.HeadersOnly(true)
	var l raft.Log
	must(t, g.GetLog(2, &l))
	if l.Index != 2 || l.Term != 1 || l.Data != nil {
		t.Fatalf("headers only: got %+v", l)
	}
	must(t, g.GetLog(4, &l))
	if string(l.Data) != "c" {
		t.Fatalf("configuration without data")
	}
	fill(t, g, 5, 5, 1, 100)
	wantEntry(t, g, 2, 1, 100)
}

func TestLargeEntryGetsLargeSegment(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, small())
	g := mustGroup(t, e, 1)
	must(t, g.StoreLogs([]*raft.Log{entry(g, 1, 1, 10), entry(g, 2, 1, 300<<10), entry(g, 3, 1, 10), entry(g, 4, 1, 200<<10)}))
	must(t, e.Close())
	e = mustOpen(t, fs, small())
	g = mustGroup(t, e, 1)
	for i, size := range []int{10, 300 << 10, 10, 200 << 10} {
		wantEntry(t, g, uint64(i+1), 1, size)
	}
	if err := g.StoreLog(&raft.Log{Index: 5, Term: 1 << 32}); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("term beyond 32 bits: %v", err)
	}
	must(t, e.Close())
}

func TestStableValuesTravelTogether(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, small())
	defer e.Close()
	g := mustGroup(t, e, 1)
	syncs := func() uint64 { return e.Stats().Syncs }
	at := syncs()
	must(t, g.SetUint64([]byte(keyTerm), 1)) // bootstrap: rides with the configuration
	if syncs() != at {
		t.Fatalf("first term was synced alone")
	}
	must(t, g.StoreLog(entry(g, 1, 1, 10)))
	if syncs() != at+1 {
		t.Fatalf("bootstrap took %d syncs, want 1", syncs()-at)
	}
	at = syncs()
	must(t, g.SetUint64([]byte(keyTerm), 1)) // NewRaft writes it again
	must(t, g.SetUint64([]byte(keyTerm), 2))
	must(t, g.SetUint64([]byte(keyVoteTerm), 2))
	must(t, g.Set([]byte(keyVoteFor), []byte("me")))
	if n := syncs() - at; n != 2 {
		t.Fatalf("an election took %d syncs, want 2 (raft.md, fact 9)", n)
	}
	// The same candidate in the next term: the vote is the same bytes, the term is not.
	must(t, g.SetUint64([]byte(keyVoteTerm), 3))
	must(t, g.Set([]byte(keyVoteFor), []byte("me")))
	e2 := mustOpen(t, fs.Crash(vfs.None), small())
	defer e2.Close()
	g2 := mustGroup(t, e2, 1)
	if v, _ := g2.GetUint64([]byte(keyVoteTerm)); v != 3 {
		t.Fatalf("vote term %d, want 3", v)
	}
}

func TestManyGroupsAtOnce(t *testing.T) {
	fs := vfs.NewMem()
	e := mustOpen(t, fs, Options{SegmentSize: 256 << 10})
	const groups, entries = 64, 40
	var wg sync.WaitGroup
	errs := make(chan error, groups)
	for id := uint64(1); id <= groups; id++ {
		wg.Go(func() { errs <- work(e, id, entries) })
	}
	wg.Wait()
	for range groups {
		must(t, <-errs)
	}
	st := e.Stats()
	t.Logf("%d entries in %d syncs, %d segments freed", st.Entries, st.Syncs, st.Freed)
	must(t, e.Close())
	e = mustOpen(t, fs, Options{SegmentSize: 256 << 10})
	for id := uint64(1); id <= groups; id++ {
		g := mustGroup(t, e, id)
		wantBounds(t, g, entries/2+1, entries)
		for i := uint64(entries/2 + 1); i <= entries; i++ {
			wantEntry(t, g, i, 2, 700)
		}
	}
	must(t, e.Close())
}

// work is what one group's goroutines do: append, apply, read, settle, compact.
func work(e *Engine, id uint64, entries uint64) error {
	g, err := e.Group(id)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	stored := make(chan uint64, entries)
	go func() { // the state machine's side
		for i := range stored {
			g.Live(i, 3)
			b, err := g.Entry(i)
			if err == nil && !bytes.Equal(b, body(id, i, 2, 700)) {
				err = fmt.Errorf("group %d: body %d differs", id, i)
			}
			if err != nil {
				done <- err
				return
			}
			g.Release(i, 1)
			g.Release(i, 2)
		}
		done <- nil
	}()
	err = func() error {
		defer close(stored)
		for i := uint64(1); i <= entries; i++ {
			if err := g.SetUint64([]byte(keyTerm), i); err != nil {
				return err
			}
			if err := g.StoreLog(entry(g, i, 2, 700)); err != nil {
				return err
			}
			stored <- i
		}
		return nil
	}()
	if serr := <-done; err == nil {
		err = serr
	}
	if err == nil {
		err = g.DeleteRange(1, entries/2)
	}
	return err
}
