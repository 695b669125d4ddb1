package conformance

import (
	"context"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"mayfly/admin"
	mayfly "mayfly/amqp"
	"mayfly/cluster"
	"mayfly/fsm/catalog"
	"mayfly/internal/clock"
)

// management is what an operator does behind the clients' backs.
type management interface {
	setPermissions(user, vhost, configure, write, read string)
	deleteUser(name string)
	deleteVhost(name string)
}

// managed gives a broker and its operator: rabbitmqctl's verbs where there is a
// command for them, else a node in this process whose catalogue is changed
// directly. The latter is the one place of the package that looks inside.
func managed(t *testing.T) (addr string, m management) {
	t.Helper()
	if len(broker.ctl) > 0 {
		return broker.addr, byCtl{t}
	}
	return inProcess(t)
}

type byCtl struct{ t *testing.T }

func (c byCtl) setPermissions(user, vhost, configure, write, read string) {
	operator(c.t, "set_permissions", "-p", vhost, user, configure, write, read)
}
func (c byCtl) deleteUser(name string)  { operator(c.t, "delete_user", name) }
func (c byCtl) deleteVhost(name string) { operator(c.t, "delete_vhost", name) }

type byCatalogue struct {
	t    *testing.T
	node *cluster.Node
}

func (c byCatalogue) change(cmd catalog.Command) {
	c.t.Helper()
	if o, err := c.node.Change(context.Background(), cmd); err != nil || o.Code != 0 {
		c.t.Fatalf("%T: %v, %s", cmd, err, o.Text)
	}
}

func (c byCatalogue) setPermissions(user, vhost, configure, write, read string) {
	c.change(catalog.PutPermission{User: user, Vhost: vhost, Configure: configure, Write: write, Read: read})
}
func (c byCatalogue) deleteUser(name string)  { c.change(catalog.DeleteUser{Name: name}) }
func (c byCatalogue) deleteVhost(name string) { c.change(catalog.DeleteVhost{Name: name}) }

// inProcess starts a node with the definitions, joined as cmd/mayfly joins it.
func inProcess(t *testing.T) (string, management) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	seed, err := admin.Seed("/", "guest", "guest")
	if err != nil {
		t.Fatal(err)
	}
	node, err := cluster.Start(cluster.Options{Name: "conformance@localhost", DataDir: t.TempDir(), Clock: clock.Real, Logger: log, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	m := byCatalogue{t, node}
	text, err := os.ReadFile(definitionsFile)
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := admin.ParseDefinitions(text, admin.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.change(definitions)
	server, err := mayfly.New(node, mayfly.DefaultOptions(), log)
	if err != nil {
		t.Fatal(err)
	}
	node.OnView(func(auth bool) {
		if auth {
			go server.Recheck()
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	t.Cleanup(func() {
		server.Shutdown(context.Background())
		if err := node.Stop(); err != nil {
			t.Errorf("stop the node: %v", err)
		}
	})
	return l.Addr().String(), m
}

func TestLine027Deleted(t *testing.T) {
	t.Parallel()
	addr, m := managed(t)
	t.Run("user", func(t *testing.T) {
		doomed := as("conf-doomed", "conf-doomed")
		gone, idle, stays := openChannel(t, at(addr), doomed), open(t, at(addr), doomed), openChannel(t, at(addr))
		m.deleteUser("conf-doomed")
		for _, c := range []*conn{gone.c, idle} {
			c.closed(connectionForced, "user 'conf-doomed' is deleted", 0)
		}
		stays.quiet()
		l := newLogin([]option{at(addr), doomed})
		c, _ := greet(t, addr)
		c.send(0, l.startOk())
		c.closing(accessRefused, loginRefused+"PLAIN. For details see the broker logfile.", 0)
	})
	t.Run("vhost", func(t *testing.T) {
		in := vhost("conf-doomed")
		consumer, untold, idle, stays := openChannel(t, at(addr), in), openChannel(t, at(addr), in, without("consumer_cancel_notify")), open(t, at(addr), in), openChannel(t, at(addr))
		q, _ := consumer.declare(unique("q"), durable, nil)
		consumer.consume(q, "told", 0)
		untold.consume(q, "untold", 0)
		m.deleteVhost("conf-doomed")
		if tag := consumer.expect(basicCancel).short(); tag != "told" {
			t.Errorf("cancelled %q", tag)
		}
		for _, c := range []*conn{consumer.c, untold.c, idle} {
			// RabbitMQ may be faster to notice that the vhost has stopped.
			c.closed(connectionForced, pick("vhost 'conf-doomed' is deleted", "vhost 'conf-doomed' is …"), 0)
		}
		stays.quiet()
		halfOpen(t, at(addr), in).closed(notAllowed, "vhost conf-doomed not found", connectionOpen)
	})
}

func TestLine112Revocation(t *testing.T) {
	t.Parallel()
	addr, m := managed(t)
	const user = "conf-revoked"
	boss := openChannel(t, at(addr))
	x := unique("x")
	boss.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(x, "fanout", 0, nil)...).end()
	q := boss.queue()
	boss.bind(q, x, "")
	ch := openChannel(t, at(addr), as(user, user))
	ch.confirms()
	for seq := uint64(1); seq <= 20; seq++ {
		ch.publish(x, "k", nil, "allowed")
		ch.confirmed(seq, seq)
	}
	mine := ch.queue()
	ch.consume(mine, "t", noAck)
	m.setPermissions(user, "/", ".*", "^$", "^$")
	if broker.rabbit { // its channels remember permissions until they are idle; [M] of amqp.md 16: at once
		pause(3 * time.Second)
	}
	ch.publish(x, "k", nil, "refused")
	ch.closed(accessRefused, "write access to "+rx(x)+" refused for user '"+user+"'", basicPublish)
	ch.open()
	ch.refused(accessRefused, "read access to "+rs(mine)+" refused for user '"+user+"'", basicGet, uint16(0), mine, bits(0))
	m.setPermissions(user, "/", ".*", ".*", ".*")
	ch.confirms()
	ch.publish(x, "k", nil, "allowed again")
	ch.confirmed(1, 1)
	if got := boss.gets(q); len(got) != 21 {
		t.Errorf("the queue holds %d messages, want 21", len(got))
	}
	boss.deleteExchange(x, 0)
}
