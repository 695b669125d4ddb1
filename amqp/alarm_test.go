package amqp

import (
	"encoding/binary"
	"testing"

	"mayfly/amqp/wire"
)

// publish is the three frames of a message to nowhere.
func publish(ch uint16, body string) []byte { return publishTo(ch, "nowhere", body) }

// publishTo is the three frames of a message to a queue.
func publishTo(ch uint16, queue, body string) []byte {
	b := wire.AppendMethod(nil, ch, &wire.BasicPublish{RoutingKey: queue})
	h := make([]byte, 14)
	h[1] = 60
	binary.BigEndian.PutUint64(h[4:], uint64(len(body)))
	b = appendFrame(b, wire.FrameHeader, ch, h)
	return appendFrame(b, wire.FrameBody, ch, []byte(body))
}

func TestChecklist23Blocked(t *testing.T) {
	for _, row := range []struct {
		memory, disk bool
		reason       string
	}{{true, false, "low on memory"}, {false, true, "low on disk"}, {true, true, "low on memory & low on disk"}} {
		r := newRig(t, fakeTime)
		r.srv.SetAlarms(row.memory, row.disk)
		p := r.dial().open(1)
		p.channel(1)
		p.roundTrip() // a connection that does not publish notices nothing
		p.raw(publish(1, "one"))
		if m := expect[*wire.ConnectionBlocked](p, 0); m.Reason != row.reason {
			t.Errorf("reason %q, want %q", m.Reason, row.reason)
		}
		p.send(0, &wire.ConnectionUpdateSecret{}) // waits behind the publish
		p.raw(publish(1, "two"))
		c := r.only("blocked", func(c *conn) bool { return c.blocked.Load() })
		r.tick(c)      // sees what was sent before
		for range 10 { // our side of the heartbeat goes on, the peer's silence does not count
			r.tick(c)
			if f := p.next(); f.Type != wire.FrameHeartbeat {
				t.Fatalf("frame %d while blocked, want heartbeats alone", f.Type)
			}
		}
		if c.closing.Load() {
			t.Fatal("a blocked connection was cut")
		}
		if infos := r.srv.Connections(); len(infos) != 1 || infos[0].State != "blocked" {
			t.Errorf("listed as %+v", infos)
		}
		r.srv.SetAlarms(false, false)
		expect[*wire.ConnectionUnblocked](p, 0)
		expect[*wire.ConnectionUpdateSecretOk](p, 0)
		p.roundTrip()
	}
}

func TestChecklist24BlockedWithoutCapability(t *testing.T) {
	r := newRig(t, nil)
	r.srv.SetAlarms(true, false)
	p := r.dial()
	answer(p, nil, "PLAIN", plain("guest", "guest"))
	expect[*wire.ConnectionTune](p, 0)
	p.send(0, &wire.ConnectionTuneOk{ChannelMax: 1, FrameMax: 4096}, &wire.ConnectionOpen{Vhost: "/"})
	expect[*wire.ConnectionOpenOk](p, 0)
	p.channel(1)
	p.raw(publish(1, "one"))
	r.only("blocked", func(c *conn) bool { return c.blocked.Load() })
	r.srv.SetAlarms(false, false)
	p.roundTrip()
}

func TestBlockedConnectionCanBeClosed(t *testing.T) {
	r := newRig(t, nil)
	r.srv.SetAlarms(true, false)
	p := r.dial().open(0)
	p.channel(1)
	p.raw(publish(1, "one"))
	expect[*wire.ConnectionBlocked](p, 0)
	r.srv.CloseConnection(r.srv.Connections()[0].ID, "enough")
	p.closed(320, "CONNECTION_FORCED - enough")
	p.send(0, &wire.ConnectionCloseOk{})
	p.gone()
}
