package conformance

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// management is what an operator does behind the clients' backs.
type management interface {
	setPermissions(user, vhost, configure, write, read string)
	deleteUser(name string)
	deleteVhost(name string)
}

// managed gives a broker and its operator: rabbitmqctl's verbs where there is a
// command for them, else a node of its own that takes a few orders directly.
func managed(t *testing.T) (addr string, m management) {
	t.Helper()
	if broker.rabbit || len(broker.ctl) > 0 {
		return broker.addr, byCtl{t}
	}
	return keyhole(t)
}

type byCtl struct{ t *testing.T }

func (c byCtl) setPermissions(user, vhost, configure, write, read string) {
	operator(c.t, "set_permissions", "-p", vhost, user, configure, write, read)
}
func (c byCtl) deleteUser(name string)  { operator(c.t, "delete_user", name) }
func (c byCtl) deleteVhost(name string) { operator(c.t, "delete_vhost", name) }

// byKeyhole gives orders to testdata/operated.
type byKeyhole struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func (k byKeyhole) order(words ...string) {
	k.t.Helper()
	if _, err := fmt.Fprintln(k.in, strings.Join(words, "\t")); err != nil {
		k.t.Fatal(err)
	}
	if !k.out.Scan() || k.out.Text() != "ok" {
		k.t.Fatalf("%q was answered %q", words, k.out.Text())
	}
}

func (k byKeyhole) setPermissions(user, vhost, configure, write, read string) {
	k.t.Helper()
	k.order("set_permissions", user, vhost, configure, write, read)
}
func (k byKeyhole) deleteUser(name string)  { k.t.Helper(); k.order("delete_user", name) }
func (k byKeyhole) deleteVhost(name string) { k.t.Helper(); k.order("delete_vhost", name) }

// operated builds the program once for the run.
var operated = sync.OnceValues(func() (string, error) { return build("mayfly/internal/conformance/testdata/operated") })

// keyhole starts a node that takes orders on its standard input.
func keyhole(t *testing.T) (addr string, m management) {
	t.Helper()
	bin, err := operated()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command(bin, t.TempDir(), definitionsFile)
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k := byKeyhole{t, in, bufio.NewScanner(out)}
	t.Cleanup(func() {
		in.Close() // it stops then
		if err := cmd.Wait(); err != nil {
			t.Errorf("operated: %v\n%s", err, &said)
		}
	})
	if !k.out.Scan() {
		t.Fatal("operated gave no address")
	}
	return k.out.Text(), k
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
