package amqp

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
)

func TestChecklist01Header(t *testing.T) {
	r := newRig(t, nil)
	start := time.Now()
	m := r.dial().greet()
	if d := time.Since(start); d > time.Second || m.VersionMajor != 0 || m.VersionMinor != 9 {
		t.Errorf("version %d-%d after %v, want 0-9 at once", m.VersionMajor, m.VersionMinor, d)
	}
	for _, h := range []string{"GET / HT", "AMQP\x00\x00\x09\x00", "AMQP\x00\x00\x0a\x00", "AMQP\x03\x01\x00\x00", "AMQP\x01\x01\x08\x00", "\x16\x03\x01\x00\x00\x00\x00\x00"} {
		p := r.dial()
		p.raw([]byte(h))
		if got := p.readAll(); string(got) != wire.ProtocolHeader {
			t.Errorf("header %q: answer %q, want the protocol header", h, got)
		}
	}
}

func TestChecklist02OldHeader(t *testing.T) {
	p := newRig(t, nil).dial()
	p.raw([]byte("AMQP\x01\x01\x00\x09"))
	if m := expect[*wire.ConnectionStart](p, 0); m.VersionMajor != 0 || m.VersionMinor != 9 {
		t.Errorf("version %d-%d, want 0-9", m.VersionMajor, m.VersionMinor)
	}
}

func TestChecklist03SlowHeaderAndSilence(t *testing.T) {
	r := newRig(t, fakeTime)
	p := r.dial()
	for i := range len(wire.ProtocolHeader) {
		p.raw([]byte(wire.ProtocolHeader[i : i+1]))
		c := r.only("octet read", func(c *conn) bool { return c.received.Load() == uint64(i+1) && listening(c) })
		_ = c
		r.fake.Advance(time.Second)
	}
	expect[*wire.ConnectionStart](p, 0)
	r.fake.Advance(1999 * time.Millisecond)
	p.nc.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := p.in.Next(); !isTimeout(err) {
		t.Fatalf("before 10 s: %v, want silence", err)
	}
	r.fake.Advance(time.Millisecond)
	p = newPeer(t, p.nc)
	p.gone()
}

func TestProbeIsNoError(t *testing.T) {
	r := newRig(t, nil)
	r.dial().nc.Close()
	until(t, "probe seen", func() bool { return r.srv.Stats().Accepted == 1 && len(r.srv.list()) == 0 })
	for _, level := range []string{"ERROR", "WARN"} {
		if strings.Contains(r.logs.String(), level) {
			t.Errorf("a probe is logged at %s: %s", level, r.logs)
		}
	}
}

func TestChecklist04StartProperties(t *testing.T) {
	m := newRig(t, nil).dial().greet()
	v, _ := m.ServerProperties.Get("capabilities")
	caps, ok := v.Table()
	if !ok || caps.Len() != 9 {
		t.Fatalf("capabilities: %v with %d entries, want a table of 9", v.TypeName(), caps.Len())
	}
	for name, v := range caps.All() {
		if on, ok := v.Bool(); !ok || !on {
			t.Errorf("capability %s is %s", name, v.Text())
		}
	}
	for _, name := range []string{"cluster_name", "copyright", "information", "platform", "product", "version"} {
		if v, ok := m.ServerProperties.Get(name); !ok || v.Tag != 'S' {
			t.Errorf("%s is missing or no longstr", name)
		}
	}
	if m.Mechanisms != "PLAIN AMQPLAIN" || m.Locales != "en_US" {
		t.Errorf("mechanisms %q, locales %q", m.Mechanisms, m.Locales)
	}
}

// answer sends start-ok to a fresh connection.
func answer(p *peer, caps wire.Table, mechanism string, response []byte) {
	p.greet()
	p.send(0, &wire.ConnectionStartOk{ClientProperties: caps, Mechanism: mechanism, Response: response, Locale: "xx"})
}

func amqplain(user, pass string) []byte {
	return wire.AppendString(wire.AppendString(nil, "LOGIN", user), "PASSWORD", pass)
}

func TestChecklist05Mechanisms(t *testing.T) {
	r := newRig(t, nil)
	octets := wire.AppendRaw(wire.AppendString(nil, "LOGIN", "guest"), "PASSWORD", wire.Value{Tag: 'x', Data: []byte("guest")})
	for _, row := range []struct {
		name, mechanism string
		response        []byte
	}{
		{"PLAIN", "PLAIN", plain("guest", "guest")},
		{"AMQPLAIN", "AMQPLAIN", amqplain("guest", "guest")},
		{"AMQPLAIN with octets", "AMQPLAIN", octets},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := r.dial()
			p.t = t
			answer(p, nil, row.mechanism, row.response)
			expect[*wire.ConnectionTune](p, 0)
		})
	}
}

const refusedText = "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile."

func TestChecklist06And07WrongPassword(t *testing.T) {
	for _, row := range []struct{ name, user, pass string }{
		{"wrong password", "guest", "nope"}, {"unknown user", "nobody", "guest"}, {"empty password", "guest", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(t, fakeTime)
			p := r.dial()
			answer(p, allCaps(), "PLAIN", plain(row.user, row.pass))
			if m := p.closed(403, refusedText); m.ClassID != 0 || m.MethodID != 0 {
				t.Errorf("ids %d/%d, want 0/0", m.ClassID, m.MethodID)
			}
			r.fake.WaitTimers(2)
			r.fake.Advance(3 * time.Second)
			p.gone()

			p = r.dial()
			answer(p, nil, "PLAIN", plain(row.user, row.pass))
			until(t, "second refusal", func() bool { return r.srv.Stats().LoginsRefused == 2 && r.fake.Timers() == 2 })
			r.fake.Advance(999 * time.Millisecond)
			p.nc.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
			if _, err := p.in.Next(); !isTimeout(err) {
				t.Fatalf("within a second: %v, want silence", err)
			}
			r.fake.Advance(2001 * time.Millisecond)
			newPeer(t, p.nc).gone()
		})
	}
}

func TestRefusedMechanismsAndResponses(t *testing.T) {
	r := newRig(t, nil)
	for _, row := range []struct {
		name, mechanism string
		response        []byte
		code            uint16
	}{
		{"unknown mechanism", "CRAM-MD5", nil, 403},
		{"EXTERNAL without TLS", "EXTERNAL", nil, 403},
		{"ANONYMOUS not configured", "ANONYMOUS", nil, 403},
		{"PLAIN empty", "PLAIN", nil, 502},
		{"PLAIN with authzid", "PLAIN", []byte("guest\x00guest\x00guest"), 502},
		{"PLAIN with four parts", "PLAIN", []byte("\x00guest\x00guest\x00"), 502},
		{"AMQPLAIN garbage", "AMQPLAIN", []byte("\x05LOGINz"), 502},
		{"AMQPLAIN without PASSWORD", "AMQPLAIN", wire.AppendString(nil, "LOGIN", "guest"), 502},
		{"AMQPLAIN without LOGIN", "AMQPLAIN", wire.AppendString(nil, "PASSWORD", "guest"), 502},
		{"AMQPLAIN with a number", "AMQPLAIN", wire.AppendInt(wire.AppendString(nil, "LOGIN", "guest"), "PASSWORD", 1), 502},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := r.dial()
			p.t = t
			answer(p, allCaps(), row.mechanism, row.response)
			p.closed(row.code, "")
		})
	}
}

// farListener makes its connections look as if they came from elsewhere.
type farListener struct {
	net.Listener
	ip string
}

type farConn struct {
	net.Conn
	from net.Addr
}

func (c farConn) RemoteAddr() net.Addr { return c.from }

func (l farListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return farConn{nc, &net.TCPAddr{IP: net.ParseIP(l.ip), Port: 4711}}, nil
}

func TestChecklist08Loopback(t *testing.T) {
	for _, row := range []struct {
		ip, user string
		ok       bool
	}{
		{"127.0.0.1", "guest", true}, {"::1", "guest", true}, {"::ffff:127.0.0.1", "guest", true},
		{"192.0.2.7", "guest", false}, {"2001:db8::1", "guest", false}, {"192.0.2.7", "alice", true},
	} {
		t.Run(row.ip+" "+row.user, func(t *testing.T) {
			r := newRig(t, nil)
			r.node.must(t, putUser(t, "alice", "guest"))
			r.addr = r.serve(func(l net.Listener) net.Listener { return farListener{l, row.ip} })
			p := r.dial()
			answer(p, allCaps(), "PLAIN", plain(row.user, "guest"))
			if row.ok {
				expect[*wire.ConnectionTune](p, 0)
				return
			}
			p.closed(403, refusedText)
			if !strings.Contains(r.logs.String(), causePlace) {
				t.Error("the log does not tell the cause")
			}
		})
	}
}

func TestAnonymous(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Mechanisms, o.AnonymousUser = []string{"ANONYMOUS", "PLAIN"}, "guest" })
	p := r.dial()
	if m := p.greet(); m.Mechanisms != "ANONYMOUS PLAIN" {
		t.Errorf("mechanisms %q", m.Mechanisms)
	}
	p.send(0, &wire.ConnectionStartOk{Mechanism: "ANONYMOUS", Response: []byte("whoever")})
	expect[*wire.ConnectionTune](p, 0)
}

// A user that another node has just made can log in here at once (design.md,
// "Read your writes"), and a changed password holds at once.
func TestLoginCatchesUp(t *testing.T) {
	r := newRig(t, nil)
	r.node.onCatch = func() { r.node.must(t, putUser(t, "fresh", "word")) }
	p := r.dial()
	answer(p, nil, "PLAIN", plain("fresh", "word"))
	expect[*wire.ConnectionTune](p, 0)
}

func TestChecklist13LargeStartOk(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial()
	p.greet()
	props := wire.AppendString(nil, "token", strings.Repeat("x", 20<<10))
	p.send(0, &wire.ConnectionStartOk{ClientProperties: props, Mechanism: "PLAIN", Response: plain("guest", "guest")})
	expect[*wire.ConnectionTune](p, 0)

	p = r.dial()
	p.greet()
	p.send(0, &wire.ConnectionStartOk{Mechanism: "PLAIN", Response: bytes.Repeat([]byte("x"), 20<<10)})
	until(t, "the token to be refused", func() bool { return r.srv.Stats().LoginsRefused == 1 })
}

func TestChecklist14Pipelined(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial()
	b := []byte(wire.ProtocolHeader)
	for _, m := range []wire.Method{
		&wire.ConnectionStartOk{Mechanism: "PLAIN", Response: plain("guest", "guest"), Locale: "en_US"},
		&wire.ConnectionTuneOk{ChannelMax: 100, FrameMax: 4096, Heartbeat: 0},
		&wire.ConnectionOpen{Vhost: "/"},
	} {
		b = wire.AppendMethod(b, 0, m)
	}
	p.raw(wire.AppendMethod(b, 1, &wire.ChannelOpen{}))
	expect[*wire.ConnectionStart](p, 0)
	expect[*wire.ConnectionTune](p, 0)
	expect[*wire.ConnectionOpenOk](p, 0)
	expect[*wire.ChannelOpenOk](p, 1)
}

func TestHandshakeOutOfOrder(t *testing.T) {
	r := newRig(t, nil)
	tuneOk := &wire.ConnectionTuneOk{ChannelMax: 1, FrameMax: 4096}
	t.Run("tune-ok before start-ok", func(t *testing.T) {
		p := r.dial()
		p.greet()
		p.send(0, tuneOk)
		p.closed(504, "CHANNEL_ERROR - unexpected method in connection state starting")
	})
	t.Run("open before tune-ok", func(t *testing.T) {
		p := r.dial()
		p.login()
		p.send(0, &wire.ConnectionOpen{Vhost: "/"})
		p.closed(504, "CHANNEL_ERROR - unexpected method in connection state tuning")
	})
	t.Run("channel before open", func(t *testing.T) {
		p := r.dial()
		p.login()
		p.send(0, tuneOk)
		p.send(1, &wire.ChannelOpen{})
		p.closed(505, "UNEXPECTED_FRAME - type 1, all octets = <<0,20,0,10,0>>")
	})
	t.Run("heartbeats are fine", func(t *testing.T) {
		p := r.dial()
		p.greet()
		p.raw(wire.AppendHeartbeat(nil))
		p.send(0, &wire.ConnectionStartOk{Mechanism: "PLAIN", Response: plain("guest", "guest")})
		expect[*wire.ConnectionTune](p, 0)
		p.raw(wire.AppendHeartbeat(nil))
		p.send(0, tuneOk, &wire.ConnectionOpen{Vhost: "/"})
		expect[*wire.ConnectionOpenOk](p, 0)
	})
	t.Run("close while tuning", func(t *testing.T) {
		p := r.dial()
		p.login()
		p.send(0, &wire.ConnectionClose{ReplyCode: 200})
		expect[*wire.ConnectionCloseOk](p, 0)
	})
	t.Run("content before start-ok", func(t *testing.T) {
		p := r.dial()
		p.greet()
		p.frame(wire.FrameBody, 1, []byte("hello, this is more than 16"))
		p.closed(505, `UNEXPECTED_FRAME - type 3, first 16 octets = <<"hello, this is m">>`)
	})
	t.Run("running", func(t *testing.T) {
		for _, m := range []wire.Method{
			&wire.ConnectionOpen{Vhost: "/"}, &wire.ChannelOpen{}, &wire.ConnectionBlocked{}, &wire.ConnectionCloseOk{}, tuneOk,
		} {
			p := r.dial().open(0)
			p.send(0, m)
			got := p.closed(504, "CHANNEL_ERROR - unexpected method in connection state running")
			if got.ClassID != m.ID().Class() || got.MethodID != m.ID().Method() {
				t.Errorf("%s: ids %d/%d", m.ID(), got.ClassID, got.MethodID)
			}
		}
	})
}

func TestChecklist11Vhosts(t *testing.T) {
	r := newRig(t, nil)
	r.node.must(t, catalog.PutVhost{Name: "closed"})
	for _, row := range []struct{ vhost, text string }{
		{"missing", "NOT_ALLOWED - vhost missing not found"},
		{"", "NOT_ALLOWED - vhost  not found"},
		{"closed", "NOT_ALLOWED - access to vhost 'closed' refused for user 'guest'"},
	} {
		p := r.dial()
		p.login()
		p.send(0, &wire.ConnectionTuneOk{ChannelMax: 1, FrameMax: 4096}, &wire.ConnectionOpen{Vhost: row.vhost})
		if m := p.closed(530, row.text); m.ClassID != 10 || m.MethodID != 40 {
			t.Errorf("vhost %q: ids %d/%d, want 10/40", row.vhost, m.ClassID, m.MethodID)
		}
		p.send(0, &wire.ConnectionCloseOk{})
		p.gone()
	}
}

func TestChecklist12OkOctets(t *testing.T) {
	p := newRig(t, nil).dial()
	p.login()
	p.send(0, &wire.ConnectionTuneOk{ChannelMax: 1, FrameMax: 4096}, &wire.ConnectionOpen{Vhost: "/"})
	if f := p.next(); !bytes.Equal(f.Payload, []byte{0, 10, 0, 41, 0}) {
		t.Errorf("open-ok is % x", f.Payload)
	}
	p.send(1, &wire.ChannelOpen{})
	if f := p.next(); !bytes.Equal(f.Payload, []byte{0, 20, 0, 11, 0, 0, 0, 0}) {
		t.Errorf("channel.open-ok is % x", f.Payload)
	}
}
