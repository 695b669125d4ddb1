package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"mayfly/admin"
	"mayfly/amqp"
	"mayfly/cluster"
	"mayfly/internal/clock"
)

// managementWait is the longest that requests under way may hold up a stop.
const managementWait = 500 * time.Millisecond

// management is the running management API.
type management struct {
	server   *admin.Server
	listener net.Listener
}

func startManagement(address string, node *cluster.Node, server *amqp.Server, o amqp.Options, log *slog.Logger) (*management, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("management.listen: %w", err)
	}
	m := &management{listener: l, server: admin.New(managed{node, server}, admin.Options{
		LoopbackUsers: o.LoopbackUsers, Verifier: o.Verifier, Clock: o.Clock,
	}, log)}
	go func() { // until stop closes the listener
		if err := m.server.Serve(l); err != nil {
			log.Error("management listener failed", "err", err)
		}
	}()
	return m, nil
}

func (m *management) address() string { return m.listener.Addr().String() }

func (m *management) stop() {
	ctx, cancel := clock.WithTimeout(context.Background(), clock.Real, managementWait)
	defer cancel()
	m.server.Shutdown(ctx)
}

// managed is the node and its AMQP server as the management API sees them.
type managed struct {
	*cluster.Node
	server *amqp.Server
}

func (m managed) CloseConnection(id uint64, reason string) bool {
	return m.server.CloseConnection(id, reason)
}

func (m managed) Connections() []admin.Connection {
	infos := m.server.Connections()
	out := make([]admin.Connection, len(infos))
	for i := range infos {
		out[i] = connectionOf(&infos[i])
	}
	return out
}

func connectionOf(c *amqp.ConnInfo) admin.Connection {
	k := admin.Connection{
		ID: c.ID, Name: c.Name, ClientName: c.ClientName, User: c.User, Vhost: c.Vhost, State: c.State,
		Mechanism: c.Mechanism, Peer: c.Peer, Local: c.Local, Connected: c.Connected,
		Channels: c.Channels, ChannelMax: c.ChannelMax, FrameMax: c.FrameMax, Heartbeat: c.Heartbeat,
		Received: c.Received, Sent: c.Sent, ClientProperties: c.ClientProperties,
	}
	if c.TLSVersion == "" {
		return k
	}
	// RabbitMQ writes tlsv1.3.
	k.TLS = &admin.TLSInfo{Protocol: strings.ToLower(strings.ReplaceAll(c.TLSVersion, " ", "v")), Cipher: c.TLSCipher}
	if cert := c.Certificate; cert != nil {
		k.TLS.Subject, k.TLS.Issuer = cert.Subject.String(), cert.Issuer.String()
		k.TLS.Validity = cert.NotBefore.UTC().Format(time.RFC3339) + " - " + cert.NotAfter.UTC().Format(time.RFC3339)
	}
	return k
}
