package amqp

import (
	"sync/atomic"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
)

// This file is the seam between the two halves of the package: the connection
// (conn.go, writer.go, …) and its channels (channel.go, publish.go, …).
//
// Goroutines. A connection has a reader (runs conn.readLoop and every
// handleFrame, flushInput) and a writer (runs every drain). teardown runs on a
// goroutine of its own. asyncFail, wake and the methods of writer may be called
// from anywhere, with locks of the channel held: none of them blocks, none of
// them calls back into the channel. drain is called without any lock of conn or
// writer held.
//
// Which frames go where. conn answers for channel 0, for channel.open, and for
// channel.close and channel.close-ok (unless the channel is midContent: then
// every method frame is the channel's own 505). All other frames of an open
// channel go to handleFrame. Nothing reaches handleFrame once the channel
// failed or is being closed, except that one call may be under way, or just
// begin, while teardown starts on its goroutine.

// channelHalf is what conn needs of a channel. *channel is its only
// implementation; the assertion below keeps the two halves in step.
type channelHalf interface {
	// handleFrame takes one frame of an open channel, on the reader. f.Payload is
	// valid during the call only. A soft error closes the channel, a hard one the
	// connection. It may block for room (back-pressure); Session.Close must free it.
	handleFrame(f wire.Frame) *Error
	// flushInput is called on the reader before it waits for the socket, if a
	// frame of the channel was handled since the last call.
	flushInput()
	// drain appends whole frames, about max bytes, on the writer. more asks for
	// another turn.
	drain(dst []byte, max int) (out []byte, more bool)
	// teardown ends the channel: stop its workers, close its session, bounded in
	// time. Called exactly once. After it has returned drain emits no deliveries;
	// what it still appends (confirms that are ready) goes out before close-ok.
	teardown(why endReason)
}

var _ channelHalf = (*channel)(nil)

// chanPort is conn's and writer's part of a channel. Type channel embeds it
// (`type channel struct { chanPort; … }`); newChannel leaves it zero, conn
// fills it in right after the call.
type chanPort struct {
	// midContent is true while a content header or body frame is due; the channel
	// half sets it, on the reader.
	midContent bool

	id      uint16
	touched bool          // in conn.touched; reader only
	state   atomic.Uint32 // chanState
	ended   chan struct{} // closed when teardown has returned

	queued atomic.Bool // in writer.waiting, or about to be
	muted  atomic.Bool // writer must not drain it any more
	last   []byte      // the frame to write once drain has nothing more; guarded by writer.mu
}

// endReason says why a channel ends.
type endReason uint8

const (
	endClient     endReason = iota + 1 // channel.close from the client
	endError                           // the server closed the channel with an error
	endConnection                      // connection.close, from either side
	endLost                            // the socket is gone
)

func (r endReason) String() string {
	switch r {
	case endClient:
		return "closed by the client"
	case endError:
		return "closed with an error"
	case endConnection:
		return "connection closed"
	case endLost:
		return "connection lost"
	}
	return "open"
}

// clientCaps are the client's capabilities that change what the server does
// (amqp.md 2.3).
type clientCaps struct {
	authFailureClose     bool
	connectionBlocked    bool
	consumerCancelNotify bool
}

// What a channel may use of its connection (all of *conn, set before the first
// channel is opened and constant afterwards unless a method):
//
//	c.broker Broker           c.server *Server       c.opts *Options
//	c.id uint64               owner of exclusive queues
//	c.user, c.vhost string    c.frameMax uint32 (0 = no limit)
//	c.caps clientCaps         c.clock clock.Clock    c.log *slog.Logger
//	c.out *writer             sendMethod, send, wake
//	c.ctx context.Context     cancelled when the connection's clean-up is over
//	c.view() *catalog.View    c.impersonator() bool
//	c.noteContent()           reader only; conn itself calls it at every content header
//	c.addExclusive(q)         any goroutine
//	c.forgetExclusive(id)     any goroutine: the queue was deleted by its owner
//	c.asyncFail(ch, err)      any goroutine

// view is the catalogue as of now; ask again for each message.
func (c *conn) view() *catalog.View { return c.broker.View() }
