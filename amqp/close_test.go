package amqp

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// heldSession ends when it is told to.
type heldSession struct {
	emptySession
	closing chan struct{}
	release chan struct{}
}

func (s heldSession) Close(context.Context) error {
	close(s.closing)
	<-s.release
	return nil
}

func holdSessions(r *rig) heldSession {
	s := heldSession{closing: make(chan struct{}), release: make(chan struct{})}
	r.node.onOpen = func(queue.Sink) queue.Session { return s }
	return s
}

func TestChecklist21CloseCrossing(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial().open(0)
	p.send(9, &wire.QueueDeclare{}) // never opened: we close
	p.send(0, &wire.ConnectionClose{ReplyCode: 200})
	p.closed(504, "CHANNEL_ERROR - expected 'channel.open'")
	expect[*wire.ConnectionCloseOk](p, 0)
	p.send(0, &wire.ConnectionCloseOk{})
	p.nc.Close()
	until(t, "connection ends", func() bool { return len(r.srv.list()) == 0 })
}

func TestCloseOkEndsTheSocket(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial().open(0)
	p.send(9, &wire.BasicGet{})
	m := p.closed(504, "CHANNEL_ERROR - expected 'channel.open'")
	if m.ClassID != 60 || m.MethodID != 70 {
		t.Errorf("ids %d/%d, want 60/70", m.ClassID, m.MethodID)
	}
	p.send(3, &wire.ChannelOpen{}) // ignored
	p.send(0, &wire.ConnectionCloseOk{})
	p.gone()
}

func TestChecklist22NoCloseOk(t *testing.T) {
	for _, row := range []struct {
		heartbeat uint16
		wait      time.Duration
	}{{0, 30 * time.Second}, {600, 30 * time.Second}, {10, 10 * time.Second}} {
		r := newRig(t, fakeTime)
		p := r.dial().open(row.heartbeat)
		p.send(9, &wire.BasicGet{})
		p.closed(504, "")
		until(t, "close timer alone", func() bool { return r.fake.Timers() == 1 })
		r.fake.Advance(row.wait - time.Millisecond)
		if n := len(r.srv.list()); n != 1 {
			t.Fatalf("heartbeat %d: %d connections before the timeout, want 1", row.heartbeat, n)
		}
		r.fake.Advance(time.Millisecond)
		p.gone()
	}
}

func TestClientNeverHangsUp(t *testing.T) {
	r := newRig(t, fakeTime)
	p := r.dial().open(0)
	p.send(0, &wire.ConnectionClose{ReplyCode: 200})
	expect[*wire.ConnectionCloseOk](p, 0)
	until(t, "close timer alone", func() bool { return r.fake.Timers() == 1 })
	r.fake.Advance(30 * time.Second)
	p.gone()
}

// Exclusive queues are gone when close-ok arrives (checklist 60), and on loss.
func TestChecklist60Exclusives(t *testing.T) {
	for _, orderly := range []bool{true, false} {
		r := newRig(t, nil)
		p := r.dial().open(0)
		c := r.only("reader waits", listening)
		for id := queue.ID(1); id <= 40; id++ {
			c.addExclusive(&catalog.Queue{ID: id})
		}
		c.forgetExclusive(7)
		deleted := func() []queue.ID {
			r.node.mu.Lock()
			defer r.node.mu.Unlock()
			return slices.Clone(r.node.deleted)
		}
		if orderly {
			p.hangUp()
			if n := len(deleted()); n != 39 {
				t.Errorf("%d queues deleted at close-ok, want 39", n)
			}
		} else {
			p.nc.Close()
		}
		until(t, "connection ends", func() bool { return len(r.srv.list()) == 0 })
		if got := deleted(); len(got) != 39 || slices.Contains(got, 7) {
			t.Errorf("deleted %v, want 1 to 40 without 7", got)
		}
		c.addExclusive(&catalog.Queue{ID: 99}) // declared while the connection ended
		until(t, "late queue deleted", func() bool { return slices.Contains(deleted(), 99) })
	}
}

func TestCloseOkWaitsForSessions(t *testing.T) {
	r := newRig(t, nil)
	held := holdSessions(r)
	p := r.dial().open(0)
	p.channel(1)
	p.send(0, &wire.ConnectionClose{ReplyCode: 200})
	<-held.closing
	p.nc.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := p.in.Next(); !isTimeout(err) {
		t.Fatalf("%v: close-ok came before the session had ended", err)
	}
	close(held.release)
	p = &peer{t: t, nc: p.nc, in: wire.NewReader(p.nc, 4096)}
	expect[*wire.ConnectionCloseOk](p, 0)
}

// A channel that ends slowly holds up no other (S8).
func TestSlowChannelClose(t *testing.T) {
	r := newRig(t, nil)
	held := holdSessions(r)
	p := r.dial().open(0)
	p.channel(1)
	r.node.onOpen = nil
	p.channel(2)
	p.send(1, &wire.ChannelClose{ReplyCode: 200})
	<-held.closing
	p.send(2, &wire.ChannelClose{ReplyCode: 200})
	expect[*wire.ChannelCloseOk](p, 2)
	p.send(1, &wire.BasicAck{DeliveryTag: 1}) // in flight when the channel was closed: ignored
	p.roundTrip()
	close(held.release)
	expect[*wire.ChannelCloseOk](p, 1)
	p.channel(1)
}

func TestChecklist43UnopenedAndDoubleOpen(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial().open(0)
	p.channel(1)
	p.send(1, &wire.ChannelOpen{})
	m := p.closed(504, "CHANNEL_ERROR - second 'channel.open' seen")
	if m.ClassID != 20 || m.MethodID != 10 {
		t.Errorf("ids %d/%d, want 20/10", m.ClassID, m.MethodID)
	}
	p = r.dial().open(0)
	p.frame(wire.FrameBody, 1, []byte("x"))
	p.closed(505, "UNEXPECTED_FRAME - expected method frame, got non method frame instead")
	p = r.dial().open(0)
	p.send(1, &wire.ChannelCloseOk{})
	p.closed(504, "CHANNEL_ERROR - expected 'channel.open'")
	p = r.dial().open(0)
	p.channel(1)
	p.send(1, &wire.ChannelCloseOk{})
	p.closed(503, "COMMAND_INVALID - unimplemented method")
}

// failing makes the server close channel 1 with an error.
func failing(t *testing.T, r *rig) (*peer, *conn, *channel) {
	p := r.dial().open(0)
	p.channel(1)
	c := r.only("reader waits", listening)
	ch := c.lookup(1)
	c.asyncFail(ch, newError(codePreconditionFailed, "of the test").by(wire.BasicAckID))
	m := expect[*wire.ChannelClose](p, 1)
	if m.ReplyCode != 406 || m.ReplyText != "PRECONDITION_FAILED - of the test" || m.ClassID != 60 || m.MethodID != 80 {
		t.Fatalf("channel closed with %+v", m)
	}
	return p, c, ch
}

func TestChecklist44FailedChannelIgnores(t *testing.T) {
	r := newRig(t, nil)
	p, c, ch := failing(t, r)
	p.send(1, &wire.BasicAck{DeliveryTag: 3}, &wire.QueueDeclare{Queue: "q"})
	p.frame(wire.FrameHeader, 1, []byte("whatever"))
	p.frame(wire.FrameBody, 1, []byte("whatever"))
	c.asyncFail(ch, newError(codeNotFound, "too late"))
	p.roundTrip()
	p.send(1, &wire.ChannelCloseOk{}, &wire.ChannelOpen{})
	expect[*wire.ChannelOpenOk](p, 1)

	p, _, _ = failing(t, newRig(t, nil))
	p.send(1, &wire.ChannelOpen{})
	p.closed(504, "CHANNEL_ERROR - second 'channel.open' seen")
}

func TestChecklist45ChannelCloseCrossing(t *testing.T) {
	p, c, _ := failing(t, newRig(t, nil))
	p.send(1, &wire.ChannelClose{ReplyCode: 200})
	expect[*wire.ChannelCloseOk](p, 1)
	p.send(1, &wire.ChannelCloseOk{}) // for the server's own close: swallowed, once
	p.roundTrip()
	p.channel(1)
	p.send(1, &wire.ChannelCloseOk{})
	p.closed(503, "COMMAND_INVALID - unimplemented method")
	if !c.closing.Load() {
		t.Error("not closing")
	}
}

// The close-ok of a crossing may also come after the number was opened again.
func TestLateCloseOkAfterReopen(t *testing.T) {
	p, _, _ := failing(t, newRig(t, nil))
	p.send(1, &wire.ChannelClose{ReplyCode: 200})
	expect[*wire.ChannelCloseOk](p, 1)
	p.channel(1)
	p.send(1, &wire.ChannelCloseOk{})
	p.roundTrip()
}

func TestChecklist46LateAcks(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial().open(0)
	p.channel(1)
	p.send(1, &wire.ChannelClose{ReplyCode: 200}, &wire.BasicAck{DeliveryTag: 1})
	expect[*wire.ChannelCloseOk](p, 1)
	p.send(1, &wire.BasicAck{DeliveryTag: 1}, &wire.BasicNack{DeliveryTag: 1}, &wire.BasicReject{DeliveryTag: 1}, &wire.BasicPublish{})
	p.frame(wire.FrameHeader, 1, make([]byte, 14))
	p.frame(wire.FrameBody, 1, []byte("x"))
	p.roundTrip()
	p.send(1, &wire.BasicGet{})
	p.closed(504, "CHANNEL_ERROR - expected 'channel.open'")
}

func TestErrorWhileClientCloses(t *testing.T) {
	r := newRig(t, nil)
	held := holdSessions(r)
	p := r.dial().open(0)
	p.channel(1)
	c := r.only("reader waits", listening)
	ch := c.lookup(1)
	p.send(1, &wire.ChannelClose{ReplyCode: 200})
	<-held.closing
	c.asyncFail(ch, newError(codeNotFound, "of the test"))
	expect[*wire.ChannelClose](p, 1)
	p.send(1, &wire.ChannelCloseOk{})
	close(held.release)
	expect[*wire.ChannelCloseOk](p, 1)
	p.channel(1)
}

func TestChecklist28To31WireFaults(t *testing.T) {
	r := newRig(t, fakeTime)
	bad := appendFrame(nil, wire.FrameMethod, 0, []byte{0, 10, 0, 70})
	bad[len(bad)-1] = 0
	for _, row := range []struct {
		name string
		raw  []byte
		code uint16
		text string
	}{
		{"frame end", bad, 501, "FRAME_ERROR - type 1, all octets = <<0,10,0,70>>: {invalid_frame_end_marker,0}"},
		{"oversize", []byte{1, 0, 0, 0, 2, 0, 1}, 501, "FRAME_ERROR - type 1, all octets = <<>>: {frame_too_large,131073,131064}"},
		{"4 GiB", []byte{3, 0, 1, 255, 255, 255, 255}, 501, "FRAME_ERROR - type 3, all octets = <<>>: {frame_too_large,4294967295,131064}"},
		{"unknown type", appendFrame(nil, 4, 0, []byte("x")), 501, `FRAME_ERROR - type 4, all octets = <<"x">>: unknown_frame`},
		{"unknown class", appendFrame(nil, 1, 0, []byte{0, 99, 0, 1}), 503, ""},
		{"truncated", appendFrame(nil, 1, 0, []byte{0, 10, 0, 70, 0}), 501, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := r.dial()
			p.t = t
			p.open(0)
			p.raw(row.raw)
			p.closed(row.code, row.text)
			p.nc.Close()
		})
	}
}

func TestChecklist26Shutdown(t *testing.T) {
	r := newRig(t, nil)
	var peers []*peer
	for range 3 {
		peers = append(peers, r.dial().open(60))
	}
	half := r.dial()
	half.greet()
	done := make(chan error, 1)
	go func() { done <- r.srv.Shutdown(context.Background()) }()
	for _, p := range peers {
		m := p.closed(320, "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'")
		if m.ClassID != 0 || m.MethodID != 0 {
			t.Errorf("ids %d/%d, want 0/0", m.ClassID, m.MethodID)
		}
		p.send(0, &wire.ConnectionCloseOk{})
		p.gone()
	}
	half.gone()
	if err := <-done; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestShutdownIsBounded(t *testing.T) {
	r := newRig(t, fakeTime)
	p := r.dial().open(0)
	done := make(chan error, 1)
	go func() { done <- r.srv.Shutdown(context.Background()) }()
	p.closed(320, "")
	r.fake.WaitTimers(2) // the connection's and the server's
	r.fake.Advance(5 * time.Second)
	p.gone()
	if err := <-done; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestChecklist27DeletedUserAndVhost(t *testing.T) {
	for _, row := range []struct {
		cmd  catalog.Command
		text string
	}{
		{catalog.DeleteUser{Name: "guest"}, "CONNECTION_FORCED - user 'guest' is deleted"},
		{catalog.DeleteVhost{Name: "/"}, "CONNECTION_FORCED - vhost '/' is deleted"},
	} {
		r := newRig(t, nil)
		p := r.dial().open(0)
		r.srv.Recheck()
		r.node.must(t, catalog.PutVhost{Name: "other"})
		r.srv.Recheck()
		p.roundTrip()
		r.node.must(t, row.cmd)
		r.srv.Recheck()
		p.closed(320, row.text)
	}
}

func TestOperatorCloses(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial().open(0)
	p.channel(1)
	infos := r.srv.Connections()
	if len(infos) != 1 || infos[0].User != "guest" || infos[0].Vhost != "/" || infos[0].State != "running" ||
		infos[0].Channels != 1 || infos[0].Name != p.nc.LocalAddr().String()+" -> "+r.addr {
		t.Fatalf("connections: %+v", infos)
	}
	if r.srv.CloseConnection(infos[0].ID+1, "") {
		t.Error("closed a connection that does not exist")
	}
	if !r.srv.CloseConnection(infos[0].ID, "") {
		t.Error("connection not found")
	}
	p.closed(320, "CONNECTION_FORCED - Closed via management plugin")
	p = r.dial().open(0)
	r.srv.CloseConnection(r.srv.Connections()[1].ID, strings.Repeat("ü", 200))
	if m := p.closed(320, ""); len(m.ReplyText) > 255 || !strings.HasSuffix(m.ReplyText, "ü") {
		t.Errorf("text of %d octets: %q", len(m.ReplyText), m.ReplyText)
	}
}

func TestChecklist25UpdateSecret(t *testing.T) {
	newRig(t, nil).dial().open(0).roundTrip()
}

// A fault of ours in one connection ends that one alone (X4).
func TestPanicIsContained(t *testing.T) {
	r := newRig(t, nil)
	other := r.dial().open(0)
	r.node.onOpen = func(queue.Sink) queue.Session { panic("of the test") }
	p := r.dial().open(0)
	p.send(1, &wire.ChannelOpen{})
	p.gone()
	other.roundTrip()
	if !strings.Contains(r.logs.String(), "of the test") {
		t.Error("the fault is not in the log")
	}
}

// Everything received before the close is processed; what is confirmed in time
// is told, and nothing after close-ok (section 4).
func TestChecklist20PublishesBeforeClose(t *testing.T) {
	for _, whole := range []bool{true, false} {
		r := newRig(t, nil)
		p := r.dial().open(0)
		p.channel(1)
		p.send(1, &wire.QueueDeclare{Queue: "q"}, &wire.ConfirmSelect{})
		expect[*wire.QueueDeclareOk](p, 1)
		expect[*wire.ConfirmSelectOk](p, 1)
		var b []byte
		for range 50 {
			b = append(b, publishTo(1, "q", "x")...)
		}
		if whole {
			b = wire.AppendMethod(b, 0, &wire.ConnectionClose{ReplyCode: 200})
		} else {
			b = wire.AppendMethod(b, 1, &wire.ChannelClose{ReplyCode: 200})
		}
		p.raw(b)
		confirmed := uint64(0)
		for done := false; !done; {
			switch _, m := p.method(); m := m.(type) {
			case *wire.BasicAck:
				if confirmed++; m.Multiple {
					confirmed = m.DeliveryTag
				}
			case *wire.ConnectionCloseOk, *wire.ChannelCloseOk:
				done = true
			default:
				t.Fatalf("unexpected %T", m)
			}
		}
		if n := len(r.node.bodies("q")); n != 50 || confirmed > 50 {
			t.Errorf("%d messages in the queue and %d confirms, want 50 and at most 50", n, confirmed)
		}
	}
}

func TestServeAfterShutdown(t *testing.T) {
	r := newRig(t, nil)
	nc, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := io.WriteString(nc, wire.ProtocolHeader); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Read(make([]byte, 1)); err != nil { // an answer: Serve has taken the listener over
		t.Fatal(err)
	}
	if err := r.srv.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if nc, err := net.Dial("tcp", r.addr); err == nil {
		nc.Close()
		t.Error("a stopped server still listens")
	}
	if err := r.srv.Shutdown(context.Background()); err != nil {
		t.Errorf("second Shutdown: %v", err)
	}
}
