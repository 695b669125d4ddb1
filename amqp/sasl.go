package amqp

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"slices"
	"strings"

	"mayfly/amqp/wire"
	"mayfly/internal/clock"
	"mayfly/internal/password"
)

// The mechanisms of amqp.md 2.3.
const (
	mechPlain     = "PLAIN"
	mechAMQPlain  = "AMQPLAIN"
	mechExternal  = "EXTERNAL"
	mechAnonymous = "ANONYMOUS"
)

// secret is a password on its way from the socket to the verifier. It aliases
// the read buffer, is never copied into a string and prints as nothing, so that no
// log line can hold it (F11).
type secret []byte

func (secret) String() string   { return "[secret]" }
func (secret) GoString() string { return "[secret]" }

// MarshalText keeps every encoder of log/slog from seeing the octets.
func (secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// offered is the mechanisms list of connection.start.
func (c *conn) offered() []string {
	out := make([]string, 0, len(c.opts.Mechanisms))
	for _, m := range c.opts.Mechanisms {
		if m == mechExternal && c.certificate() == nil {
			continue
		}
		out = append(out, m)
	}
	return out
}

// certificate is the client's verified certificate, nil without one.
func (c *conn) certificate() *x509.Certificate {
	t, ok := c.nc.(*tls.Conn)
	if !ok {
		return nil
	}
	state := t.ConnectionState()
	if len(state.VerifiedChains) == 0 || len(state.PeerCertificates) == 0 {
		return nil
	}
	return state.PeerCertificates[0]
}

// verdict is how a login went.
type verdict uint8

const (
	loginOK        verdict = iota
	loginWrong             // user, password or place: all alike to the client
	loginUnknown           // mechanism not offered
	loginMalformed         // response does not parse
)

// login judges the response of start-ok. cause is for the log.
func (c *conn) login(mechanism string, response []byte) (user string, v verdict, cause string) {
	if !slices.Contains(c.offered(), mechanism) {
		return "", loginUnknown, "mechanism is not offered"
	}
	var pass secret
	var ok bool
	switch mechanism {
	case mechPlain:
		user, pass, ok = parsePlain(response)
	case mechAMQPlain:
		user, pass, ok = parseAMQPlain(response)
	case mechExternal:
		return c.loginWithout(certificateName(c.certificate(), c.opts.ExternalName))
	case mechAnonymous:
		return c.loginWithout(c.opts.AnonymousUser)
	}
	if !ok {
		return "", loginMalformed, "response is malformed"
	}
	v, cause = c.loginPassword(user, pass)
	return user, v, cause
}

// parsePlain takes a PLAIN response apart. Only an empty authorization identity
// is accepted.
func parsePlain(response []byte) (user string, pass secret, ok bool) {
	parts := bytes.Split(response, []byte{0})
	if len(parts) != 3 || len(parts[0]) != 0 {
		return "", nil, false
	}
	return string(parts[1]), secret(parts[2]), true
}

// parseAMQPlain takes an AMQPLAIN response apart: a table without its length.
func parseAMQPlain(response []byte) (user string, pass secret, ok bool) {
	t := wire.Table(response)
	if t.Validate() != nil {
		return "", nil, false
	}
	login, found := t.Get("LOGIN")
	name, isText := login.Bytes()
	word, also := t.Get("PASSWORD")
	octets, isAlso := word.Bytes()
	if !found || !also || !isText || !isAlso {
		return "", nil, false
	}
	return string(name), secret(octets), true
}

// certificateName is the part of a certificate that names the user, "" if it has
// none. A name that is there twice names nobody.
func certificateName(cert *x509.Certificate, which string) string {
	if cert == nil {
		return ""
	}
	one := func(names []string) string {
		if len(names) != 1 {
			return ""
		}
		return names[0]
	}
	switch which {
	case "cn":
		return cert.Subject.CommonName
	case "dn":
		return cert.Subject.String()
	case "san_dns":
		return one(cert.DNSNames)
	case "san_email":
		return one(cert.EmailAddresses)
	case "san_uri":
		var uris []string
		for _, u := range cert.URIs {
			uris = append(uris, u.String())
		}
		return one(uris)
	}
	return ""
}

// loginWithout is for the mechanisms that prove the user otherwise.
func (c *conn) loginWithout(user string) (string, verdict, string) {
	if user == "" {
		return "", loginWrong, "no user name"
	}
	if !c.placeAllowed(user) {
		return user, loginWrong, causePlace
	}
	if c.view().User(user) == nil {
		c.catchUp()
	}
	if c.view().User(user) == nil {
		return user, loginWrong, "user does not exist"
	}
	return user, loginOK, ""
}

const causePlace = "user can only connect via localhost"

// placeAllowed keeps loopback users on loopback addresses (X6).
func (c *conn) placeAllowed(user string) bool {
	return c.peer.IsLoopback() || !slices.Contains(c.opts.LoopbackUsers, user)
}

// loginPassword verifies user and password. Everything that is refused costs the
// same work: a user from the wrong place and one who does not exist are hashed too
// (X7), and every refusal asks the catalogue's leader once, in case this node has
// not heard of the user or of the new password yet.
func (c *conn) loginPassword(user string, pass secret) (verdict, string) {
	ctx, cancel := clock.WithTimeout(c.ctx, c.clock, c.opts.HandshakeTimeout)
	defer cancel()
	allowed := c.placeAllowed(user)
	for again := false; ; again = true {
		view := c.view()
		var stored password.Stored
		u := view.User(user)
		if u != nil && allowed {
			stored = password.Stored{Algorithm: u.Algorithm, Hash: u.Hash}
		}
		ok, err := c.server.verify(ctx, user, stored, pass)
		switch {
		case ok && len(pass) > 0:
			return loginOK, ""
		case err != nil:
			return loginWrong, "verifying took too long"
		}
		seen := view.AuthVersion()
		if !again {
			c.catchUp()
		}
		if again || c.view().AuthVersion() == seen {
			return loginWrong, loginCause(u != nil, allowed)
		}
	}
}

func loginCause(known, allowed bool) string {
	switch {
	case !known:
		return "user does not exist"
	case !allowed:
		return causePlace
	}
	return "password is wrong"
}

// catchUp lets this node hear what the catalogue's leader knows. Trouble is not
// an error here: the answer is then given from what is known.
func (c *conn) catchUp() {
	ctx, cancel := clock.WithTimeout(c.ctx, c.clock, c.opts.CallTimeout)
	defer cancel()
	if err := c.broker.CatchUp(ctx); err != nil {
		c.log.Debug("catalogue could not be asked", "err", err)
	}
}

// startOk is connection.start-ok in place: a token may be large, and before a
// login nothing large is copied (X1).
type startOk struct {
	props     wire.Table
	mechanism string
	response  []byte
}

// parseStartOk reads the arguments without copying them.
func parseStartOk(payload []byte) (startOk, *Error) {
	args, ok := payload[4:], true
	take := func(n uint64) []byte {
		if uint64(len(args)) < n {
			ok, args = false, nil
			return nil
		}
		b := args[:n]
		args = args[n:]
		return b
	}
	long := func() []byte {
		b := take(4)
		if b == nil {
			return nil
		}
		return take(uint64(binary.BigEndian.Uint32(b)))
	}
	short := func() []byte {
		b := take(1)
		if b == nil {
			return nil
		}
		return take(uint64(b[0]))
	}
	var m startOk
	m.props = wire.Table(long())
	mechanism := short()
	m.response = long()
	short() // the locale is accepted unread
	if !ok || len(args) != 0 {
		// The codec has the words; it needs no more of the frame than fits a text.
		_, err := wire.Decode(payload[:min(len(payload), 512)])
		if fault := faultOf(err); fault != nil {
			return m, fault
		}
		return m, newError(codeFrameError, "cannot decode connection.start-ok").by(wire.ConnectionStartOkID)
	}
	if err := m.props.Validate(); err != nil {
		return m, faultOf(err).by(wire.ConnectionStartOkID)
	}
	m.mechanism = strings.ToValidUTF8(string(mechanism), "?")
	return m, nil
}
