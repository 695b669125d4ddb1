package cluster

import (
	"context"
	"sync"

	"mayfly/queue"
)

// outbox runs the effects of a led group: it tells sessions what the log
// decided. push never blocks the applying goroutine; run is one goroutine per
// group and the only caller of sinks.
type outbox struct {
	g *group

	mu      sync.Mutex
	wake    sync.Cond
	in      []queue.Effect
	stopped bool

	out   []queue.Effect
	dirty []*lane // lanes with deliveries gathered in this drain
	last  *lane   // of the effect before: effects come in runs of one session

	refused []uint64 // publishes refused since the last confirm
}

// maxKeptEffects bounds what the two effect buffers keep after a burst.
const maxKeptEffects = 64 << 10

func newOutbox(g *group) *outbox {
	o := &outbox{g: g}
	o.wake.L = &o.mu
	return o
}

func (o *outbox) push(es []queue.Effect) {
	if len(es) == 0 {
		return
	}
	o.mu.Lock()
	o.in = append(o.in, es...)
	o.mu.Unlock()
	o.wake.Signal()
}

func (o *outbox) run() {
	defer o.g.done.Done()
	for {
		o.mu.Lock()
		for len(o.in) == 0 && !o.stopped {
			o.wake.Wait()
		}
		if len(o.in) == 0 {
			o.mu.Unlock()
			return
		}
		o.in, o.out = o.out[:0], o.in
		o.mu.Unlock()
		o.drain(o.out)
		if cap(o.out) > maxKeptEffects {
			o.out = nil
		}
	}
}

func (o *outbox) stop() {
	o.mu.Lock()
	o.stopped = true
	o.mu.Unlock()
	o.wake.Broadcast()
}

// drain is hop 8 of a publish (ARCHITECTURE.md). Deliveries are gathered per
// lane, so a session hears of a whole batch at once.
func (o *outbox) drain(es []queue.Effect) {
	for i := range es {
		e := &es[i]
		switch e.Kind {
		case queue.EffectDeliver:
			o.deliver(e)
		case queue.EffectRefused:
			o.refuse(e)
		case queue.EffectConfirm:
			o.confirm(e)
		case queue.EffectAttached, queue.EffectDetached, queue.EffectGot, queue.EffectPurged, queue.EffectClosed, queue.EffectCommitted:
			o.flush() // an answer comes after the deliveries decided before it
			if e.Kind == queue.EffectDetached {
				o.drop(e) // before the answer: the queue may go with its last consumer
			}
			o.answer(e)
		case queue.EffectCancelled:
			o.flush()
			o.cancel(e)
		case queue.EffectGone:
			o.g.node.forgetLater(o.g.id)
		case queue.EffectAssigned:
			o.assigned(e)
		}
	}
	o.flush()
	o.last = nil
}

// refuse notes a publish the queue refused, for the confirm that follows, or
// answers a request that was.
func (o *outbox) refuse(e *queue.Effect) {
	l := o.lane(e.Session)
	switch {
	case l == nil:
	case e.Refusal == queue.RefusedFull:
		o.refused = append(o.refused, e.Seq)
	default: // even if nobody waits any more: the confirm that follows may be another session's
		l.answered(e.Seq, reply{refusal: e.Refusal})
	}
}

func (o *outbox) confirm(e *queue.Effect) {
	if l := o.lane(e.Session); l != nil {
		l.s.sink.Confirmed(l, e.Seq, o.refused)
	}
	o.refused = o.refused[:0]
}

func (o *outbox) cancel(e *queue.Effect) {
	if l := o.drop(e); l != nil {
		l.s.sink.Cancelled(l, e.Consumer)
	}
}

// drop forgets a consumer that is no more; a queue that vanishes later does not
// cancel it again.
func (o *outbox) drop(e *queue.Effect) *lane {
	l := o.lane(e.Session)
	if l != nil {
		o.g.mu.Lock()
		delete(l.consumers, e.Consumer)
		delete(l.credited, e.Consumer)
		o.g.mu.Unlock()
	}
	return l
}

// assigned opens the window of a no-ack consumer again by what the old leader
// may have lost on its way.
func (o *outbox) assigned(e *queue.Effect) {
	if l := o.lane(e.Session); l != nil {
		l.credit(e.Consumer, 0, e.N)
	}
}

func (o *outbox) lane(s queue.SessionID) *lane {
	if o.last != nil && o.last.s.id == s {
		return o.last
	}
	o.g.mu.Lock()
	l := o.g.lanes[s]
	o.g.mu.Unlock()
	if l != nil {
		o.last = l
	}
	return l
}

func (o *outbox) deliver(e *queue.Effect) {
	l := o.lane(e.Session)
	if l == nil { // the session closed meanwhile; what was not settled has returned
		if e.Delivery.Settled {
			o.g.bodies.Release(e.Delivery.Ref.Index, 1)
		}
		return
	}
	if len(l.deliveries) == 0 {
		o.dirty = append(o.dirty, l)
	}
	l.deliveries = append(l.deliveries, e.Delivery)
}

func (o *outbox) flush() {
	for i, l := range o.dirty {
		l.s.sink.Deliver(l, l.deliveries)
		if cap(l.deliveries) > maxKeptEffects {
			l.deliveries = nil
		}
		l.deliveries = l.deliveries[:0]
		o.dirty[i] = nil
	}
	o.dirty = o.dirty[:0]
}

// answer completes a numbered request.
func (o *outbox) answer(e *queue.Effect) {
	l := o.lane(e.Session)
	if l != nil && l.answered(e.Seq, reply{delivery: e.Delivery, n: e.N, refusal: e.Refusal, found: e.Found}) {
		return
	}
	if e.Kind != queue.EffectGot || !e.Found {
		return
	}
	// Nobody waits for it any more: it goes back.
	if e.Delivery.Settled {
		o.g.bodies.Release(e.Delivery.Ref.Index, 1)
	} else if l != nil {
		l.Return([]queue.Pos{e.Delivery.Pos}, queue.WhyClosed)
	}
}

// forgetLater takes a queue that ended by itself out of the catalogue.
func (n *Node) forgetLater(id queue.ID) {
	n.later(func() {
		ctx, cancel := context.WithTimeout(n.ctx, changeTimeout)
		defer cancel()
		if err := n.forget(ctx, id); err != nil && n.ctx.Err() == nil {
			n.log.Warn("queue not removed from the catalogue; tried again when it is next opened", "group", uint64(id), "err", err)
		}
	})
}
