package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// pulses are the times at which heartbeats came so far.
func (c *conn) pulses() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Time(nil), c.beats...)
}

// silentClient watches a client that says nothing more, with heartbeat h = 1 s:
// the broker beats every half second, and closes between 2 and 3 s (a little
// more is allowed for: the machine may be busy, and RabbitMQ needs all of 3 s).
func silentClient(t *testing.T, c *conn) {
	t.Helper()
	begin := time.Now()
	took := c.ended(patience).Sub(begin)
	if took < 1900*time.Millisecond || took > 3700*time.Millisecond {
		t.Errorf("a silent client was closed after %v, want 2 to 3 s", took)
	}
	last, beats := begin, c.pulses()
	if len(beats) < 2 {
		t.Fatalf("%d heartbeats in %v, want one every 0.5 s", len(beats), took)
	}
	// The half second that saw the end of the handshake needs no heartbeat, and on
	// a busy machine single ones are late: the usual gap is what counts.
	var gaps []time.Duration
	for _, at := range beats {
		gaps = append(gaps, at.Sub(last))
		last = at
	}
	slices.Sort(gaps)
	if usual, worst := gaps[(len(gaps)-1)/2], gaps[len(gaps)-1]; usual > 800*time.Millisecond || worst > 1900*time.Millisecond {
		t.Errorf("gaps of %v between heartbeats, want 0.5 s", gaps)
	}
}

func TestLine016Heartbeat(t *testing.T) {
	t.Parallel()
	t.Run("open", func(t *testing.T) {
		t.Parallel()
		silentClient(t, open(t, heartbeat(1)))
	})
	t.Run("from tune-ok on", func(t *testing.T) {
		t.Parallel()
		c, l := tuned(t, heartbeat(1))
		c.send(0, l.tuneOk())
		silentClient(t, c)
	})
}

func TestLine017TrafficIsLife(t *testing.T) {
	t.Parallel()
	t.Run("methods", func(t *testing.T) {
		t.Parallel()
		ch := openChannel(t, heartbeat(1))
		for begin := time.Now(); time.Since(begin) < 4500*time.Millisecond; {
			ch.call(channelFlowOk, channelFlow, bits(1))
			pause(400 * time.Millisecond)
		}
	})
	t.Run("single octets", func(t *testing.T) {
		t.Parallel()
		ch := openChannel(t, heartbeat(1))
		q := ch.queue()
		b := publication(1, 131072, "", q, 0, props{}.encode(), []byte("s"))
		for i := range b {
			ch.c.write(b[i : i+1])
			pause(4500 * time.Millisecond / time.Duration(len(b)))
		}
		if m := ch.get(q, 1); m.body != "s" {
			t.Errorf("body %q", m.body)
		}
	})
	t.Run("heartbeats", func(t *testing.T) {
		t.Parallel()
		ch := openChannel(t, heartbeat(1))
		for begin := time.Now(); time.Since(begin) < 4500*time.Millisecond; pause(500 * time.Millisecond) {
			ch.c.write(frameBytes(typeHeartbeat, 0, nil))
		}
		ch.quiet()
	})
}

func TestLine018NoHeartbeat(t *testing.T) {
	t.Parallel()
	// With any heartbeat up to 1 s, 4 s would show it; -long waits the 5 minutes.
	length := 4 * time.Second
	if *long {
		length = 5 * time.Minute
	}
	ch := openChannel(t, heartbeat(0))
	if _, err := ch.c.next(0, length); err != errSilence {
		t.Fatalf("in %v without heartbeat: %v, want silence", length, err)
	}
	if n := len(ch.c.pulses()); n != 0 {
		t.Errorf("%d heartbeats with heartbeat 0", n)
	}
	ch.quiet()
}

func TestLine019BadHeartbeat(t *testing.T) {
	t.Parallel()
	t.Run("channel 1", func(t *testing.T) {
		c := openChannel(t).c
		c.write(frameBytes(typeHeartbeat, 1, nil))
		c.closed(unexpectedFrame, "type 8, …", anyID)
	})
	t.Run("payload", func(t *testing.T) {
		c := open(t)
		c.write(frameBytes(typeHeartbeat, 0, []byte("x")))
		x := parseClose(c.expect(connectionClose))
		if x.code != frameError || !strings.HasPrefix(x.text, "FRAME_ERROR - type 8, ") || !strings.HasSuffix(x.text, ": unknown_frame") {
			t.Errorf("closed with %d %q, want 501 FRAME_ERROR - type 8, ...: unknown_frame", x.code, x.text)
		}
	})
}
