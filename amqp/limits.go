package amqp

import (
	"net"
	"net/netip"
	"sync"
)

// What a connection that has not authenticated is charged (X1). The charges are
// what tests measure it to hold at most, goroutines and socket buffers included.
const (
	idleCharge  = 24 << 10  // from accept
	tlsCharge   = 48 << 10  // on top, for the TLS handshake
	largeCharge = 136 << 10 // on top, once more than preAuthRead octets came: a large start-ok
	preAuthRead = 4096      // the reader's buffer before authentication
)

// gate bounds what all unauthenticated connections hold, in all and per address.
type gate struct {
	max, maxPerAddr int64

	mu    sync.Mutex
	total int64
	addrs map[netip.Addr]int64
}

func newGate(max, maxPerAddr int64) *gate {
	return &gate{max: max, maxPerAddr: maxPerAddr, addrs: make(map[netip.Addr]int64)}
}

// take charges n octets to addr, or refuses.
func (g *gate) take(addr netip.Addr, n int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.total+n > g.max || g.addrs[addr]+n > g.maxPerAddr {
		return false
	}
	g.total += n
	g.addrs[addr] += n
	return true
}

// give returns n octets.
func (g *gate) give(addr netip.Addr, n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total -= n
	if g.addrs[addr] -= n; g.addrs[addr] <= 0 {
		delete(g.addrs, addr)
	}
}

// charge is one connection's account with the gate. Reader only.
type charge struct {
	gate  *gate
	addr  netip.Addr
	taken int64
}

func (p *charge) take(n int64) bool {
	if !p.gate.take(p.addr, n) {
		return false
	}
	p.taken += n
	return true
}

// settle ends the account: the connection authenticated, or ended.
func (p *charge) settle() {
	if p.taken > 0 {
		p.gate.give(p.addr, p.taken)
		p.taken = 0
	}
}

// addrOf is the peer's address as the socket tells it: no header of any proxy
// counts (X6). The zero address stands for what is no IP address.
func addrOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		ip, _ := netip.AddrFromSlice(t.IP)
		return ip.Unmap()
	}
	return netip.Addr{}
}

// use counts what one user has open on this node.
type use struct {
	conns    int // guarded by Server.mu
	channels int // guarded by Server.mu
}
