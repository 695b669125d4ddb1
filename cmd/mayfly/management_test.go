package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// askManagement sends a request to the management API of a process, as guest.
func (p *process) askManagement(method, path string, header http.Header) (int, []byte) {
	p.t.Helper()
	q, err := http.NewRequest(method, "http://"+p.ends["management"].(string)+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	q.Header = header
	q.SetBasicAuth("guest", "guest")
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, body
}

// A connection is listed with what its client said of itself, and closed with the
// operator's reason.
func TestManagementClosesConnections(t *testing.T) {
	p := startProcess(t, t.TempDir(), "--management", "127.0.0.1:0")
	c, err := amqp.DialConfig(p.url(), amqp.Config{Properties: amqp.Table{"connection_name": "worker 1"}})
	if err != nil {
		t.Fatal(err)
	}
	closed := c.NotifyClose(make(chan *amqp.Error, 1))
	status, body := p.askManagement("GET", "/api/connections/", http.Header{})
	var list []map[string]any
	if err := json.Unmarshal(body, &list); status != 200 || err != nil || len(list) != 1 {
		t.Fatalf("list: %d %s %v", status, body, err)
	}
	k := list[0]
	name, _ := k["name"].(string)
	if k["user_provided_name"] != "worker 1" || k["user"] != "guest" || k["vhost"] != "/" || k["state"] != "running" ||
		k["peer_host"] != "127.0.0.1" || k["auth_mechanism"] != "PLAIN" || !strings.HasSuffix(name, " -> "+p.ends["amqp"].(string)) {
		t.Errorf("connection: %s", body)
	}
	if status, body := p.askManagement("DELETE", "/api/connections/"+url.PathEscape(name), http.Header{"X-Reason": {"maintenance"}}); status != 204 {
		t.Errorf("close: %d %s", status, body)
	}
	if err := <-closed; err == nil || err.Code != amqp.ConnectionForced || err.Reason != "CONNECTION_FORCED - maintenance" {
		t.Errorf("the client was told %v", err)
	}
	if status, body := p.askManagement("GET", "/api/queues", http.Header{}); status != 501 {
		t.Errorf("what is not built: %d %s", status, body)
	}
	p.stop()
	if code := p.wait(); code != exitOK {
		t.Errorf("exit code %d\n%s", code, p.logText())
	}
}
