package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const definitionsFile = "testdata/definitions.json"

// server is a `mayfly server` of ours.
type server struct {
	cmd  *exec.Cmd
	dir  string
	addr string
	args []string
	out  *bytes.Buffer
	done chan struct{} // closed when the process has ended
	err  error         // of the process, valid after done
}

// executable builds mayfly once for the run.
var executable = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("MAYFLY_TEST_BIN"); given != "" {
		return given, nil
	}
	return build("mayfly/cmd/mayfly")
})

// build compiles a program of this module.
func build(pkg string) (string, error) {
	bin := filepath.Join(workDir, path.Base(pkg))
	if out, err := exec.Command("go", "build", "-o", bin, pkg).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %v\n%s", pkg, err, out)
	}
	return bin, nil
}

var servers atomic.Int64 // started in this run

// startServer starts a server in a directory of its own, with the definitions
// of the tests; more are further arguments, which may override the standard ones.
func startServer(more ...string) (*server, error) {
	dir := filepath.Join(workDir, "server"+strconv.FormatInt(servers.Add(1), 10))
	definitions, err := filepath.Abs(definitionsFile)
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, args: append([]string{
		"server", "--data-dir", dir, "--amqp", "127.0.0.1:0", "--management", "off", "--metrics", "off",
		"--cluster", "off", "--set", "definitions.load=" + definitions,
	}, more...)}
	return s, s.start()
}

// start runs the process and waits until it says where it listens.
func (s *server) start() error {
	bin, err := executable()
	if err != nil {
		return err
	}
	told := filepath.Join(s.dir, "endpoints.json")
	os.Remove(told) // of an earlier life
	s.out, s.done = &bytes.Buffer{}, make(chan struct{})
	s.cmd = exec.Command(bin, s.args...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() { s.err = s.cmd.Wait(); close(s.done) }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for {
		select {
		case <-s.done:
			return fmt.Errorf("mayfly %s: ended: %v\n%s", strings.Join(s.args, " "), s.err, s.out)
		case <-limit:
			s.kill()
			return fmt.Errorf("mayfly %s: no endpoints.json in %v\n%s", strings.Join(s.args, " "), patience, s.out)
		case <-tick.C:
		}
		// The file may be seen half written: look again then.
		if e, err := endpoints(told); err == nil && e["amqp"] != "" {
			s.addr = e["amqp"]
			return nil
		}
	}
}

func (s *server) signal(sig os.Signal) { s.cmd.Process.Signal(sig) }

func (s *server) kill() {
	s.cmd.Process.Kill()
	<-s.done
}

// stop ends the process in order, or not in order when that takes too long.
func (s *server) stop() error {
	s.signal(syscall.SIGTERM)
	select {
	case <-s.done:
		return s.err
	case <-time.After(patience):
		s.kill()
		return errors.New("mayfly did not stop on SIGTERM")
	}
}

// serve starts a server for one test.
func serve(t *testing.T, more ...string) *server {
	t.Helper()
	s, err := startServer(more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-s.done:
		default:
			if err := s.stop(); err != nil {
				t.Errorf("the server ended badly: %v", err)
			}
		}
		if t.Failed() {
			t.Logf("the server said:\n%s", s.tail())
		}
	})
	return s
}

// tail is the end of what the process wrote; call it after stop.
func (s *server) tail() []byte {
	b := s.out.Bytes()
	return b[max(0, len(b)-16<<10):]
}

// residentBytes is the memory of the process as the kernel counts it.
func (s *server) residentBytes(t testing.TB) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("no VmRSS in /proc")
	return 0
}
