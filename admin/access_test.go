package admin

import (
	"net/http"
	"net/url"
	"testing"

	"mayfly/fsm/catalog"
	"mayfly/internal/password"
)

// TestAccess is the table of X8: verb x what is asked for x the caller's tag x
// vhost. The callers' connections are in vhost /, those of the user other in a/b too;
// admin and monitor have no permission in any vhost, the rest in / alone.
func TestAccess(t *testing.T) {
	own := map[string]string{"admin": "other", "monitor": "monitor", "maker": "maker", "manager": "manager", "nobody": "maker"}
	for _, row := range []struct {
		verb, path string // OWN stands for the caller's user name

		admin, monitor, maker, manager, nobody int
	}{
		{"GET", "whoami", 200, 200, 200, 200, 401},
		{"GET", "connections", 200, 200, 200, 200, 401},
		{"GET", "connections/" + connName("OWN", "/"), 200, 200, 200, 200, 401},
		{"GET", "connections/" + connName("other", "/"), 200, 200, 401, 401, 401},
		{"GET", "connections/" + connName("other", "a/b"), 200, 200, 401, 401, 401},
		{"GET", "connections/none", 404, 404, 404, 404, 401},
		{"DELETE", "connections/" + connName("OWN", "/"), 204, 204, 204, 204, 401},
		{"DELETE", "connections/" + connName("other", "/"), 204, 401, 401, 401, 401},
		{"DELETE", "connections/" + connName("other", "a/b"), 204, 401, 401, 401, 401},
		{"DELETE", "connections/none", 404, 404, 404, 404, 401},
		{"GET", "connections/username/OWN", 200, 200, 200, 200, 401},
		{"GET", "connections/username/other", 200, 200, 401, 401, 401},
		{"GET", "connections/username/none", 404, 404, 401, 401, 401},
		{"DELETE", "connections/username/OWN", 204, 204, 204, 204, 401},
		{"DELETE", "connections/username/other", 204, 401, 401, 401, 401},
		{"DELETE", "connections/username/none", 204, 401, 401, 401, 401},
		{"GET", "users/OWN/connections", 200, 200, 200, 200, 401},
		{"GET", "users/other/connections", 200, 200, 401, 401, 401},
		{"GET", "vhosts//connections", 200, 200, 200, 200, 401},
		{"GET", "vhosts/a/b/connections", 200, 200, 401, 401, 401},
		{"GET", "vhosts/none/connections", 404, 404, 401, 401, 401},
		{"GET", "queues", 501, 501, 501, 501, 401},
		{"DELETE", "queues//q", 501, 501, 501, 501, 401},
	} {
		for _, who := range []struct {
			user string
			want int
		}{{"admin", row.admin}, {"monitor", row.monitor}, {"maker", row.maker}, {"manager", row.manager}, {"nobody", row.nobody}} {
			r := newRig(t)
			before := len(r.b.conns)
			w := r.ask(who.user, row.verb, pathFor(row.path, own[who.user]))
			if w.Code != who.want {
				t.Errorf("%s %s by %s: %d %s, want %d", row.verb, row.path, who.user, w.Code, text(w), who.want)
			}
			if changed := len(r.b.conns) != before; changed && who.want != 204 {
				t.Errorf("%s %s by %s: refused, and closed %v", row.verb, row.path, who.user, r.b.closed)
			}
		}
	}
}

// Lists show what the caller may see, and nothing of what not.
func TestListsAreFiltered(t *testing.T) {
	r := newRig(t)
	for _, row := range []struct{ user, path, want string }{
		{"admin", "connections", "maker@/ manager@/ monitor@/ other@/ other@a/b"},
		{"monitor", "connections", "maker@/ manager@/ monitor@/ other@/ other@a/b"},
		{"maker", "connections", "maker@/"},
		{"manager", "connections", "manager@/"},
		{"manager", "vhosts/%2F/connections", "manager@/"},
		{"monitor", "vhosts/%2F/connections", "maker@/ manager@/ monitor@/ other@/"},
		{"monitor", "vhosts/%2f/connections/", "maker@/ manager@/ monitor@/ other@/"},
		{"monitor", "vhosts/a%2Fb/connections", "other@a/b"},
		{"monitor", "connections/username/other", "other@/ other@a/b"},
		{"manager", "connections/username/manager", "manager@/"},
	} {
		if got := r.names(r.ask(row.user, "GET", "/api/"+row.path)); got != row.want {
			t.Errorf("%s for %s: %s, want %s", row.path, row.user, got, row.want)
		}
	}
}

// Each row is a login: who, from where, and what the answer is. Those that fail are
// alike, whatever the cause.
func TestLogin(t *testing.T) {
	const refusal = `{"error":"not_authorized","reason":"Not_Authorized"}`
	for _, row := range []struct {
		name   string
		change func(*http.Request)
		status int
		body   string
	}{
		{"right", func(q *http.Request) { q.SetBasicAuth("admin", "pw") }, 200, `{"name":"admin","tags":["administrator"],"is_internal_user":true}`},
		{"custom tag", func(q *http.Request) { q.SetBasicAuth("manager", "pw") }, 200, `{"name":"manager","tags":["management","custom"],"is_internal_user":true}`},
		{"none", func(q *http.Request) {}, 401, ""},
		{"not basic", func(q *http.Request) { q.Header.Set("Authorization", "Bearer token") }, 401, refusal},
		{"not base64", func(q *http.Request) { q.Header.Set("Authorization", "Basic !!") }, 401, refusal},
		{"wrong password", func(q *http.Request) { q.SetBasicAuth("admin", "no") }, 401, refusal},
		{"empty password", func(q *http.Request) { q.SetBasicAuth("admin", "") }, 401, refusal},
		{"unknown user", func(q *http.Request) { q.SetBasicAuth("none", "pw") }, 401, refusal},
		{"no tag", func(q *http.Request) { q.SetBasicAuth("other", "pw") }, 401, refusal},
		{"loopback user here", func(q *http.Request) { q.SetBasicAuth("guest", "pw") }, 200, `{"name":"guest","tags":["administrator"],"is_internal_user":true}`},
		{"loopback user here, version 6", func(q *http.Request) { q.SetBasicAuth("guest", "pw"); q.RemoteAddr = "[::1]:1" }, 200, `{"name":"guest","tags":["administrator"],"is_internal_user":true}`},
		{"loopback user here, mapped", func(q *http.Request) { q.SetBasicAuth("guest", "pw"); q.RemoteAddr = "[::ffff:127.0.0.1]:1" }, 200, `{"name":"guest","tags":["administrator"],"is_internal_user":true}`},
		{"loopback user elsewhere", func(q *http.Request) { q.SetBasicAuth("guest", "pw"); q.RemoteAddr = fromElsewhere }, 401, refusal},
		{"loopback user behind a header", func(q *http.Request) {
			q.SetBasicAuth("guest", "pw")
			q.RemoteAddr = fromElsewhere
			q.Host = "localhost"
			for _, h := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded", "True-Client-Ip"} {
				q.Header.Set(h, "127.0.0.1")
			}
		}, 401, refusal},
		{"others from elsewhere", func(q *http.Request) { q.SetBasicAuth("admin", "pw"); q.RemoteAddr = fromElsewhere }, 200, `{"name":"admin","tags":["administrator"],"is_internal_user":true}`},
		{"address unknown", func(q *http.Request) { q.SetBasicAuth("guest", "pw"); q.RemoteAddr = "@" }, 401, refusal},
	} {
		w := newRig(t).ask("", "GET", "/api/whoami", row.change)
		if w.Code != row.status || text(w) != row.body {
			t.Errorf("%s: %d %s, want %d %s", row.name, w.Code, text(w), row.status, row.body)
		}
		if asked := w.Header().Get("WWW-Authenticate"); (asked == realm) != (row.status == 401) {
			t.Errorf("%s: WWW-Authenticate %q", row.name, asked)
		}
	}
}

// A login that this node has not heard of yet is looked for at the catalogue's leader.
func TestLoginCatchesUp(t *testing.T) {
	r := newRig(t)
	stored, err := password.NewSalted(password.SHA512, []byte("pw"))
	if err != nil {
		t.Fatal(err)
	}
	r.b.behind = []catalog.Command{catalog.PutUser{Name: "new", Algorithm: stored.Algorithm, Hash: stored.Hash, Tags: []string{tagManagement}}}
	if w := r.ask("new", "GET", "/api/whoami"); w.Code != 200 {
		t.Errorf("a user of another node: %d %s", w.Code, text(w))
	}
}

// pathFor fills the caller's user name in, and escapes what stands for one segment.
func pathFor(path, own string) string {
	switch {
	case path == "vhosts/a/b/connections":
		return "/api/vhosts/a%2Fb/connections"
	case path == "vhosts//connections":
		return "/api/vhosts/%2F/connections"
	}
	for _, named := range []string{connName("OWN", "/"), connName("other", "/"), connName("other", "a/b")} {
		if path == "connections/"+named {
			if named == connName("OWN", "/") {
				named = connName(own, "/")
			}
			return "/api/connections/" + url.PathEscape(named)
		}
	}
	switch path {
	case "connections/username/OWN":
		return "/api/connections/username/" + own
	case "users/OWN/connections":
		return "/api/users/" + own + "/connections"
	}
	return "/api/" + path
}
