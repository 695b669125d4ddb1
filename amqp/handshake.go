package amqp

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"mayfly/amqp/wire"
)

// startOkMax is the largest start-ok: bearer tokens do not fit the 4096 octets
// that hold for everything else before tune-ok (amqp.md 1).
const startOkMax = 128 << 10

// refuseWait bounds how long the answer to a foreign protocol header may take.
const refuseWait = time.Second

// handshake brings the connection from accept to open-ok; false ends it. It
// parses a stream: clients send start-ok, tune-ok and open in one segment.
func (c *conn) handshake() bool {
	c.handshakeTimer = c.clock.AfterFunc(c.opts.HandshakeTimeout, c.handshakeLate)
	if t, ok := c.nc.(*tls.Conn); ok {
		if err := t.HandshakeContext(c.ctx); err != nil {
			c.log.Debug("TLS handshake failed", "err", err)
			return false
		}
	}
	return c.protocolHeader() && c.start() && c.tune() && c.open()
}

func (c *conn) handshakeLate() {
	c.log.Warn("handshake took too long", "timeout", c.opts.HandshakeTimeout)
	c.abort()
}

// protocolHeader reads the first 8 octets (2.1).
func (c *conn) protocolHeader() bool {
	h, err := c.in.ReadHeader()
	if err != nil {
		// Probes of load balancers connect and go: that is nobody's error.
		if !errors.Is(err, io.EOF) {
			c.log.Debug("no protocol header", "err", err)
		}
		return false
	}
	if string(h[:]) == wire.ProtocolHeader || string(h[:]) == "AMQP\x01\x01\x00\x09" {
		return true
	}
	c.log.Warn("unsupported protocol header", "header", h)
	c.out.send(func(dst []byte) []byte { return append(dst, wire.ProtocolHeader...) })
	c.lastWords(refuseWait)
	return false
}

// lastWords writes what is queued, shuts the writing side and reads the rest, so
// that the peer gets our last octets instead of a reset.
func (c *conn) lastWords(wait time.Duration) {
	c.closeAfter(wait)
	c.out.close()
	<-c.out.done
	if half, ok := c.nc.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	c.discard()
}

// next reads the next frame of the handshake, which must be one of the methods
// wanted on channel 0. Every other code is out of reach until open-ok (X4).
func (c *conn) next(state string, wanted ...wire.ID) (payload []byte, id wire.ID, ok bool) {
	for {
		f, err := c.in.Next()
		if err != nil {
			c.readFailed(err)
			return nil, 0, false
		}
		if c.closing.Load() {
			if c.closingFrame(f) {
				return nil, 0, false
			}
			continue
		}
		if f.Channel == 0 && f.Type == wire.FrameHeartbeat {
			continue
		}
		if f.Channel != 0 || f.Type != wire.FrameMethod {
			c.refuse(unexpectedFrame(f))
			continue
		}
		if id, err = wire.MethodID(f.Payload); err != nil {
			c.refuse(faultOf(err))
			continue
		}
		switch {
		case slices.Contains(wanted, id):
			return f.Payload, id, true
		case id == wire.ConnectionCloseID:
			c.closeEarly()
			return nil, 0, false
		}
		c.refuse(unexpectedMethod(state, id))
	}
}

// refuse closes with an error during the handshake.
func (c *conn) refuse(e *Error) { c.fail(e, c.opts.FailureDelay) }

// closeEarly answers a client that gives up during the handshake.
func (c *conn) closeEarly() {
	c.beginClosing()
	c.out.finish(&wire.ConnectionCloseOk{})
	c.closeAfter(c.opts.FailureDelay)
	c.discard()
}

// awaitEnd reads on after refuse, for the close-ok.
func (c *conn) awaitEnd() bool {
	c.next("closing")
	return false
}

// start offers the mechanisms and judges the answer (2.2, 2.3).
func (c *conn) start() bool {
	c.out.sendMethod(0, &wire.ConnectionStart{
		VersionMajor: 0, VersionMinor: 9,
		ServerProperties: c.server.properties(),
		Mechanisms:       strings.Join(c.offered(), " "),
		Locales:          "en_US",
	})
	c.in.AllowLarge(startOkMax)
	payload, _, ok := c.next("starting", wire.ConnectionStartOkID)
	if !ok {
		return false
	}
	m, fault := parseStartOk(payload)
	if fault != nil {
		c.refuse(fault)
		return c.awaitEnd()
	}
	c.takeProperties(m.props)
	user, v, cause := c.login(m.mechanism, m.response)
	if v != loginOK {
		return c.rejectLogin(m.mechanism, user, v, cause)
	}
	c.user, c.mechanism = user, m.mechanism
	c.props = bytes.Clone(m.props)
	c.in.AllowLarge(0)
	c.preAuth = -1
	c.charge.settle()
	c.in.Grow(readQuiet)
	return true
}

// takeProperties notes which capabilities of the client matter and what it
// calls itself.
func (c *conn) takeProperties(props wire.Table) {
	if v, ok := props.Get("connection_name"); ok {
		if name, ok := v.Bytes(); ok {
			c.clientName = strings.ToValidUTF8(string(name[:min(len(name), 255)]), "?")
		}
	}
	v, _ := props.Get("capabilities")
	caps, ok := v.Table()
	if !ok {
		return
	}
	has := func(name string) bool {
		v, _ := caps.Get(name)
		on, ok := v.Bool()
		return ok && on
	}
	c.caps = clientCaps{
		authFailureClose:     has("authentication_failure_close"),
		connectionBlocked:    has("connection.blocked"),
		consumerCancelNotify: has("consumer_cancel_notify"),
	}
}

// rejectLogin ends a refused login: with a frame for those who said that they
// understand it, after a pause for all, so that guessing is slow.
func (c *conn) rejectLogin(mechanism, user string, v verdict, cause string) bool {
	c.log.Warn("login refused", "user", user, "mechanism", mechanism, "cause", cause)
	c.server.stats.loginsRefused.Add(1)
	c.beginClosing()
	if c.caps.authFailureClose {
		e := loginRefused(mechanism)
		switch v {
		case loginUnknown:
			e = mechanismRefused(mechanism)
		case loginMalformed:
			e = malformedResponse(mechanism)
		}
		c.out.fail(&wire.ConnectionClose{ReplyCode: e.Code, ReplyText: e.Text})
	}
	c.closeAfter(c.opts.FailureDelay)
	c.discard()
	return false
}

// tune proposes the limits and takes the client's answer.
func (c *conn) tune() bool {
	c.out.sendMethod(0, &wire.ConnectionTune{
		ChannelMax: c.opts.ChannelMax, FrameMax: c.opts.FrameMax, Heartbeat: uint16(c.opts.Heartbeat / time.Second),
	})
	payload, _, ok := c.next("tuning", wire.ConnectionTuneOkID)
	if !ok {
		return false
	}
	m, err := wire.Decode(payload)
	if err != nil {
		c.refuse(faultOf(err))
		return c.awaitEnd()
	}
	if fault := c.tuneOk(m.(*wire.ConnectionTuneOk)); fault != nil {
		c.refuse(fault)
		return c.awaitEnd()
	}
	return true
}

// open takes the connection into a vhost (2.5).
func (c *conn) open() bool {
	payload, _, ok := c.next("opening", wire.ConnectionOpenID)
	if !ok {
		return false
	}
	m, err := wire.Decode(payload)
	if err != nil {
		c.refuse(faultOf(err))
		return c.awaitEnd()
	}
	c.vhost = m.(*wire.ConnectionOpen).Vhost
	if fault := c.mayEnter(); fault != nil {
		c.refuse(fault)
		return c.awaitEnd()
	}
	c.id = c.broker.NextID()
	if fault := c.server.admit(c); fault != nil {
		c.refuse(fault)
		return c.awaitEnd()
	}
	c.mu.Lock()
	running := c.phase == phaseHandshake
	if running {
		c.phase, c.opened = phaseRunning, true
	}
	c.mu.Unlock()
	if !running {
		return c.awaitEnd()
	}
	c.handshakeTimer.Stop()
	c.out.sendMethod(0, &wire.ConnectionOpenOk{})
	c.log.Info("connection opened", "user", c.user, "vhost", c.vhost, "client", c.clientName)
	c.server.recheck(c) // the user or the vhost may have gone while nobody looked
	return true
}

// mayEnter checks the vhost and the user's standing in it.
func (c *conn) mayEnter() *Error {
	fault := c.checkVhost()
	if fault != nil {
		c.catchUp()
		fault = c.checkVhost()
	}
	return fault
}

func (c *conn) checkVhost() *Error {
	view := c.view()
	if view.Vhost(c.vhost) == nil {
		return vhostNotFound(c.vhost)
	}
	if u := view.User(c.user); u == nil || u.Permission(c.vhost) == nil {
		return vhostRefused(c.vhost, c.user, "")
	}
	return nil
}
