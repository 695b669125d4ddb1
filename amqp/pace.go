package amqp

import "time"

// A client that streams publishes sends them in small writes, and each would
// wake the reader: at full load most of the broker's time would go into waking.
// So a reader that is woken thousands of times a second, by a client that runs
// far ahead of its confirms, lets input gather for a moment before it reads on.
// Nobody else is ever made to wait: a client with few publishes on their way is
// waiting for their answers.
const (
	paceSample  = 64                      // reads between two looks at the clock
	paceBusy    = 1000 * time.Microsecond // a mean below this between reads is a stream
	pacePause   = 400 * time.Microsecond
	paceEnough  = 32 << 10 // octets in one read that need no gathering
	paceRunning = 512      // publishes on their way that make a client a stream
)

// pace is the reader's own account of how often it was woken.
type pace struct {
	reads int
	since time.Time
	busy  bool
	last  int // octets of the read before
}

// gather waits a moment when the connection streams publishes.
func (c *conn) gather() {
	p := &c.pace
	if p.reads++; p.reads == paceSample {
		now := c.clock.Now()
		passed := now.Sub(p.since)
		p.busy = passed >= 0 && passed < paceSample*paceBusy
		p.since, p.reads = now, 0
	}
	if !p.busy || p.last >= paceEnough || c.last == nil || !c.last.streams() {
		return
	}
	if c.pauser == nil {
		c.pauser = c.clock.NewTimer(pacePause)
	} else {
		c.pauser.Reset(pacePause)
	}
	<-c.pauser.C()
}

// streams tells whether the channel's client is far ahead of its confirms.
func (ch *channel) streams() bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return ch.confirms.slots.len() >= paceRunning
}
