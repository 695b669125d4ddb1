package main

import (
	"context"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const definitionsText = `{
 "rabbitmq_version": "4.0.5",
 "rabbitmq_definition_format": "cluster",
 "users": [{"name": "maker", "password": "pw", "tags": ["administrator"], "limits": {}}],
 "vhosts": [{"name": "shop"}],
 "permissions": [{"user": "maker", "vhost": "shop", "configure": "", "write": ".*", "read": ".*"}],
 "topic_permissions": [], "parameters": [], "global_parameters": [], "policies": [],
 "queues": [{"name": "orders", "vhost": "shop", "durable": true, "auto_delete": false, "arguments": {"x-queue-type": "quorum", "x-max-length": 2}}],
 "exchanges": [{"name": "in", "vhost": "shop", "type": "topic", "durable": true, "auto_delete": false, "internal": false, "arguments": {}}],
 "bindings": [{"source": "in", "vhost": "shop", "destination": "orders", "destination_type": "queue", "routing_key": "order.#", "arguments": {}}]
}`

// What a RabbitMQ exported is there at start, and is imported again at the next
// start without harm (operations.md, section 1.7).
func TestDefinitionsLoad(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir+"/definitions.json", definitionsText)
	for start := range 2 {
		p := startProcess(t, dir, "--set", "definitions.load="+file)
		c, err := amqp.Dial("amqp://maker:pw@" + p.ends["amqp"].(string) + "/shop")
		if err != nil {
			t.Fatal(err)
		}
		ch, err := c.Channel()
		if err != nil || ch.Confirm(false) != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		confirm, err := ch.PublishWithDeferredConfirmWithContext(ctx, "in", "order.new", true, false, amqp.Publishing{DeliveryMode: amqp.Persistent})
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := confirm.WaitContext(ctx); !ok || err != nil {
			t.Fatalf("confirm: %v, %v", ok, err)
		}
		cancel()
		q, err := ch.QueueDeclarePassive("orders", true, false, false, false, nil)
		if err != nil || q.Messages != start+1 {
			t.Errorf("start %d: %d messages, %v", start, q.Messages, err)
		}
		c.Close()
		p.stop()
	}
}

func TestDefinitionsRefused(t *testing.T) {
	dir := t.TempDir()
	policy := strings.Replace(definitionsText, `"policies": []`, `"policies": [{"vhost": "shop", "name": "ha", "pattern": ".*", "apply-to": "all", "definition": {"max-length": 1}, "priority": 0}]`, 1)
	for _, row := range []struct{ name, text, want string }{
		{"not JSON", "users:\n  - guest\n", "invalid character"},
		{"policies", policy, "ha"},
		{"an unknown vhost", strings.ReplaceAll(definitionsText, `"vhosts": [{"name": "shop"}]`, `"vhosts": []`), "shop"},
		{"a bad argument", strings.Replace(definitionsText, `"x-max-length": 2`, `"x-max-length": -2`, 1), "x-max-length"},
	} {
		file := write(t, dir+"/"+row.name+".json", row.text)
		code, said := refused(t, "--data-dir", dir+"/"+row.name+".d", "--set", "definitions.load="+file)
		if code != exitConfig || !strings.Contains(said, "definitions.load") || !strings.Contains(said, row.want) {
			t.Errorf("%s: code %d, want %q in:\n%s", row.name, code, row.want, said)
		}
	}
	code, said := refused(t, "--data-dir", dir+"/d", "--set", "definitions.load="+dir+"/gone.json")
	if code != exitConfig || !strings.Contains(said, "gone.json") {
		t.Errorf("no file: code %d, %s", code, said)
	}
	file := write(t, dir+"/policy.json", policy)
	startProcess(t, t.TempDir(), "--set", "definitions.load="+file, "--set", "definitions.skip_unsupported=true").stop()
}
