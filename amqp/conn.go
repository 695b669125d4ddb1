package amqp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/amqp/wire"
	"mayfly/internal/clock"
	"mayfly/queue"
)

// phase is how far a connection has come. It only ever goes forward.
type phase uint8

const (
	phaseHandshake phase = iota // until open-ok is sent
	phaseRunning
	phaseClosing // a connection.close went one way or the other, or the socket is lost
)

// conn is one connection. Its reader goroutine (run) owns it: everything that is
// not guarded by mu or atomic belongs to the reader, or is constant once
// connection.open-ok was sent. The other goroutines are the writer (writer.run),
// one per channel that is being torn down, and one for the clean-up (end).
type conn struct {
	pace   pace        // the reader's
	pauser clock.Timer // of gather

	crossed bool // the reader's: the peer's close, behind ours, is answered

	server *Server
	broker Broker
	opts   *Options
	clock  clock.Clock
	log    *slog.Logger
	nc     net.Conn // the socket, or TLS on it
	raw    net.Conn // the socket itself: closing it never blocks
	in     *wire.Reader
	out    *writer
	ctx    context.Context // cancelled when the clean-up is over
	cancel context.CancelFunc

	// Constant once open.
	id         uint64
	name       string // "peer address -> own address"
	peer       netip.Addr
	user       string
	vhost      string
	mechanism  string
	clientName string // connection_name of the client's properties
	props      wire.Table
	caps       clientCaps
	frameMax   uint32
	channelMax uint16
	heartbeat  time.Duration
	since      time.Time
	use        *use

	// The reader's own.
	charge  charge
	preAuth int             // octets received before authentication; -1 once authenticated
	last    *channel        // of the previous frame: most connections use one channel
	touched []*channel      // handled a frame since the last socket read
	late    map[uint16]late // numbers whose channel ended: what may still arrive
	full    bool            // the socket filled the buffer: a larger one pays
	large   bool            // the buffer is the larger one
	calm    int             // small reads in a row: a smaller one will do

	closing  atomic.Bool   // phase is phaseClosing
	reading  atomic.Bool   // the reader waits for the socket
	received atomic.Uint64 // octets
	blocked  atomic.Bool   // the reader waits for an alarm to end
	beat     heartbeat

	handshakeTimer clock.Timer

	mu         sync.Mutex // a leaf but for writer.mu
	unblocked  sync.Cond  // alarm over, or the connection ends
	phase      phase
	opened     bool // it has been phaseRunning
	dead       bool // the socket is closed or about to be
	closeTimer clock.Timer
	channels   map[uint16]*channel
	ending     bool // end has begun: no channel is added, no teardown started but by end
	teardowns  sync.WaitGroup
	ended      chan struct{} // closed when all channels are torn down and the exclusive queues gone
	exclusives map[queue.ID]struct{}
	ownerGone  bool // exclusives were deleted; late ones are deleted at once
}

func newConn(s *Server, nc net.Conn, raw net.Conn) *conn {
	c := &conn{
		server: s, broker: s.broker, opts: &s.opts, clock: s.clock,
		nc: nc, raw: raw,
		name:     nc.RemoteAddr().String() + " -> " + nc.LocalAddr().String(),
		peer:     addrOf(raw.RemoteAddr()),
		since:    s.clock.Now(),
		frameMax: frameMin,
		ended:    make(chan struct{}),
	}
	c.log = s.log.With("conn", c.name)
	c.charge = charge{gate: s.gate, addr: c.peer}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.unblocked.L = &c.mu
	c.in = wire.NewReader((*socket)(c), preAuthRead)
	c.in.SetMax(frameMin)
	c.out = newWriter(nc, c.writeFailed)
	return c
}

// socket is the connection as its wire.Reader sees it.
type socket conn

// Read is where the reader waits for the peer, so here is done what must be done
// before a wait: the channels push what they gathered, and a peer that does not
// read its answers is not read either.
func (s *socket) Read(p []byte) (int, error) {
	c := (*conn)(s)
	c.flushTouched()
	c.out.waitRoom()
	c.gather()
	c.reading.Store(true)
	n, err := c.nc.Read(p)
	c.reading.Store(false)
	c.received.Add(uint64(n))
	c.pace.last = n
	if c.preAuth >= 0 {
		return n, errors.Join(err, c.countPreAuth(n))
	}
	switch {
	case n == len(p):
		c.full, c.calm = true, 0
	case n < readQuiet/2:
		c.calm++
	default:
		c.calm = 0
	}
	return n, err
}

var errPreAuth = errors.New("too much unauthenticated input")

// countPreAuth charges the connection for a large frame before it has logged in (X1).
func (c *conn) countPreAuth(n int) error {
	before := c.preAuth
	c.preAuth += n
	if before <= preAuthRead && c.preAuth > preAuthRead && !c.charge.take(largeCharge) {
		return errPreAuth
	}
	return nil
}

// run is the reader goroutine, from accept to the end of the connection.
func (c *conn) run() {
	defer c.finish()
	defer c.contain("reader")
	go func() {
		defer c.contain("writer")
		c.out.run()
	}()
	if c.handshake() {
		c.readLoop()
	}
}

// contain keeps a broken invariant of one connection from ending the others (X4).
func (c *conn) contain(goroutine string) {
	if p := recover(); p != nil {
		c.log.Error("connection stopped by a fault of ours", "goroutine", goroutine, "err", p, "stack", string(debug.Stack()))
		c.abort()
	}
}

// Sizes of the reader's buffer: small until logged in, small while a client is
// quiet, large for who fills it.
const (
	readQuiet = 8 << 10
	readBusy  = 128 << 10
	calmReads = 256 // small reads in a row that make a client quiet again
)

// fitBuffer follows the client's pace.
func (c *conn) fitBuffer() {
	c.large, c.full, c.calm = c.full, false, 0
	if c.large {
		c.in.Grow(readBusy)
	} else {
		c.in.Grow(readQuiet)
	}
}

// readLoop reads frames until the connection ends, one way or another.
func (c *conn) readLoop() {
	for {
		if c.full || c.large && c.calm >= calmReads {
			c.fitBuffer()
		}
		f, err := c.in.Next()
		if err != nil {
			c.readFailed(err)
			return
		}
		if c.closing.Load() {
			if c.closingFrame(f) {
				return
			}
			continue
		}
		var fault *Error
		if f.Channel == 0 || f.Type == wire.FrameHeartbeat {
			fault = c.handleOwn(f)
		} else {
			fault = c.dispatch(f)
		}
		if fault != nil && !c.faulted(fault) {
			return
		}
	}
}

// dispatch hands a frame to its channel.
func (c *conn) dispatch(f wire.Frame) *Error {
	ch := c.last
	if ch == nil || ch.id != f.Channel || ch.state.Load() == chanGone {
		if ch = c.lookup(f.Channel); ch != nil {
			c.last = ch
		}
	}
	if ch == nil || ch.state.Load() != chanOpen || !ch.midContent && ownChannelMethod(f) {
		return c.channelFrame(ch, f)
	}
	if f.Type == wire.FrameHeader {
		c.noteContent()
	}
	if !ch.touched {
		ch.touched = true
		c.touched = append(c.touched, ch)
	}
	err := ch.handleFrame(f)
	if err != nil && !err.Hard {
		c.failChannel(ch, err)
		return nil
	}
	return err
}

// flushTouched lets the channels that handled frames push what they gathered.
func (c *conn) flushTouched() {
	for i, ch := range c.touched {
		ch.touched = false
		if ch.state.Load() == chanOpen {
			ch.flushInput()
		}
		c.touched[i] = nil
	}
	c.touched = c.touched[:0]
}

// handleOwn answers channel 0 and heartbeats of an open connection.
func (c *conn) handleOwn(f wire.Frame) *Error {
	switch {
	case f.Type == wire.FrameHeartbeat && f.Channel == 0:
		return nil // wire.Reader has seen that it is empty; that it came is all it says
	case f.Type != wire.FrameMethod:
		return unexpectedFrame(f)
	}
	id, err := wire.MethodID(f.Payload)
	if err != nil {
		return faultOf(err)
	}
	switch id {
	case wire.ConnectionCloseID:
		return c.clientClose(f.Payload)
	case wire.ConnectionUpdateSecretID:
		if _, err := wire.Decode(f.Payload); err != nil {
			return faultOf(err)
		}
		c.out.sendMethod(0, &wire.ConnectionUpdateSecretOk{})
		return nil
	}
	if _, err := wire.Decode(f.Payload); err != nil {
		return faultOf(err)
	}
	return unexpectedMethod("running", id)
}

// faulted closes the connection with an error of the reader's own making, and
// tells whether to read on, for the close-ok. After a fault of framing there is
// nothing to read any more.
func (c *conn) faulted(e *Error) bool {
	if e == errClientClosed {
		return false
	}
	c.fail(e, c.closeTimeout())
	return true
}

// readFailed ends the reading: the stream is out of step, or the socket is gone.
func (c *conn) readFailed(err error) {
	if fault := faultOf(err); fault != nil {
		if !c.closing.Load() {
			c.fail(fault, c.opts.FailureDelay)
		}
		c.discard()
		return
	}
	if c.closing.Load() {
		return
	}
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		c.log.Warn("connection closed by the client without connection.close", "user", c.user, "vhost", c.vhost)
		return
	}
	c.log.Warn("connection lost", "user", c.user, "vhost", c.vhost, "err", err)
}

// writeFailed is the writer's report that the socket is gone.
func (c *conn) writeFailed(err error) {
	if !c.closing.Load() {
		c.log.Debug("write failed", "err", err)
	}
	c.abort()
}

// discardMax bounds what is read from a peer whose words no longer count.
const discardMax = 16 << 20

// discard reads the socket empty until the peer closes it, or a timer does: a
// socket closed over unread input is reset, and the peer may lose our last frame.
func (c *conn) discard() {
	var buf [4096]byte
	for total := 0; total < discardMax; {
		n, err := c.nc.Read(buf[:])
		if err != nil {
			return
		}
		total += n
	}
}

// impersonator tells whether the user may set any user-id (amqp.md 15).
func (c *conn) impersonator() bool {
	u := c.view().User(c.user)
	return u != nil && u.HasTag("impersonator")
}
