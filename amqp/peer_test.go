package amqp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"mayfly/amqp/wire"
)

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

// peer is a client made of a socket and the codec: it sends whatever a test
// wants and shows every frame that comes.
type peer struct {
	t  testing.TB
	nc net.Conn
	in *wire.Reader
}

func newPeer(t testing.TB, nc net.Conn) *peer {
	t.Helper()
	p := &peer{t: t, nc: nc, in: wire.NewReader(nc, 64<<10)}
	p.in.SetMax(0)
	t.Cleanup(func() { nc.Close() })
	return p
}

func (p *peer) raw(b []byte) {
	p.t.Helper()
	p.nc.SetWriteDeadline(time.Now().Add(patience))
	if _, err := p.nc.Write(b); err != nil {
		p.t.Fatalf("write: %v", err)
	}
}

func (p *peer) send(ch uint16, ms ...wire.Method) {
	p.t.Helper()
	var b []byte
	for _, m := range ms {
		b = wire.AppendMethod(b, ch, m)
	}
	p.raw(b)
}

func appendFrame(dst []byte, typ byte, ch uint16, payload []byte) []byte {
	n := len(payload)
	dst = append(dst, typ, byte(ch>>8), byte(ch), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	return append(append(dst, payload...), wire.FrameEnd)
}

func (p *peer) frame(typ byte, ch uint16, payload []byte) {
	p.t.Helper()
	p.raw(appendFrame(nil, typ, ch, payload))
}

// next is the next frame; its payload is the caller's.
func (p *peer) next() wire.Frame {
	p.t.Helper()
	p.nc.SetReadDeadline(time.Now().Add(patience))
	f, err := p.in.Next()
	if err != nil {
		p.t.Fatalf("no frame: %v", err)
	}
	f.Payload = bytes.Clone(f.Payload)
	return f
}

// method is the next frame that is not a heartbeat, which must be a method.
func (p *peer) method() (uint16, wire.Method) {
	p.t.Helper()
	for {
		f := p.next()
		if f.Type == wire.FrameHeartbeat {
			continue
		}
		if f.Type != wire.FrameMethod {
			p.t.Fatalf("frame of type %d, want a method", f.Type)
		}
		m, err := wire.Decode(f.Payload)
		if err != nil {
			p.t.Fatalf("undecodable method % x: %v", f.Payload, err)
		}
		return f.Channel, m
	}
}

// expect reads the next method, of type M, on a channel.
func expect[M wire.Method](p *peer, ch uint16) M {
	p.t.Helper()
	got, m := p.method()
	want, ok := m.(M)
	if !ok || got != ch {
		p.t.Fatalf("got %T %+v on channel %d, want %T on %d", m, m, got, want, ch)
	}
	return want
}

// closed expects connection.close with a code and a text; empty: any text.
func (p *peer) closed(code uint16, text string) *wire.ConnectionClose {
	p.t.Helper()
	m := expect[*wire.ConnectionClose](p, 0)
	if m.ReplyCode != code || text != "" && m.ReplyText != text {
		p.t.Fatalf("closed with %d %q, want %d %q", m.ReplyCode, m.ReplyText, code, text)
	}
	return m
}

// gone expects the end of the stream, without any frame but heartbeats before it.
func (p *peer) gone() {
	p.t.Helper()
	for {
		p.nc.SetReadDeadline(time.Now().Add(patience))
		f, err := p.in.Next()
		switch {
		case err == nil && f.Type == wire.FrameHeartbeat:
		case err == nil:
			p.t.Fatalf("frame %d on channel %d % x, want the end of the stream", f.Type, f.Channel, f.Payload)
		case isTimeout(err):
			p.t.Fatal("the connection is still open")
		default:
			return
		}
	}
}

// roundTrip shows that the server has handled all that was sent before, and that
// it has nothing else to say.
func (p *peer) roundTrip() {
	p.t.Helper()
	p.send(0, &wire.ConnectionUpdateSecret{NewSecret: []byte("x"), Reason: "round trip"})
	expect[*wire.ConnectionUpdateSecretOk](p, 0)
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// plain is a PLAIN response.
func plain(user, pass string) []byte { return []byte("\x00" + user + "\x00" + pass) }

// allCaps are the client capabilities that change what the server does.
func allCaps() wire.Table {
	var caps wire.Table
	for _, name := range []string{"authentication_failure_close", "connection.blocked", "consumer_cancel_notify"} {
		caps = wire.AppendBool(caps, name, true)
	}
	return wire.AppendTableEntry(nil, "capabilities", caps)
}

// greet sends the protocol header and reads connection.start.
func (p *peer) greet() *wire.ConnectionStart {
	p.t.Helper()
	p.raw([]byte(wire.ProtocolHeader))
	return expect[*wire.ConnectionStart](p, 0)
}

// login goes as far as connection.tune.
func (p *peer) login() *wire.ConnectionTune {
	p.t.Helper()
	p.greet()
	p.send(0, &wire.ConnectionStartOk{ClientProperties: allCaps(), Mechanism: "PLAIN", Response: plain("guest", "guest"), Locale: "en_US"})
	return expect[*wire.ConnectionTune](p, 0)
}

// open makes an open connection with the given heartbeat.
func (p *peer) open(heartbeat uint16) *peer {
	p.t.Helper()
	tune := p.login()
	p.send(0, &wire.ConnectionTuneOk{ChannelMax: tune.ChannelMax, FrameMax: tune.FrameMax, Heartbeat: heartbeat},
		&wire.ConnectionOpen{Vhost: "/"})
	expect[*wire.ConnectionOpenOk](p, 0)
	return p
}

// channel opens a channel.
func (p *peer) channel(id uint16) {
	p.t.Helper()
	p.send(id, &wire.ChannelOpen{})
	expect[*wire.ChannelOpenOk](p, id)
}

// hangUp closes the connection in order.
func (p *peer) hangUp() {
	p.t.Helper()
	p.send(0, &wire.ConnectionClose{ReplyCode: 200, ReplyText: "bye"})
	expect[*wire.ConnectionCloseOk](p, 0)
	p.nc.Close()
}

// until waits for a condition that other goroutines bring about.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// readAll reads to the end of the stream.
func (p *peer) readAll() []byte {
	p.t.Helper()
	p.nc.SetReadDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(p.nc)
	if isTimeout(err) {
		p.t.Fatal("the connection is still open")
	}
	return b
}
