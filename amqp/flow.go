package amqp

import "mayfly/amqp/wire"

// channelFlow is section 9.1: a client cannot pause its deliveries. The server
// never sends channel.flow itself; TCP and connection.blocked do that work.
func (ch *channel) channelFlow(m *wire.ChannelFlow) *Error {
	if !m.Active {
		return errFlowOff()
	}
	ch.answer(&wire.ChannelFlowOk{Active: true})
	return nil
}
