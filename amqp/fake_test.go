package amqp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// fakeBroker is a cluster in memory: a real catalogue machine, queues as plain
// slices, and one goroutine that tells the sinks, as an outbox does.
type fakeBroker struct {
	view     atomic.Pointer[catalog.View]
	ids      atomic.Uint64
	catchUps atomic.Int32
	onCatch  func() // what the catalogue's leader knew already

	mu      sync.Mutex // guards all queues
	machine *catalog.Machine
	index   uint64
	queues  map[queue.ID]*fakeQueue
	fail    error // of every call that waits

	outbox  []func()
	work    sync.Cond
	idle    sync.Cond
	running bool
	paused  bool // effects wait for resume
	stopped bool
}

func newFakeBroker(t testing.TB) *fakeBroker {
	b := &fakeBroker{machine: catalog.New(), queues: map[queue.ID]*fakeQueue{}}
	b.work.L, b.idle.L = &b.mu, &b.mu
	b.ids.Store(1 << 32)
	b.view.Store(b.machine.View())
	b.must(t, catalog.Seed{Vhost: "/", User: "guest", Tags: []string{"administrator"}})
	done := make(chan struct{})
	go func() { defer close(done); b.run() }()
	t.Cleanup(func() {
		b.mu.Lock()
		b.stopped = true
		b.work.Broadcast()
		b.mu.Unlock()
		<-done
	})
	return b
}

func (b *fakeBroker) must(t testing.TB, cmds ...catalog.Command) {
	t.Helper()
	for _, cmd := range cmds {
		if out, err := b.Change(context.Background(), cmd); err != nil || out.Code != 0 {
			t.Fatalf("%T: %d %s %v", cmd, out.Code, out.Text, err)
		}
	}
}

func (b *fakeBroker) run() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		for (len(b.outbox) == 0 || b.paused) && !b.stopped {
			b.running = false
			b.idle.Broadcast()
			b.work.Wait()
		}
		if b.stopped {
			return
		}
		b.running = true
		es := b.outbox
		b.outbox = nil
		b.mu.Unlock()
		for _, e := range es {
			e()
		}
		b.mu.Lock()
	}
}

// effect queues a call of a sink; the caller holds mu.
func (b *fakeBroker) effect(f func()) {
	b.outbox = append(b.outbox, f)
	b.running = true
	b.work.Signal()
}

// settle returns when all sinks were told.
func (b *fakeBroker) settle() {
	b.mu.Lock()
	for !b.paused && (b.running || len(b.outbox) > 0) {
		b.idle.Wait()
	}
	b.mu.Unlock()
}

func (b *fakeBroker) pause(on bool) {
	b.mu.Lock()
	b.paused = on
	b.work.Signal()
	b.mu.Unlock()
}

func (b *fakeBroker) View() *catalog.View { return b.view.Load() }

func (b *fakeBroker) Change(_ context.Context, cmd catalog.Command) (catalog.Outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return catalog.Outcome{}, b.fail
	}
	b.index++
	out := b.machine.Apply(b.index, applyBytes(cmd))
	b.view.Store(b.machine.View())
	for _, id := range out.Removed {
		if q := b.queues[id]; q != nil {
			q.vanish()
		}
	}
	return out, nil
}

func (b *fakeBroker) CatchUp(context.Context) error {
	b.catchUps.Add(1)
	if b.onCatch != nil {
		b.onCatch()
	}
	return b.fail
}

func (b *fakeBroker) Open(sink queue.Sink) queue.Session {
	return &fakeSession{b: b, id: queue.SessionID(b.ids.Add(1)), sink: sink, lanes: map[queue.ID]*fakeLane{}}
}

func (b *fakeBroker) NextID() uint64      { return b.ids.Add(1) }
func (b *fakeBroker) Name() string        { return "mayfly@test" }
func (b *fakeBroker) ClusterName() string { return "test" }

// queue gives the state of a queue by name, or nil.
func (b *fakeBroker) queue(name string) *fakeQueue {
	q := b.View().Vhost("/").Queue(name)
	if q == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byID(q.ID)
}

func (b *fakeBroker) byID(id queue.ID) *fakeQueue {
	q := b.queues[id]
	if q == nil {
		q = &fakeQueue{b: b, id: id, cat: b.View().QueueByID(id)}
		b.queues[id] = q
	}
	return q
}

// bodies lists the ready messages.
func (b *fakeBroker) bodies(name string) []string {
	b.settle()
	q := b.queue(name)
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, m := range q.msgs {
		if m.holder == nil {
			out = append(out, string(m.env.Body))
		}
	}
	return out
}

// fakeQueue is a queue as a slice. The broker's mu guards it.
type fakeQueue struct {
	b         *fakeBroker
	id        queue.ID
	cat       *catalog.Queue
	msgs      []*fakeMsg // by position: ready and held
	next      queue.Pos
	consumers []*fakeConsumer
	lanes     []*fakeLane
	gone      bool
	refuse    bool // reject-publish and full
	released  int
	settled   []queue.Pos
	rejected  []queue.Pos
	whys      []queue.Why
	credits   int
	bodies    map[queue.Pos]queue.Envelope
}

type fakeMsg struct {
	pos      queue.Pos
	env      queue.Envelope
	ttl      int64
	holder   *fakeLane
	consumer uint32
	failed   uint32
	acquired uint32
}

type fakeConsumer struct {
	lane *fakeLane
	spec queue.ConsumerSpec
	held int // unsettled
	open uint32
}

func (c *fakeConsumer) room() bool {
	return (c.spec.NoAck || c.spec.Prefetch == 0 || c.held < int(c.spec.Prefetch)) && (c.spec.Window == 0 || c.open < c.spec.Window)
}

// pump assigns what is ready; the caller holds mu.
func (q *fakeQueue) pump() {
	for i := 0; i < len(q.msgs); i++ {
		m := q.msgs[i]
		if m.holder != nil {
			continue
		}
		best := -1
		for k, c := range q.consumers {
			if c.room() && (best < 0 || c.spec.Priority > q.consumers[best].spec.Priority) {
				best = k
			}
		}
		if best < 0 {
			return
		}
		c := q.consumers[best]
		q.consumers = append(slices.Delete(q.consumers, best, best+1), c)
		d := m.delivery(c.spec.Number, c.spec.NoAck)
		m.acquired++
		c.open++
		if c.spec.NoAck {
			q.msgs = slices.Delete(q.msgs, i, i+1)
			i--
		} else {
			c.held++
			m.holder, m.consumer = c.lane, c.spec.Number
		}
		l := c.lane
		q.b.effect(func() { l.s.sink.Deliver(l, []queue.Delivery{d}) })
	}
}

func (m *fakeMsg) delivery(consumer uint32, settled bool) queue.Delivery {
	return queue.Delivery{
		Ref: queue.Ref{Index: uint64(m.pos), Size: uint32(len(m.env.Body))}, Pos: m.pos, Consumer: consumer,
		Failed: m.failed, Acquired: m.acquired, Redelivered: m.acquired > 0, Settled: settled,
	}
}

// take removes a held message; nil if this session does not hold it.
func (q *fakeQueue) take(l *fakeLane, pos queue.Pos) *fakeMsg {
	for i, m := range q.msgs {
		if m.pos == pos && m.holder == l {
			q.msgs = slices.Delete(q.msgs, i, i+1)
			for _, c := range q.consumers {
				if c.lane == l && c.spec.Number == m.consumer {
					c.held--
				}
			}
			return m
		}
	}
	return nil
}

func (q *fakeQueue) giveBack(m *fakeMsg, why queue.Why) {
	m.holder = nil
	if why != queue.WhyTimeout && why != queue.WhyNodeGone {
		m.failed++
	}
	i, _ := slices.BinarySearchFunc(q.msgs, m.pos, func(x *fakeMsg, p queue.Pos) int { return int(x.pos) - int(p) })
	q.msgs = slices.Insert(q.msgs, i, m)
}

// vanish ends the queue; the caller holds mu.
func (q *fakeQueue) vanish() {
	if q.gone {
		return
	}
	q.gone = true
	for _, c := range q.consumers {
		q.b.effect(func() { c.lane.s.sink.Cancelled(c.lane, c.spec.Number) })
	}
	q.consumers, q.msgs = nil, nil
}

func (q *fakeQueue) ready() (n uint64) {
	for _, m := range q.msgs {
		if m.holder == nil {
			n++
		}
	}
	return n
}

func (q *fakeQueue) dropConsumer(l *fakeLane, number uint32) {
	q.consumers = slices.DeleteFunc(q.consumers, func(c *fakeConsumer) bool {
		return c.lane == l && c.spec.Number == number
	})
}

// autoDelete removes an auto-delete queue after its last consumer; the caller
// holds mu.
func (q *fakeQueue) autoDelete(had bool) {
	if had && q.cat.AutoDelete && len(q.consumers) == 0 && !q.gone {
		q.b.index++
		q.b.machine.Apply(q.b.index, applyBytes(catalog.DeleteQueue{ID: q.id}))
		q.b.view.Store(q.b.machine.View())
		q.vanish()
	}
}

func applyBytes(cmd catalog.Command) []byte { return catalog.Encode(cmd) }

type fakeSession struct {
	b      *fakeBroker
	id     queue.SessionID
	sink   queue.Sink
	mu     sync.Mutex
	lanes  map[queue.ID]*fakeLane
	closed bool
}

func (s *fakeSession) ID() queue.SessionID { return s.id }

func (s *fakeSession) Lane(id queue.ID) queue.Lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[id]
	if l == nil {
		s.b.mu.Lock()
		l = &fakeLane{s: s, q: s.b.byID(id)}
		s.b.mu.Unlock()
		s.lanes[id] = l
	}
	return l
}

func (s *fakeSession) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("closed twice")
	}
	s.closed = true
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	for _, l := range s.lanes {
		q := l.q
		l.closed = true
		n := len(q.consumers)
		q.consumers = slices.DeleteFunc(q.consumers, func(c *fakeConsumer) bool { return c.lane == l })
		for _, m := range slices.Clone(q.msgs) {
			if m.holder == l {
				q.giveBack(q.take(l, m.pos), queue.WhyClosed)
			}
		}
		q.pump()
		q.autoDelete(n > len(q.consumers))
	}
	return nil
}

// fakeLane is strict: it counts what it is told and refuses nothing it should not.
type fakeLane struct {
	s      *fakeSession
	q      *fakeQueue
	seq    uint64
	closed bool
	upTo   uint64
	no     []uint64
	told   bool
}

func (l *fakeLane) Queue() queue.ID { return l.q.id }

func (l *fakeLane) lock() func() {
	l.q.b.mu.Lock()
	return l.q.b.mu.Unlock
}

func (l *fakeLane) Publish(m *queue.Message) uint64 {
	defer l.lock()()
	l.seq++
	seq := l.seq
	if !l.q.gone {
		if l.q.refuse {
			l.no = append(l.no, seq)
		} else {
			l.q.add(m)
		}
	}
	l.confirm(seq)
	l.q.pump()
	return seq
}

// confirm gathers like an outbox does: one call for all that was applied.
func (l *fakeLane) confirm(seq uint64) {
	l.upTo = seq
	if l.told {
		return
	}
	l.told = true
	l.q.b.effect(func() {
		l.q.b.mu.Lock()
		upTo, no := l.upTo, l.no
		l.told, l.no = false, nil
		l.q.b.mu.Unlock()
		l.s.sink.Confirmed(l, upTo, no)
	})
}

func (q *fakeQueue) add(m *queue.Message) {
	q.next++
	env := queue.Envelope{
		Exchange: bytes.Clone(m.Exchange), Key: bytes.Clone(m.Key), Annotations: bytes.Clone(m.Annotations),
		Props: bytes.Clone(m.Props), Body: bytes.Clone(m.Body),
	}
	if q.bodies == nil {
		q.bodies = map[queue.Pos]queue.Envelope{}
	}
	q.bodies[q.next] = env
	q.msgs = append(q.msgs, &fakeMsg{pos: q.next, env: env, ttl: m.TTL})
}

func (l *fakeLane) Settle(ps []queue.Pos) {
	defer l.lock()()
	for _, p := range ps {
		if l.q.take(l, p) != nil {
			l.q.settled = append(l.q.settled, p)
		}
	}
	l.q.pump()
}

func (l *fakeLane) Reject(ps []queue.Pos) {
	defer l.lock()()
	for _, p := range ps {
		if l.q.take(l, p) != nil {
			l.q.rejected = append(l.q.rejected, p)
		}
	}
	l.q.pump()
}

func (l *fakeLane) Return(ps []queue.Pos, why queue.Why) {
	defer l.lock()()
	for _, p := range ps {
		if m := l.q.take(l, p); m != nil {
			l.q.giveBack(m, why)
			l.q.whys = append(l.q.whys, why)
		}
	}
	l.q.pump()
}

func (l *fakeLane) Credit(consumer uint32, n uint32) {
	defer l.lock()()
	l.q.credits++
	for _, c := range l.q.consumers {
		if c.lane == l && c.spec.Number == consumer {
			if n > c.open {
				panic(fmt.Sprintf("credit of %d for %d deliveries", n, c.open))
			}
			c.open -= n
		}
	}
	l.q.pump()
}

// ask is the common start of what waits.
func (l *fakeLane) ask(ctx context.Context) error {
	if l.q.b.fail != nil {
		return l.q.b.fail
	}
	if l.q.gone {
		return queue.RefusedGone
	}
	l.seq++ // numbered commands share the sequence of publishes
	return ctx.Err()
}

func (l *fakeLane) Attach(ctx context.Context, c queue.ConsumerSpec) error {
	defer l.lock()()
	if err := l.ask(ctx); err != nil {
		return err
	}
	for _, other := range l.q.consumers {
		if other.spec.Exclusive || c.Exclusive {
			return queue.RefusedExclusive
		}
	}
	l.q.consumers = append(l.q.consumers, &fakeConsumer{lane: l, spec: c})
	l.q.pump()
	return nil
}

func (l *fakeLane) Detach(ctx context.Context, consumer uint32) error {
	l.q.b.settle() // the answer comes after the deliveries before it
	defer l.lock()()
	if err := l.ask(ctx); err != nil {
		return err
	}
	l.q.dropConsumer(l, consumer)
	l.q.autoDelete(true)
	return nil
}

func (l *fakeLane) Get(ctx context.Context, noAck bool) (queue.Delivery, uint64, bool, error) {
	defer l.lock()()
	if err := l.ask(ctx); err != nil {
		return queue.Delivery{}, 0, false, err
	}
	if l.q.cat.Config.SingleActive {
		return queue.Delivery{}, 0, false, queue.RefusedSingleActive
	}
	for i, m := range l.q.msgs {
		if m.holder != nil {
			continue
		}
		d := m.delivery(0, noAck)
		m.acquired++
		if noAck {
			l.q.msgs = slices.Delete(l.q.msgs, i, i+1)
		} else {
			m.holder, m.consumer = l, 0
		}
		return d, l.q.ready(), true, nil
	}
	return queue.Delivery{}, 0, false, nil
}

func (l *fakeLane) Purge(ctx context.Context) (uint64, error) {
	defer l.lock()()
	if err := l.ask(ctx); err != nil {
		return 0, err
	}
	n := l.q.ready()
	l.q.msgs = slices.DeleteFunc(l.q.msgs, func(m *fakeMsg) bool { return m.holder == nil })
	return n, nil
}

func (l *fakeLane) Stat(ctx context.Context) (queue.Stat, error) {
	defer l.lock()()
	if err := l.ask(ctx); err != nil {
		return queue.Stat{}, err
	}
	return queue.Stat{Ready: l.q.ready(), Consumers: uint32(len(l.q.consumers))}, nil
}

func (l *fakeLane) Delete(ctx context.Context, ifUnused, ifEmpty bool) (uint64, error) {
	b := l.q.b
	b.mu.Lock()
	err := l.ask(ctx)
	n := l.q.ready()
	switch {
	case err != nil:
	case ifUnused && len(l.q.consumers) > 0:
		err = queue.RefusedInUse
	case ifEmpty && n > 0:
		err = queue.RefusedNotEmpty
	}
	b.mu.Unlock()
	if err != nil {
		return 0, err
	}
	_, err = b.Change(ctx, catalog.DeleteQueue{ID: l.q.id})
	return n, err
}

func (l *fakeLane) Commit(ctx context.Context, tx *queue.Tx) (int, error) {
	defer l.lock()()
	if err := l.ask(ctx); err != nil {
		return 0, err
	}
	if l.q.refuse && len(tx.Publishes) > 0 {
		return len(tx.Publishes), nil
	}
	for _, m := range tx.Publishes {
		l.q.add(m)
	}
	for _, p := range tx.Settles {
		l.q.settled = append(l.q.settled, p)
		l.q.take(l, p)
	}
	for _, p := range tx.Rejects {
		l.q.rejected = append(l.q.rejected, p)
		l.q.take(l, p)
	}
	for _, p := range tx.Returns {
		if m := l.q.take(l, p); m != nil {
			l.q.giveBack(m, queue.WhyNack)
		}
	}
	l.q.pump()
	return 0, nil
}

func (l *fakeLane) Load(d *queue.Delivery) (queue.Envelope, error) {
	defer l.lock()()
	env, ok := l.q.bodies[d.Pos]
	if !ok {
		return env, errors.New("no such message")
	}
	return env, nil
}

func (l *fakeLane) Release(d *queue.Delivery) {
	defer l.lock()()
	if !d.Settled {
		panic("release of an unsettled delivery")
	}
	l.q.released++
}

var _ = wire.Frame{}
