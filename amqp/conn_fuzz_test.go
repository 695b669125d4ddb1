package amqp

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/internal/clock"
	"mayfly/internal/password"
)

// tape is a socket that plays what was recorded and keeps what is written.
type tape struct {
	in     *bytes.Reader
	served func() // called when all was read
	once   sync.Once

	mu  sync.Mutex
	out bytes.Buffer
}

func (m *tape) Read(p []byte) (int, error) {
	n, err := m.in.Read(p)
	if err == io.EOF {
		m.once.Do(m.served)
	}
	return n, err
}

func (m *tape) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.out.Write(p)
}

func (m *tape) Close() error                     { return nil }
func (m *tape) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5672} }
func (m *tape) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (m *tape) SetDeadline(time.Time) error      { return nil }
func (m *tape) SetReadDeadline(time.Time) error  { return nil }
func (m *tape) SetWriteDeadline(time.Time) error { return nil }

// soloServer is a server without a listener, whose passwords cost nothing: the
// stored hash is the password itself.
func soloServer(t testing.TB, logs io.Writer) (*Server, *fakeBroker) {
	b := newFakeBroker(t)
	b.must(t, catalog.PutUser{Name: "guest", Algorithm: password.MD5, Hash: []byte("guest")},
		catalog.PutPermission{User: "guest", Vhost: "/", Configure: ".*", Write: ".*", Read: ".*"})
	opts := DefaultOptions()
	opts.Clock = clock.NewFake()
	s, err := New(b, opts, slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	s.verify = func(_ context.Context, _ string, stored password.Stored, pass []byte) (bool, error) {
		return bytes.Equal(stored.Hash, pass), nil
	}
	return s, b
}

// runBytes runs one connection over recorded input to its end.
func runBytes(s *Server, in []byte) []byte {
	m := &tape{in: bytes.NewReader(in)}
	c := newConn(s, m, m)
	// The input ends like a peer that waits for our answers before it goes.
	m.served = func() {
		for end := time.Now().Add(time.Second); c.out.busy() && time.Now().Before(end); {
			runtime.Gosched()
		}
	}
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	c.run()
	return m.out.Bytes()
}

// opening is what a client sends before its first channel.
func opening() []byte {
	b := []byte(wire.ProtocolHeader)
	for _, m := range []wire.Method{
		&wire.ConnectionStartOk{ClientProperties: allCaps(), Mechanism: "PLAIN", Response: plain("guest", "guest")},
		&wire.ConnectionTuneOk{ChannelMax: 8, FrameMax: 4096}, &wire.ConnectionOpen{Vhost: "/"},
	} {
		b = wire.AppendMethod(b, 0, m)
	}
	return b
}

// framed reads data as a list of frames: type, channel, length, payload.
func framed(dst, data []byte) []byte {
	types := []byte{wire.FrameMethod, wire.FrameMethod, wire.FrameMethod, wire.FrameHeader, wire.FrameBody, wire.FrameHeartbeat}
	for len(data) >= 3 {
		typ, ch, n := types[int(data[0])%len(types)], uint16(data[1]%4), min(int(data[2]), len(data)-3)
		dst = appendFrame(dst, typ, ch, data[3:3+n])
		data = data[3+n:]
	}
	return dst
}

// unframed is the seed that framed turns into frames.
func unframed(frames []byte) []byte {
	var out []byte
	in := wire.NewReader(bytes.NewReader(frames), 4096)
	for {
		f, err := in.Next()
		if err != nil {
			return out
		}
		at := map[byte]byte{wire.FrameMethod: 0, wire.FrameHeader: 3, wire.FrameBody: 4, wire.FrameHeartbeat: 5}[f.Type]
		out = append(append(out, at, byte(f.Channel), byte(len(f.Payload))), f.Payload...)
	}
}

// F4: whatever a peer sends, the connection ends in a legal close or stays
// legal, nothing panics, and another connection of the server does not notice.
func FuzzConnection(f *testing.F) {
	var busy []byte
	for _, m := range []wire.Method{
		&wire.ChannelOpen{}, &wire.QueueDeclare{Queue: "q"}, &wire.ConfirmSelect{}, &wire.BasicQos{PrefetchCount: 2},
		&wire.BasicConsume{Queue: "q", ConsumerTag: "t"},
	} {
		busy = wire.AppendMethod(busy, 1, m)
	}
	busy = append(busy, publish(1, "one")...)
	for _, m := range []wire.Method{&wire.BasicGet{Queue: "q"}, &wire.BasicAck{DeliveryTag: 1}, &wire.TxSelect{}, &wire.ChannelClose{}} {
		busy = wire.AppendMethod(busy, 1, m)
	}
	busy = wire.AppendMethod(busy, 0, &wire.ConnectionClose{ReplyCode: 200})
	f.Add(byte(0), append(opening(), busy...))
	f.Add(byte(1), busy)
	f.Add(byte(2), unframed(busy))
	f.Add(byte(3), unframed(opening()[8:]))
	f.Add(byte(0), []byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, mode byte, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		var in []byte
		switch mode % 4 {
		case 0:
			in = data
		case 1:
			in = append(opening(), data...)
		case 2:
			in = framed(opening(), data)
		case 3:
			in = framed([]byte(wire.ProtocolHeader), data)
		}
		var logs safeBuffer
		s, _ := soloServer(t, &logs)
		checkOutput(t, runBytes(s, in))
		if bytes.Contains([]byte(logs.String()), []byte("fault of ours")) {
			t.Fatalf("panic: %s", logs.String())
		}
		if n := len(s.list()); n != 0 || s.gate.total != 0 || len(s.users) != 0 {
			t.Fatalf("left behind: %d connections, %d octets, %d users", n, s.gate.total, len(s.users))
		}
		// Another connection lives: it gets through its handshake and its close.
		out := runBytes(s, wire.AppendMethod(opening(), 0, &wire.ConnectionClose{ReplyCode: 200}))
		if want := wire.AppendMethod(nil, 0, &wire.ConnectionCloseOk{}); !bytes.HasSuffix(out, want) {
			t.Fatalf("another connection does not work: % x", out)
		}
	})
}

// checkOutput looks at everything the server said: whole frames that decode,
// nothing on channels after connection.close, nothing at all after close-ok.
func checkOutput(t *testing.T, out []byte) {
	t.Helper()
	out = bytes.TrimPrefix(out, []byte(wire.ProtocolHeader))
	in := wire.NewReader(bytes.NewReader(out), 64<<10)
	in.SetMax(0)
	said := wire.ID(0)
	for {
		f, err := in.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("the server's output is no stream of frames: %v", err)
		}
		if said == wire.ConnectionCloseOkID || said == wire.ConnectionCloseID && f.Channel != 0 {
			t.Fatalf("frame %d on channel %d after %s", f.Type, f.Channel, said)
		}
		if f.Type != wire.FrameMethod {
			continue
		}
		m, err := wire.Decode(f.Payload)
		if err != nil {
			t.Fatalf("the server's method % x: %v", f.Payload, err)
		}
		if id := m.ID(); id == wire.ConnectionCloseID || id == wire.ConnectionCloseOkID {
			said = id
		}
		if e, ok := m.(*wire.ConnectionClose); ok && e.ReplyCode == codeInternalError {
			t.Fatalf("internal error: %s", e.ReplyText)
		}
	}
}
