package amqp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// fakeSession is one channel's standing with the fake broker.
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
