package amqp

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mayfly/amqp/wire"
)

// counters are totals since the start.
type counters struct {
	accepted, opened, closed, refused, loginsRefused atomic.Uint64
}

// Stats is the server in numbers, read at scrape.
type Stats struct {
	Accepted      uint64 // sockets
	Opened        uint64 // connections past open-ok
	Closed        uint64 // of those
	Refused       uint64 // sockets closed at accept, bounds of X1
	LoginsRefused uint64
	Connections   int // open now
	Channels      int // open now
}

// Stats reads the counters.
func (s *Server) Stats() Stats {
	st := Stats{
		Accepted: s.stats.accepted.Load(), Opened: s.stats.opened.Load(), Closed: s.stats.closed.Load(),
		Refused: s.stats.refused.Load(), LoginsRefused: s.stats.loginsRefused.Load(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Connections = s.open
	for _, u := range s.users {
		st.Channels += u.channels
	}
	return st
}

// ConnInfo is one open connection as listings show it.
type ConnInfo struct {
	ID               uint64
	Name             string // "peer address -> own address"
	ClientName       string // connection_name of the client's properties
	User, Vhost      string
	State            string // running, blocked, closing
	Mechanism        string
	Connected        time.Time
	Channels         int
	ChannelMax       uint16
	FrameMax         uint32
	Heartbeat        time.Duration
	Received, Sent   uint64 // octets
	Peer, Local      netip.AddrPort
	TLSVersion       string            // "" without TLS
	TLSCipher        string            // "" without TLS
	Certificate      *x509.Certificate // the client's, verified; nil without one
	ClientProperties wire.Table
}

// Connections lists the open connections, in order of their ids.
func (s *Server) Connections() []ConnInfo {
	var out []ConnInfo
	for _, c := range s.list() {
		if info, ok := c.info(); ok {
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b ConnInfo) int {
		switch {
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// info describes the connection; false while it is in its handshake.
func (c *conn) info() (ConnInfo, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := "running"
	switch {
	case c.phase == phaseHandshake || !c.opened:
		return ConnInfo{}, false
	case c.phase == phaseClosing:
		state = "closing"
	case c.blocked.Load():
		state = "blocked"
	}
	info := ConnInfo{
		ID: c.id, Name: c.name, ClientName: c.clientName, User: c.user, Vhost: c.vhost,
		State: state, Mechanism: c.mechanism, Connected: c.since, Channels: len(c.channels),
		ChannelMax: c.channelMax, FrameMax: c.frameMax, Heartbeat: c.heartbeat,
		Received: c.received.Load(), Sent: c.out.sent.Load(), ClientProperties: c.props,
		Peer: addrPortOf(c.raw.RemoteAddr()), Local: addrPortOf(c.raw.LocalAddr()),
	}
	if t, ok := c.nc.(*tls.Conn); ok {
		state := t.ConnectionState()
		info.TLSVersion, info.TLSCipher = tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite)
		info.Certificate = c.certificate()
	}
	return info, true
}

func addrPortOf(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		return netip.AddrPortFrom(addrOf(t), uint16(t.Port))
	}
	return netip.AddrPort{}
}

// CloseConnection closes a connection on an operator's word; an empty reason is
// the usual one. False: there is no such connection.
func (s *Server) CloseConnection(id uint64, reason string) bool {
	if reason == "" {
		reason = reasonManagement
	}
	for _, c := range s.list() {
		c.mu.Lock()
		it := c.opened && c.id == id
		c.mu.Unlock()
		if it {
			c.fail(forced(reason), c.closeTimeout())
			return true
		}
	}
	return false
}

// capabilities are the nine that clients look for (2.2).
var capabilities = []string{
	"publisher_confirms", "exchange_exchange_bindings", "basic.nack", "consumer_cancel_notify", "connection.blocked",
	"consumer_priorities", "authentication_failure_close", "per_consumer_qos", "direct_reply_to",
}

// properties is the table of connection.start.
func (s *Server) properties() wire.Table {
	var caps, t wire.Table
	for _, name := range capabilities {
		caps = wire.AppendBool(caps, name, true)
	}
	t = wire.AppendTableEntry(t, "capabilities", caps)
	for _, p := range [][2]string{
		{"cluster_name", s.broker.ClusterName()}, {"copyright", s.opts.Copyright}, {"information", s.opts.Information},
		{"platform", s.opts.Platform}, {"product", s.opts.Product}, {"version", s.opts.Version},
	} {
		t = wire.AppendString(t, p[0], p[1])
	}
	return t
}
