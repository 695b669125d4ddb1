package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	"mayfly/amqp/wire"
	"mayfly/dlx"
	"mayfly/fsm"
	"mayfly/fsm/catalog"
	"mayfly/queue"
	"mayfly/queue/exchange"
)

const (
	letterBatch    = 256 // letters on their way at a time
	letterRetryMin = 100 * time.Millisecond
	letterRetryMax = 5 * time.Second
	letterLinger   = time.Minute // how long a deleted queue's letters are still brought away (D-48)

	// letterSession marks the session ids under which queues send their dead: the
	// number a target knows them by is the queue's own, for ever, so that a letter
	// sent again after a crash is recognised (D-50).
	letterSession = 1 << 63
)

// forwarder brings a led queue's letters to their targets, in order, a batch at
// a time, and has them taken out of the box when every target has applied them.
// One goroutine while there are letters; it is the session's only caller.
type forwarder struct {
	g *group

	mu      sync.Mutex
	wake    sync.Cond
	letters []dlx.Letter
	last    uint64           // greatest id taken in
	upTo    map[*lane]uint64 // confirmed numbers
	refused map[letterKey]bool
	running bool
	busy    bool // a batch is on its way
	stopped bool

	// Of the goroutine.
	queue  *catalog.Queue // as last seen: it may leave the catalogue before its letters do
	steady *session       // numbered by letter: repeats are recognised
	fresh  *session       // for targets that refused a letter, or that a later letter reached first
	sent   map[*lane]uint64
	tried  map[uint64]map[queue.ID]bool // letters kept because a target refused: where they were sent, and whether refused

	rewrite dlx.Rewriter
	router  exchange.Router
	queues  []*catalog.Queue
}

type letterKey struct {
	lane *lane
	seq  uint64
}

func newForwarder(g *group) *forwarder {
	f := &forwarder{g: g, refused: map[letterKey]bool{}, upTo: map[*lane]uint64{}, sent: map[*lane]uint64{}, tried: map[uint64]map[queue.ID]bool{}}
	f.wake.L = &f.mu
	return f
}

// take adds letters, in the order of their ids; what is known already is a repeat
// of Resume.
func (f *forwarder) take(l dlx.Letter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || l.ID <= f.last {
		return
	}
	f.last = l.ID
	f.letters = append(f.letters, l)
	if !f.running {
		f.running = true
		f.g.done.Add(1)
		go f.run()
	}
	f.wake.Signal()
}

func (f *forwarder) stop() {
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	f.wake.Broadcast()
}

// run ends when the group does: a queue that had a letter may have another.
func (f *forwarder) run() {
	defer f.g.done.Done()
	defer f.farewell()
	f.steady = f.g.node.openAs(queue.SessionID(letterSession|uint64(f.g.id)), f)
	f.fresh = f.g.node.openAs(queue.SessionID(f.g.node.NextID()), f)
	pause := letterRetryMin
	for {
		batch, ok := f.next()
		if !ok {
			return
		}
		done, kept := f.send(batch)
		f.g.forwarded(done)
		if len(kept) == 0 {
			pause = letterRetryMin
			continue
		}
		f.putBack(kept)
		if !f.rest(pause) {
			return
		}
		pause = min(2*pause, letterRetryMax)
	}
}

// farewell has the targets forget a deleted queue's numbers (design.md, principle
// 4). A queue that only stops keeps them: it will send what it cannot know arrived.
func (f *forwarder) farewell() {
	f.g.mu.Lock()
	deleted := f.g.phase == gone
	f.g.mu.Unlock()
	if deleted {
		f.steady.leave()
		f.fresh.leave()
	}
}

// idle tells whether no letter is on its way or waits to be.
func (f *forwarder) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.letters) == 0 && !f.busy
}

// drain waits until all letters are away, at most for d and while ctx lasts, and
// answers how many are left.
func (f *forwarder) drain(ctx context.Context, d time.Duration) int {
	over := false
	end := func() {
		f.mu.Lock()
		over = true
		f.mu.Unlock()
		f.wake.Broadcast()
	}
	t := f.g.node.clock.AfterFunc(d, end)
	defer t.Stop()
	defer context.AfterFunc(ctx, end)()
	f.mu.Lock()
	defer f.mu.Unlock()
	for !over && !f.stopped && (len(f.letters) > 0 || f.busy) {
		f.wake.Wait()
	}
	return len(f.letters)
}

func (f *forwarder) next() ([]dlx.Letter, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy = false
	f.wake.Broadcast() // for drain
	for len(f.letters) == 0 && !f.stopped {
		f.wake.Wait()
	}
	if f.stopped {
		return nil, false
	}
	n := min(letterBatch, len(f.letters))
	batch := slices.Clone(f.letters[:n])
	f.letters = f.letters[n:]
	f.busy = true
	return batch, true
}

func (f *forwarder) putBack(ls []dlx.Letter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.letters = append(ls, f.letters...)
}

// rest pauses between attempts; false when the group ends meanwhile.
func (f *forwarder) rest(d time.Duration) bool {
	over := false
	t := f.g.node.clock.AfterFunc(d, func() {
		f.mu.Lock()
		over = true
		f.mu.Unlock()
		f.wake.Broadcast()
	})
	defer t.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	for !over && !f.stopped {
		f.wake.Wait()
	}
	return !f.stopped
}

// sent is where one letter went.
type sent struct {
	letter dlx.Letter
	cause  dlx.Cause // why it went nowhere
	keep   bool      // went nowhere, and is to be kept until it can
	keys   []letterKey
}

// send publishes a batch and waits for all of it. It answers which letters are
// done, by cause, and which must be tried again. A letter that must be kept until
// there is a route for it holds up those behind it: a target knows repeats by the
// greatest number it has seen of this queue, so a letter that comes after a later
// one would be taken for a repeat, and lost. Order is kept, too (D-53).
func (f *forwarder) send(batch []dlx.Letter) (done []sent, kept []dlx.Letter) {
	view := f.g.node.View()
	q := view.QueueByID(f.g.id)
	if q == nil {
		q = f.queue // deleted; its letters still go where it said (D-48)
	}
	f.queue = q
	all := make([]sent, 0, len(batch))
	for _, l := range batch {
		s := f.sendOne(view, q, l)
		all = append(all, s)
		if s.keep && q.Config.Strategy == dlx.AtLeastOnce {
			break
		}
	}
	for _, s := range all {
		refused, ok := f.await(s.letter.ID, s.keys)
		switch {
		case !ok:
			kept = append(kept, s.letter) // stopped: nothing is known
		case refused && q.Config.Strategy == dlx.AtMostOnce:
			s.cause = dlx.TargetRefused
			done = append(done, s)
		case refused || s.keep:
			kept = append(kept, s.letter)
		default:
			done = append(done, s)
			delete(f.tried, s.letter.ID)
		}
	}
	return done, append(kept, batch[len(all):]...)
}

// sendOne rewrites one letter, routes it and publishes it (D-2 to D-9, D-30).
func (f *forwarder) sendOne(view *catalog.View, q *catalog.Queue, l dlx.Letter) sent {
	s := sent{letter: l}
	data, err := f.g.bodies.Entry(l.Index)
	if err != nil {
		f.g.log.Error("dead letter cannot be read", "letter", l.ID, "err", err)
		s.keep = true
		return s
	}
	env, err := fsm.ParseEnvelope(data[l.Off : l.Off+l.Size])
	if err != nil {
		f.g.log.Error("dead letter cannot be read", "letter", l.ID, "err", err)
		s.keep = true
		return s
	}
	to := dlx.Target{Exchange: q.Config.DeadLetterExchange, Key: q.Config.DeadLetterKey, HasKey: q.Config.HasDeadLetterKey}
	m, cause, err := f.rewrite.Rewrite(dlx.Parts{Exchange: env.Exchange, Key: env.Key, Props: env.Props, Annotations: env.Annotations}, &l, q.Name, to)
	if err != nil {
		f.g.log.Error("dead letter cannot be rewritten", "letter", l.ID, "err", err)
		s.keep = true
		return s
	}
	if cause != dlx.NotDropped {
		s.cause = cause
		return s
	}
	s.cause, f.queues = f.route(view, q, m)
	for _, target := range f.queues {
		if k := f.publish(target, m, env.Body, l); k.lane != nil {
			s.keys = append(s.keys, k)
		}
	}
	s.keep = s.cause != dlx.NotDropped && s.cause != dlx.Cycle && q.Config.Strategy == dlx.AtLeastOnce
	return s
}

// route finds the target queues; a cause says why there are none.
func (f *forwarder) route(view *catalog.View, q *catalog.Queue, m *dlx.Moved) (dlx.Cause, []*catalog.Queue) {
	vhost := view.Vhost(q.Vhost)
	if vhost == nil { // deleted with its queues
		return dlx.NoExchange, nil
	}
	targets := f.queues[:0]
	if len(m.Exchange) == 0 {
		targets = vhost.RouteDefault(m.Key, targets)
		for _, k := range m.Extra {
			targets = vhost.RouteDefault(k, targets)
		}
	} else {
		x := vhost.ExchangeBytes(m.Exchange)
		if x == nil {
			return dlx.NoExchange, nil
		}
		targets = vhost.Route(x, &exchange.Message{Key: m.Key, Extra: m.Extra, Headers: m.Headers}, &f.router, targets)
	}
	if len(targets) == 0 {
		return dlx.NoRoute, targets
	}
	targets = slices.DeleteFunc(targets, func(t *catalog.Queue) bool { return m.Notes.Cycles(t.Name) })
	if len(targets) == 0 {
		return dlx.Cycle, targets
	}
	return dlx.NotDropped, targets
}

// publish hands a letter to one target, under its own number: a restart in the
// middle then costs nothing. A target that refused it gets it again under a fresh
// number, since the same one would be refused again; one that a later letter has
// reached would take it for a repeat. No lane in the answer: the target has it.
func (f *forwarder) publish(target *catalog.Queue, m *dlx.Moved, body []byte, l dlx.Letter) letterKey {
	msg := queue.Message{Exchange: m.Exchange, Key: m.Key, Props: m.Props, Annotations: m.Annotations, Body: body, TTL: queue.NoTTL, Persistent: true}
	var props wire.Properties
	if wire.ParseProperties(m.Props, &props) == nil {
		msg.Priority, msg.HasPriority = props.Priority()
	}
	refused, tried := f.tried[l.ID][target.ID]
	own := f.steady.Lane(target.ID).(*lane)
	switch {
	case tried && !refused:
		return letterKey{}
	case tried, f.sent[own] >= l.ID:
		own = f.fresh.Lane(target.ID).(*lane)
		return letterKey{own, own.Publish(&msg)}
	}
	f.sent[own] = l.ID
	return letterKey{own, own.publishAs(l.ID, &msg)}
}

// await waits until all of a letter's targets have answered, and tells whether one
// refused it; not ok when the group ends first.
func (f *forwarder) await(id uint64, keys []letterKey) (refused, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range keys {
		for f.upTo[k.lane] < k.seq && !f.stopped {
			f.wake.Wait()
		}
		refused = refused || f.refused[k]
	}
	if f.stopped {
		return false, false
	}
	for _, k := range keys {
		if refused {
			if f.tried[id] == nil {
				f.tried[id] = map[queue.ID]bool{}
			}
			f.tried[id][k.lane.g.id] = f.refused[k]
		}
		delete(f.refused, k)
	}
	return refused, true
}

// Confirmed, Deliver and Cancelled make the forwarder a queue.Sink.
func (f *forwarder) Confirmed(l queue.Lane, upTo uint64, refused []uint64) {
	own := l.(*lane)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.upTo[own] = max(f.upTo[own], upTo)
	for _, seq := range refused {
		f.refused[letterKey{own, seq}] = true
	}
	f.wake.Broadcast()
}

func (f *forwarder) Deliver(queue.Lane, []queue.Delivery) {}
func (f *forwarder) Cancelled(queue.Lane, uint32)         {}

// forwarded has letters taken out of the box, by one command for each cause.
func (g *group) forwarded(done []sent) {
	byCause := map[dlx.Cause][]uint64{}
	for _, s := range done {
		byCause[s.cause] = append(byCause[s.cause], s.letter.ID)
	}
	if len(byCause) == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase == gone || g.phase == failed {
		return
	}
	for cause := range dlx.Cause(dlx.Causes) {
		if ids := byCause[cause]; len(ids) > 0 {
			g.pending.put(fsm.AppendForwarded(g.pending.room(16+10*len(ids)), ids, cause))
		}
	}
	g.work.Signal()
}
