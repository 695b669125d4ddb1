package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"mayfly/fsm"
	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// TestConfirmedIsVisible: who has a confirm finds the message by a get on another
// session, though an empty queue is answered without a log entry (S25).
func TestConfirmedIsVisible(t *testing.T) {
	r := newRig(t).start()
	defer r.stop()
	id := r.queue("q")
	u, other := r.user(id), r.user(id)
	for i := range 300 {
		seq := u.l.Publish(message("x"))
		u.wait(t, "confirmed", func() bool { return u.confirmed[id] >= seq })
		d, _, ok, err := other.l.Get(t.Context(), true)
		if err != nil || !ok {
			t.Fatalf("message %d is confirmed, and the queue is empty: %v", i, err)
		}
		other.l.Release(&d)
		if _, _, ok, err := r.user(id).l.Get(t.Context(), true); ok || err != nil {
			t.Fatalf("the queue is not empty: %v %v", ok, err)
		}
	}
}

// TestNoMessageForADeadConsumer: a no-ack consumer of the run before a crash takes
// nothing of what is published while the queue opens again (S1).
func TestNoMessageForADeadConsumer(t *testing.T) {
	r := newRig(t).start()
	id := r.queue("q")
	if err := r.user(id).l.Attach(t.Context(), queue.ConsumerSpec{Number: 1, NoAck: true}); err != nil {
		t.Fatal(err)
	}
	r.stop() // the session is not closed, as in a crash
	r.start()
	defer r.stop()
	u := r.user(id)
	for _, b := range numbers(50) {
		u.l.Publish(message(b)) // at once: the group is opening
	}
	u.wait(t, "confirmed", func() bool { return u.confirmed[id] == 50 })
	if got := r.take(id); len(got) != 50 {
		t.Fatalf("%d of 50 confirmed messages are there", len(got))
	}
}

// TestRefusedRequestIsNobodysNack: the refusal of a request whose caller gave up
// does not become the nack of another session's publish.
func TestRefusedRequestIsNobodysNack(t *testing.T) {
	g, _ := bareGroup(t)
	gone, u := bareLane(g, 1), bareLane(g, 2)
	g.outbox.drain([]queue.Effect{
		{Kind: queue.EffectRefused, Session: gone.s.id, Seq: 1, Refusal: queue.RefusedExclusive},
		{Kind: queue.EffectRefused, Session: u.s.id, Seq: 2, Refusal: queue.RefusedFull},
		{Kind: queue.EffectConfirm, Session: u.s.id, Seq: 3},
	})
	sink := u.s.sink.(*testSink)
	if len(sink.refused) != 1 || sink.refused[0] != 2 {
		t.Fatalf("refused %v, want publish 2 alone", sink.refused)
	}
}

// bareGroup is a group without a host: the test plays the log.
func bareGroup(t *testing.T) (*group, *Node) {
	r := newRig(t).start()
	t.Cleanup(r.stop)
	return newGroup(r.Node, 1<<40), r.Node
}

func bareLane(g *group, id queue.SessionID) *lane {
	l := &lane{g: g, s: g.node.openAs(id, newTestSink())}
	g.lanes[id] = l
	return l
}

// TestAnswerBeatsCancel: an answer that is on its way when the caller gives up is
// taken; a message that a get brought would be lost with it.
func TestAnswerBeatsCancel(t *testing.T) {
	g, _ := bareGroup(t)
	g.phase = opening
	for range 100 {
		l := bareLane(g, 1)
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan reply, 1)
		go func() {
			r, _ := l.ask(ctx, requestSize, func(dst []byte, _ uint64) []byte { return dst })
			got <- r
		}()
		var ch chan reply // as answered does it, with the cancel in between
		eventually(t, "asked", func() bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			ch = l.asked[1]
			delete(l.asked, 1)
			return ch != nil
		})
		cancel()
		runtime.Gosched()
		ch <- reply{found: true}
		if r := <-got; !r.found {
			t.Fatal("the answer is lost")
		}
	}
}

// TestCountsBeforeEffects: when an effect of an entry can be seen, the counts are
// those after it, though more entries of the same batch follow.
func TestCountsBeforeEffects(t *testing.T) {
	g, _ := bareGroup(t)
	g.bodies = &memoryBodies{entries: map[uint64]*memoryEntry{}}
	g.machine.leadTerm.Store(7)
	g.machine.resumed = 7 // the first entry of the term was before
	g.machine.apply(1, 7, fsm.AppendEnqueue(fsm.AppendHeader(nil), 1, 1, message("x")))
	if len(g.outbox.in) == 0 || g.stat.Load().Ready != 1 {
		t.Fatalf("%d effects are told, and the counts are %+v", len(g.outbox.in), *g.stat.Load())
	}
}

// TestBackPressure: pending bytes stay below their bound while nothing leads, a
// publisher waits, and closing its session frees it.
func TestBackPressure(t *testing.T) {
	g, _ := bareGroup(t)
	g.phase = opening
	l := bareLane(g, 1)
	l.s.lanes[g.id] = l
	m := message(string(bytes.Repeat([]byte("x"), 100<<10)))
	sent := make(chan uint64)
	go func() {
		for range 60 {
			sent <- l.Publish(m)
		}
		close(sent)
	}()
	last := uint64(0)
	full := func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.pending.bytes > maxPending {
			t.Fatalf("%d bytes pending, the bound is %d", g.pending.bytes, maxPending)
		}
		return g.pending.bytes+(100<<10) > maxPending
	}
	for !full() {
		last = <-sent
	}
	if last < 30 || last > 41 {
		t.Fatalf("the bound is reached after %d messages", last)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.s.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("close of a session whose queue has no leader: %v", err)
	}
	for range sent { // ends: nothing waits any more
	}
	if sink := l.s.sink.(*testSink); len(sink.confirmed) != 0 {
		t.Fatalf("confirmed %v without a log", sink.confirmed)
	}
}

// TestFlightsOfTheOldTerm: a leadership begins when what was in flight has failed,
// and that comes first again, before anything newer; the first entry of the old
// term does not come again.
func TestFlightsOfTheOldTerm(t *testing.T) {
	g, _ := bareGroup(t)
	g.phase = led
	l := bareLane(g, 1)
	l.Publish(message("a"))
	g.inFlight = 2
	first, flying := batch{data: []byte("old first entry....")}, g.pending.take()
	l.Publish(message("b"))
	quiet := make(chan struct{})
	go func() { g.quiet(); close(quiet) }()
	g.landed(first, errStopping)
	select {
	case <-quiet:
		t.Fatal("quiet with an entry in flight")
	default:
	}
	g.landed(flying, errStopping)
	<-quiet
	if b := g.pending.take(); !bytes.Equal(b.data, flying.data) {
		t.Fatalf("batch %d comes first", b.no)
	}
	if b := g.pending.take(); b.no != flying.no+1 || !g.pending.empty() {
		t.Fatalf("then batch %d", b.no)
	}
}

// TestStopFreesWaiters: whoever waits for a queue that cannot answer hears of the
// node's stop.
func TestStopFreesWaiters(t *testing.T) {
	g, _ := bareGroup(t)
	g.phase = opening
	l := bareLane(g, 1)
	errs := make(chan error)
	go func() { errs <- l.Attach(t.Context(), queue.ConsumerSpec{Number: 1}) }()
	go func() { _, err := bareStat(l, g); errs <- err }()
	go func() { errs <- g.waitApplied(t.Context(), 1) }()
	eventually(t, "all wait", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(l.asked) == 1 && len(g.waiting) == 1
	})
	g.stop()
	for range 3 {
		if err := <-errs; !errors.Is(err, errStopping) {
			t.Fatalf("error %v", err)
		}
	}
	g.stop() // again: nothing happens
}

func bareStat(l *lane, g *group) (queue.Stat, error) { return queue.Stat{}, g.waitLed(l.g.node.ctx) }

// TestUndecodableEntryStopsTheQueue: better absent than different (style.md 6).
func TestUndecodableEntryStopsTheQueue(t *testing.T) {
	r := newRig(t).start()
	defer r.stop()
	id, other := r.queue("q"), r.queue("other")
	r.publish(id, "x")
	u := r.user(id)
	if err := u.l.Attach(t.Context(), queue.ConsumerSpec{Number: 3, Prefetch: 1}); err != nil {
		t.Fatal(err)
	}
	g := r.lookup(id)
	g.mu.Lock()
	g.pending.put(append(g.pending.room(1), 0xFF))
	g.work.Signal()
	g.mu.Unlock()
	u.wait(t, "cancelled", func() bool { return len(u.cancelled) == 1 })
	if _, err := u.l.Purge(t.Context()); !errors.Is(err, errGroupFailed) {
		t.Fatalf("purge of a stopped queue: %v", err)
	}
	if _, err := u.l.Stat(t.Context()); !errors.Is(err, errGroupFailed) {
		t.Fatalf("stat of a stopped queue: %v", err)
	}
	r.publish(other, "the node lives on")
}

// TestDestroyAndStopTogether: deletions, publishes and a stop at once end, in
// whatever order.
func TestDestroyAndStopTogether(t *testing.T) {
	for range 5 {
		r := newRig(t).start()
		const count = 20
		for i := range count {
			id := r.queue(fmt.Sprint("q", i))
			u := r.user(id)
			u.l.Publish(message("x"))
			go r.user(id).l.Delete(t.Context(), false, false)
			go r.Change(t.Context(), catalog.DeleteQueue{ID: id})
			go u.l.Publish(message("y"))
		}
		r.stop()
	}
}
