package admin

import (
	"context"
	"net/http"
	"slices"

	"mayfly/fsm/catalog"
	"mayfly/internal/clock"
	"mayfly/internal/password"
)

// Tags that open the management API, besides Administrator; each may what the one
// before may (operations.md 1.1).
const (
	tagManagement  = "management"
	tagPolicymaker = "policymaker"
	tagMonitoring  = "monitoring"
)

// caller is who asks, as of the moment of the login.
type caller struct{ user *catalog.User }

func (c caller) name() string {
	if c.user == nil {
		return ""
	}
	return c.user.Name
}

func (c caller) tagged(tags ...string) bool {
	return slices.ContainsFunc(tags, c.user.HasTag)
}

// manages: the caller may use the API at all.
func (c caller) manages() bool {
	return c.tagged(Administrator, tagMonitoring, tagPolicymaker, tagManagement)
}

// monitors: the caller sees all vhosts and all connections.
func (c caller) monitors() bool { return c.tagged(Administrator, tagMonitoring) }

// sees tells whether a connection is in the caller's lists.
func (c caller) sees(k *Connection) bool { return c.monitors() || k.User == c.user.Name }

// closes tells whether the caller may close a user's connections.
func (c caller) closes(user string) bool {
	return c.tagged(Administrator) || user == c.user.Name
}

// enters tells whether the caller may look into a vhost.
func (c caller) enters(vhost string) bool {
	return c.monitors() || c.user.Permission(vhost) != nil
}

// login finds the caller by the request's credentials. A stranger cannot tell why
// it failed: each refusal has one answer and costs the same work (X7).
func (s *Server) login(r *http.Request) (caller, *fault) {
	if r.Header.Get("Authorization") == "" {
		return caller{}, noCredentials
	}
	name, pass, ok := r.BasicAuth()
	if !ok {
		return caller{}, wrongLogin
	}
	from := peer(r)
	allowed := from.IsLoopback() || !slices.Contains(s.opts.LoopbackUsers, name)
	marks := []string{"address " + network(from)}
	if allowed {
		// A guess that can never be right must not slow down who is at the right place.
		marks = append(marks, "user "+name)
	}
	if !s.throttle.allow(marks) {
		return caller{}, tooManyLogins
	}
	ctx, cancel := clock.WithTimeout(r.Context(), s.opts.Clock, loginTimeout)
	defer cancel()
	user, cause, err := s.verify(ctx, name, []byte(pass), allowed)
	if err != nil {
		return caller{}, loginBusy
	}
	if cause == "" && !(caller{user}).manages() {
		cause = "user has no tag for management"
	}
	if cause != "" {
		s.throttle.count(marks)
		s.log.Warn("management login refused", "user", name, "peer", from.String(), "cause", cause)
		return caller{}, wrongLogin
	}
	return caller{user}, nil
}

// verify checks user and password; cause says what is wrong, for the log. Before
// it refuses it asks the catalogue's leader once, in case this node has not heard
// of the user or of the new password yet.
func (s *Server) verify(ctx context.Context, name string, pass []byte, allowed bool) (u *catalog.User, cause string, err error) {
	for again := false; ; again = true {
		view := s.broker.View()
		var stored password.Stored
		u = view.User(name)
		if u != nil && allowed {
			stored = password.Stored{Algorithm: u.Algorithm, Hash: u.Hash}
		}
		ok, err := s.opts.Verifier.Verify(ctx, name, stored, pass)
		if ok || err != nil {
			return u, "", err
		}
		if !again && s.broker.CatchUp(ctx) == nil && s.broker.View().AuthVersion() != view.AuthVersion() {
			continue
		}
		switch {
		case u == nil:
			cause = "user does not exist"
		case !allowed:
			cause = "user can only connect via localhost"
		default:
			cause = "password is wrong"
		}
		return nil, cause, nil
	}
}
