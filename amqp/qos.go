package amqp

import "mayfly/amqp/wire"

// deliveryWindow is how many deliveries a queue may have on their way to one
// consumer without knowing them written: the bound on what a slow socket holds
// when no prefetch says less (X5).
const deliveryWindow = 2048

// basicQos is section 9.2. A limit per consumer is kept by the queues, for
// consumers that are created later. The channel's own limit is kept here: what
// is over it waits in held. So that other consumers of a queue do not starve
// behind this channel, each of its consumers gets credit for the free slots only;
// held fills when several of them use the same free slot at once.
func (ch *channel) basicQos(m *wire.BasicQos) *Error {
	if m.PrefetchSize != 0 {
		return errPrefetchSize(m.PrefetchSize)
	}
	if !m.Global {
		ch.prefetch = m.PrefetchCount
	} else {
		ch.mu.Lock()
		if ch.limit == 0 && m.PrefetchCount > 0 {
			ch.unacked.countAll()
		}
		ch.limit = int(m.PrefetchCount)
		ch.recount = true
		ch.mu.Unlock()
	}
	ch.answer(&wire.BasicQosOk{})
	ch.pushSettlements()
	return nil
}

// hasSlot tells whether the channel's own prefetch allows one more delivery; the
// caller holds mu.
func (ch *channel) hasSlot() bool { return ch.limit == 0 || ch.unacked.counted < ch.limit }

// owed computes what a consumer's queue should be credited now and books it; the
// caller holds mu and calls Credit after letting it go.
func (ch *channel) owed(c *consumer) uint32 {
	if c.window == 0 || ch.closing { // a channel that ends wants nothing more
		return 0
	}
	keep := c.unwritten // deliveries that stay uncredited
	least := max(c.window/2, 1)
	if ch.limit > 0 && !c.noAck {
		// The queue should see as much room as there are free slots, less what is held.
		room := uint32(max(ch.limit-ch.unacked.counted, 0))
		room -= min(room, c.unwritten)
		keep = c.window - min(room, c.window)
		least = 1
		if c.uncredited < c.window {
			least = max(uint32(ch.limit)/4, 1) // it can go on: no command for a single slot
		}
	}
	if c.uncredited < keep+least {
		return 0
	}
	n := c.uncredited - keep
	c.uncredited = keep
	return n
}

// creditFreed reports slots of the channel's own prefetch that settlements have
// freed. The owner of the input calls it.
func (ch *channel) creditFreed() {
	ch.mu.Lock()
	if ch.limit == 0 && !ch.recount {
		ch.mu.Unlock()
		return
	}
	ch.recount = false
	var credits []credit
	for _, c := range ch.inOrder {
		if n := ch.owed(c); n > 0 {
			credits = append(credits, credit{c.lane, c.number, n})
		}
	}
	ch.mu.Unlock()
	for _, c := range credits {
		c.lane.Credit(c.consumer, c.n)
	}
	ch.wake()
}
