package cluster

import (
	"context"

	"mayfly/fsm"
	"mayfly/queue"
)

// lane is one session's road to one group led here. The group's mu guards its
// fields; deliveries is the outbox goroutine's alone.
type lane struct {
	g *group
	s *session

	seq       uint64 // last number given
	batch     uint64 // of the last command, 0 = none yet
	asked     map[uint64]chan reply
	consumers map[uint32]struct{}
	credited  map[uint32]uint64 // by consumer, in all
	closed    bool

	deliveries []queue.Delivery
}

// reply is the outcome of a numbered request.
type reply struct {
	delivery queue.Delivery
	n        uint64
	refusal  queue.Refusal
	found    bool
	err      error
}

func (r *reply) problem() error {
	if r.err == nil && r.refusal != queue.RefusedNone {
		return r.refusal
	}
	return r.err
}

func (l *lane) Queue() queue.ID { return l.g.id }

// begin readies the lane for a command of n bytes: the group is started, there
// is room. It returns with mu held, and false if the queue is gone or broken.
func (l *lane) begin(n int) bool {
	g := l.g
	g.mu.Lock()
	for g.pending.bytes > 0 && g.pending.bytes+n > maxPending && g.phase != gone && g.phase != failed && !g.stopped && !l.closed {
		g.room.Wait()
	}
	if g.phase == dormant {
		g.startLocked()
	}
	return g.phase != gone && g.phase != failed && !g.stopped && !l.closed
}

// end takes the batch back with the command appended, and lets mu go.
func (l *lane) end(b []byte) {
	g := l.g
	g.pending.put(b)
	l.batch = g.pending.no
	g.work.Signal()
	g.mu.Unlock()
}

// Publish is hop 4 of a publish (ARCHITECTURE.md): the message is appended to
// the group's next log entry, its only copy on the way to the log.
func (l *lane) Publish(m *queue.Message) uint64 {
	n := fsm.EnqueueSize(m)
	ok := l.begin(n)
	l.seq++
	seq := l.seq
	if !ok {
		g := l.g
		accepted := g.phase == gone && !l.closed
		g.mu.Unlock()
		if accepted { // a queue that is gone no longer counts for the confirm
			go l.s.sink.Confirmed(l, seq, nil)
		}
		return seq
	}
	l.end(fsm.AppendEnqueue(l.g.pending.room(n), l.s.id, seq, m))
	return seq
}

// publishAs publishes under a number of the caller's own, above all earlier ones
// of this producer, so that sending it again after a crash is a repeat.
func (l *lane) publishAs(seq uint64, m *queue.Message) uint64 {
	l.g.mu.Lock()
	l.seq = seq - 1
	l.g.mu.Unlock()
	return l.Publish(m)
}

func (l *lane) Settle(ps []queue.Pos) {
	if l.begin(len(ps) * posSize) {
		l.end(fsm.AppendSettle(l.g.pending.room(len(ps)*posSize), l.s.id, ps))
		return
	}
	l.g.mu.Unlock()
}

func (l *lane) Reject(ps []queue.Pos) {
	if l.begin(len(ps) * posSize) {
		l.end(fsm.AppendReject(l.g.pending.room(len(ps)*posSize), l.s.id, ps))
		return
	}
	l.g.mu.Unlock()
}

func (l *lane) Return(ps []queue.Pos, why queue.Why) {
	if l.begin(len(ps) * posSize) {
		l.end(fsm.AppendReturn(l.g.pending.room(len(ps)*posSize), l.s.id, ps, why))
		return
	}
	l.g.mu.Unlock()
}

// Credit is logged as a total, so that a repeat changes nothing.
func (l *lane) Credit(consumer uint32, n uint32) { l.credit(consumer, uint64(n), 0) }

// credit adds n to what a consumer was credited, and raises it to at least floor.
func (l *lane) credit(consumer uint32, n, floor uint64) {
	if l.begin(creditSize) {
		if l.credited == nil {
			l.credited = map[uint32]uint64{}
		}
		total := max(l.credited[consumer]+n, floor)
		l.credited[consumer] = total
		l.end(fsm.AppendCredit(l.g.pending.room(creditSize), l.s.id, consumer, total))
		return
	}
	l.g.mu.Unlock()
}

// About how many bytes commands without content take.
const (
	requestSize = 64
	creditSize  = 24
	posSize     = 10
)

// ask sends a numbered request and waits for its outcome.
func (l *lane) ask(ctx context.Context, size int, encode func(dst []byte, seq uint64) []byte) (reply, error) {
	g := l.g
	if !l.begin(size) {
		defer g.mu.Unlock()
		return reply{}, l.whyNotLocked()
	}
	l.seq++
	seq := l.seq
	ch := make(chan reply, 1)
	if l.asked == nil {
		l.asked = map[uint64]chan reply{}
	}
	l.asked[seq] = ch
	l.end(encode(g.pending.room(size), seq))
	select {
	case r := <-ch:
		return r, r.problem()
	case <-ctx.Done():
		g.mu.Lock()
		_, waits := l.asked[seq]
		delete(l.asked, seq)
		g.mu.Unlock()
		if !waits { // the answer is on its way: what a get brings must not be lost with it
			r := <-ch
			return r, r.problem()
		}
		return reply{}, ctx.Err()
	}
}

// answered hands a request its outcome, if somebody waits for it.
func (l *lane) answered(seq uint64, r reply) bool {
	l.g.mu.Lock()
	ch, ok := l.asked[seq]
	delete(l.asked, seq)
	l.g.mu.Unlock()
	if ok {
		ch <- r
	}
	return ok
}

func (l *lane) whyNotLocked() error {
	switch {
	case l.g.phase == gone:
		return queue.RefusedGone
	case l.g.phase == failed:
		return l.g.err
	default:
		return errStopping
	}
}

func (l *lane) Attach(ctx context.Context, c queue.ConsumerSpec) error {
	l.g.mu.Lock()
	if l.consumers == nil {
		l.consumers = map[uint32]struct{}{}
	}
	l.consumers[c.Number] = struct{}{} // before the answer: the queue may vanish in between
	l.g.mu.Unlock()
	_, err := l.ask(ctx, requestSize+len(c.Tag), func(dst []byte, seq uint64) []byte {
		return fsm.AppendAttach(dst, l.s.id, seq, c)
	})
	if err != nil {
		l.g.mu.Lock()
		delete(l.consumers, c.Number)
		l.g.mu.Unlock()
	}
	return err
}

func (l *lane) Detach(ctx context.Context, consumer uint32) error {
	_, err := l.ask(ctx, requestSize, func(dst []byte, seq uint64) []byte {
		return fsm.AppendDetach(dst, l.s.id, seq, consumer)
	})
	if err == nil && l.g.ended.Load() { // it was the last consumer of an auto-delete queue
		err = l.g.waitGone(ctx)
	}
	return err
}

// Get answers an empty queue after a leadership check without a log entry
// (S25), when nothing of this lane is still on its way.
func (l *lane) Get(ctx context.Context, noAck bool) (queue.Delivery, uint64, bool, error) {
	if empty, err := l.idleAndEmpty(); err != nil || empty {
		return queue.Delivery{}, 0, false, err
	}
	r, err := l.ask(ctx, requestSize, func(dst []byte, seq uint64) []byte {
		return fsm.AppendGet(dst, l.s.id, seq, noAck)
	})
	return r.delivery, r.n, r.found, err
}

func (l *lane) idleAndEmpty() (bool, error) {
	g := l.g
	g.mu.Lock()
	idle := l.batch == 0 || l.batch < g.applied
	ph, h, kept := g.phase, g.host, g.kept
	g.mu.Unlock()
	if !idle || ph != led && (ph != dormant || kept) {
		return false, nil
	}
	q := g.node.View().QueueByID(g.id)
	if q == nil || q.Config.SingleActive || q.Config.Expires >= 0 {
		return false, nil // the machine must refuse it, or take it as use of the lease
	}
	if ph == dormant {
		return true, nil
	}
	if g.stat.Load().Ready != 0 {
		return false, nil
	}
	return true, h.verify()
}

func (l *lane) Purge(ctx context.Context) (uint64, error) {
	if l.untouched() {
		return 0, nil
	}
	r, err := l.ask(ctx, requestSize, func(dst []byte, seq uint64) []byte {
		return fsm.AppendPurge(dst, l.s.id, seq)
	})
	return r.n, err
}

// untouched tells whether the queue has never been opened: it is empty then.
func (l *lane) untouched() bool {
	l.g.mu.Lock()
	defer l.g.mu.Unlock()
	return l.g.phase == dormant && !l.g.kept
}

// touch renews the lease: Stat is asked by declares, and those are use.
func (l *lane) touch() {
	if l.begin(1) {
		l.end(fsm.AppendTouch(l.g.pending.room(1)))
		return
	}
	l.g.mu.Unlock()
}

// Stat counts after everything this lane has sent, on a verified leader (S25).
func (l *lane) Stat(ctx context.Context) (queue.Stat, error) {
	g := l.g
	q := g.node.View().QueueByID(g.id)
	if q != nil && q.Config.Expires >= 0 {
		l.touch()
	}
	if l.untouched() {
		return queue.Stat{}, nil
	}
	g.start()
	if err := g.waitLed(ctx); err != nil {
		return queue.Stat{}, err
	}
	g.mu.Lock()
	no := l.batch
	g.mu.Unlock()
	if err := g.waitApplied(ctx, no); err != nil {
		return queue.Stat{}, err
	}
	if g.ended.Load() {
		if err := g.waitGone(ctx); err != nil {
			return queue.Stat{}, err
		}
	}
	g.mu.Lock()
	ph, h := g.phase, g.host
	g.mu.Unlock()
	if ph == gone {
		return queue.Stat{}, queue.RefusedGone
	}
	if err := h.verify(); err != nil {
		return queue.Stat{}, err
	}
	return *g.stat.Load(), nil
}

// Delete closes the queue in its own log first, where the conditions are judged,
// then takes it out of the catalogue.
func (l *lane) Delete(ctx context.Context, ifUnused, ifEmpty bool) (uint64, error) {
	var n uint64
	if !l.untouched() {
		r, err := l.ask(ctx, requestSize, func(dst []byte, seq uint64) []byte {
			return fsm.AppendClose(dst, l.s.id, seq, ifUnused, ifEmpty)
		})
		if err != nil {
			return 0, err
		}
		n = r.n
	}
	return n, l.g.node.forget(ctx, l.g.id)
}

func (l *lane) Commit(ctx context.Context, tx *queue.Tx) (int, error) {
	size := requestSize + posSize*(len(tx.Settles)+len(tx.Rejects)+len(tx.Returns))
	for _, m := range tx.Publishes {
		size += fsm.EnqueueSize(m)
	}
	r, err := l.ask(ctx, size, func(dst []byte, seq uint64) []byte {
		return fsm.AppendTx(dst, l.s.id, seq, tx)
	})
	return int(r.n), err
}

func (l *lane) Load(d *queue.Delivery) (queue.Envelope, error) {
	data, err := l.g.bodies.Entry(d.Ref.Index)
	if err != nil {
		return queue.Envelope{}, err
	}
	return fsm.ParseEnvelope(data[d.Ref.Off : d.Ref.Off+d.Ref.Size])
}

func (l *lane) Release(d *queue.Delivery) { l.g.bodies.Release(d.Ref.Index, 1) }

// close asks the machine to forget the session and returns the batch to wait for.
// It does not wait for room, and frees a publish that does: a queue that has no
// leader must not keep a channel from ending.
func (l *lane) close() uint64 {
	g := l.g
	g.mu.Lock()
	l.closed = true
	delete(g.lanes, l.s.id)
	g.room.Broadcast()
	if l.batch == 0 || g.phase == gone || g.phase == failed || g.stopped {
		g.mu.Unlock()
		return 0
	}
	b := fsm.AppendSessionClosed(g.pending.room(requestSize), l.s.id)
	no := g.pending.no
	l.end(b)
	return no
}

// vanished tells the session that the queue is deleted.
func (l *lane) vanished() { l.ended(reply{refusal: queue.RefusedGone}, true) }

// failed tells the session that the queue broke on this node: requests fail,
// publishes stay unanswered (their outcome is unknown).
func (l *lane) failed(err error) { l.ended(reply{err: err}, false) }

func (l *lane) ended(r reply, accepted bool) {
	g := l.g
	g.mu.Lock()
	asked, consumers, seq, closed := l.asked, l.consumers, l.seq, l.closed
	l.asked, l.consumers = nil, nil
	g.mu.Unlock()
	for _, ch := range asked {
		ch <- r
	}
	if closed {
		return
	}
	if accepted && seq > 0 {
		l.s.sink.Confirmed(l, seq, nil)
	}
	for c := range consumers {
		l.s.sink.Cancelled(l, c)
	}
}
