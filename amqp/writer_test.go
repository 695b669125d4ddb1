package amqp

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"mayfly/amqp/wire"
)

// gatedSocket lets one write through per token.
type gatedSocket struct {
	gate chan struct{}
	mu   sync.Mutex
	got  bytes.Buffer
	err  error
}

func (g *gatedSocket) Write(p []byte) (int, error) {
	if g.gate != nil {
		<-g.gate
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return 0, g.err
	}
	return g.got.Write(p)
}

func (g *gatedSocket) octets() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.got.String()
}

func text(s string) func([]byte) []byte {
	return func(dst []byte) []byte { return append(dst, s...) }
}

func TestWriterOrder(t *testing.T) {
	g := &gatedSocket{}
	w := newWriter(g, func(error) {})
	w.send(text("one "))
	w.send(text("two "))
	w.sendMethod(0, &wire.ConnectionUnblocked{})
	w.finish(&wire.ConnectionCloseOk{})
	go w.run()
	w.close()
	<-w.done
	w.send(text("never"))
	want := "one two " + string(wire.AppendMethod(wire.AppendMethod(nil, 0, &wire.ConnectionUnblocked{}), 0, &wire.ConnectionCloseOk{}))
	if got := g.octets(); got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	if w.sent.Load() != uint64(len(want)) || w.busy() {
		t.Errorf("sent %d of %d, busy %v", w.sent.Load(), len(want), w.busy())
	}
}

func TestWriterCloseMutesButAnswers(t *testing.T) {
	g := &gatedSocket{}
	w := newWriter(g, func(error) {})
	w.fail(&wire.ConnectionClose{ReplyCode: 320})
	w.send(text("too late"))
	w.sendMethod(1, &wire.ChannelCloseOk{})
	w.finish(&wire.ConnectionCloseOk{})
	go w.run()
	w.close()
	<-w.done
	want := wire.AppendMethod(wire.AppendMethod(nil, 0, &wire.ConnectionClose{ReplyCode: 320}), 0, &wire.ConnectionCloseOk{})
	if got := g.octets(); got != string(want) {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

func TestWriterFailure(t *testing.T) {
	g := &gatedSocket{err: errors.New("of the test")}
	failed := make(chan error, 1)
	w := newWriter(g, func(err error) { failed <- err })
	w.send(text("x"))
	w.run()
	if err := <-failed; err != g.err {
		t.Errorf("told %v", err)
	}
	w.send(text("y"))
	w.waitRoom()
	if len(w.control) != 0 {
		t.Error("a failed writer collects output")
	}
}

// A channel that asks for a turn and ends at the same time gets its close-ok out,
// however the two fall together with the writer's turn.
func TestWriterFinishesChannels(t *testing.T) {
	const channels = 10_000
	g := &gatedSocket{}
	w := newWriter(g, func(error) {})
	go w.run()
	for i := range channels {
		ch := &channel{}
		ch.id = 1
		ch.muted.Store(true) // nothing to drain
		w.wake(ch)
		for range i % 512 { // the turn begins about now
			ch.queued.Load()
		}
		w.finishChannel(ch, &wire.ChannelCloseOk{})
	}
	w.close()
	<-w.done
	frame := len(wire.AppendMethod(nil, 1, &wire.ChannelCloseOk{}))
	if got := len(g.octets()) / frame; got != channels {
		t.Errorf("%d of %d channels were told that they are closed", got, channels)
	}
}

// The reader stops while too many answers are unread, and goes on after.
func TestWriterBackPressure(t *testing.T) {
	g := &gatedSocket{gate: make(chan struct{})}
	w := newWriter(g, func(error) {})
	go w.run()
	big := bytes.Repeat([]byte("x"), stallBytes+1)
	w.send(text("first"))
	until(t, "a write is under way", func() bool { return w.offered.Load() > 0 })
	w.send(func(dst []byte) []byte { return append(dst, big...) })
	passed := make(chan struct{})
	go func() {
		w.waitRoom()
		close(passed)
	}()
	select {
	case <-passed:
		t.Error("the reader was not held")
	default:
	}
	close(g.gate)
	<-passed
	w.close()
	<-w.done
	if n := w.sent.Load(); n != uint64(len("first")+len(big)) {
		t.Errorf("%d octets written", n)
	}
}

func BenchmarkWriterSend(b *testing.B) {
	b.ReportAllocs()
	w := newWriter(discardWriter{}, func(error) {})
	go w.run()
	frame := wire.AppendHeartbeat(nil)
	fn := func(dst []byte) []byte { return append(dst, frame...) }
	for b.Loop() {
		w.send(fn)
	}
	w.close()
	<-w.done
}

type discardWriter struct{}

func (discardWriter) Write(p []byte) (int, error) { return len(p), nil }
