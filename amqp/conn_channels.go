package amqp

import (
	"mayfly/amqp/wire"
)

// States of a channel as the connection sees them. A teardown is started by
// whoever moves the state away from chanOpen, so it runs exactly once.
const (
	chanOpen    = iota
	chanClosing // the client sent channel.close; close-ok follows the teardown
	chanFailed  // we sent channel.close; waiting for the client's close-ok
	chanEnding  // the connection ends
	chanGone    // the number is free again
)

// late says what may still arrive for a number whose channel ended (6.3).
type late uint8

const (
	lateFrames  late = 1 << iota // settlements and content sent before the client saw the close
	lateCloseOk                  // one close-ok that crossed our close-ok
)

// ownChannelMethod tells the methods of a channel that conn itself answers.
func ownChannelMethod(f wire.Frame) bool {
	if f.Type != wire.FrameMethod || len(f.Payload) < 4 || f.Payload[0] != 0 || f.Payload[1] != 20 || f.Payload[2] != 0 {
		return false
	}
	m := f.Payload[3]
	return m == 10 || m == 40 || m == 41
}

func (c *conn) lookup(id uint16) *channel {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.channels[id]
}

// channelFrame handles what is not for an open channel's own eyes: opening,
// closing, and frames for channels that are closing or not there.
func (c *conn) channelFrame(ch *channel, f wire.Frame) *Error {
	state := uint32(chanGone)
	if ch != nil {
		state = ch.state.Load()
	}
	var id wire.ID
	if f.Type == wire.FrameMethod {
		var err error
		if id, err = wire.MethodID(f.Payload); err != nil {
			return faultOf(err)
		}
		if id == wire.ChannelOpenID || id == wire.ChannelCloseID || id == wire.ChannelCloseOkID {
			if _, err := wire.Decode(f.Payload); err != nil {
				return faultOf(err)
			}
		}
	}
	switch state {
	case chanOpen:
		return c.openFrame(ch, id)
	case chanClosing:
		if id == wire.ChannelOpenID {
			return secondChannelOpen()
		}
		return nil
	case chanFailed:
		return c.failedFrame(ch, id)
	case chanEnding:
		return nil
	}
	return c.goneFrame(f, id)
}

// openFrame handles conn's own methods on an open channel.
func (c *conn) openFrame(ch *channel, id wire.ID) *Error {
	switch id {
	case wire.ChannelOpenID:
		return secondChannelOpen()
	case wire.ChannelCloseID:
		c.closeChannel(ch)
		return nil
	}
	// close-ok without a close of ours, unless one crossed a close of the client.
	if c.late[ch.id]&lateCloseOk != 0 {
		c.late[ch.id] &^= lateCloseOk
		return nil
	}
	return newError(codeCommandInvalid, "unimplemented method").by(id)
}

// failedFrame ignores everything but the end of a channel that failed (6.3).
func (c *conn) failedFrame(ch *channel, id wire.ID) *Error {
	switch id {
	case wire.ChannelOpenID:
		return secondChannelOpen()
	case wire.ChannelCloseOkID:
		c.removeChannel(ch, lateFrames)
	case wire.ChannelCloseID:
		// Both closed at once: the client will answer ours as well.
		c.removeChannel(ch, lateFrames|lateCloseOk)
		c.answerClose(ch)
	}
	return nil
}

// answerClose sends close-ok for a channel that failed, after its teardown (S8).
func (c *conn) answerClose(ch *channel) {
	go func() {
		<-ch.ended
		c.out.sendMethod(ch.id, &wire.ChannelCloseOk{})
	}()
}

// goneFrame handles frames for a number without a channel.
func (c *conn) goneFrame(f wire.Frame, id wire.ID) *Error {
	may := c.late[f.Channel]
	if f.Type != wire.FrameMethod {
		if may&lateFrames != 0 {
			return nil
		}
		return newError(codeUnexpectedFrame, "expected method frame, got non method frame instead")
	}
	switch id {
	case wire.ChannelOpenID:
		return c.openChannel(f.Channel)
	case wire.ChannelCloseOkID:
		if may&lateCloseOk != 0 {
			c.late[f.Channel] &^= lateCloseOk
			return nil
		}
	case wire.BasicAckID, wire.BasicNackID, wire.BasicRejectID, wire.BasicPublishID:
		if may&lateFrames != 0 {
			return nil
		}
	}
	return expectedChannelOpen(id)
}

// openChannel makes the channel and answers; the limits count open channels,
// not numbers (2.4).
func (c *conn) openChannel(id uint16) *Error {
	c.mu.Lock()
	open := len(c.channels)
	c.mu.Unlock()
	if c.channelMax != 0 && open >= int(c.channelMax) {
		return channelMaxReached(open, c.channelMax)
	}
	if err := c.server.addChannel(c); err != nil {
		return err
	}
	ch := newChannel(c, id)
	ch.id, ch.ended = id, make(chan struct{})
	c.mu.Lock()
	refused := c.ending
	if refused {
		ch.state.Store(chanEnding)
	} else {
		if c.channels == nil {
			c.channels = make(map[uint16]*channel)
		}
		c.channels[id] = ch
	}
	c.mu.Unlock()
	if refused {
		// The connection ended meanwhile: nobody else knows of this channel.
		ch.teardown(endConnection)
		c.server.dropChannels(c, 1)
		return nil
	}
	if may := c.late[id] &^ lateFrames; may != 0 {
		c.late[id] = may
	} else {
		delete(c.late, id)
	}
	c.out.sendMethod(id, &wire.ChannelOpenOk{})
	return nil
}

// removeChannel frees the number. Reader, or the goroutine that tore it down.
func (c *conn) removeChannel(ch *channel, may late) {
	ch.state.Store(chanGone)
	c.mu.Lock()
	counted := c.channels[ch.id] == ch
	if counted {
		delete(c.channels, ch.id)
	}
	c.mu.Unlock()
	if counted {
		c.server.dropChannels(c, 1)
	}
	if may != 0 {
		if c.late == nil {
			c.late = make(map[uint16]late)
		}
		c.late[ch.id] |= may
	}
}

// closeChannel is the client's channel.close: everything before it was handled;
// close-ok is sent when the session has ended and the confirms are out (S8, 9.1).
func (c *conn) closeChannel(ch *channel) {
	c.flushTouched()
	if !c.leaveOpen(ch, chanClosing) {
		return
	}
	if c.late == nil {
		c.late = make(map[uint16]late)
	}
	c.late[ch.id] |= lateFrames | lateCloseOk
	go func() {
		defer c.contain("channel")
		c.tearDown(ch, endClient)
		c.removeChannel(ch, 0)
		c.out.finishChannel(ch, &wire.ChannelCloseOk{})
	}()
}

// failChannel closes a channel with an error, from any goroutine.
func (c *conn) failChannel(ch *channel, e *Error) {
	m := &wire.ChannelClose{ReplyCode: e.Code, ReplyText: e.Text, ClassID: e.Class, MethodID: e.Method}
	if !c.leaveOpen(ch, chanFailed) {
		if ch.state.Load() == chanClosing {
			// The client's close is being worked on; it still wants to know.
			c.out.failChannel(ch, m)
		}
		return
	}
	c.log.Warn("channel closed with an error", "channel", ch.id, "user", c.user, "vhost", c.vhost, "err", e.Text)
	c.out.failChannel(ch, m)
	go func() {
		defer c.contain("channel")
		c.tearDown(ch, endError)
	}()
}

// asyncFail is failChannel or fail, for errors found by other goroutines than
// the reader.
func (c *conn) asyncFail(ch *channel, e *Error) {
	if e.Hard {
		c.fail(e, c.closeTimeout())
		return
	}
	c.failChannel(ch, e)
}

// leaveOpen moves an open channel to another state; true obliges the caller to
// tear it down.
func (c *conn) leaveOpen(ch *channel, to uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ch.state.CompareAndSwap(chanOpen, to) {
		return false
	}
	c.teardowns.Add(1)
	return true
}

// tearDown runs a teardown that leaveOpen called for.
func (c *conn) tearDown(ch *channel, why endReason) {
	defer c.teardowns.Done()
	defer close(ch.ended)
	ch.teardown(why)
}
