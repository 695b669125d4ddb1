package queue

import (
	"testing"

	"mayfly/dlx"
	"mayfly/ttl"
)

const (
	alice = SessionID(1<<32 | 1)
	bob   = SessionID(1<<32 | 2)
)

// rig drives a queue entry by entry and checks it after each.
type rig struct {
	t     *testing.T
	q     *Queue
	out   Outcome
	index uint64
	seq   uint64
}

func newRig(t *testing.T, change func(*Config)) *rig {
	r := &rig{t: t, q: New()}
	c := Defaults()
	if change != nil {
		change(&c)
	}
	r.at(1000, func() { r.q.Configure(c) })
	return r
}

// at applies one entry.
func (r *rig) at(now ttl.Stamp, body func()) *Outcome {
	r.t.Helper()
	r.index++
	r.out.Reset()
	r.q.Begin(r.index, now, false, &r.out)
	if body != nil {
		body()
	}
	r.q.End()
	if err := r.q.Check(); err != nil {
		r.t.Fatal(err)
	}
	if err := r.q.Quick(); err != nil {
		r.t.Fatal(err)
	}
	return &r.out
}

func (r *rig) publish(n int, ttl int64) {
	for range n {
		r.seq++
		r.q.Enqueue(alice, r.seq, &Incoming{Off: uint32(r.seq), Size: 10, Body: 5, TTL: ttl})
	}
}

func (r *rig) attach(id SessionID, spec ConsumerSpec) {
	r.q.Attach(id, 1<<40+r.index, spec)
}

func count(out *Outcome, k Kind) (n int) {
	for i := range out.Effects {
		if out.Effects[i].Kind == k {
			n++
		}
	}
	return n
}

// TestKillBound is T-16's bound: what dies in one Apply is bounded, a tick is asked
// for, deliveries in between obey T-20, and the order is T-32.
func TestKillBound(t *testing.T) {
	r := newRig(t, func(c *Config) { c.DeadLetter = true })
	const n = 3500
	r.at(1000, func() { r.publish(n, 500) })
	r.at(1400, func() { r.publish(10, NoTTL) })
	r.at(1500, func() { r.attach(bob, ConsumerSpec{Number: 1, Prefetch: 3}) })
	deaths, deliveries := count(&r.out, EffectForward), count(&r.out, EffectDeliver)
	if deaths != maxKills || deliveries != 0 || !r.out.More {
		t.Fatalf("%d deaths, %d deliveries, more %v", deaths, deliveries, r.out.More)
	}
	for ticks := 1; r.out.More; ticks++ {
		r.at(1500, nil)
		deaths += count(&r.out, EffectForward)
		deliveries += count(&r.out, EffectDeliver)
		if ticks > n/maxKills {
			t.Fatalf("still not done after %d ticks", ticks)
		}
	}
	if deaths != n || deliveries != 3 {
		t.Errorf("%d deaths, %d deliveries", deaths, deliveries)
	}
	last := uint64(0)
	for l := range r.q.letters.All() {
		if l.Pos <= last || l.Reason != dlx.Expired {
			t.Fatalf("letter %d is of message %d (%v), after one of %d", l.ID, l.Pos, l.Reason, last)
		}
		last = l.Pos
	}
}

// TestGetBehindOverdue: a get neither sees an overdue message nor misses the living
// one behind more of them than one Apply kills.
func TestGetBehindOverdue(t *testing.T) {
	r := newRig(t, nil)
	r.at(1000, func() { r.publish(3000, 500) })
	r.at(1000, func() { r.publish(1, NoTTL) })
	out := r.at(2000, func() { r.q.Get(bob, 1, false) })
	if e := out.Effects[0]; e.Kind != EffectGot || !e.Found || e.Delivery.Pos != 3001 {
		t.Errorf("got %+v", e)
	}
}

// TestEvictBound: a limit lowered by far is reached in bounded steps (L-10).
func TestEvictBound(t *testing.T) {
	r := newRig(t, nil)
	r.at(1000, func() { r.publish(5000, NoTTL) })
	c := r.q.Config()
	c.MaxLength = 10
	r.at(1000, func() { r.q.Configure(c) })
	for ticks := 0; r.out.More; ticks++ {
		if ticks > 5 {
			t.Fatal("no end of it")
		}
		r.at(1000, nil)
	}
	if s := r.q.Stat(); s.Ready != 10 {
		t.Errorf("%d ready", s.Ready)
	}
	r.at(1000, func() { r.publish(4000, NoTTL) }) // an entry's own excess leaves with it
	if s := r.q.Stat(); s.Ready != 10 || r.out.More {
		t.Errorf("%d ready, more %v", s.Ready, r.out.More)
	}
}

// TestDeepExpiry is T-34: one short life under a million long ones ends on time.
func TestDeepExpiry(t *testing.T) {
	r := &rig{t: t, q: New()}
	apply := func(now ttl.Stamp, body func()) {
		r.index++
		r.out.Reset()
		r.q.Begin(r.index, now, false, &r.out)
		body()
		r.q.End()
	}
	for range 200 {
		apply(1000, func() { r.publish(5000, 3_600_000) })
	}
	apply(1000, func() { r.publish(1, 500) })
	apply(1000, func() { r.publish(1, NoTTL) })
	if r.out.Wake != 1500 {
		t.Fatalf("wakes at %d", r.out.Wake)
	}
	apply(1500, func() {})
	if s := r.q.Stat(); s.Ready != 1_000_001 || r.q.Counters().Deaths[dlx.Expired] != 1 || r.out.Wake != 3_601_000 {
		t.Errorf("%+v, wake %d", s, r.out.Wake)
	}
	if err := r.q.Check(); err != nil {
		t.Error(err)
	}
}

// TestMemoryOfSessions: what is remembered of sessions is bounded, and a late word
// of one that just ended is not taken for a new one.
func TestMemoryOfSessions(t *testing.T) {
	r := newRig(t, nil)
	for i := range SessionID(5000) {
		id := 2<<32 | i
		r.at(1000, func() {
			r.q.Enqueue(id, 1, &Incoming{TTL: NoTTL})
			r.q.SessionClosed(id)
			r.q.Enqueue(id, 1, &Incoming{TTL: NoTTL})
		})
		if len(r.q.ended) > maxEnded || len(r.q.sessions) > 1 {
			t.Fatalf("%d ended and %d open sessions remembered", len(r.q.ended), len(r.q.sessions))
		}
		r.at(1000, func() { r.q.Purge(alice, uint64(i)+1) })
	}
	if n := r.q.Counters().Enqueued; n != 5000 {
		t.Errorf("%d messages of 5000 publishes", n)
	}
	for i := range uint32(1000) {
		r.at(1000, func() { r.q.NodeGone(i + 10) })
	}
	if n := len(r.q.goneNodes); n > maxGoneNodes {
		t.Errorf("%d nodes remembered", n)
	}
}

// TestRefusedSpans: refused numbers are remembered in runs, a bounded number of them.
func TestRefusedSpans(t *testing.T) {
	var s session
	for seq := uint64(1); seq <= 3000; seq++ {
		if seq%3 != 0 {
			s.refuse(seq)
		}
	}
	if len(s.refused) > maxRefusedSpans {
		t.Errorf("%d spans", len(s.refused))
	}
	for seq := uint64(2700); seq <= 3000; seq++ {
		if s.wasRefused(seq) != (seq%3 != 0) {
			t.Errorf("number %d refused: %v", seq, s.wasRefused(seq))
		}
	}
}

// TestFailedSaturates: the count of failures has an end, and an unlimited queue
// keeps the message all the same (C-1).
func TestFailedSaturates(t *testing.T) {
	r := newRig(t, func(c *Config) { c.DeliveryLimit = -1 })
	r.at(1000, func() { r.publish(1, NoTTL) })
	r.at(1000, func() {
		for i := range uint64(maxFailed + 10) {
			r.q.Get(bob, i+1, false)
			r.q.Return(bob, []Pos{1}, WhyNack)
		}
	})
	r.at(1000, func() { r.q.Get(bob, 1<<30, false) })
	if d := r.out.Effects[0].Delivery; d.Failed != maxFailed || d.Acquired != maxFailed+10 {
		t.Errorf("%+v", d)
	}
}

// TestTrim: an idle queue gives its memory back and goes on as before.
func TestTrim(t *testing.T) {
	r := newRig(t, nil)
	r.at(1000, func() { r.publish(300, NoTTL) })
	r.at(1000, func() { r.q.Purge(bob, 1) })
	r.q.Trim()
	if len(r.q.slab.pages) != 0 {
		t.Errorf("%d pages in an empty queue", len(r.q.slab.pages))
	}
	r.at(1000, func() { r.publish(100, NoTTL) })
	r.q.Trim()
	if r.at(1000, func() { r.q.Get(bob, 2, false) }); r.out.Effects[0].Delivery.Pos != 301 {
		t.Errorf("got %+v", r.out.Effects[0])
	}
}

// TestManyHolders: returns in any order find their places (S10b), with hundreds of
// consumers, sessions that end, and slots used again.
func TestManyHolders(t *testing.T) {
	r := newRig(t, nil)
	for i := range SessionID(300) {
		r.at(1000, func() { r.attach(5<<32|i, ConsumerSpec{Number: 1, Prefetch: 2, Priority: int32(i % 3)}) })
	}
	r.at(1000, func() { r.publish(700, NoTTL) })
	if s := r.q.Stat(); s.Unacked != 600 || s.Ready != 100 {
		t.Fatalf("%+v", s)
	}
	r.at(1000, func() {
		for i := range SessionID(300) {
			r.q.SessionClosed(5<<32 | (i*7)%300)
		}
	})
	last := Pos(0)
	for n := uint64(1); n <= 700; n++ {
		r.index++
		r.out.Reset()
		r.q.Begin(r.index, 1000, false, &r.out)
		r.q.Get(bob, n, true)
		r.q.End()
		d := r.out.Effects[0].Delivery
		if d.Pos != last+1 || d.Redelivered != (d.Pos <= 600) {
			t.Fatalf("after %d came %+v", last, d)
		}
		last = d.Pos
	}
	if len(r.q.freeSlots)+1 != len(r.q.holders)-1 { // bob's gets hold one
		t.Errorf("%d slots, %d free", len(r.q.holders), len(r.q.freeSlots))
	}
}

// TestReturnedExpire: returned messages that die out of order leave holes in the
// heap of their lane; holes are swept, and what is left keeps its order.
func TestReturnedExpire(t *testing.T) {
	r := newRig(t, nil)
	r.at(1000, func() {
		r.attach(bob, ConsumerSpec{Number: 1, Prefetch: 2000})
		for i := range 1000 {
			r.publish(1, []int64{NoTTL, int64(1000 + (i*7919)%1000)}[min(i%8, 1)])
		}
	})
	ps := make([]Pos, 0, 1000)
	for i := range Pos(1000) {
		ps = append(ps, 1+(i*617)%1000)
	}
	r.at(1001, func() {
		r.q.Detach(bob, 1<<41, 1)
		r.q.Return(bob, ps, WhyTimeout)
	})
	l := &r.q.lanes[0]
	if len(l.back) < 900 {
		t.Fatalf("only %d in the heap", len(l.back))
	}
	for now := ttl.Stamp(2001); now <= 3001; now += 50 {
		r.at(now, nil)
	}
	if l.dead > 64 && l.dead > len(l.back)/2 {
		t.Errorf("%d dead of %d", l.dead, len(l.back))
	}
	last := Pos(0)
	for n := uint64(1); n <= 125; n++ {
		d := r.at(3001, func() { r.q.Get(bob, 1<<42+n, true) }).Effects[0].Delivery
		if d.Pos <= last || d.Pos%8 != 1 {
			t.Fatalf("after %d came %d", last, d.Pos)
		}
		last = d.Pos
	}
	if s := r.q.Stat(); s.Ready != 0 {
		t.Errorf("%+v", s)
	}
}

// TestUnnumbered: seq 0 is always applied, never answered with a confirm.
func TestUnnumbered(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxLength, c.Overflow = 2, RejectPublish })
	out := r.at(1000, func() {
		for range 3 {
			r.q.Enqueue(alice, 0, &Incoming{TTL: NoTTL})
		}
	})
	if len(out.Effects) != 0 || r.q.Stat().Ready != 2 || r.q.Counters().Refused != 1 {
		t.Errorf("%v, %+v", out.Effects, r.q.Stat())
	}
}

// TestListings: what management shows.
func TestListings(t *testing.T) {
	r := newRig(t, func(c *Config) { c.SingleActive, c.Expires = true, 5000 })
	r.at(1000, func() {
		r.attach(alice, ConsumerSpec{Number: 1, Tag: "a", Prefetch: 1})
		r.q.Attach(bob, 1, ConsumerSpec{Number: 7, Tag: "b", Prefetch: 1})
		r.q.Attach(3<<32|1, 1, ConsumerSpec{Number: 1})
		r.q.Enqueue(9, 1, &Incoming{TTL: NoTTL, Body: 3}) // node 0: a queue that dead-letters
	})
	cs := r.q.Consumers()
	if len(cs) != 3 || !cs[0].Active || cs[1].Active || cs[0].Spec.Tag != "a" || cs[0].Unacked != 1 || cs[0].Assigned != 1 || cs[1].Session != bob {
		t.Errorf("%+v", cs)
	}
	if in := r.q.Incarnations(); len(in) != 2 || in[0] != 1 || in[1] != 3 {
		t.Errorf("incarnations %v", in)
	}
	if r.q.Epoch() != 1 || r.q.Sessions() != 4 || r.q.UnackedBytes() != 3 || r.q.Lease().Term != 5000 || r.q.Gone() != GoneNot {
		t.Error(r.q.Epoch(), r.q.Sessions(), r.q.UnackedBytes(), r.q.Lease(), r.q.Gone())
	}
	r.at(1000, func() { r.q.NodesBefore(4) })
	if in := r.q.Incarnations(); len(in) != 0 || r.q.Sessions() != 1 {
		t.Errorf("after NodesBefore: %v, %d sessions", in, r.q.Sessions())
	}
}
