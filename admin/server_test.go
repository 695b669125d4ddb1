package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestRoutes(t *testing.T) {
	r := newRig(t)
	const missing = `{"error":"Object Not Found","reason":"Not Found"}`
	unbuilt := func(path string) string {
		return fmt.Sprintf(`{"error":"not_implemented","reason":"%s is not built yet"}`, path)
	}
	for _, row := range []struct {
		user, method, path string
		status             int
		body, allow        string
	}{
		{"", "GET", "/", 404, missing, ""},
		{"", "GET", "/api", 404, missing, ""},
		{"", "GET", "/api/", 404, missing, ""},
		{"", "GET", "/api/nothing", 404, missing, ""},
		{"", "GET", "/api/whoami/more", 404, missing, ""},
		{"", "GET", "/api//whoami", 404, missing, ""},
		{"", "GET", "/api/connections//", 404, missing, ""},
		{"", "GET", "/API/whoami", 404, missing, ""},
		{"", "GET", "/api/overview", 401, "", ""},
		{"admin", "GET", "/api/overview", 501, unbuilt("overview"), ""},
		{"admin", "PUT", "/api/queues/%2F/a%2Fb", 501, unbuilt("queues/{vhost}/{queue}"), ""},
		{"admin", "GET", "/api/queues//", 501, unbuilt("queues/{vhost}"), ""},
		{"admin", "GET", "/api/connections/x/channels", 501, unbuilt("connections/{connection}/channels"), ""},
		{"admin", "GET", "/api/connections?page=1", 501, unbuilt("the parameter page"), ""},
		{"admin", "GET", "/api/connections?disable_stats=true", 200, "", ""},
		{"admin", "HEAD", "/api/connections/", 200, "", ""},
		{"", "POST", "/api/connections", 405, "", "HEAD, GET, OPTIONS"},
		{"", "PUT", "/api/connections/x", 405, "", "HEAD, GET, DELETE, OPTIONS"},
		{"", "DELETE", "/api/whoami", 405, "", "HEAD, GET, OPTIONS"},
		{"", "OPTIONS", "/api/whoami", 200, "", "HEAD, GET, OPTIONS"},
	} {
		w := r.ask(row.user, row.method, row.path)
		if w.Code != row.status || row.body != "" && text(w) != row.body || w.Header().Get("Allow") != row.allow {
			t.Errorf("%s %s: %d %s allow %q, want %d %s %q", row.method, row.path, w.Code, text(w), w.Header().Get("Allow"), row.status, row.body, row.allow)
		}
		if got := w.Header().Get("Cache-Control"); got != "no-cache" {
			t.Errorf("%s %s: Cache-Control %q", row.method, row.path, got)
		}
	}
}

func TestPathsAreTakenApartEscaped(t *testing.T) {
	for _, row := range []struct{ path, want string }{
		{"/api/a%2Fb/c", "a/b|c"},
		{"/api/a+b/%20/", "a+b| "},
		{"/api/%C3%BC/%252F", "ü|%2F"},
		{"/api/x//y", "x||y"},
		{"/api/../x", "..|x"},
	} {
		u, err := url.Parse("http://h" + row.path)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := segments(u)
		if !ok || strings.Join(got, "|") != row.want {
			t.Errorf("%s: %q %v, want %s", row.path, got, ok, row.want)
		}
	}
}

// TestConnectionObject holds the names of the fields, which are RabbitMQ's.
func TestConnectionObject(t *testing.T) {
	r := newRig(t)
	k := &r.b.conns[1]
	k.ClientName = "worker <1>"
	k.ClientProperties = table("connection_name", "worker <1>", "product", "client")
	k.TLS = &TLSInfo{Protocol: "tlsv1.3", Cipher: "TLS_AES_128_GCM_SHA256", Subject: "CN=me"}
	got := text(r.ask("admin", "GET", "/api/connections/"+url.PathEscape(k.Name)))
	want := `{"name":"maker@/:1 -> [::1]:5672","user_provided_name":"worker <1>","node":"mayfly@test","type":"network",` +
		`"protocol":"AMQP 0-9-1","state":"running","user":"maker","user_who_performed_action":"maker","vhost":"/","auth_mechanism":"PLAIN",` +
		`"connected_at":1700000000123,"channels":2,"channel_max":2047,"frame_max":131072,"timeout":10,` +
		`"peer_host":"192.0.2.1","peer_port":1,"host":"::1","port":5672,"recv_oct":500,"send_oct":600,` +
		`"ssl":true,"ssl_protocol":"tlsv1.3","ssl_cipher":"TLS_AES_128_GCM_SHA256","peer_cert_subject":"CN=me","peer_cert_issuer":null,"peer_cert_validity":null,` +
		`"client_properties":{"connection_name":"worker <1>","product":"client"}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var plain map[string]any
	if err := json.Unmarshal([]byte(text(r.ask("admin", "GET", "/api/connections/"+url.PathEscape(connName("other", "/"))))), &plain); err != nil {
		t.Fatal(err)
	}
	if plain["ssl"] != false || plain["ssl_protocol"] != nil || fmt.Sprint(plain["client_properties"]) != "map[]" {
		t.Errorf("without TLS and properties: %v", plain)
	}
	r.b.conns = nil
	if got := text(r.ask("admin", "GET", "/api/connections")); got != "[]" {
		t.Errorf("no connections: %s", got)
	}
}

func TestCloseReason(t *testing.T) {
	r := newRig(t)
	path := "/api/connections/" + url.PathEscape(connName("other", "a/b"))
	w := r.ask("admin", "DELETE", path, func(q *http.Request) { q.Header.Set("X-Reason", "enough\xff") })
	if w.Code != 204 || w.Body.Len() != 0 || r.b.closed[1] != "enough?" {
		t.Errorf("%d %s, closed %v", w.Code, text(w), r.b.closed)
	}
	if w := r.ask("admin", "DELETE", path); w.Code != 404 {
		t.Errorf("again: %d", w.Code)
	}
	r.ask("admin", "DELETE", "/api/connections/username/manager")
	if reason, ok := r.b.closed[3]; !ok || reason != "" || len(r.b.closed) != 2 {
		t.Errorf("closed %v, want the one of manager too, without a reason", r.b.closed)
	}
}

// Failed logins are slowed down by address and by user; a user who can never be
// right from there costs the rightful one nothing (X6, X7).
func TestFailedLoginsAreLimited(t *testing.T) {
	r := newRig(t)
	from := func(addr string) func(*http.Request) { return func(q *http.Request) { q.RemoteAddr = addr } }
	wrong := func(q *http.Request) { q.SetBasicAuth("admin", "no") }
	for i := range failuresAtOnce {
		if w := r.ask("", "GET", "/api/whoami", wrong, from(fromElsewhere)); w.Code != 401 {
			t.Fatalf("failure %d: %d", i, w.Code)
		}
	}
	if w := r.ask("manager", "GET", "/api/whoami", from(fromElsewhere)); w.Code != 429 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("same address, another user: %d", w.Code)
	}
	if w := r.ask("admin", "GET", "/api/whoami"); w.Code != 429 {
		t.Errorf("same user, another address: %d", w.Code)
	}
	if w := r.ask("manager", "GET", "/api/whoami"); w.Code != 200 {
		t.Errorf("another user and address: %d", w.Code)
	}
	r.clock.Advance(failureForgot)
	if w := r.ask("admin", "GET", "/api/whoami", from(fromElsewhere)); w.Code != 200 {
		t.Errorf("a failure forgotten: %d", w.Code)
	}
	for range failuresAtOnce + 1 {
		r.ask("guest", "GET", "/api/whoami", from("[2001:db8::1]:1"))
	}
	if w := r.ask("manager", "GET", "/api/whoami", from("[2001:db8::2]:1")); w.Code != 429 {
		t.Errorf("another address of the same site: %d", w.Code)
	}
	if w := r.ask("guest", "GET", "/api/whoami"); w.Code != 200 {
		t.Errorf("the loopback user at home: %d", w.Code)
	}
}

// No header, path or password gets into the log, at any level (X11).
func TestLogHasNoSecrets(t *testing.T) {
	r := newRig(t)
	secret := func(q *http.Request) {
		q.SetBasicAuth("admin", "s3cret-pass")
		q.Header.Set("X-Reason", "s3cret-header")
	}
	r.ask("", "GET", "/api/whoami", secret)
	r.ask("admin", "GET", "/api/auth/hash_password/s3cret-path")
	r.ask("admin", "DELETE", "/api/connections/"+url.PathEscape(connName("other", "/")), func(q *http.Request) { q.Header.Set("X-Reason", "s3cret-header") })
	r.s.routes = compile([]route{{path: "boom/{x}", methods: map[string]handler{"GET": func(q *request) *fault { panic("fault") }}}})
	w := r.ask("admin", "GET", "/api/boom/s3cret-path", func(q *http.Request) { q.Header.Set("X-Token", "s3cret-header") })
	if w.Code != 500 || strings.Contains(text(w), "fault") {
		t.Errorf("a fault of ours: %d %s", w.Code, text(w))
	}
	log := r.log.String()
	for _, want := range []string{"management login refused", "password is wrong", "closed by an operator", "fault of ours"} {
		if !strings.Contains(log, want) {
			t.Errorf("log without %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "s3cret") || strings.Contains(log, "czNjcmV0") || strings.Contains(log, "Basic") {
		t.Errorf("log with a secret:\n%s", log)
	}
}

// What a stranger sends is bounded before anybody looks at it (X11).
func TestBodyIsBounded(t *testing.T) {
	r := newRig(t)
	w := r.ask("", "GET", "/api/whoami", func(q *http.Request) { q.ContentLength = maxBody + 1 })
	if w.Code != 400 || !strings.Contains(text(w), "bad_request") {
		t.Errorf("%d %s", w.Code, text(w))
	}
}

// On a socket: keep-alive, the bound on connections, a header that is too large,
// and a shutdown that ends Serve.
func TestServe(t *testing.T) {
	r := newRig(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.s.Serve(l) }()
	base := "http://" + l.Addr().String()
	for range 2 {
		q, _ := http.NewRequest("GET", base+"/api/whoami", nil)
		q.SetBasicAuth("guest", "pw")
		res, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 {
			t.Errorf("status %d", res.StatusCode)
		}
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /api/whoami HTTP/1.1\r\nHost: h\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", 2*maxHeaderBytes))
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, " 431 ") {
		t.Errorf("large header: %q %v", line, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := r.s.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}

func TestListenerIsBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &boundedListener{Listener: l, max: 1}
	defer b.Close()
	accepted := make(chan net.Conn)
	go func() {
		for {
			c, err := b.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial()
	first := <-accepted
	second := dial()
	if n, err := second.Read(make([]byte, 1)); err == nil {
		t.Errorf("one too many: read %d", n)
	}
	first.Close()
	first.Close() // gives its place back once
	dial()
	(<-accepted).Close()
}
