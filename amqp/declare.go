package amqp

import (
	"errors"
	"strings"
	"time"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// A client that lost its connection may redeclare its exclusive queue before
// the old connection is known dead; it is given this long (section 18).
const (
	exclusiveGrace = 2 * time.Second
	exclusivePause = 20 * time.Millisecond
)

// maxDeclareTries bounds how often a declare begins again because the queue it
// found was deleted meanwhile.
const maxDeclareTries = 5

// queueDeclare is section 11.1, in the order of queues-ttl-dlx.md 1.1.
func (ch *channel) queueDeclare(m *wire.QueueDeclare) *Error {
	name := stripCRLF(m.Queue)
	if isReplyName(name) {
		return ch.declareReply(name, m.NoWait)
	}
	if m.Passive {
		return ch.declarePassive(name, m.NoWait)
	}
	if name == "" {
		name = randomName("amq.gen-")
	} else if strings.HasPrefix(name, catalog.ReservedPrefix) {
		return errReservedQueue(name)
	}
	if e := ch.allow(wire.QueueDeclareID, resources{queue: name}); e != nil {
		return e
	}
	cmd := catalog.DeclareQueue{
		Vhost: ch.c.vhost, Name: name, Durable: m.Durable && !m.Exclusive, AutoDelete: m.AutoDelete,
		Exclusive: m.Exclusive, Owner: ch.c.id, Args: m.Arguments, User: ch.c.user,
	}
	for range maxDeclareTries {
		q, created, e := ch.declared(&cmd)
		if e != nil {
			return e
		}
		var stat queue.Stat
		if !created {
			ctx, done := ch.waiting()
			var err error
			stat, err = ch.laneOf(q).Stat(ctx)
			done()
			if errors.Is(err, queue.RefusedGone) {
				if e := ch.catchUp(); e != nil {
					return e
				}
				continue
			}
			if err != nil {
				return ch.queueError(name, err)
			}
		}
		return ch.declareOk(name, stat, m.NoWait)
	}
	return ch.queueError(name, queue.RefusedGone)
}

// declareOk ends a declare; the name now stands for "".
func (ch *channel) declareOk(name string, stat queue.Stat, noWait bool) *Error {
	ch.lastQueue = name
	if !noWait {
		ch.answer(&wire.QueueDeclareOk{Queue: name, MessageCount: count32(stat.Ready), ConsumerCount: stat.Consumers})
	}
	return nil
}

func count32(n uint64) uint32 { return uint32(min(n, 1<<32-1)) }

// declared finds or makes the queue.
func (ch *channel) declared(cmd *catalog.DeclareQueue) (q *catalog.Queue, created bool, e *Error) {
	if q = ch.queueInView(cmd.Name); q == nil {
		if e = ch.checkNewQueue(cmd); e != nil {
			// A queue that another node has just declared is compared, not validated.
			if fe := ch.freshen(); fe != nil {
				return nil, false, fe
			}
			if q = ch.queueInView(cmd.Name); q == nil {
				return nil, false, e
			}
		}
	}
	if q != nil {
		if q = ch.awaitOwner(cmd, q); q != nil {
			e = refused(q.Equivalent(*cmd))
			ch.ownQueue(cmd, q, e)
			return q, false, e
		}
	}
	out, e := ch.change(*cmd)
	ch.ownQueue(cmd, out.Queue, e)
	return out.Queue, !out.Existed, e
}

// ownQueue notes an exclusive queue that the connection owns now, also one that
// existed: its first declare may have had no answer.
func (ch *channel) ownQueue(cmd *catalog.DeclareQueue, q *catalog.Queue, e *Error) {
	if e == nil && cmd.Exclusive {
		ch.c.addExclusive(q)
	}
}

// checkNewQueue is. The catalogue validates again when it applies.
func (ch *channel) checkNewQueue(cmd *catalog.DeclareQueue) *Error {
	target, has, r := catalog.CheckDeadLetter(cmd.Vhost, cmd.Name, cmd.Args)
	if r != nil {
		return refused(r)
	}
	if has {
		res := resources{queue: cmd.Name, deadLetter: target}
		if e := ch.allowWhen(wire.QueueDeclareID, ifDeadLetter, res); e != nil {
			return e
		}
	}
	_, r = catalog.CheckQueueArgs(cmd.Vhost, cmd.Name, cmd.Durable, cmd.AutoDelete, cmd.Exclusive, cmd.Args)
	return refused(r)
}

// refused turns the catalogue's refusal into the client's.
func refused(r *catalog.Refusal) *Error {
	if r == nil {
		return nil
	}
	return newError(r.Code, r.Text)
}

// change proposes a catalogue command and waits for it.
func (ch *channel) change(cmd catalog.Command) (catalog.Outcome, *Error) {
	ctx, done := ch.waiting()
	defer done()
	out, err := ch.c.broker.Change(ctx, cmd)
	if err != nil {
		return out, errTrouble("catalogue", err)
	}
	return out, refused(out.Refusal())
}

// awaitOwner gives an exclusive queue of another connection a moment to vanish,
// when the same user wants it exclusively for itself: the owner may be a socket
// that is dead and not yet known to be. It returns what is there then.
func (ch *channel) awaitOwner(cmd *catalog.DeclareQueue, q *catalog.Queue) *catalog.Queue {
	if !cmd.Exclusive || q.OpenTo(ch.c.id) || q.User != ch.c.user {
		return q
	}
	timer := ch.c.clock.NewTimer(exclusivePause)
	defer timer.Stop()
	for waited := time.Duration(0); waited < exclusiveGrace; waited += exclusivePause {
		select {
		case <-timer.C():
			timer.Reset(exclusivePause)
		case <-ch.ctx.Done():
			return q
		}
		now := ch.queueInView(cmd.Name)
		if now == nil || now.ID != q.ID {
			return now
		}
	}
	return q
}

// declarePassive looks only at the name and at exclusivity. Reserved names
// are allowed, and "" is a name like any other: of no queue.
func (ch *channel) declarePassive(name string, noWait bool) *Error {
	if e := ch.allowWhen(wire.QueueDeclareID, ifPassive, resources{queue: name}); e != nil {
		return e
	}
	q, e := ch.usableQueue(name)
	if e != nil {
		return e
	}
	ctx, done := ch.waiting()
	stat, err := ch.laneOf(q).Stat(ctx)
	done()
	if err != nil {
		return ch.queueError(name, err)
	}
	return ch.declareOk(q.Name, stat, noWait)
}

// queuePurge is queue.purge: the ready messages go, the unacked stay.
func (ch *channel) queuePurge(m *wire.QueuePurge) *Error {
	q, e := ch.openQueue(wire.QueuePurgeID, m.Queue)
	if e != nil {
		return e
	}
	ctx, done := ch.waiting()
	n, err := ch.laneOf(q).Purge(ctx)
	done()
	if err != nil {
		return ch.queueError(q.Name, err)
	}
	if !m.NoWait {
		ch.answer(&wire.QueuePurgeOk{MessageCount: count32(n)})
	}
	return nil
}

// queueDelete is queue.delete; a queue that is missing is deleted.
func (ch *channel) queueDelete(m *wire.QueueDelete) *Error {
	name, e := ch.queueName(m.Queue)
	if e != nil {
		return e
	}
	if e := ch.allow(wire.QueueDeleteID, resources{queue: name}); e != nil {
		return e
	}
	q, e := ch.findQueue(name)
	if e != nil {
		return e
	}
	n := uint64(0)
	if q != nil {
		if !q.OpenTo(ch.c.id) {
			return refused(catalog.Locked(ch.c.vhost, name))
		}
		ctx, done := ch.waiting()
		ready, err := ch.laneOf(q).Delete(ctx, m.IfUnused, m.IfEmpty)
		done()
		if err != nil && !errors.Is(err, queue.RefusedGone) {
			return ch.queueError(name, err)
		}
		n = ready
		if q.Exclusive {
			ch.c.forgetExclusive(q.ID)
		}
	}
	if !m.NoWait {
		ch.answer(&wire.QueueDeleteOk{MessageCount: count32(n)})
	}
	return nil
}
