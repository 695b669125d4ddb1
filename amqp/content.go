package amqp

import "mayfly/amqp/wire"

// content follows the frames of one channel on the reader and refuses what is
// out of place (amqp.md 5, 6.1, X4), before anything is executed or put aside.
// So whoever executes a frame may rely on their order.
type content struct {
	stage     contentStage
	remaining uint64 // octets of body still due
}

type contentStage uint8

const (
	methodDue contentStage = iota
	headerDue
	bodyDue
)

// accept moves on by one frame.
func (c *content) accept(f wire.Frame) *Error {
	switch c.stage {
	case headerDue:
		return c.acceptHeader(f)
	case bodyDue:
		return c.acceptBody(f)
	}
	if f.Type != wire.FrameMethod {
		return errNoContentDue()
	}
	if id, err := wire.MethodID(f.Payload); err == nil && id == wire.BasicPublishID {
		c.stage = headerDue
	}
	return nil
}

func (c *content) acceptHeader(f wire.Frame) *Error {
	if f.Type != wire.FrameHeader {
		return errHeaderDue()
	}
	h, err := wire.DecodeHeader(f.Payload)
	if err != nil {
		return faultOf(err)
	}
	if h.Class != wire.BasicPublishID.Class() {
		return errHeaderClass(h.Class)
	}
	if h.Weight != 0 {
		return errHeaderDue()
	}
	c.stage, c.remaining = bodyDue, h.BodySize
	if h.BodySize == 0 {
		c.stage = methodDue
	}
	return nil
}

// acceptBody tolerates empty frames inside a body; X2: the first octet too many
// ends the connection.
func (c *content) acceptBody(f wire.Frame) *Error {
	if f.Type != wire.FrameBody {
		return errBodyDue()
	}
	n := uint64(len(f.Payload))
	if n > c.remaining {
		return errBodyTooLong()
	}
	c.remaining -= n
	if c.remaining == 0 {
		c.stage = methodDue
	}
	return nil
}
