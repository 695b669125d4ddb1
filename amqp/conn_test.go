package amqp

import (
	"bytes"
	"io"
	"testing"

	"mayfly/amqp/wire"
)

// The reader's buffer follows the client's pace, and nothing is lost on the way.
func TestReadBufferFollowsPace(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial().open(0)
	r.only("reader waits", listening)
	const n = 4000
	p.raw(bytes.Repeat(wire.AppendMethod(nil, 0, &wire.ConnectionUpdateSecret{Reason: "burst"}), n))
	for range n {
		expect[*wire.ConnectionUpdateSecretOk](p, 0)
	}
	c := r.only("reader waits", listening)
	if !c.large {
		t.Error("a burst did not enlarge the buffer")
	}
	for range calmReads + 1 {
		p.roundTrip()
	}
	if c = r.only("reader waits", listening); c.large {
		t.Error("calm did not shrink it")
	}
}

// A frame through the read loop costs no allocation of the connection's own.
func BenchmarkReadLoop(b *testing.B) {
	b.ReportAllocs()
	s, _ := soloServer(b, io.Discard)
	m := &endless{frame: wire.AppendHeartbeat(nil), left: b.N}
	m.tape = &tape{in: bytes.NewReader(nil), served: func() {}}
	c := newConn(s, m, m)
	go c.out.run()
	c.preAuth = -1
	c.in.Grow(readBusy)
	b.ResetTimer()
	c.readLoop()
	b.StopTimer()
	c.abort()
	<-c.out.done
}

// endless is a socket that says the same thing again and again.
type endless struct {
	*tape
	frame []byte
	left  int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for e.left > 0 && len(p)-n >= len(e.frame) {
		n += copy(p[n:], e.frame)
		e.left--
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
