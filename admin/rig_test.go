package admin

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/internal/clock"
	"mayfly/internal/password"
)

// fakeBroker is a node without queues. A catalogue command waits in behind until
// somebody catches up.
type fakeBroker struct {
	t       *testing.T
	machine *catalog.Machine
	index   uint64
	behind  []catalog.Command

	mu     sync.Mutex
	conns  []Connection
	closed map[uint64]string // reasons
}

func (b *fakeBroker) Name() string        { return "mayfly@test" }
func (b *fakeBroker) View() *catalog.View { return b.machine.View() }

func (b *fakeBroker) CatchUp(context.Context) error {
	b.apply(b.behind...)
	b.behind = nil
	return nil
}

func (b *fakeBroker) apply(cs ...catalog.Command) {
	for _, c := range cs {
		b.index++
		if o := b.machine.Apply(b.index, catalog.Encode(c)); o.Code != 0 {
			b.t.Fatalf("%#v: %s", c, o.Text)
		}
	}
}

func (b *fakeBroker) Connections() []Connection {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Connection(nil), b.conns...)
}

func (b *fakeBroker) CloseConnection(id uint64, reason string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.conns {
		if b.conns[i].ID == id {
			b.conns = append(b.conns[:i:i], b.conns[i+1:]...)
			b.closed[id] = reason
			return true
		}
	}
	return false
}

// rig is a server with users for each tag; everybody's password is "pw".
type rig struct {
	*testing.T
	b     *fakeBroker
	s     *Server
	clock *clock.Fake
	log   *strings.Builder
}

const (
	fromHere      = "127.0.0.1:40000"
	fromElsewhere = "192.0.2.7:40000"
)

// connName is the name of the connection that a rig's user has in a vhost.
func connName(user, vhost string) string { return user + "@" + vhost + ":1 -> [::1]:5672" }

func newRig(t *testing.T) *rig {
	b := &fakeBroker{t: t, machine: catalog.New(), closed: map[uint64]string{}}
	stored, err := password.NewSalted(password.SHA256, []byte("pw")) // right answers cost nothing
	if err != nil {
		t.Fatal(err)
	}
	b.apply(catalog.PutVhost{Name: "/"}, catalog.PutVhost{Name: "a/b"})
	for _, u := range []struct {
		name string
		tags []string
	}{
		{"guest", []string{Administrator}}, {"admin", []string{Administrator}}, {"monitor", []string{tagMonitoring}},
		{"maker", []string{tagPolicymaker}}, {"manager", []string{tagManagement, "custom"}}, {"nobody", []string{"custom"}}, {"other", nil},
	} {
		b.apply(catalog.PutUser{Name: u.name, Algorithm: stored.Algorithm, Hash: stored.Hash, Tags: u.tags})
		if u.name != "admin" && u.name != "monitor" { // those two look into vhosts without a permission
			b.apply(catalog.PutPermission{User: u.name, Vhost: "/", Configure: ".*", Write: ".*", Read: ".*"})
		}
	}
	since := time.UnixMilli(1700000000123)
	for i, c := range []struct{ user, vhost string }{{"other", "a/b"}, {"maker", "/"}, {"manager", "/"}, {"monitor", "/"}, {"other", "/"}} {
		b.conns = append(b.conns, Connection{
			ID: uint64(i + 1), Name: connName(c.user, c.vhost), User: c.user, Vhost: c.vhost, State: "running", Mechanism: "PLAIN",
			Peer: netip.MustParseAddrPort("192.0.2.1:1"), Local: netip.MustParseAddrPort("[::1]:5672"), Connected: since,
			Channels: 2, ChannelMax: 2047, FrameMax: 131072, Heartbeat: 10 * time.Second, Received: 500, Sent: 600,
		})
	}
	r := &rig{T: t, b: b, clock: clock.NewFake(), log: &strings.Builder{}}
	r.s = New(b, Options{LoopbackUsers: []string{"guest"}, Verifier: password.NewVerifier(password.Options{Clock: r.clock}), Clock: r.clock},
		slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	return r
}

// ask sends a request in a user's name, or without a login when it is empty.
func (r *rig) ask(user, method, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r.Helper()
	q := httptest.NewRequest(method, path, nil)
	q.RemoteAddr = fromHere
	if user != "" {
		q.SetBasicAuth(user, "pw")
	}
	for _, f := range change {
		f(q)
	}
	w := httptest.NewRecorder()
	r.s.ServeHTTP(w, q)
	return w
}

// names are the connections of a list that was answered.
func (r *rig) names(w *httptest.ResponseRecorder) string {
	r.Helper()
	var list []struct{ Name string }
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		r.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	var names []string
	for _, k := range list {
		name, _, _ := strings.Cut(k.Name, ":")
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func text(w *httptest.ResponseRecorder) string {
	b, _ := io.ReadAll(w.Result().Body)
	return strings.TrimSpace(string(b))
}

func table(kv ...string) wire.Table {
	var t wire.Table
	for i := 0; i < len(kv); i += 2 {
		t = wire.AppendString(t, kv[i], kv[i+1])
	}
	return t
}
