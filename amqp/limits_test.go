package amqp

import (
	"net"
	"net/netip"
	"runtime"
	"testing"

	"mayfly/amqp/wire"
)

// footprint is the process's heap and stacks after a collection.
func footprint() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// X1: what an unauthenticated connection holds, idle and at its worst. The
// client's half is in the figures too.
func TestUnauthenticatedFootprint(t *testing.T) {
	const n = 200
	for _, row := range []struct {
		name  string
		send  []byte
		limit int64
	}{
		{"silent", nil, 32 << 10},
		{"greeted", []byte(wire.ProtocolHeader), 32 << 10},
		{"large start-ok, last octet missing", largeStartOk(), 160 << 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(t, fakeTime)
			before := footprint()
			for range n {
				nc, err := net.Dial("tcp", r.addr)
				if err != nil {
					t.Fatal(err)
				}
				defer nc.Close()
				if _, err := nc.Write(row.send); err != nil {
					t.Fatal(err)
				}
			}
			until(t, "all is read", func() bool {
				all := r.srv.list()
				for _, c := range all {
					if c.received.Load() != uint64(len(row.send)) || !listening(c) {
						return false
					}
				}
				return len(all) == n
			})
			if each := (footprint() - before) / n; each > row.limit {
				t.Errorf("%d octets a connection, want at most %d", each, row.limit)
			} else {
				t.Logf("%d octets a connection", each)
			}
		})
	}
}

// largeStartOk is a header and a start-ok of 128 KiB but for its last octet.
func largeStartOk() []byte {
	m := &wire.ConnectionStartOk{Mechanism: "PLAIN"}
	m.Response = make([]byte, startOkMax-len(m.Append(nil))-4)
	b := wire.AppendMethod([]byte(wire.ProtocolHeader), 0, m)
	return b[:len(b)-1]
}

func TestOversizedBeforeLogin(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial()
	p.greet()
	p.raw([]byte{1, 0, 0, 0, 2, 0, 1, 0, 10, 0, 11}) // start-ok of 128 KiB and one octet
	p.closed(501, "FRAME_ERROR - type 1, all octets = <<>>: {frame_too_large,131073,4088}")
	p = r.dial()
	p.login()
	p.raw([]byte{1, 0, 0, 0, 0, 0x10, 1}) // after the login 4096 hold again
	p.closed(501, "FRAME_ERROR - type 1, all octets = <<>>: {frame_too_large,4097,4088}")
}

func TestGate(t *testing.T) {
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	g := newGate(100, 60)
	for i, row := range []struct {
		addr netip.Addr
		n    int64
		ok   bool
	}{{a, 50, true}, {a, 20, false}, {a, 10, true}, {b, 50, false}, {b, 40, true}, {a, 1, false}} {
		if got := g.take(row.addr, row.n); got != row.ok {
			t.Errorf("step %d: take %d is %v, want %v", i, row.n, got, row.ok)
		}
	}
	g.give(a, 60)
	g.give(b, 40)
	if g.total != 0 || len(g.addrs) != 0 {
		t.Errorf("after all was returned: %d octets, %d addresses", g.total, len(g.addrs))
	}
}

// Beyond the cap new sockets are closed at once, and logging in frees room.
func TestUnauthenticatedCap(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.MaxUnauthenticated, o.MaxUnauthenticatedPerAddr = largeCharge+2*idleCharge, largeCharge+2*idleCharge
	})
	var waiting []*peer
	for range (largeCharge + 2*idleCharge) / idleCharge {
		p := r.dial()
		p.greet()
		waiting = append(waiting, p)
	}
	r.dial().gone()
	p := waiting[0]
	p.send(0, &wire.ConnectionStartOk{Mechanism: "PLAIN", Response: plain("guest", "guest")})
	expect[*wire.ConnectionTune](p, 0)
	q := r.dial()
	q.greet()
	q.nc.Write(largeStartOk()[8:]) // no room for a large one now
	q.gone()
	for _, p := range waiting {
		p.nc.Close()
	}
	until(t, "all is returned", func() bool {
		r.srv.gate.mu.Lock()
		defer r.srv.gate.mu.Unlock()
		return r.srv.gate.total == 0
	})
}
