package cluster

import (
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
	stopped bool

	steady  *session // numbered by letter: repeats are recognised
	fresh   *session // for targets that may refuse, where a repeat is meant
	rewrite dlx.Rewriter
	router  exchange.Router
	queues  []*catalog.Queue
}

type letterKey struct {
	lane *lane
	seq  uint64
}

func newForwarder(g *group) *forwarder {
	f := &forwarder{g: g, refused: map[letterKey]bool{}, upTo: map[*lane]uint64{}}
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

func (f *forwarder) next() ([]dlx.Letter, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.letters) == 0 && !f.stopped {
		f.wake.Wait()
	}
	if f.stopped {
		return nil, false
	}
	n := min(letterBatch, len(f.letters))
	batch := slices.Clone(f.letters[:n])
	f.letters = f.letters[n:]
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
// done, by cause, and which must be tried again.
func (f *forwarder) send(batch []dlx.Letter) (done []sent, kept []dlx.Letter) {
	view := f.g.node.View()
	q := view.QueueByID(f.g.id)
	if q == nil {
		return nil, nil // the queue is being deleted
	}
	all := make([]sent, 0, len(batch))
	for _, l := range batch {
		all = append(all, f.sendOne(view, q, l))
	}
	for _, s := range all {
		refused := f.await(s.keys)
		switch {
		case refused && q.Config.Strategy == dlx.AtMostOnce:
			s.cause = dlx.TargetRefused
			done = append(done, s)
		case refused || s.keep:
			kept = append(kept, s.letter)
		default:
			done = append(done, s)
		}
	}
	return done, kept
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
		s.keys = append(s.keys, f.publish(target, m, env.Body, l))
	}
	s.keep = s.cause != dlx.NotDropped && s.cause != dlx.Cycle && q.Config.Strategy == dlx.AtLeastOnce
	return s
}

// route finds the target queues; a cause says why there are none.
func (f *forwarder) route(view *catalog.View, q *catalog.Queue, m *dlx.Moved) (dlx.Cause, []*catalog.Queue) {
	vhost := view.Vhost(q.Vhost)
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

// publish hands a letter to one target. A target that may refuse gets it under a
// fresh number, since the same one again would be taken for a repeat.
func (f *forwarder) publish(target *catalog.Queue, m *dlx.Moved, body []byte, l dlx.Letter) letterKey {
	msg := queue.Message{Exchange: m.Exchange, Key: m.Key, Props: m.Props, Annotations: m.Annotations, Body: body, TTL: queue.NoTTL, Persistent: true}
	var props wire.Properties
	if wire.ParseProperties(m.Props, &props) == nil {
		msg.Priority, msg.HasPriority = props.Priority()
	}
	limited := target.Config.Overflow.Rejects() && (target.Config.MaxLength >= 0 || target.Config.MaxBytes >= 0)
	if limited {
		lane := f.fresh.Lane(target.ID).(*lane)
		return letterKey{lane, lane.Publish(&msg)}
	}
	lane := f.steady.Lane(target.ID).(*lane)
	return letterKey{lane, lane.publishAs(l.ID, &msg)}
}

// await waits until all of a letter's targets have it, and answers whether one
// refused it.
func (f *forwarder) await(keys []letterKey) (refused bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range keys {
		for f.upTo[k.lane] < k.seq && !f.stopped {
			f.wake.Wait()
		}
		if f.refused[k] {
			delete(f.refused, k)
			refused = true
		}
	}
	return refused || f.stopped
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
