package admin

import (
	"encoding/json"
	"iter"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// connectionJSON is a connection as RabbitMQ writes it (operations.md 1.3).
type connectionJSON struct {
	Name             string          `json:"name"`
	UserProvidedName *string         `json:"user_provided_name,omitempty"`
	Node             string          `json:"node"`
	Type             string          `json:"type"`
	Protocol         string          `json:"protocol"`
	State            string          `json:"state"`
	User             string          `json:"user"`
	Who              string          `json:"user_who_performed_action"`
	Vhost            string          `json:"vhost"`
	AuthMechanism    string          `json:"auth_mechanism"`
	ConnectedAt      int64           `json:"connected_at"` // milliseconds
	Channels         int             `json:"channels"`
	ChannelMax       uint16          `json:"channel_max"`
	FrameMax         uint32          `json:"frame_max"`
	Timeout          int64           `json:"timeout"` // seconds
	PeerHost         *string         `json:"peer_host"`
	PeerPort         *uint16         `json:"peer_port"`
	Host             *string         `json:"host"`
	Port             *uint16         `json:"port"`
	RecvOct          uint64          `json:"recv_oct"`
	SendOct          uint64          `json:"send_oct"`
	SSL              bool            `json:"ssl"`
	SSLProtocol      *string         `json:"ssl_protocol"`
	SSLCipher        *string         `json:"ssl_cipher"`
	PeerCertSubject  *string         `json:"peer_cert_subject"`
	PeerCertIssuer   *string         `json:"peer_cert_issuer"`
	PeerCertValidity *string         `json:"peer_cert_validity"`
	ClientProperties json.RawMessage `json:"client_properties"`
}

func (s *Server) connectionJSON(k Connection) connectionJSON {
	j := connectionJSON{
		Name: k.Name, Node: s.broker.Name(), Type: "network", Protocol: "AMQP 0-9-1", State: k.State,
		User: k.User, Who: k.User, Vhost: k.Vhost, AuthMechanism: k.Mechanism, ConnectedAt: k.Connected.UnixMilli(),
		Channels: k.Channels, ChannelMax: k.ChannelMax, FrameMax: k.FrameMax, Timeout: int64(k.Heartbeat / time.Second),
		RecvOct: k.Received, SendOct: k.Sent, UserProvidedName: known(k.ClientName), ClientProperties: argumentsJSON(k.ClientProperties),
	}
	j.PeerHost, j.PeerPort = hostPort(k.Peer)
	j.Host, j.Port = hostPort(k.Local)
	if t := k.TLS; t != nil {
		j.SSL, j.SSLProtocol, j.SSLCipher = true, known(t.Protocol), known(t.Cipher)
		j.PeerCertSubject, j.PeerCertIssuer, j.PeerCertValidity = known(t.Subject), known(t.Issuer), known(t.Validity)
	}
	return j
}

// known is a text, or null when there is none.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func hostPort(a netip.AddrPort) (*string, *uint16) {
	if !a.IsValid() {
		return nil, nil
	}
	host, port := a.Addr().String(), a.Port()
	return &host, &port
}

// shaping are parameters of lists that change what the answer is. Ignoring them
// would answer another question.
var shaping = []string{"page", "page_size", "name", "use_regex", "sort", "sort_reverse", "columns"}

// listWhere answers with the connections that the caller may see and where holds,
// in RabbitMQ's order.
func (s *Server) listWhere(r *request, where func(*Connection) bool) *fault {
	query := r.URL.Query()
	for _, p := range shaping {
		if query.Has(p) {
			return notBuilt("the parameter " + p)
		}
	}
	all := slices.DeleteFunc(s.broker.Connections(), func(k Connection) bool { return !r.caller.sees(&k) || !where(&k) })
	slices.SortFunc(all, func(a, b Connection) int {
		if c := strings.Compare(a.Vhost, b.Vhost); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	replyList(r.w, s.eachJSON(all))
	return nil
}

func (s *Server) eachJSON(all []Connection) iter.Seq[connectionJSON] {
	return func(yield func(connectionJSON) bool) {
		for _, k := range all {
			if !yield(s.connectionJSON(k)) {
				return
			}
		}
	}
}

// listConnections answers GET /api/connections.
func (s *Server) listConnections(r *request) *fault {
	return s.listWhere(r, func(*Connection) bool { return true })
}

// listVhostConnections answers GET /api/vhosts/{vhost}/connections. Who may not
// enter a vhost does not learn whether it exists.
func (s *Server) listVhostConnections(r *request) *fault {
	vhost := r.args[0]
	if !r.caller.enters(vhost) {
		return wrongVhost
	}
	if s.broker.View().Vhost(vhost) == nil {
		return notFound
	}
	return s.listWhere(r, func(k *Connection) bool { return k.Vhost == vhost })
}

// listUserConnections answers GET of a user's connections. Who may not see others'
// does not learn whether the user exists.
func (s *Server) listUserConnections(r *request) *fault {
	user := r.args[0]
	if !r.caller.monitors() && user != r.caller.name() {
		return wrongObject
	}
	if s.broker.View().User(user) == nil {
		return notFound
	}
	return s.listWhere(r, func(k *Connection) bool { return k.User == user })
}

// getConnection answers GET /api/connections/{connection}.
func (s *Server) getConnection(r *request) *fault {
	k, ok := s.connection(r.args[0])
	switch {
	case !ok:
		return notFound
	case !r.caller.sees(&k):
		return wrongObject
	}
	replyJSON(r.w, s.connectionJSON(k))
	return nil
}

// closeConnection answers DELETE /api/connections/{connection}.
func (s *Server) closeConnection(r *request) *fault {
	k, ok := s.connection(r.args[0])
	switch {
	case !ok:
		return notFound
	case !r.caller.closes(k.User):
		return wrongObject
	case !s.close(r, k):
		return notFound
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}

// closeUserConnections answers DELETE /api/connections/username/{user}.
func (s *Server) closeUserConnections(r *request) *fault {
	user := r.args[0]
	if !r.caller.closes(user) {
		return wrongObject
	}
	for _, k := range s.broker.Connections() {
		if k.User == user {
			s.close(r, k)
		}
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}

// close closes one connection; the header X-Reason is what its client is told.
func (s *Server) close(r *request, k Connection) bool {
	if !s.broker.CloseConnection(k.ID, strings.ToValidUTF8(r.Header.Get("X-Reason"), "?")) {
		return false
	}
	s.log.Info("connection closed by an operator", "conn", k.Name, "user", k.User, "vhost", k.Vhost, "operator", r.caller.name())
	return true
}

// connection finds an open connection by its name.
func (s *Server) connection(name string) (Connection, bool) {
	for _, k := range s.broker.Connections() {
		if k.Name == name {
			return k, true
		}
	}
	return Connection{}, false
}
