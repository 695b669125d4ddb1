package amqp

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"reflect"
	"sync"
	"testing"
	"time"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/internal/clock"
	"mayfly/queue"
)

// chanRig is a connection past open-ok whose reader is the test: frames go to
// conn.dispatch, and what the writer writes comes out as frames.
type chanRig struct {
	t      testing.TB
	broker *fakeBroker
	server *Server
	clock  *clock.Fake
	c      *conn
	in     *wire.Reader
	pipe   *outPipe
	early  []delivery // read while something else was waited for
}

// outPipe is a socket whose output can be read again, and whose input never comes.
type outPipe struct {
	mu     sync.Mutex
	more   sync.Cond
	buf    []byte
	closed bool
	late   bool // a read has waited too long
	stuck  bool // the peer does not read
	unread sync.Cond
}

func (p *outPipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.stuck && !p.closed {
		p.unread.Wait()
	}
	if p.closed {
		return 0, io.ErrClosedPipe
	}
	p.buf = append(p.buf, b...)
	p.more.Broadcast()
	return len(b), nil
}

func (p *outPipe) hold(on bool) {
	p.mu.Lock()
	p.stuck = on
	p.unread.Broadcast()
	p.mu.Unlock()
}

var errLate = errors.New("nothing came in time")

func (p *outPipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	timer := time.AfterFunc(5*time.Second, func() {
		p.mu.Lock()
		p.late = true
		p.more.Broadcast()
		p.mu.Unlock()
	})
	defer timer.Stop()
	for len(p.buf) == 0 && !p.closed && !p.late {
		p.more.Wait()
	}
	if len(p.buf) == 0 {
		if p.closed {
			return 0, io.EOF
		}
		return 0, errLate
	}
	n := copy(b, p.buf)
	p.buf = p.buf[n:]
	return n, nil
}

func (p *outPipe) Close() error {
	p.mu.Lock()
	p.closed = true
	p.more.Broadcast()
	p.unread.Broadcast()
	p.mu.Unlock()
	return nil
}

// quietConn is the pipe as a socket.
type quietConn struct{ *outPipe }

func (quietConn) Read([]byte) (int, error)         { return 0, io.EOF }
func (quietConn) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5672} }
func (quietConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40000} }
func (quietConn) SetDeadline(time.Time) error      { return nil }
func (quietConn) SetReadDeadline(time.Time) error  { return nil }
func (quietConn) SetWriteDeadline(time.Time) error { return nil }

// newServerRig is a server that never listens, on a broker of its own.
func newServerRig(t testing.TB, change func(*Options)) (*Server, *fakeBroker, *clock.Fake) {
	b := newFakeBroker(t)
	b.must(t, catalog.PutPermission{User: "guest", Vhost: "/", Configure: ".*", Write: ".*", Read: ".*"})
	opts := DefaultOptions()
	fake := clock.NewFake()
	opts.Clock = fake
	if change != nil {
		change(&opts)
	}
	s, err := New(b, opts, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s, b, fake
}

func newChanRig(t testing.TB) *chanRig {
	s, b, fake := newServerRig(t, nil)
	return openRig(t, s, b, fake, "guest")
}

// chanRigWith sets options.
func chanRigWith(t testing.TB, change func(*Options)) *chanRig {
	s, b, fake := newServerRig(t, change)
	return openRig(t, s, b, fake, "guest")
}

// openRig is one more connection of a server, with channel 1 open.
func openRig(t testing.TB, s *Server, b *fakeBroker, fake *clock.Fake, user string) *chanRig {
	pipe := &outPipe{}
	pipe.more.L, pipe.unread.L = &pipe.mu, &pipe.mu
	nc := quietConn{pipe}
	c := newConn(s, nc, nc)
	c.id, c.user, c.vhost, c.use = b.NextID(), user, "/", &use{}
	c.frameMax, c.phase = 131072, phaseRunning
	c.caps.consumerCancelNotify = true
	r := &chanRig{t: t, broker: b, server: s, clock: fake, c: c, pipe: pipe}
	r.in = wire.NewReader(pipe, 4096)
	r.in.SetMax(1 << 30)
	go c.out.run()
	t.Cleanup(func() {
		c.abort()
		<-c.out.done
	})
	r.open(1)
	return r
}

// peer is another connection to the same server.
func (r *chanRig) peer() *chanRig {
	return openRig(r.t, r.server, r.broker, r.clock, r.c.user)
}

func (r *chanRig) open(ch uint16) {
	r.t.Helper()
	r.send(ch, &wire.ChannelOpen{})
	r.want(ch, &wire.ChannelOpenOk{})
}

func (r *chanRig) channel(ch uint16) *channel { return r.c.lookup(ch) }

// frame is the reader's part for one frame; then the input runs empty.
func (r *chanRig) frame(f wire.Frame) {
	if r.c.closing.Load() {
		return
	}
	if e := r.c.dispatch(f); e != nil {
		r.c.faulted(e)
	}
}

func methodFrame(ch uint16, m wire.Method) wire.Frame {
	b := wire.AppendMethod(nil, ch, m)
	return wire.Frame{Type: wire.FrameMethod, Channel: ch, Payload: b[7 : len(b)-1]}
}

func (r *chanRig) send(ch uint16, ms ...wire.Method) {
	for _, m := range ms {
		r.frame(methodFrame(ch, m))
	}
	r.c.flushTouched()
}

// message is what tests publish.
type message struct {
	exchange, key string
	mandatory     bool
	props         []byte // flags and values; nil = none
	body          string
}

var noProps = []byte{0, 0}

// publish sends a message's three frames without letting the input run empty.
func (r *chanRig) publish(ch uint16, ms ...message) {
	for _, m := range ms {
		r.frame(methodFrame(ch, &wire.BasicPublish{Exchange: m.exchange, RoutingKey: m.key, Mandatory: m.mandatory}))
		if m.props == nil {
			m.props = noProps
		}
		r.content(ch, m.props, m.body)
	}
}

func (r *chanRig) content(ch uint16, props []byte, body string) {
	b := wire.AppendContent(nil, ch, props, []byte(body), r.c.frameMax)
	for len(b) > 0 {
		size := int(b[3])<<24 | int(b[4])<<16 | int(b[5])<<8 | int(b[6])
		payload := append([]byte(nil), b[7:7+size]...)
		r.frame(wire.Frame{Type: b[0], Channel: ch, Payload: payload})
		for i := range payload { // the reader's buffer goes on
			payload[i] = 0xEE
		}
		b = b[8+size:]
	}
}

// to publishes to a queue by name.
func (r *chanRig) to(queue string, bodies ...string) {
	for _, b := range bodies {
		r.publish(1, message{key: queue, body: b})
	}
	r.c.flushTouched()
}

// next reads the next method, and its content if it has one.
func (r *chanRig) next() (uint16, wire.Method, received) {
	r.t.Helper()
	f, err := r.in.Next()
	if err != nil {
		r.t.Fatalf("read: %v", err)
	}
	if f.Type != wire.FrameMethod {
		r.t.Fatalf("frame of type %d instead of a method", f.Type)
	}
	m, err := wire.Decode(f.Payload)
	if err != nil {
		r.t.Fatal(err)
	}
	ch := f.Channel
	switch m.(type) {
	case *wire.BasicDeliver, *wire.BasicGetOk, *wire.BasicReturn:
		return ch, m, r.readContent(ch)
	}
	return ch, m, received{}
}

type received struct {
	props []byte
	body  string
}

func (r *chanRig) readContent(ch uint16) received {
	r.t.Helper()
	f, err := r.in.Next()
	if err != nil || f.Type != wire.FrameHeader || f.Channel != ch {
		r.t.Fatalf("header: %+v %v", f, err)
	}
	h, err := wire.DecodeHeader(f.Payload)
	if err != nil {
		r.t.Fatal(err)
	}
	c := received{props: append([]byte(nil), h.Props...)}
	for uint64(len(c.body)) < h.BodySize {
		f, err := r.in.Next()
		if err != nil || f.Type != wire.FrameBody || len(f.Payload) == 0 {
			r.t.Fatalf("body: %+v %v", f, err)
		}
		c.body += string(f.Payload)
	}
	return c
}

// want reads one method and compares it.
func (r *chanRig) want(ch uint16, m wire.Method) received {
	r.t.Helper()
	gotCh, got, c := r.next()
	if gotCh != ch || !reflect.DeepEqual(got, m) {
		r.t.Fatalf("got  %d %s\nwant %d %s", gotCh, describe(got), ch, describe(m))
	}
	return c
}

func describe(m wire.Method) string { return fmt.Sprintf("%v %+v", m.ID(), m) }

// call sends a method and reads its answer.
func (r *chanRig) call(ch uint16, m, answer wire.Method) {
	r.t.Helper()
	r.send(ch, m)
	r.want(ch, answer)
}

// refused sends a method and expects channel.close with that text, then reopens
// the channel.
func (r *chanRig) refused(m wire.Method, code uint16, text string) {
	r.t.Helper()
	r.send(1, m)
	r.closed(code, text, m.ID())
}

// closed expects channel.close on channel 1 and reopens it.
func (r *chanRig) closed(code uint16, text string, id wire.ID) {
	r.t.Helper()
	r.want(1, &wire.ChannelClose{ReplyCode: code, ReplyText: text, ClassID: id.Class(), MethodID: id.Method()})
	r.send(1, &wire.ChannelCloseOk{})
	r.open(1)
}

// cut sends a method and expects connection.close.
func (r *chanRig) cut(m wire.Method, code uint16, text string) {
	r.t.Helper()
	r.send(1, m)
	r.want(0, &wire.ConnectionClose{ReplyCode: code, ReplyText: text, ClassID: m.ID().Class(), MethodID: m.ID().Method()})
}

// quiet checks that nothing has been sent: a method with an answer comes first.
func (r *chanRig) quiet() {
	r.t.Helper()
	r.broker.settle()
	r.call(1, &wire.AccessRequest{}, &wire.AccessRequestOk{Ticket: 1})
}

// declare makes a queue.
func (r *chanRig) declare(name string, args wire.Table) {
	r.t.Helper()
	r.call(1, &wire.QueueDeclare{Queue: name, Arguments: args}, &wire.QueueDeclareOk{Queue: name})
}

func (r *chanRig) consume(ch uint16, m *wire.BasicConsume) {
	r.t.Helper()
	r.call(ch, m, &wire.BasicConsumeOk{ConsumerTag: m.ConsumerTag})
}

// delivered reads one delivery.
func (r *chanRig) delivered(ch uint16, tag uint64, body string) (*wire.BasicDeliver, received) {
	r.t.Helper()
	gotCh, m, c := r.next()
	d, ok := m.(*wire.BasicDeliver)
	if !ok || gotCh != ch || d.DeliveryTag != tag || c.body != body {
		r.t.Fatalf("got %d %s %q, want delivery %d %q", gotCh, describe(m), c.body, tag, body)
	}
	return d, c
}

// ready expects the ready messages of a queue.
func (r *chanRig) ready(queue string, bodies ...string) {
	r.t.Helper()
	if got := r.broker.bodies(queue); !reflect.DeepEqual(got, bodies) && len(got)+len(bodies) > 0 {
		r.t.Fatalf("%s holds %q, want %q", queue, got, bodies)
	}
}

// props builds a property list of headers, and others by flag.
func headersOnly(t wire.Table) []byte {
	b := []byte{byte(wire.PropHeaders >> 8), 0, 0, 0, byte(len(t) >> 8), byte(len(t))}
	return append(b, t...)
}

func short(flag uint16, s string) []byte {
	return wire.AppendShortstr([]byte{byte(flag >> 8), byte(flag)}, s)
}

var _ queue.Sink = (*channel)(nil)
