package amqp

import (
	"time"

	"mayfly/amqp/wire"
)

// tuneOk checks and takes what the client negotiated (amqp.md 2.4). The server's
// own values are the highest accepted; its 0 means that there is no limit.
func (c *conn) tuneOk(m *wire.ConnectionTuneOk) *Error {
	if err := negotiable("channel_max", uint64(m.ChannelMax), 0, uint64(c.opts.ChannelMax)); err != nil {
		return err
	}
	if err := negotiable("frame_max", uint64(m.FrameMax), frameMin, uint64(c.opts.FrameMax)); err != nil {
		return err
	}
	c.channelMax, c.frameMax = m.ChannelMax, m.FrameMax
	c.heartbeat = time.Duration(m.Heartbeat) * time.Second
	c.in.SetMax(m.FrameMax)
	c.startHeartbeat()
	return nil
}

// negotiable checks one value: 0 asks for no limit, which is more than any limit.
func negotiable(field string, value, lowest, highest uint64) *Error {
	switch {
	case value != 0 && value < lowest:
		return negotiation(field, value, "lower", "minimum", lowest)
	case highest != 0 && (value == 0 || value > highest):
		return negotiation(field, value, "higher", "maximum", highest)
	}
	return nil
}
