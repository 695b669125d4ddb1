package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// program is `mayfly`, built once for the tests that run it as a process.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "mayfly-bin")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "mayfly")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
	}
	return path, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// process is a server that a test started.
type process struct {
	t    *testing.T
	dir  string
	cmd  *exec.Cmd
	log  *os.File
	ends map[string]any
	done chan struct{}
}

// startProcess runs `mayfly server` on dir and waits until it serves.
func startProcess(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	ends := filepath.Join(dir, "endpoints.json")
	os.Remove(ends) // of a server that was killed
	log, err := os.OpenFile(filepath.Join(dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, dir: dir, log: log, done: make(chan struct{})}
	p.cmd = exec.Command(path, append([]string{"server", "--data-dir", dir, "--amqp", "127.0.0.1:0", "--management", "off", "--log-level", "warn"}, args...)...)
	p.cmd.Stderr = log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(p.kill)
	deadline := time.Now().Add(30 * time.Second)
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		if b, err := os.ReadFile(ends); err == nil {
			if err := json.Unmarshal(b, &p.ends); err != nil {
				t.Fatal(err)
			}
			return p
		}
		select {
		case <-p.done:
			t.Fatalf("server ended at start:\n%s", p.logText())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("server not ready in time:\n%s", p.logText())
		}
	}
}

func (p *process) logText() string {
	b, _ := os.ReadFile(p.log.Name())
	return string(b)
}

func (p *process) url() string { return "amqp://guest:guest@" + p.ends["amqp"].(string) + "/" }

// kill ends the process as a power switch would.
func (p *process) kill() { p.end(syscall.SIGKILL) }

// stop ends it in order.
func (p *process) stop() { p.end(syscall.SIGTERM) }

func (p *process) end(s syscall.Signal) {
	select {
	case <-p.done:
		return
	default:
	}
	p.cmd.Process.Signal(s)
	<-p.done
	p.log.Close()
}

func (p *process) connect() *amqp.Connection {
	p.t.Helper()
	c, err := amqp.Dial(p.url())
	if err != nil {
		p.t.Fatalf("connect: %v\n%s", err, p.logText())
	}
	return c
}
