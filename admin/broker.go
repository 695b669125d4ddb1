package admin

import (
	"context"
	"net/netip"
	"time"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
)

// Broker is what the management API needs of the node behind it; cmd joins the two.
// Any goroutine may call it.
type Broker interface {
	// Name is this node's name.
	Name() string
	// View is the catalogue as this node has applied it: immutable, swapped whole.
	View() *catalog.View
	// CatchUp waits until this node has applied what the catalogue's leader had
	// committed when asked. Called before a login is refused.
	CatchUp(ctx context.Context) error
	// Connections lists the open connections of clients.
	Connections() []Connection
	// CloseConnection closes one with 320; an empty reason is the usual one. False:
	// there is no such connection.
	CloseConnection(id uint64, reason string) bool
}

// Connection is an open connection of a client, as listings show it.
type Connection struct {
	ID               uint64
	Name             string // "peer address -> own address", as clients of the API address it
	ClientName       string // what the client calls itself, "" if nothing
	User, Vhost      string
	State            string
	Mechanism        string
	Peer, Local      netip.AddrPort
	Connected        time.Time
	Channels         int
	ChannelMax       uint16
	FrameMax         uint32
	Heartbeat        time.Duration
	Received, Sent   uint64 // octets
	TLS              *TLSInfo
	ClientProperties wire.Table
}

// TLSInfo tells how a connection is encrypted. The last three are of the client's
// certificate, empty without one.
type TLSInfo struct {
	Protocol, Cipher          string
	Subject, Issuer, Validity string
}
