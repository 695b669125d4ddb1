package amqp

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

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
	told uint64
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
		c.told++
		d.Number = c.told
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
