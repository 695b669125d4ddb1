package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"mayfly/amqp/wire"
)

// idleBound and largeBound are what a connection may hold before it has logged in,
// silent and at its worst (X1).
const (
	idleBound  = 32 << 10
	largeBound = 160 << 10
)

// TestHalfOpen holds connections that greet and never log in (X1): the memory of
// the server stays bounded, an existing client keeps its latency, clients beyond
// the cap are refused and within it served. MAYFLY_HALF_OPEN sets how many
// (10000 for the claim).
func TestHalfOpen(t *testing.T) {
	n := 2000
	if v, err := strconv.Atoi(os.Getenv("MAYFLY_HALF_OPEN")); err == nil {
		n = v
	}
	large := n / 50
	limit := int64(n*idleBound + large*largeBound)
	t.Setenv("GOGC", "25") // what is resident follows what is held
	p := startProcess(t, t.TempDir(), "--management", "off", "--log-format", "json", "--set", "amqp.handshake_timeout=10m",
		"--set", fmt.Sprintf("amqp.max_unauthenticated=%d", limit))
	rested := p.status("VmRSS") // before the first login, so its work counts as well
	c := p.connect()
	ch, err := c.Channel()
	if err != nil {
		t.Fatal(err)
	}
	trips(t, ch) // warm
	before := trips(t, ch)
	g := &greeters{t: t, p: p}
	for range n {
		if !g.greet() {
			t.Fatalf("connection %d of %d is refused, below the cap of %d octets", len(g.held), n, limit)
		}
	}
	for i := range large {
		g.startOk(i)
	}
	during, held := trips(t, ch), p.status("VmRSS")
	t.Logf("%d half-open connections, %d of them with a large start-ok: resident %d -> %d MiB, bound %d MiB more", n, large, rested>>20, held>>20, limit>>20)
	t.Logf("existing client, median round trip: %v alone, %v among them", before, during)
	if held-rested > limit {
		t.Errorf("resident memory grew by %d octets, the bound is %d", held-rested, limit)
	}
	// Twice, and a little for the scheduler of a machine that does other things.
	if during > 2*before+time.Millisecond {
		t.Errorf("median round trip %v, alone it was %v", during, before)
	}
	p.connect().Close() // there is room, so it is served
	for g.greet() {
		if len(g.held) > 4*n {
			t.Fatalf("%d unauthenticated connections and none refused", len(g.held))
		}
	}
	t.Logf("refused from %d connections on, resident %d MiB", len(g.held), p.status("VmRSS")>>20)
	if grown := p.status("VmRSS") - rested; grown > limit {
		t.Errorf("resident memory grew by %d octets up to the cap of %d", grown, limit)
	}
	if c, err := amqp.Dial(p.url()); err == nil {
		c.Close()
		t.Error("a client was served beyond the cap")
	}
	trips(t, ch)
	g.leave()
	// Room is given back as the server learns that they left.
	if _, ok := poll(func() (int64, bool) {
		c, err := amqp.Dial(p.url())
		if err != nil {
			return 0, false
		}
		return 0, c.Close() == nil
	}); !ok {
		t.Error("no new client is served after the others left")
	}
	c.Close()
	p.checkLog()
	p.checkGoroutines()
}

// trips answers the median time of an exchange with the server that no disk is
// part of.
func trips(t *testing.T, ch *amqp.Channel) time.Duration {
	t.Helper()
	times := make([]time.Duration, 500)
	for i := range times {
		begun := time.Now()
		if err := ch.ExchangeDeclarePassive("amq.direct", "direct", true, false, false, false, nil); err != nil {
			t.Fatalf("existing client: %v", err)
		}
		times[i] = time.Since(begun)
	}
	return median(times)
}

// greeters are clients that send the protocol header and no more.
type greeters struct {
	t    *testing.T
	p    *process
	held []net.Conn
}

// greet adds one, from one of four addresses, each of which has a bound of its
// own; false: it was refused.
func (g *greeters) greet() bool {
	g.t.Helper()
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+len(g.held)%4))}}
	nc, err := from.Dial("tcp", g.p.ends["amqp"].(string))
	if err != nil {
		g.t.Fatal(err)
	}
	nc.SetDeadline(time.Now().Add(10 * time.Second))
	_, err = io.WriteString(nc, wire.ProtocolHeader)
	if err == nil {
		_, err = io.ReadFull(nc, make([]byte, 1)) // of connection.start
	}
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		g.t.Fatalf("connection %d is neither greeted nor refused: %v", len(g.held), err)
	}
	if err != nil {
		nc.Close()
		return false
	}
	nc.SetDeadline(time.Time{})
	g.held = append(g.held, nc)
	return true
}

// startOk sends the largest start-ok there is but for its last octet.
func (g *greeters) startOk(i int) {
	g.t.Helper()
	m := &wire.ConnectionStartOk{Mechanism: "PLAIN"}
	m.Response = make([]byte, 128<<10-len(m.Append(nil))-4)
	b := wire.AppendMethod(nil, 0, m)
	g.held[i].SetWriteDeadline(time.Now().Add(10 * time.Second))
	if _, err := g.held[i].Write(b[:len(b)-1]); err != nil {
		g.t.Fatalf("large start-ok %d: %v", i, err)
	}
}

func (g *greeters) leave() {
	for _, nc := range g.held {
		nc.Close()
	}
}
