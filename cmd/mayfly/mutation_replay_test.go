package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"mayfly/amqp/wire"
)

const (
	replayLimit = 30 * time.Second       // within which every connection has ended
	patience    = 150 * time.Millisecond // of a paced client for an answer that may never come
)

// answers is what the server says to one mutant.
type answers struct {
	queues []string // that the server named as declared
	code   uint16   // of connection.close, 0 if there was none
	octets int64
}

// replay plays a mutant against a server, until the server ended the connection.
// An error is a fault of the server's.
func (m mutant) replay(server string) (answers, error) {
	nc, err := net.Dial("tcp", server)
	if err != nil {
		return answers{}, err
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(replayLimit))
	l := &listener{done: make(chan struct{})}
	l.grown.L = &l.mu
	go l.listen(nc)
	m.send(nc, l)
	if m.end == endReset {
		nc.(*net.TCPConn).SetLinger(0)
		nc.Close()
		<-l.done
		return l.said, l.fault
	}
	nc.(*net.TCPConn).CloseWrite()
	<-l.done
	return l.said, l.fault
}

// send writes all there is, until the server does not want it any more.
func (m mutant) send(nc net.Conn, l *listener) {
	paced := m.paced
	for _, p := range m.parts {
		if paced {
			paced = l.await(p.seen)
		}
		if _, err := nc.Write(p.data); err != nil {
			return
		}
	}
}

// listener reads what the server says, and judges it.
type listener struct {
	done  chan struct{}
	said  answers // constant once done
	fault error   // the same

	mu    sync.Mutex
	grown sync.Cond
	got   int64
	ended bool
}

// await waits until the server has said n octets; false: it did not come to that.
func (l *listener) await(n int64) bool {
	late := false
	timer := time.AfterFunc(patience, func() {
		l.mu.Lock()
		late = true
		l.mu.Unlock()
		l.grown.Broadcast()
	})
	defer timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.got < n && !l.ended && !late {
		l.grown.Wait()
	}
	return l.got >= n
}

func (l *listener) listen(nc net.Conn) {
	defer close(l.done)
	l.fault = l.judge(&counted{nc, l})
	if l.fault != nil {
		nc.Close() // the writer must not go on into nowhere
	}
	l.mu.Lock()
	l.ended, l.said.octets = true, l.got
	l.mu.Unlock()
	l.grown.Broadcast()
}

// counted tells the listener how much was read.
type counted struct {
	nc net.Conn
	l  *listener
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.nc.Read(p)
	c.l.mu.Lock()
	c.l.got += int64(n)
	c.l.mu.Unlock()
	c.l.grown.Broadcast()
	return n, err
}

// judge reads the server's frames to their end: whole frames that decode, nothing
// on channels after connection.close, nothing at all after close-ok (F4), no
// internal error, and an end in time.
func (l *listener) judge(r io.Reader) error {
	in := wire.NewReader(&headed{r: r}, 8<<10)
	in.SetMax(0)
	var said wire.ID
	for {
		f, err := in.Next()
		if err != nil {
			return endFault(err)
		}
		if said == wire.ConnectionCloseOkID || said == wire.ConnectionCloseID && f.Channel != 0 {
			return fmt.Errorf("the server sends frame %d on channel %d after %s", f.Type, f.Channel, said)
		}
		if f.Type != wire.FrameMethod {
			continue
		}
		m, err := wire.Decode(f.Payload)
		if err != nil {
			return fmt.Errorf("the server's method % x: %w", f.Payload, err)
		}
		switch m := m.(type) {
		case *wire.QueueDeclareOk:
			l.said.queues = append(l.said.queues, m.Queue)
		case *wire.ConnectionClose:
			if said = m.ID(); m.ReplyCode == 541 {
				return fmt.Errorf("internal error: %s", m.ReplyText)
			}
			l.said.code = m.ReplyCode
		case *wire.ConnectionCloseOk:
			said = m.ID()
		}
	}
}

// endFault judges how the stream ended. A socket that is cut is legal at any
// octet: the server may have been writing when it learnt that the client is gone.
func endFault(err error) error {
	var ne net.Error
	var we *wire.Error
	switch {
	case errors.As(err, &we):
		return fmt.Errorf("what the server sends is no stream of frames: %w", err)
	case errors.As(err, &ne) && ne.Timeout():
		return fmt.Errorf("the connection has not ended within %v", replayLimit)
	}
	return nil
}

// headed takes the protocol header off, which is the answer to a wrong one.
type headed struct {
	r     io.Reader
	begun bool
}

func (h *headed) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if h.begun || n == 0 {
		return n, err
	}
	h.begun = true
	if p[0] == 'A' {
		n = copy(p, strings.TrimPrefix(string(p[:n]), wire.ProtocolHeader))
	}
	return n, err
}

// declared are the queues and exchanges that octets of a client may have made.
func declared(octets []byte) (queues, exchanges []string) {
	in := wire.NewReader(strings.NewReader(string(octets)), 8<<10)
	in.AllowLarge(128 << 10)
	in.SetMax(0)
	if _, err := in.ReadHeader(); err != nil {
		return nil, nil
	}
	for {
		f, err := in.Next()
		if err != nil {
			return queues, exchanges
		}
		if f.Type != wire.FrameMethod {
			continue
		}
		switch m, _ := wire.Decode(f.Payload); m := m.(type) {
		case *wire.QueueDeclare:
			queues = append(queues, m.Queue)
		case *wire.ExchangeDeclare:
			exchanges = append(exchanges, m.Exchange)
		}
	}
}
