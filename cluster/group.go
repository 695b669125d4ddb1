package cluster

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/fsm"
	"mayfly/internal/clock"
	"mayfly/queue"
	"mayfly/ttl"
)

// host puts log entries in order and has them applied: Raft for replicated
// queues, a local sequencer for exclusive ones.
type host interface {
	// propose hands an entry over. wait answers when it is applied, or will
	// never be known to be by this term; nil means it is applied already.
	propose(data []byte) (wait func() error)
	// verify answers whether this node leads the group right now (S25).
	verify() error
	// stop ends the host. After it returns, nothing is applied any more.
	stop()
}

// bodies is where messages are read back from: the node's log, or memory.
type bodies interface {
	Entry(index uint64) ([]byte, error)
	Live(index uint64, n uint32)
	Release(index uint64, n uint32)
}

// phase is how far a group is on this node.
type phase uint8

const (
	dormant phase = iota // not opened yet; unless kept, nothing is in its log
	opening
	led    // this node leads it; entries are proposed
	gone   // deleted from the catalogue
	failed // its storage or machine broke; it serves nobody until a restart
)

var (
	errGroupFailed = errors.New("queue is not available on this node")
	errStopping    = errors.New("node is stopping")
)

// group is a queue's Raft group on this node: what waits for its log, the lanes
// of the sessions that use it, and the loops that serve it. mu guards what is
// below it; the machine belongs to the goroutine that applies.
type group struct {
	id      queue.ID
	node    *Node
	log     *slog.Logger
	host    host
	bodies  bodies
	machine *machine
	outbox  *outbox
	letters *forwarder
	clock   queueClock
	local   bool          // exclusive: lives in this node's memory
	compact chan struct{} // a snapshot is wanted

	mu       sync.Mutex
	work     sync.Cond // the proposer waits: something to propose, and allowed to
	room     sync.Cond // publishers wait: the pending bytes fell
	phase    phase
	kept     bool  // it has a log from before the start
	err      error // why it failed
	pending  pending
	redo     []batch // failed in flight, waiting for the rest of the flight
	inFlight int
	applied  uint64 // batches numbered below are applied
	waiting  []appliedWaiter
	lanes    map[queue.SessionID]*lane
	wake     ttl.Stamp
	timer    clock.Timer
	stopped  bool
	changed  chan struct{} // closed and renewed whenever phase changes

	flights chan flight
	done    sync.WaitGroup

	ended     atomic.Bool // the queue is over by its own log; the catalogue follows
	stat      atomic.Pointer[queue.Stat]
	lastStamp atomic.Int64 // of the machine, for the queue clock
	lastBoot  atomic.Int64 // this node's boot reading when that was applied; 0 = not since start
}

type flight struct {
	batch batch
	wait  func() error
}

type appliedWaiter struct {
	no uint64
	ch chan struct{}
}

func newGroup(n *Node, id queue.ID) *group {
	g := &group{id: id, node: n, log: n.log.With("group", uint64(id)), lanes: map[queue.SessionID]*lane{}, flights: make(chan flight, maxInFlight), changed: make(chan struct{}), compact: make(chan struct{}, 1)}
	g.work.L, g.room.L = &g.mu, &g.mu
	g.stat.Store(&queue.Stat{})
	g.clock.init(n.clock)
	g.pending.no = 1 // 0 means "no batch" to a lane
	g.machine = newMachine(g)
	g.outbox = newOutbox(g)
	g.letters = newForwarder(g)
	return g
}

func (g *group) toLocked(p phase) {
	g.phase = p
	close(g.changed)
	g.changed = make(chan struct{})
}

// waitLed answers when this node leads the group, or never will.
func (g *group) waitLed(ctx context.Context) error {
	for {
		g.mu.Lock()
		ph, changed, err, stopped := g.phase, g.changed, g.err, g.stopped
		g.mu.Unlock()
		switch {
		case ph == led || ph == gone:
			return nil
		case ph == failed:
			return err
		case stopped:
			return errStopping
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// waitGone answers when a queue that ended is out of the catalogue as well, so
// that its name is free for whoever is answered next.
func (g *group) waitGone(ctx context.Context) error {
	for {
		g.mu.Lock()
		over, changed := g.phase == gone || g.phase == failed || g.stopped, g.changed
		g.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (g *group) start() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.startLocked()
}

// startLocked makes a dormant group open, once. The caller holds mu.
func (g *group) startLocked() {
	if g.phase != dormant || g.stopped {
		return
	}
	g.toLocked(opening)
	g.done.Add(1)
	go func() {
		defer g.done.Done()
		if g.local {
			g.openLocal()
		} else {
			g.open()
		}
	}()
}

// lead begins this node's leadership of the group: everything before is applied.
// The first entry of the term carries the configuration; applying it makes the
// machine's adapter resume all outstanding effects. wall is this node's own wall
// clock when it stored the last entry.
func (g *group) lead(wall time.Time) {
	g.clock.anchor(ttl.Stamp(g.lastStamp.Load()), g.lastBoot.Load(), wall)
	first := fsm.AppendHeader(nil)
	fsm.MarkLead(first)
	if q := g.node.View().QueueByID(g.id); q != nil {
		first = fsm.AppendConfigure(first, q.Config)
	}
	// With the first entry, before any publish: a no-ack consumer of a node that is
	// gone would be given what comes after it, and nobody would ever see it (S1).
	// Nothing is applied now, so the machine may be read here.
	for _, inc := range g.machine.fsm.Incarnations() {
		if !g.node.alive(inc) {
			first = fsm.AppendNodeGone(first, inc)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase != opening {
		return
	}
	g.toLocked(led)
	g.pending.restore([]batch{{data: first, no: 0}})
	g.work.Signal()
}

// quiet waits until nothing is in flight, at the begin of a leadership: a late
// failure of the old term would be taken for one of the new, and what failed must
// be proposed again before anything newer.
func (g *group) quiet() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase == led {
		g.toLocked(opening)
	}
	for g.inFlight > 0 && !g.stopped {
		g.room.Wait()
	}
}

// follow ends this node's leadership; what is in flight fails by itself and is
// kept for the next term.
func (g *group) follow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase == led {
		g.toLocked(opening)
	}
}

// proposeLoop stamps and proposes batches, at most maxInFlight at a time.
// One goroutine per group; it ends when the group is stopped.
func (g *group) proposeLoop() {
	defer close(g.flights)
	for {
		g.mu.Lock()
		for !g.stopped && (g.phase != led || g.pending.empty() || g.inFlight >= maxInFlight) {
			g.work.Wait()
		}
		if g.stopped {
			g.mu.Unlock()
			return
		}
		b := g.pending.take()
		g.inFlight++
		if g.pending.bytes < maxPending {
			g.room.Broadcast()
		}
		g.mu.Unlock()
		fsm.PutStamp(b.data, g.clock.now())
		wait := g.host.propose(b.data)
		if wait == nil {
			g.landed(b, nil)
			continue
		}
		g.flights <- flight{b, wait}
	}
}

// landLoop waits for the entries in flight, in order.
func (g *group) landLoop() {
	for f := range g.flights {
		g.landed(f.batch, f.wait())
	}
}

// landed takes the result of one entry. An entry that Raft could not answer for
// may still be in the log: it is proposed again, and the machine ignores what it
// has already (never a nack, raft.md fact 13).
func (g *group) landed(b batch, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inFlight--
	switch {
	case g.phase == gone || g.phase == failed || g.machine.halted.Load():
		// Nobody waits for it any more, or soon will not.
	case err != nil:
		if b.no != 0 { // the next term has a first entry of its own
			g.redo = append(g.redo, b)
		}
		if g.phase == led {
			g.toLocked(opening)
		}
	case b.no >= g.applied:
		g.applied = b.no + 1
		g.wakeApplied()
	}
	if g.inFlight == 0 && g.phase != led {
		g.room.Broadcast() // quiet waits
	}
	if g.inFlight == 0 && len(g.redo) > 0 {
		g.pending.restore(g.redo)
		g.redo = nil
	}
	g.work.Signal()
}

func (g *group) wakeApplied() {
	keep := g.waiting[:0]
	for _, w := range g.waiting {
		if w.no < g.applied {
			close(w.ch)
		} else {
			keep = append(keep, w)
		}
	}
	clear(g.waiting[len(keep):])
	g.waiting = keep
}

// waitApplied answers when every command of batches up to no is applied.
func (g *group) waitApplied(ctx context.Context, no uint64) error {
	g.mu.Lock()
	if over, err := g.waitedLocked(no); over || g.stopped {
		g.mu.Unlock()
		return err
	}
	w := appliedWaiter{no, make(chan struct{})}
	g.waiting = append(g.waiting, w)
	g.mu.Unlock()
	select {
	case <-w.ch:
		g.mu.Lock()
		defer g.mu.Unlock()
		_, err := g.waitedLocked(no)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waitedLocked tells whether waiting for a batch is over, and what came of it.
func (g *group) waitedLocked(no uint64) (over bool, err error) {
	switch {
	case no == 0, g.phase == gone:
		return true, nil
	case g.phase == failed:
		return true, g.err
	case no < g.applied:
		return true, nil
	}
	return false, errStopping
}

// setWake keeps the group's one timer at the machine's earliest deadline.
func (g *group) setWake(at ttl.Stamp, more bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped || (at == g.wake && !more) {
		return
	}
	g.wake = at
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	switch {
	case more:
		g.wake = ttl.Never // no timer runs: the next Apply must set one
		g.tickLocked()
	case at != ttl.Never:
		g.timer = g.node.clock.AfterFunc(g.clock.until(at), func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.wake == at {
				g.wake = ttl.Never
				g.tickLocked()
			}
		})
	}
}

// tickLocked sees to it that an entry is proposed: any entry advances time, so
// one that waits already will do.
func (g *group) tickLocked() {
	if g.phase == led && g.pending.empty() {
		g.pending.put(g.pending.room(0))
		g.work.Signal()
	}
}

// fail takes the group out of service after its machine or its log broke. Its
// log is kept; the node lives on (style.md, section 6, Panics).
func (g *group) fail(err error) {
	g.log.Error("queue stopped on this node", "err", err)
	g.mu.Lock()
	if g.phase == gone || g.phase == failed {
		g.mu.Unlock()
		return
	}
	g.err = errors.Join(errGroupFailed, err)
	g.toLocked(failed)
	lanes := g.endLocked()
	g.mu.Unlock()
	for _, l := range lanes {
		l.failed(g.err)
	}
}

// vanish ends the group of a deleted queue: publishes to it count as accepted
// (a deleted queue no longer counts, amqp.md 10), requests are refused, and
// consumers are cancelled. The caller removes the log afterwards.
func (g *group) vanish() {
	g.mu.Lock()
	if g.phase == gone {
		g.mu.Unlock()
		return
	}
	g.toLocked(gone)
	lanes := g.endLocked()
	g.mu.Unlock()
	for _, l := range lanes {
		l.vanished()
	}
}

// endLocked releases everyone who waits and returns the lanes to be told.
func (g *group) endLocked() []*lane {
	for _, w := range g.waiting {
		close(w.ch)
	}
	g.waiting = nil
	g.pending = pending{no: g.pending.no}
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	lanes := make([]*lane, 0, len(g.lanes))
	for _, l := range g.lanes {
		lanes = append(lanes, l)
	}
	g.room.Broadcast()
	g.work.Broadcast()
	return lanes
}

// end has the group accept nothing more, and frees whoever waits for room.
func (g *group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	g.work.Broadcast()
	g.room.Broadcast()
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
}

// stop ends the group's goroutines and its host, waits for them, and tells who
// still waits that there will be no answer. It may be called more than once.
func (g *group) stop() {
	g.end()
	g.mu.Lock()
	h := g.host
	g.mu.Unlock()
	if h != nil {
		h.stop()
	}
	g.outbox.stop()
	g.letters.stop()
	g.done.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.waiting {
		close(w.ch)
	}
	g.waiting = nil
	g.toLocked(g.phase) // for waitLed
	for _, l := range g.lanes {
		for _, ch := range l.asked {
			ch <- reply{err: errStopping} // it has room for one
		}
		l.asked = nil
	}
}
