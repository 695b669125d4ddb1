package amqp

import (
	"sync"
	"time"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/internal/clock"
	"mayfly/queue"
)

// errClientClosed ends the read loop after the client's connection.close was answered.
var errClientClosed = &Error{Code: codeSuccess, Hard: true}

// closeTimeout is how long the peer may take to end a closed connection: the
// heartbeat, but not more than the configured 30 s (section 4).
func (c *conn) closeTimeout() time.Duration {
	if c.heartbeat > 0 {
		return min(c.heartbeat, c.opts.CloseTimeout)
	}
	return c.opts.CloseTimeout
}

// fail sends connection.close and begins the end, from any goroutine. The reader
// goes on for the client's close-ok, for at most wait. False: it was closing already.
func (c *conn) fail(e *Error, wait time.Duration) bool {
	if !c.beginClosing() {
		return false
	}
	c.log.Warn("connection closed with an error", "user", c.user, "vhost", c.vhost, "err", e.Text)
	c.out.fail(&wire.ConnectionClose{ReplyCode: e.Code, ReplyText: e.Text, ClassID: e.Class, MethodID: e.Method})
	c.closeAfter(wait)
	c.beginEnd(endConnection)
	return true
}

// beginClosing moves to phaseClosing, once.
func (c *conn) beginClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == phaseClosing {
		return false
	}
	c.phase = phaseClosing
	c.closing.Store(true)
	c.unblocked.Broadcast()
	return true
}

// closeAfter cuts the connection unless the peer ends it before.
func (c *conn) closeAfter(wait time.Duration) {
	c.beat.stop()
	timer := c.clock.AfterFunc(wait, c.abort)
	c.mu.Lock()
	old := c.closeTimer
	c.closeTimer = timer
	gone := c.dead
	c.mu.Unlock()
	if old != nil {
		old.Stop()
	}
	if gone {
		timer.Stop()
	}
}

// abort cuts the connection: it never blocks and may be called from anywhere,
// any number of times. The reader's read fails, and finish does the rest.
func (c *conn) abort() {
	c.mu.Lock()
	c.dead = true
	c.phase = phaseClosing
	c.closing.Store(true)
	c.unblocked.Broadcast()
	c.mu.Unlock()
	c.out.abort()
	c.raw.Close()
	c.beginEnd(endLost)
}

// clientClose is the client's connection.close. All before it has been handled;
// channels end, exclusive queues go, then close-ok follows what is ready to be
// sent, and the client closes the socket (section 4).
func (c *conn) clientClose(payload []byte) *Error {
	m, err := wire.Decode(payload)
	if err != nil {
		return faultOf(err)
	}
	c.flushTouched()
	if !c.beginClosing() {
		// We are closing as well: both are done.
		c.out.finish(&wire.ConnectionCloseOk{})
		c.discard()
		return errClientClosed
	}
	if cl, ok := m.(*wire.ConnectionClose); ok {
		c.log.Info("connection closed by the client", "user", c.user, "vhost", c.vhost, "code", cl.ReplyCode, "reason", cl.ReplyText)
	}
	c.beginEnd(endConnection)
	patience := c.clock.NewTimer(c.opts.CloseTimeout)
	select {
	case <-c.ended:
	case <-patience.C():
		c.log.Warn("channels did not end in time", "user", c.user, "vhost", c.vhost)
	}
	patience.Stop()
	c.out.finish(&wire.ConnectionCloseOk{})
	c.closeAfter(c.closeTimeout())
	c.discard()
	return errClientClosed
}

// closingFrame handles a frame after our connection.close: all is ignored but
// the end. True ends the reading.
func (c *conn) closingFrame(f wire.Frame) bool {
	if f.Channel != 0 || f.Type != wire.FrameMethod {
		return false
	}
	id, err := wire.MethodID(f.Payload)
	if err != nil {
		return false
	}
	switch id {
	case wire.ConnectionCloseOkID:
		return true
	case wire.ConnectionCloseID:
		// Both close: answered, and read on for the peer's close-ok to ours.
		if !c.crossed {
			c.crossed = true
			c.out.finish(&wire.ConnectionCloseOk{})
		}
	}
	return false
}

// beginEnd starts the clean-up, once: end runs on a goroutine of its own so that
// neither a reader that waits for room nor a timer has to wait for it.
func (c *conn) beginEnd(why endReason) {
	c.mu.Lock()
	begun := c.ending
	c.ending = true
	c.mu.Unlock()
	if !begun {
		go func() {
			defer c.contain("clean-up")
			c.end(why)
		}()
	}
}

// end tears all channels down, side by side, then deletes the exclusive queues.
func (c *conn) end(why endReason) {
	defer close(c.ended)
	c.mu.Lock()
	open := make([]*channel, 0, len(c.channels))
	for _, ch := range c.channels {
		open = append(open, ch)
	}
	c.mu.Unlock()
	for _, ch := range open {
		if c.leaveOpen(ch, chanEnding) {
			go func() {
				defer c.contain("channel")
				c.tearDown(ch, why)
				c.out.wake(ch)
			}()
		}
	}
	c.teardowns.Wait()
	c.deleteExclusives()
}

// finish is the last thing the reader does.
func (c *conn) finish() {
	c.beat.stop()
	if c.handshakeTimer != nil {
		c.handshakeTimer.Stop()
	}
	c.charge.settle()
	c.beginEnd(endLost)
	c.abort()
	c.mu.Lock()
	if c.closeTimer != nil {
		c.closeTimer.Stop()
	}
	c.mu.Unlock()
	<-c.out.done
	<-c.ended
	c.mu.Lock()
	left := len(c.channels)
	c.channels = nil
	c.mu.Unlock()
	c.server.dropChannels(c, left)
	c.cancel()
	c.server.remove(c)
}

// exclusiveAtOnce bounds the catalogue changes a dying connection has under way.
const exclusiveAtOnce = 16

// addExclusive notes a queue that dies with the connection. Any goroutine.
func (c *conn) addExclusive(q *catalog.Queue) {
	c.mu.Lock()
	late := c.ownerGone
	if !late {
		if c.exclusives == nil {
			c.exclusives = make(map[queue.ID]struct{})
		}
		c.exclusives[q.ID] = struct{}{}
	}
	c.mu.Unlock()
	if late {
		go c.deleteExclusive(q.ID)
	}
}

// forgetExclusive is for a queue its owner has deleted. Any goroutine.
func (c *conn) forgetExclusive(id queue.ID) {
	c.mu.Lock()
	delete(c.exclusives, id)
	c.mu.Unlock()
}

// deleteExclusives removes the connection's own queues; close-ok waits for it.
func (c *conn) deleteExclusives() {
	c.mu.Lock()
	c.ownerGone = true
	ids := make([]queue.ID, 0, len(c.exclusives))
	for id := range c.exclusives {
		ids = append(ids, id)
	}
	c.exclusives = nil
	c.mu.Unlock()
	var wg sync.WaitGroup
	room := make(chan struct{}, exclusiveAtOnce)
	for _, id := range ids {
		room <- struct{}{}
		wg.Go(func() {
			c.deleteExclusive(id)
			<-room
		})
	}
	wg.Wait()
}

// deleteExclusive tries until the catalogue took it, or the server stops: then
// the end of this node's incarnation removes the queue.
func (c *conn) deleteExclusive(id queue.ID) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		ctx, cancel := clock.WithTimeout(c.server.ctx, c.clock, c.opts.CallTimeout)
		_, err := c.broker.Change(ctx, catalog.DeleteQueue{ID: id})
		cancel()
		if err == nil {
			return
		}
		c.log.Warn("exclusive queue not deleted yet", "queue", id, "err", err)
		timer := c.clock.NewTimer(pause)
		select {
		case <-timer.C():
		case <-c.server.ctx.Done():
			timer.Stop()
			return
		}
	}
}
