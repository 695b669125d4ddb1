package conformance

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for a frame that must come. It is long
// because a loaded machine is not a broken broker; the lines that are about time
// measure it themselves.
const patience = 20 * time.Second

var errSilence = errors.New("nothing arrived in time")

// frame is what arrived: typ is a frame type, or typeGreeting for a protocol header.
type frame struct {
	typ     byte
	ch      uint16
	payload []byte
	at      time.Time
}

func (f frame) id() uint32 {
	if f.typ != typeMethod || len(f.payload) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(f.payload)
}

// String names a frame in failures; closes are shown with their text.
func (f frame) String() string {
	switch {
	case f.typ == typeGreeting:
		return fmt.Sprintf("protocol header % x", f.payload)
	case f.id() == connectionClose || f.id() == channelClose:
		n := int(f.payload[6])
		return fmt.Sprintf("close on channel %d: %d %q", f.ch, binary.BigEndian.Uint16(f.payload[4:]), f.payload[7:7+n])
	case f.typ == typeMethod:
		return fmt.Sprintf("%s on channel %d", methodName(f.id()), f.ch)
	}
	return fmt.Sprintf("frame of type %d on channel %d, %d octets", f.typ, f.ch, len(f.payload))
}

// conn is one socket. A goroutine reads it to the end, so that the broker is
// never blocked by a test that looks away; one test goroutine writes and waits.
type conn struct {
	t        testing.TB
	nc       net.Conn
	frameMax int // of our output; 0 until tuned
	lastCh   uint16

	mu    sync.Mutex
	in    []frame
	beats []time.Time
	end   error // set once the reading side ended
	endAt time.Time
	news  chan struct{} // holds a token after any change
}

// dial connects and sends nothing.
func dial(t testing.TB, addr string) *conn {
	t.Helper()
	nc, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatalf("connect to the broker: %v", err)
	}
	c := &conn{t: t, nc: nc, news: make(chan struct{}, 1)}
	done := make(chan struct{})
	go func() { c.readAll(); close(done) }()
	t.Cleanup(func() { nc.Close(); <-done })
	return c
}

func (c *conn) readAll() {
	r := bufio.NewReaderSize(c.nc, 64<<10)
	for {
		f, err := readFrame(r)
		c.mu.Lock()
		if err != nil {
			c.end, c.endAt = err, time.Now()
		} else if f.at = time.Now(); f.typ == typeHeartbeat {
			c.beats = append(c.beats, f.at)
		} else {
			c.in = append(c.in, f)
		}
		c.mu.Unlock()
		select {
		case c.news <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func readFrame(r *bufio.Reader) (frame, error) {
	first, err := r.Peek(1)
	if err != nil {
		return frame{}, err
	}
	if first[0] == typeGreeting {
		b := make([]byte, 8)
		_, err := io.ReadFull(r, b)
		return frame{typ: typeGreeting, payload: b}, err
	}
	var h [7]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return frame{}, err
	}
	f := frame{typ: h[0], ch: binary.BigEndian.Uint16(h[1:])}
	b := make([]byte, binary.BigEndian.Uint32(h[3:])+1)
	if _, err := io.ReadFull(r, b); err != nil {
		return frame{}, err
	}
	n := len(b) - 1
	if b[n] != frameEnd {
		return frame{}, fmt.Errorf("the broker's frame ends in %#x", b[n])
	}
	f.payload = b[:n:n]
	return f, nil
}

// wait blocks until look finds what it wants, the socket ends or time is up.
// look runs under the lock.
func (c *conn) wait(limit time.Duration, look func() bool) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		c.mu.Lock()
		found, end := look(), c.end
		c.mu.Unlock()
		if found {
			return nil
		}
		if end != nil {
			return fmt.Errorf("the socket ended: %w", end)
		}
		select {
		case <-c.news:
		case <-timer.C:
			return errSilence
		}
	}
}

// next takes the next frame of a channel. A connection.close ends the wait for
// any other channel's frame.
func (c *conn) next(ch uint16, limit time.Duration) (frame, error) {
	var got frame
	var closed error
	err := c.wait(limit, func() bool {
		for i, f := range c.in {
			if f.ch == ch {
				got = f
				if i == 0 {
					c.in = c.in[1:]
				} else {
					c.in = append(c.in[:i:i], c.in[i+1:]...)
				}
				return true
			}
			if f.id() == connectionClose {
				closed = fmt.Errorf("the broker ended the connection: %v", f)
			}
		}
		return closed != nil
	})
	if err == nil {
		err = closed
	}
	return got, err
}

// expect takes the next frame of channel 0, which must be the method.
func (c *conn) expect(id uint32) *args {
	c.t.Helper()
	return (&channel{c: c}).expect(id)
}

// write sends bytes as they are. A failing write is no failure by itself: what
// the broker said before it closed is in the inbox.
func (c *conn) write(b []byte) {
	c.nc.SetWriteDeadline(time.Now().Add(patience))
	c.nc.Write(b)
}

func (c *conn) send(ch uint16, payload []byte) { c.write(frameBytes(typeMethod, ch, payload)) }

// ended waits for the end of the socket and returns when it came. Frames that
// arrive meanwhile are a failure.
func (c *conn) ended(limit time.Duration) time.Time {
	c.t.Helper()
	err := c.wait(limit, func() bool { return len(c.in) > 0 })
	if err == nil {
		c.t.Fatalf("want the end of the socket, got %v", c.in[0])
	}
	if errors.Is(err, errSilence) {
		c.t.Fatalf("the broker did not close the socket in %v", limit)
	}
	return c.endAt
}

// closing is what a close method carries.
type closing struct {
	code uint16
	text string
	id   uint32
}

func parseClose(a *args) closing {
	a.t.Helper()
	x := closing{a.u16(), a.short(), uint32(a.u16())<<16 | uint32(a.u16())}
	a.end()
	return x
}

// matches compares with the code and the explanation (without the code's name).
// A wanted text that ends in "…" is a prefix.
func (x closing) matches(code uint16, text string) bool {
	if x.code != code {
		return false
	}
	if prefix, cut := strings.CutSuffix(text, "…"); cut {
		return strings.HasPrefix(x.text, codeName[code]+" - "+prefix)
	}
	return x.text == codeName[code]+" - "+text
}

// closed demands that the broker ends the connection with this error and cause
// (anyID: whatever cause), answers close-ok and sees the socket end.
func (c *conn) closed(code uint16, text string, id uint32) {
	c.t.Helper()
	c.closing(code, text, id)
	c.send(0, method(connectionCloseOk))
	c.ended(patience)
}

const anyID = 0xffffffff

// closing is closed without the answer.
func (c *conn) closing(code uint16, text string, id uint32) {
	c.t.Helper()
	x := parseClose(c.expect(connectionClose))
	if !x.matches(code, text) {
		c.t.Fatalf("connection closed with\n got %d %q\nwant %d %q", x.code, x.text, code, codeName[code]+" - "+text)
	}
	if id != anyID && x.id != id {
		c.t.Fatalf("connection.close names %s as its cause, want %s", methodName(x.id), methodName(id))
	}
}

// close ends the connection in order.
func (c *conn) close() {
	c.t.Helper()
	c.send(0, method(connectionClose, uint16(replySuccess), "bye", uint16(0), uint16(0)))
	c.expect(connectionCloseOk).end()
	c.nc.Close()
}

// drop cuts the socket without a word.
func (c *conn) drop() { c.nc.Close() }
