package amqp

import (
	"bytes"
	"cmp"
	"slices"

	"mayfly/amqp/wire"
	"mayfly/queue"
)

// txBytes bounds the publishes a transaction may hold, beside one message of the
// largest size that is allowed.
const txBytes = 128 << 20

// transaction is what a channel in tx mode has buffered (section 10). Settlements
// are not in it: they are marked in unacked. The owner of the input's.
type transaction struct {
	publishes []txPublish
	bytes     int
}

// txPublish is one publish, routed when it came.
type txPublish struct {
	msg       queue.Message
	lanes     []*laneState
	mandatory bool
	reply     bool // for a reply consumer
}

func (t *transaction) forget() {
	for i := range t.publishes {
		for _, ls := range t.publishes[i].lanes {
			ls.inTx = false
		}
	}
	*t = transaction{}
}

// publish copies the message in ch.pub into the transaction.
func (t *transaction) publish(ch *channel, lanes []*laneState) *Error {
	p := &ch.pub
	m := p.msg
	size := len(m.Exchange) + len(m.Key) + len(m.Props) + len(m.Annotations) + len(m.Body)
	limit := txBytes + int(ch.c.opts.MaxMessageSize)
	if t.bytes+size > limit {
		return errTxTooLarge(limit)
	}
	t.bytes += size + 256
	m.Exchange, m.Key, m.Props = bytes.Clone(m.Exchange), bytes.Clone(m.Key), bytes.Clone(m.Props)
	m.Annotations, m.Body = bytes.Clone(m.Annotations), bytes.Clone(m.Body)
	reply := len(m.Exchange) == 0 && isReplyTarget(m.Key)
	if reply || len(lanes) > 0 || p.mandatory {
		t.publishes = append(t.publishes, txPublish{m, slices.Clone(lanes), p.mandatory, reply})
	}
	for _, ls := range lanes {
		ls.inTx = true
	}
	p.msg.Body = nil
	return nil
}

// txSelect is tx.select.
func (ch *channel) txSelect() *Error {
	if ch.mode == modeConfirm {
		return errConfirmToTx()
	}
	ch.mode = modeTx
	ch.answer(&wire.TxSelectOk{})
	return nil
}

// txPart is what the transaction does to one queue.
type txPart struct {
	lane *laneState
	tx   queue.Tx
}

// txCommit gives each queue its part in one log entry, all or nothing; across
// queues a commit is not atomic, which the guide says. Returns precede commit-ok,
// and commit-ok says that everything is applied (S8).
func (ch *channel) txCommit() *Error {
	if ch.mode != modeTx {
		return errNotTx()
	}
	refusedOne := false
	for _, part := range ch.txParts() {
		ctx, done := ch.waiting()
		refused, err := part.lane.Commit(ctx, &part.tx)
		done()
		if err != nil && err != error(queue.RefusedGone) {
			return ch.queueError(part.lane.name, err)
		}
		refusedOne = refusedOne || refused > 0
	}
	if refusedOne {
		return errPartialTx()
	}
	for i := range ch.tx.publishes {
		t := &ch.tx.publishes[i]
		unroutable := len(t.lanes) == 0
		if t.reply {
			unroutable = !ch.sendReply(&t.msg)
		}
		if unroutable && t.mandatory {
			ch.returnMessage(&t.msg)
		}
	}
	ch.tx.forget()
	ch.endSettled()
	ch.answer(&wire.TxCommitOk{})
	ch.creditFreed()
	return nil
}

// txParts splits the transaction by queue, in the order of their numbers.
func (ch *channel) txParts() []*txPart {
	byQueue := map[queue.ID]*txPart{}
	part := func(ls *laneState) *queue.Tx {
		p := byQueue[ls.Queue()]
		if p == nil {
			p = &txPart{lane: ls}
			byQueue[ls.Queue()] = p
		}
		return &p.tx
	}
	for i := range ch.tx.publishes {
		t := &ch.tx.publishes[i]
		for _, ls := range t.lanes {
			tx := part(ls)
			tx.Publishes = append(tx.Publishes, &t.msg)
		}
	}
	ch.mu.Lock()
	for i := range ch.unacked.ring.len() {
		e := ch.unacked.ring.at(i)
		if e.over {
			continue
		}
		switch e.inTx {
		case undecided:
		case judgedAck:
			tx := part(e.lane)
			tx.Settles = append(tx.Settles, e.pos)
		case judgedReject:
			tx := part(e.lane)
			tx.Rejects = append(tx.Rejects, e.pos)
		default:
			tx := part(e.lane)
			tx.Returns = append(tx.Returns, e.pos)
		}
	}
	ch.mu.Unlock()
	parts := make([]*txPart, 0, len(byQueue))
	for _, p := range byQueue {
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b *txPart) int { return cmp.Compare(a.lane.Queue(), b.lane.Queue()) })
	return parts
}

// endSettled forgets the deliveries that the commit has settled.
func (ch *channel) endSettled() {
	ch.mu.Lock()
	for i := range ch.unacked.ring.len() {
		if e := ch.unacked.ring.at(i); !e.over && e.inTx != undecided {
			ch.unacked.end(i)
		}
	}
	ch.unacked.trim()
	ch.mu.Unlock()
}

// txRollback drops the publishes; what was settled in the transaction stays
// unacked on the channel.
func (ch *channel) txRollback() *Error {
	if ch.mode != modeTx {
		return errNotTx()
	}
	ch.tx.forget()
	ch.mu.Lock()
	for i := range ch.unacked.ring.len() {
		ch.unacked.ring.at(i).inTx = undecided
	}
	ch.mu.Unlock()
	ch.answer(&wire.TxRollbackOk{})
	return nil
}
