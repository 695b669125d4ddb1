package amqp

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"mayfly/amqp/wire"
	"mayfly/queue"
)

// A peer that does not read blocks only itself: what waits for it is bounded, and
// the end of the connection frees its reader (X5).
func TestSlowReaderIsBounded(t *testing.T) {
	r := newChanRig(t)
	ch := r.channel(1)
	r.pipe.hold(true)
	body := strings.Repeat("x", 64<<10)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			r.publish(1, message{key: "nowhere", mandatory: true, body: body})
		}
	}()
	for !ch.crowded.Load() {
		runtime.Gosched()
	}
	select {
	case <-done:
		t.Error("a thousand messages were taken from a peer that does not read")
	default:
	}
	ch.mu.Lock()
	if n := len(ch.returned); n > maxUnsent+len(body)+200 {
		t.Errorf("%d octets wait", n)
	}
	ch.mu.Unlock()
	r.c.abort()
	<-done
	<-ch.ended
}

// The same for answers to methods.
func TestAnswersAreBounded(t *testing.T) {
	r := newChanRig(t)
	ch := r.channel(1)
	r.pipe.hold(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !r.c.closing.Load() {
			r.send(1, &wire.QueueDeclare{Queue: strings.Repeat("q", 250)})
		}
	}()
	for !ch.crowded.Load() {
		runtime.Gosched()
	}
	r.c.abort()
	<-done
	<-ch.ended
	if n := ch.unsent; n > maxUnsent+300 {
		t.Errorf("%d octets wait", n)
	}
}

// stuckLane is a queue without a leader whose bound is full.
type stuckLane struct {
	queue.Lane
	entered, freed chan struct{}
}

func (l *stuckLane) Publish(*queue.Message) uint64 {
	close(l.entered)
	<-l.freed
	return 1
}

// A publish that waits for room ends with its channel: Session.Close frees it.
func TestTeardownFreesStuckPublish(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	ch := r.channel(1)
	ls := ch.lanes[r.broker.View().Vhost("/").Queue("q").ID]
	if ls == nil {
		ls = ch.laneOf(r.broker.View().Vhost("/").Queue("q"))
	}
	stuck := &stuckLane{Lane: ls.Lane, entered: make(chan struct{}), freed: make(chan struct{})}
	ls.Lane = stuck
	ch.session = &closingSession{ch.session, stuck.freed}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.to("q", "x")
	}()
	<-stuck.entered
	before := r.clock.Timers()
	r.c.abort()
	r.clock.WaitTimers(before + 1)
	r.clock.Advance(finishLimit)
	r.clock.WaitTimers(before + 1)
	r.clock.Advance(graceLimit)
	<-done
	<-ch.ended
}

// closingSession frees a stuck lane when it is closed.
type closingSession struct {
	queue.Session
	freed chan struct{}
}

func (s *closingSession) Close(ctx context.Context) error {
	close(s.freed)
	return s.Session.Close(ctx)
}
