package amqp

import (
	"slices"

	"mayfly/amqp/wire"
	"mayfly/queue"
)

// maxUnconfirmed bounds how far publishes may run ahead of the oldest one that
// is not answered; beyond it the reader waits. Lanes bound the bytes on their
// way, this bounds the bookkeeping when one of several queues has no leader.
const maxUnconfirmed = 4 << 20

// A slot of the confirm ring: how many targets are still open, and two flags.
const (
	slotOpen    = 1<<30 - 1 // mask: targets that have not answered
	slotRefused = 1 << 30   // one of them refused: basic.nack
	slotSent    = 1 << 31   // answered ahead of an older one
)

// confirms answers the publishes of a channel in confirm mode (amqp.md 10).
// The channel's mu guards it.
//
// A number is *known* when every queue it was routed to has it applied, or is
// gone, or refused it. All below front are known; known ones above it wait in
// early, because an older number is open. Everything known is answered at the
// writer's next turn: a lone confirm is never held back.
type confirms struct {
	on    bool
	base  uint64 // number of the ring's front; all below are answered
	front uint64 // all below are known; base <= front <= next
	slots ring[uint32]
	early []uint64
}

// begin starts confirm mode; the first publish after it has number 1.
func (c *confirms) begin() {
	if !c.on {
		c.on, c.base, c.front = true, 1, 1
	}
}

// next is the number the next publish gets.
func (c *confirms) next() uint64 { return c.base + uint64(c.slots.len()) }

// add registers the next publish with the targets that are still open.
func (c *confirms) add(open int, refused bool) uint64 {
	num := c.next()
	slot := uint32(open)
	if refused {
		slot |= slotRefused
	}
	*c.slots.push() = slot
	if open == 0 {
		c.known(num)
	}
	return num
}

// done says that one target of num has answered.
func (c *confirms) done(num uint64, refused bool) {
	slot := c.slots.at(int(num - c.base))
	if refused {
		*slot |= slotRefused
	}
	*slot--
	if *slot&slotOpen == 0 {
		c.known(num)
	}
}

func (c *confirms) known(num uint64) {
	if num != c.front {
		c.early = append(c.early, num)
		return
	}
	c.front++
	for next := c.next(); c.front < next && *c.slots.at(int(c.front - c.base))&slotOpen == 0; {
		c.front++
	}
}

// ready tells whether there is something to answer.
func (c *confirms) ready() bool { return c.front > c.base || len(c.early) > 0 }

// full tells that the reader should wait.
func (c *confirms) full() bool { return c.slots.len() >= maxUnconfirmed }

// append writes the answers that are known.
func (c *confirms) append(dst []byte, ch uint16) []byte {
	for c.base < c.front {
		dst = c.appendRun(dst, ch)
	}
	for _, num := range c.early {
		if num < c.base { // answered by a run meanwhile
			continue
		}
		slot := c.slots.at(int(num - c.base))
		if *slot&slotSent != 0 {
			continue
		}
		dst = appendConfirm(dst, ch, num, false, *slot&slotRefused != 0)
		*slot |= slotSent
	}
	c.early = c.early[:0]
	return dst
}

// appendRun answers the numbers from base that share one answer, with a single
// frame. Those answered before are passed over; a multiple may cover them.
func (c *confirms) appendRun(dst []byte, ch uint16) []byte {
	count, last, refused := 0, uint64(0), false
	for c.base < c.front {
		slot := *c.slots.at(0)
		if slot&slotSent == 0 {
			no := slot&slotRefused != 0
			if count > 0 && no != refused {
				break
			}
			count, last, refused = count+1, c.base, no
		}
		c.slots.pop()
		c.base++
	}
	if count == 0 {
		return dst
	}
	return appendConfirm(dst, ch, last, count > 1, refused)
}

// appendConfirm writes one answer; the server's nacks carry the requeue bit.
func appendConfirm(dst []byte, ch uint16, num uint64, multiple, refused bool) []byte {
	if refused {
		return wire.AppendNack(dst, ch, num, multiple, true)
	}
	return wire.AppendAck(dst, ch, num, multiple)
}

// sentPublish joins the number a lane gave with the channel's own.
type sentPublish struct {
	lane uint64
	num  uint64
}

// laneConfirms is what a lane has not answered yet. The channel's mu guards it.
type laneConfirms struct {
	open    ring[sentPublish]
	upTo    uint64   // everything at or below it is applied
	last    uint64   // highest number given
	refused []uint64 // refusals that arrived before expect was called for them
}

// expect registers a publish right after Lane.Publish gave seq; the answer may
// have overtaken it. open tells whether it is still due, refused how it ended.
func (l *laneConfirms) expect(seq, num uint64) (open, refused bool) {
	l.last = seq
	if seq > l.upTo {
		*l.open.push() = sentPublish{lane: seq, num: num}
		return true, false
	}
	if len(l.refused) > 0 {
		refused = slices.Contains(l.refused, seq)
		l.refused = slices.DeleteFunc(l.refused, func(s uint64) bool { return s <= seq })
	}
	return false, refused
}

// answered settles everything numbered up to upTo.
func (l *laneConfirms) answered(c *confirms, upTo uint64, refused []uint64) {
	l.upTo = max(l.upTo, upTo)
	for l.open.len() > 0 && l.open.at(0).lane <= upTo {
		p := l.open.pop()
		for len(refused) > 0 && refused[0] < p.lane {
			refused = refused[1:]
		}
		c.done(p.num, len(refused) > 0 && refused[0] == p.lane)
	}
	for _, seq := range refused {
		if seq > l.last {
			l.refused = append(l.refused, seq)
		}
	}
}

// confirmSelect is confirm.select.
func (ch *channel) confirmSelect(m *wire.ConfirmSelect) *Error {
	if ch.mode == modeTx {
		return errTxToConfirm()
	}
	ch.mode = modeConfirm
	ch.mu.Lock()
	ch.confirms.begin()
	ch.mu.Unlock()
	if !m.NoWait {
		ch.answer(&wire.ConfirmSelectOk{})
	}
	return nil
}

// Confirmed implements queue.Sink. Refusals of publishes outside confirm mode
// are dropped silently, as L-4 wants.
func (ch *channel) Confirmed(l queue.Lane, upTo uint64, refused []uint64) {
	ch.mu.Lock()
	ls := ch.lanes[l.Queue()]
	if ls == nil || ch.failed {
		ch.mu.Unlock()
		return
	}
	if !ch.confirms.on {
		ls.confirms.upTo = max(ls.confirms.upTo, upTo)
		ch.mu.Unlock()
		return
	}
	ls.confirms.answered(&ch.confirms, upTo, refused)
	ready := ch.confirms.ready()
	ch.mu.Unlock()
	if ready {
		ch.wake()
	}
}
