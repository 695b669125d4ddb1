package conformance

import (
	"testing"
)

const header091 = "AMQP\x00\x00\x09\x01"

// login is how a client introduces itself; the zero heartbeat is right for tests
// that last less than a socket.
type login struct {
	addr, user, pass, vhost string
	mechanism               string
	caps                    table
	channelMax              uint16
	frameMax                uint32
	heartbeat               uint16
}

type option func(*login)

func as(user, pass string) option { return func(l *login) { l.user, l.pass = user, pass } }
func at(addr string) option       { return func(l *login) { l.addr = addr } }
func vhost(v string) option       { return func(l *login) { l.vhost = v } }
func heartbeat(s uint16) option   { return func(l *login) { l.heartbeat = s } }
func frameMax(n uint32) option    { return func(l *login) { l.frameMax = n } }
func channelMax(n uint16) option  { return func(l *login) { l.channelMax = n } }
func without(capability string) option {
	return func(l *login) {
		var kept table
		for _, f := range l.caps {
			if f.key != capability {
				kept = append(kept, f)
			}
		}
		l.caps = kept
	}
}

func newLogin(opts []option) login {
	l := login{
		addr: broker.addr, user: broker.user, pass: broker.pass, vhost: broker.vhost,
		mechanism: "PLAIN", channelMax: 2047, frameMax: 131072,
		caps: table{
			{"publisher_confirms", true}, {"exchange_exchange_bindings", true}, {"basic.nack", true},
			{"consumer_cancel_notify", true}, {"connection.blocked", true}, {"authentication_failure_close", true},
		},
	}
	for _, o := range opts {
		o(&l)
	}
	return l
}

// response is the SASL answer of the mechanism.
func (l login) response() []byte {
	if l.mechanism == "AMQPLAIN" {
		return fields(table{{"LOGIN", l.user}, {"PASSWORD", l.pass}})
	}
	return []byte("\x00" + l.user + "\x00" + l.pass)
}

func (l login) startOk() []byte {
	client := table{{"product", "conformance"}, {"connection_name", "conformance"}, {"capabilities", l.caps}}
	return method(connectionStartOk, client, l.mechanism, l.response(), "en_US")
}

func (l login) tuneOk() []byte {
	return method(connectionTuneOk, l.channelMax, l.frameMax, l.heartbeat)
}

func (l login) openVhost() []byte { return method(connectionOpen, l.vhost, "", bits(0)) }

// greet sends the header and takes connection.start.
func greet(t testing.TB, addr string) (*conn, *args) {
	t.Helper()
	c := dial(t, addr)
	c.write([]byte(header091))
	return c, c.expect(connectionStart)
}

// tuned goes as far as connection.tune, whose arguments are not looked at.
func tuned(t testing.TB, opts ...option) (*conn, login) {
	t.Helper()
	l := newLogin(opts)
	c, _ := greet(t, l.addr)
	c.send(0, l.startOk())
	c.expect(connectionTune)
	c.frameMax = int(l.frameMax)
	return c, l
}

// halfOpen goes as far as tune-ok and open, and leaves the answer unread.
func halfOpen(t testing.TB, opts ...option) *conn {
	t.Helper()
	c, l := tuned(t, opts...)
	c.send(0, l.tuneOk())
	c.send(0, l.openVhost())
	return c
}

// open is a connection ready for channels.
func open(t testing.TB, opts ...option) *conn {
	t.Helper()
	c := halfOpen(t, opts...)
	c.expect(connectionOpenOk)
	return c
}

// openChannel is channel 1 of a new connection.
func openChannel(t testing.TB, opts ...option) *channel {
	t.Helper()
	return open(t, opts...).channel(1)
}
