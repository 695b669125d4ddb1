package main

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// part is one frame that a client sent, or its protocol header.
type part struct {
	data []byte
	seen int64 // octets of the server that the client had been sent before
}

// take is what a client sent in one session.
type take struct {
	name  string
	parts []part
}

// firstFree is the index of the first part after the handshake: protocol header,
// start-ok, tune-ok and open come before.
const firstFree = 4

// relay passes one connection on to a server and notes what the client sends.
type relay struct {
	l     net.Listener
	seen  atomic.Int64
	close func() // once the client has gone

	mu     sync.Mutex
	data   []byte
	chunks []chunk
}

// chunk is one read from the client.
type chunk struct {
	at   int
	seen int64
}

func startRelay(t *testing.T, server string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{l: l}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		client, err := l.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		up, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		var down sync.WaitGroup
		down.Go(func() {
			io.Copy(client, io.TeeReader(up, counter{&r.seen}))
			client.Close()
		})
		r.pass(up, client)
		up.Close()
		down.Wait()
	}()
	r.close = func() {
		l.Close()
		<-ended
	}
	return r
}

// counter counts what is written to it.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

func (r *relay) pass(up, client net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		r.mu.Lock()
		r.chunks = append(r.chunks, chunk{len(r.data), r.seen.Load()})
		r.data = append(r.data, buf[:n]...)
		r.mu.Unlock()
		if _, werr := up.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

// parts cuts the recording into frames.
func (r *relay) parts(t *testing.T) []part {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []part
	next := 0
	for at, size := 0, 8; at < len(r.data); at += size {
		if at > 0 {
			size = len(r.data)
			if at+7 <= len(r.data) {
				size = 8 + int(binary.BigEndian.Uint32(r.data[at+3:]))
			}
			if at+size > len(r.data) {
				t.Fatalf("recording ends within the frame at %d", at)
			}
		}
		for next+1 < len(r.chunks) && r.chunks[next+1].at <= at {
			next++
		}
		out = append(out, part{r.data[at : at+size : at+size], r.chunks[next].seen})
	}
	return out
}

// record plays a script with the stock client and answers what it sent.
func record(t *testing.T, server string, s script) take {
	t.Helper()
	r := startRelay(t, server)
	defer r.close()
	c, err := amqp.Dial("amqp://guest:guest@" + r.l.Addr().String() + "/")
	if err != nil {
		t.Fatalf("session %s: %v", s.name, err)
	}
	defer c.CloseDeadline(time.Now().Add(time.Second)) // should the script fail
	play := &scene{t: t, name: s.name, conn: c}
	play.open()
	s.run(play)
	if !c.IsClosed() {
		play.do(c.Close())
	}
	parts := r.parts(t)
	if len(parts) <= firstFree {
		t.Fatalf("session %s: %d frames recorded", s.name, len(parts))
	}
	return take{s.name, parts}
}

// scene is a session under way.
type scene struct {
	t    *testing.T
	name string
	conn *amqp.Connection
	ch   *amqp.Channel
}

func (s *scene) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("session %s: %v", s.name, err)
	}
}

// open makes another channel the current one.
func (s *scene) open() *amqp.Channel {
	s.t.Helper()
	ch, err := s.conn.Channel()
	s.do(err)
	s.ch = ch
	return ch
}

func (s *scene) queue(name string, durable, autoDelete, exclusive bool, args amqp.Table) string {
	s.t.Helper()
	q, err := s.ch.QueueDeclare(name, durable, autoDelete, exclusive, false, args)
	s.do(err)
	return q.Name
}

func (s *scene) drop(names ...string) {
	s.t.Helper()
	for _, n := range names {
		_, err := s.ch.QueueDelete(n, false, false, false)
		s.do(err)
	}
}

func (s *scene) publish(exchange, key string, m amqp.Publishing) {
	s.t.Helper()
	s.do(s.ch.PublishWithContext(s.t.Context(), exchange, key, false, false, m))
}

// take answers the next delivery.
func (s *scene) take(in <-chan amqp.Delivery) amqp.Delivery {
	s.t.Helper()
	select {
	case d, ok := <-in:
		if !ok {
			s.t.Fatalf("session %s: deliveries ended", s.name)
		}
		return d
	case <-time.After(10 * time.Second):
		s.t.Fatalf("session %s: no delivery", s.name)
	}
	return amqp.Delivery{}
}
