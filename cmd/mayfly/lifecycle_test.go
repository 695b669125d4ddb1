package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sys/unix"

	"mayfly/amqp/wire"
)

// stopLimit bounds an orderly stop of a node alone (design.md, section 6).
const stopLimit = 2 * time.Second

// refused runs a server that is expected to end by itself, and answers its exit
// code and what it said.
func refused(t *testing.T, args ...string) (int, string) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, path, append([]string{"server", "--amqp", "127.0.0.1:0", "--management", "off", "--log-level", "warn"}, args...)...)
	cmd.Stderr = &errs
	if err := cmd.Run(); err == nil || ctx.Err() != nil {
		t.Fatalf("server %v: %v, %v\n%s", args, err, ctx.Err(), errs.String())
	}
	return cmd.ProcessState.ExitCode(), errs.String()
}

// wait answers the exit code of a process that ends by itself.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		p.t.Fatalf("server does not end:\n%s", p.logText())
	}
	return p.cmd.ProcessState.ExitCode()
}

func TestEndpointsFile(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, dir, "--node-name", "mayfly@here")
	if p.ends["node"] != "mayfly@here" || p.ends["pid"] != float64(p.cmd.Process.Pid) {
		t.Errorf("endpoints: %v, want node mayfly@here and pid %d", p.ends, p.cmd.Process.Pid)
	}
	if _, ok := p.ends["amqps"]; ok {
		t.Errorf("endpoints name a TLS listener that is off: %v", p.ends)
	}
	_, port, err := net.SplitHostPort(p.ends["amqp"].(string))
	if err != nil || port == "0" {
		t.Errorf("amqp endpoint %v is not a real address", p.ends["amqp"])
	}
	p.connect().Close()
	p.stop()
	if _, err := os.Stat(filepath.Join(dir, "endpoints.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("endpoints of a server that stopped: %v", err)
	}
}

// A data directory has one server at a time, and belongs to one node name.
func TestDataDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, dir, "--node-name", "mayfly@first")
	code, said := refused(t, "--data-dir", dir, "--node-name", "mayfly@first")
	if code != exitSoftware || !strings.Contains(said, dir) || !strings.Contains(said, "in use") {
		t.Errorf("second server: code %d, %s", code, said)
	}
	p.connect().Close() // the first is not disturbed
	if _, err := os.Stat(filepath.Join(dir, "endpoints.json")); err != nil {
		t.Errorf("endpoints of the running server: %v", err)
	}
	p.stop()
	code, said = refused(t, "--data-dir", dir, "--node-name", "mayfly@second")
	if code != exitSoftware || !strings.Contains(said, `belongs to node "mayfly@first", not "mayfly@second"`) {
		t.Errorf("other node's directory: code %d, %s", code, said)
	}
	startProcess(t, dir, "--node-name", "mayfly@first").connect().Close()
}

func TestStartIsRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	file := write(t, dir+"/file", "not a directory")
	for _, row := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"address taken", []string{"--data-dir", dir + "/a", "--amqp", l.Addr().String()}, exitSoftware, "amqp.listen"},
		{"management address taken", []string{"--data-dir", dir + "/m", "--management", l.Addr().String()}, exitSoftware, "management.listen"},
		{"data directory is a file", []string{"--data-dir", file}, exitSoftware, file},
		{"no data directory", []string{"--data-dir", ""}, exitSoftware, "data directory is not set"},
		{"certificate missing", []string{"--data-dir", dir + "/b", "--set", "amqp.tls.listen=127.0.0.1:0", "--set", "amqp.tls.cert=gone.pem", "--set", "amqp.tls.key=gone.key"}, exitConfig, "amqp.tls.cert"},
	} {
		code, said := refused(t, row.args...)
		if code != row.code || !strings.Contains(said, row.want) {
			t.Errorf("%s: code %d, want %d, %q in:\n%s", row.name, code, row.code, row.want, said)
		}
	}
}

// SIGTERM tells every client 320 and ends the server in under two seconds, also
// when a client never answers (X12; operations.md, section 4.3).
func TestStopUnderTwoSeconds(t *testing.T) {
	p := startProcess(t, t.TempDir())
	var closes []chan *amqp.Error
	for range 20 {
		c := p.connect()
		ch, err := c.Channel()
		if err != nil {
			t.Fatal(err)
		}
		q, err := ch.QueueDeclare("", false, false, true, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ch.Consume(q.Name, "", false, false, false, false, nil); err != nil {
			t.Fatal(err)
		}
		closes = append(closes, c.NotifyClose(make(chan *amqp.Error, 1)))
	}
	mute := muteClient(t, p)
	start := time.Now()
	p.cmd.Process.Signal(unix.SIGTERM)
	code := p.wait()
	if took := time.Since(start); took > stopLimit || code != exitOK {
		t.Errorf("stopping took %v, code %d, want less than %v\n%s", took, code, stopLimit, p.logText())
	}
	for i, closed := range closes {
		if err := <-closed; err == nil || err.Code != amqp.ConnectionForced {
			t.Errorf("client %d was told %v, want 320", i, err)
		}
	}
	if said := <-mute; !bytes.Contains(said, []byte("CONNECTION_FORCED")) {
		t.Errorf("the client that does not answer was told %q", said)
	}
}

// muteClient opens a connection by hand, and answers nothing from then on. What
// the server says until the end comes on the channel.
func muteClient(t *testing.T, p *process) <-chan []byte {
	t.Helper()
	conn, err := net.Dial("tcp", p.ends["amqp"].(string))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	in := wire.NewReader(conn, 4096)
	send := func(b []byte) {
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(id wire.ID) {
		f, err := in.Next()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := wire.MethodID(f.Payload); err != nil || got != id {
			t.Fatalf("got %v, %v, want %v", got, err, id)
		}
	}
	send([]byte(wire.ProtocolHeader))
	expect(wire.ConnectionStartID)
	send(wire.AppendMethod(nil, 0, &wire.ConnectionStartOk{Mechanism: "PLAIN", Response: []byte("\x00guest\x00guest"), Locale: "en_US"}))
	expect(wire.ConnectionTuneID)
	send(wire.AppendMethod(nil, 0, &wire.ConnectionTuneOk{ChannelMax: 1, FrameMax: 4096}))
	send(wire.AppendMethod(nil, 0, &wire.ConnectionOpen{Vhost: "/"}))
	expect(wire.ConnectionOpenOkID)
	said := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(conn) // ends with the process
		said <- b
	}()
	return said
}

// A second signal ends the pause for load balancers; until then clients are served.
func TestEndpointDelay(t *testing.T) {
	p := startProcess(t, t.TempDir(), "--log-level", "info", "--set", "shutdown.endpoint_delay=1h")
	p.cmd.Process.Signal(unix.SIGTERM)
	p.waitLog("stopping")
	p.connect().Close()
	start := time.Now()
	p.cmd.Process.Signal(unix.SIGTERM)
	if code := p.wait(); code != exitOK || time.Since(start) > stopLimit {
		t.Errorf("code %d after %v\n%s", code, time.Since(start), p.logText())
	}
}

// waitLog waits for a word in the server's log.
func (p *process) waitLog(word string) {
	p.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for tick := time.NewTicker(5 * time.Millisecond); !strings.Contains(p.logText(), word); <-tick.C {
		if time.Now().After(deadline) {
			p.t.Fatalf("%q is not in the log:\n%s", word, p.logText())
		}
	}
}

// A disk that fails ends the server, loudly; nothing is confirmed through it, and
// what was confirmed before is there after the restart (S3). The disk fails by a
// limit on the size of files, set from outside.
func TestStorageFailure(t *testing.T) {
	const limit = 256 << 10 // room for the server's last words, which go to a file too
	dir := t.TempDir()
	p := startProcess(t, dir)
	ch := confirming(t, p)
	if _, err := ch.QueueDeclare("kept", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if !published(t, ch, "kept", 1) {
		t.Fatal("a healthy disk: not confirmed")
	}
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
		t.Fatal(err)
	}
	if published(t, ch, "kept", 2*limit) {
		t.Error("confirmed although the disk failed")
	}
	if code := p.wait(); code != exitIO || !strings.Contains(p.logText(), "storage failed") {
		t.Errorf("code %d, want %d\n%s", code, exitIO, p.logText())
	}
	p = startProcess(t, dir)
	q, err := confirming(t, p).QueueDeclarePassive("kept", true, false, false, false, nil)
	if err != nil || q.Messages < 1 {
		t.Errorf("after the restart: %d messages, %v", q.Messages, err)
	}
}

func confirming(t *testing.T, p *process) *amqp.Channel {
	t.Helper()
	c := p.connect()
	t.Cleanup(func() { c.Close() })
	ch, err := c.Channel()
	if err == nil {
		err = ch.Confirm(false)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// published tells whether a message was confirmed before the connection ended.
func published(t *testing.T, ch *amqp.Channel, queue string, size int) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	go func() { // a lost connection answers no confirm
		<-ch.NotifyClose(make(chan *amqp.Error, 1))
		cancel()
	}()
	c, err := ch.PublishWithDeferredConfirmWithContext(ctx, "", queue, false, false, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: make([]byte, size)})
	if err != nil {
		return false
	}
	ok, err := c.WaitContext(ctx)
	return ok && err == nil
}
