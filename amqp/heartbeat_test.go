package amqp

import (
	"io"
	"testing"
	"time"

	"mayfly/amqp/wire"
)

// tick lets half a second pass on an idle connection.
func (r *rig) tick(c *conn) {
	r.t.Helper()
	until(r.t, "writer is idle", func() bool { return !c.out.busy() })
	r.fake.Advance(500 * time.Millisecond)
}

func TestChecklist16HeartbeatOneSecond(t *testing.T) {
	r := newRig(t, fakeTime)
	p := r.dial().open(1)
	c := r.only("reader waits", listening)
	r.tick(c) // open-ok fell into this interval
	for tick := 2; tick <= 3; tick++ {
		r.tick(c)
		if f := p.next(); f.Type != wire.FrameHeartbeat || f.Channel != 0 || len(f.Payload) != 0 {
			t.Fatalf("tick %d: frame %d on channel %d with %d octets, want a heartbeat", tick, f.Type, f.Channel, len(f.Payload))
		}
	}
	if c.closing.Load() {
		t.Fatal("closed after 1.5 s of silence, want 2 s to 2.5 s")
	}
	r.fake.Advance(time.Second)
	p.gone()
}

func TestHeartbeatSilenceAfterTraffic(t *testing.T) {
	r := newRig(t, fakeTime)
	p := r.dial().open(2)
	c := r.only("reader waits", listening)
	r.fake.Advance(time.Second)
	before := c.received.Load()
	p.raw(wire.AppendHeartbeat(nil))
	until(t, "heartbeat read", func() bool { return c.received.Load() > before && listening(c) })
	r.fake.Advance(time.Second) // sees it
	r.fake.Advance(3 * time.Second)
	if c.closing.Load() {
		t.Fatal("closed 4 s after the last octet at the latest, want more than 4 s")
	}
	r.fake.Advance(time.Second)
	p.gone()
}

func TestChecklist17TrafficKeepsAlive(t *testing.T) {
	r := newRig(t, fakeTime)
	p := r.dial().open(1)
	c := r.only("reader waits", listening)
	for range 20 {
		p.roundTrip()
		until(t, "reader waits", func() bool { return listening(c) })
		r.fake.Advance(500 * time.Millisecond)
	}
	if c.closing.Load() {
		t.Fatal("closed although there was traffic")
	}
}

func TestChecklist18HeartbeatOff(t *testing.T) {
	r := newRig(t, fakeTime)
	p := r.dial().open(0)
	r.only("reader waits", listening)
	r.fake.Advance(5 * time.Minute)
	p.roundTrip()
	if b := p.in.Buffered(); b != 0 {
		t.Errorf("%d octets were sent meanwhile", b)
	}
}

func TestChecklist19BadHeartbeats(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial().open(0)
	p.frame(wire.FrameHeartbeat, 1, nil)
	p.closed(505, "UNEXPECTED_FRAME - type 8, all octets = <<>>")
	p = r.dial().open(0)
	p.channel(7)
	p.frame(wire.FrameHeartbeat, 7, nil)
	p.closed(505, "UNEXPECTED_FRAME - type 8, all octets = <<>>")
	p = r.dial().open(0)
	p.frame(wire.FrameHeartbeat, 0, []byte("ab"))
	p.closed(501, `FRAME_ERROR - type 8, all octets = <<"ab">>: unknown_frame`)
}

func TestHeartbeatBeforeOpen(t *testing.T) {
	r := newRig(t, fakeTime)
	p := r.dial()
	p.login()
	p.send(0, &wire.ConnectionTuneOk{ChannelMax: 1, FrameMax: 4096, Heartbeat: 1})
	r.fake.WaitTimers(2) // handshake, heartbeat
	r.fake.Advance(500 * time.Millisecond)
	if f := p.next(); f.Type != wire.FrameHeartbeat {
		t.Fatalf("frame %d, want a heartbeat before open", f.Type)
	}
}

// A peer that reads nothing holds no more than the bounds say, and is cut when
// heartbeats cannot reach it either (X5), although it goes on sending.
func TestSlowReaderIsCut(t *testing.T) {
	r := newRig(t, fakeTime)
	p := r.dial().open(1)
	c := r.only("reader waits", listening)
	flood := make([]byte, 0, 1<<20)
	for len(flood) < 1<<20 {
		flood = wire.AppendMethod(flood, 0, &wire.ConnectionUpdateSecret{})
	}
	done := make(chan error, 1)
	go func() {
		for {
			if _, err := p.nc.Write(flood); err != nil {
				done <- err
				return
			}
		}
	}()
	until(t, "socket is full and the reader waits for room", func() bool {
		c.out.mu.Lock()
		defer c.out.mu.Unlock()
		return len(c.out.control) > stallBytes && c.out.active
	})
	c.out.mu.Lock()
	held := cap(c.out.control)
	c.out.mu.Unlock()
	if held > 4*stallBytes {
		t.Errorf("%d octets are held for a peer that does not read", held)
	}
	for range 5 {
		r.fake.Advance(500 * time.Millisecond)
	}
	if err := <-done; err == nil {
		t.Error("the flood ended without an error")
	}
	io.Copy(io.Discard, p.nc)
	until(t, "connection ends", func() bool { return len(r.srv.list()) == 0 })
}
