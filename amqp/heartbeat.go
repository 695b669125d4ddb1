package amqp

import (
	"sync"
	"time"

	"mayfly/amqp/wire"
	"mayfly/internal/clock"
)

// beatsMissed is the number of half intervals without an octet after which a
// peer is taken for dead: between 2 and 2.5 heartbeats of silence (section 3).
const beatsMissed = 4

// heartbeat is the monitor of one connection: one timer, every half interval,
// serves both directions. It has no goroutine.
type heartbeat struct {
	mu      sync.Mutex
	timer   clock.Timer
	stopped bool
	half    time.Duration
	mark    uint64 // octets offered to the socket at the last tick, our own heartbeat included
	sent    uint64 // octets the socket had taken at the last tick
	heard   uint64 // octets received at the last tick
	silent  int    // ticks without anything received
	stuck   int    // ticks without anything taken by the socket though it was offered
}

// startHeartbeat begins monitoring, at tune-ok. Zero turns it off in both
// directions; TCP keepalive is all that is left then.
func (c *conn) startHeartbeat() {
	if c.heartbeat == 0 {
		return
	}
	b := &c.beat
	b.mu.Lock()
	defer b.mu.Unlock()
	b.half = c.heartbeat / 2
	b.mark, b.sent, b.heard = c.out.offered.Load(), c.out.sent.Load(), c.received.Load()
	b.timer = c.clock.AfterFunc(b.half, c.tick)
}

func (b *heartbeat) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
	if b.timer != nil {
		b.timer.Stop()
	}
}

// tick runs on the timer's goroutine and does not block.
func (c *conn) tick() {
	b := &c.beat
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return
	}
	c.tickSend(b)
	c.tickReceive(b)
	if b.silent >= beatsMissed || b.stuck >= beatsMissed {
		c.log.Warn("missed heartbeats from client", "heartbeat", c.heartbeat)
		b.stopped = true
		c.abortLater()
		return
	}
	b.timer.Reset(b.half)
}

// tickSend sends a heartbeat if nothing else went out since the last tick. If
// the socket takes nothing of what is offered, the peer cannot hear us either (X5).
func (c *conn) tickSend(b *heartbeat) {
	offered, sent, busy := c.out.offered.Load(), c.out.sent.Load(), c.out.busy()
	if busy && sent == b.sent {
		b.stuck++
	} else {
		b.stuck = 0
	}
	b.sent = sent
	switch {
	case offered != b.mark:
		b.mark = offered
	case !busy:
		c.out.send(wire.AppendHeartbeat)
		b.mark = offered + wire.FrameOverhead
	}
}

// tickReceive counts silence, but only while we listen: neither an alarm nor
// back-pressure on our side is the peer's fault.
func (c *conn) tickReceive(b *heartbeat) {
	heard := c.received.Load()
	if heard != b.heard || !c.reading.Load() {
		b.heard, b.silent = heard, 0
		return
	}
	b.silent++
}

// abortLater is abort for who holds the monitor's lock.
func (c *conn) abortLater() { go c.abort() }
