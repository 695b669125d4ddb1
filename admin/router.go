package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// handler answers a request of a caller who is logged in, or says why not.
type handler func(*request) *fault

// route is a path of the API and what it answers. A segment in braces stands for
// any one segment; the first route that fits counts.
type route struct {
	path    string
	methods map[string]handler // GET answers HEAD too; nil: the path is not built yet

	segments []string
}

// built are the routes that this release answers (operations.md 1.3).
func (s *Server) built() []route {
	get := func(h handler) map[string]handler { return map[string]handler{http.MethodGet: h} }
	closable := func(get, del handler) map[string]handler {
		return map[string]handler{http.MethodGet: get, http.MethodDelete: del}
	}
	return compile([]route{
		{path: "whoami", methods: get(s.whoami)},
		{path: "connections", methods: get(s.listConnections)},
		{path: "connections/username/{user}", methods: closable(s.listUserConnections, s.closeUserConnections)},
		{path: "connections/{connection}", methods: closable(s.getConnection, s.closeConnection)},
		{path: "vhosts/{vhost}/connections", methods: get(s.listVhostConnections)},
		{path: "users/{user}/connections", methods: get(s.listUserConnections)},
	})
}

func compile(routes []route) []route {
	for i := range routes {
		routes[i].segments = strings.Split(routes[i].path, "/")
	}
	return routes
}

// match finds the route of a request, and notes what its placeholders stand for.
func (s *Server) match(r *request) *route {
	path, ok := segments(r.URL)
	if !ok {
		return nil
	}
	for i := range s.routes {
		if args, ok := s.routes[i].fits(path); ok {
			r.args = args
			return &s.routes[i]
		}
	}
	return nil
}

// segments takes the path below /api apart where it is escaped, so that a name may
// hold a slash; a plus stays a plus. One slash at the end is ignored.
func segments(u *url.URL) ([]string, bool) {
	path, ok := strings.CutPrefix(u.EscapedPath(), "/api/")
	if !ok {
		return nil, false
	}
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, p := range parts {
		name, err := url.PathUnescape(p)
		if err != nil {
			return nil, false
		}
		parts[i] = name
	}
	return parts, true
}

func (t *route) fits(path []string) (args []string, ok bool) {
	if len(path) != len(t.segments) {
		return nil, false
	}
	for i, want := range t.segments {
		switch {
		case want == "{vhost}" && path[i] == "":
			// Old tools do not escape the default vhost's name.
			args = append(args, "/")
		case strings.HasPrefix(want, "{") && path[i] != "":
			args = append(args, path[i])
		case want != path[i]:
			return nil, false
		}
	}
	return args, true
}

// handler is what answers the request's method. OPTIONS needs no login, and a
// method that no caller may use is refused before one (as RabbitMQ does).
func (t *route) handler(r *request) (handler, *fault) {
	if t.methods == nil {
		return func(*request) *fault { return notBuilt(t.path) }, nil
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if h := t.methods[method]; h != nil {
		return h, nil
	}
	status := http.StatusMethodNotAllowed
	if method == http.MethodOptions {
		status = http.StatusOK
	}
	return nil, &fault{status: status, allow: t.allow()}
}

// allow is the header of the same name.
func (t *route) allow() string {
	names := []string{http.MethodHead, http.MethodOptions}
	for _, m := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete} {
		if t.methods[m] != nil {
			names = slices.Insert(names, len(names)-1, m)
		}
	}
	return strings.Join(names, ", ")
}
