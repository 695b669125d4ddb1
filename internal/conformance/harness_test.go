package conformance

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

var long = flag.Bool("long", false, "run the slow forms of lines 18 and 22")

// broker is what is tested.
var broker struct {
	addr, user, pass, vhost string
	rabbit                  bool
	own                     *server // nil when it was given by URL
	ctl                     []string
}

// pick holds both expectations where Mayfly differs on purpose.
func pick[T any](mayfly, rabbitmq T) T {
	if broker.rabbit {
		return rabbitmq
	}
	return mayfly
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Most tests wait for a socket, not for a processor.
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		flag.Set("test.parallel", "32")
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return giveUp(err)
	}
	defer os.RemoveAll(dir)
	workDir = dir
	broker.ctl = strings.Fields(os.Getenv("MAYFLY_TEST_CTL"))
	switch kind := os.Getenv("MAYFLY_TEST_KIND"); kind {
	case "", "mayfly":
	case "rabbitmq":
		broker.rabbit = true
	default:
		return giveUp(fmt.Errorf("MAYFLY_TEST_KIND=%s: want mayfly or rabbitmq", kind))
	}
	if given := os.Getenv("MAYFLY_TEST_URL"); given != "" {
		if err := useURL(given); err != nil {
			return giveUp(err)
		}
	} else {
		s, err := startServer()
		if err != nil {
			return giveUp(err)
		}
		broker.own = s
		broker.addr, broker.user, broker.pass, broker.vhost = s.addr, "guest", "guest", "/"
	}
	if broker.rabbit && len(broker.ctl) > 0 {
		if err := prepareOracle(); err != nil {
			return giveUp(err)
		}
	}
	code := m.Run()
	janitor.sweep()
	if broker.own != nil {
		// A panic or, in a race build, a race ends the process with an error.
		if err := broker.own.stop(); err != nil {
			fmt.Fprintf(os.Stderr, "conformance: the server ended badly: %v\n%s", err, broker.own.tail())
			code = 1
		}
	}
	return code
}

func giveUp(err error) int {
	fmt.Fprintln(os.Stderr, "conformance:", err)
	return 1
}

func useURL(given string) error {
	u, err := url.Parse(given)
	if err != nil || u.Scheme != "amqp" {
		return fmt.Errorf("MAYFLY_TEST_URL=%s: want amqp://user:password@host:port/vhost", given)
	}
	broker.addr, broker.user, broker.pass, broker.vhost = u.Host, "guest", "guest", "/"
	if u.Port() == "" {
		broker.addr = net.JoinHostPort(u.Hostname(), "5672")
	}
	if u.User != nil {
		broker.user = u.User.Username()
		broker.pass, _ = u.User.Password()
	}
	if v := strings.TrimPrefix(u.Path, "/"); v != "" {
		broker.vhost = v
	}
	return nil
}

// prepareOracle imports the definitions and makes RabbitMQ look at consumer
// timeouts every 4 s instead of every minute (line 103).
func prepareOracle() error {
	b, err := os.ReadFile(definitionsFile)
	if err != nil {
		return err
	}
	code := base64.StdEncoding.EncodeToString(b)
	if err := runCtl("eval", `rabbit_definitions:import_raw(base64:decode("`+code+`")).`); err != nil {
		return err
	}
	return runCtl("eval", `application:set_env(rabbit, channel_tick_interval, 4000).`)
}

func runCtl(verb ...string) error {
	cmd := exec.Command(broker.ctl[0], append(broker.ctl[1:len(broker.ctl):len(broker.ctl)], verb...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %v\n%s", strings.Join(broker.ctl, " "), verb[0], err, out)
	}
	return nil
}

// operator runs a verb of rabbitmqctl against the broker under test.
func operator(t testing.TB, verb ...string) {
	t.Helper()
	if len(broker.ctl) == 0 {
		t.Fatalf("%q needs MAYFLY_TEST_CTL", verb)
	}
	if err := runCtl(verb...); err != nil {
		t.Fatal(err)
	}
}

var (
	workDir string // of this run, removed at its end
	runID   = strconv.FormatInt(time.Now().UnixNano()%1e9, 36)
	names   atomic.Uint64
)

// unique is a name that no other test and no earlier run uses.
func unique(kind string) string {
	return fmt.Sprintf("conf.%s.%s%d", kind, runID, names.Add(1))
}

// eventually asks again until a condition holds. It is for what the broker does
// in its own time and tells nobody.
func eventually(t testing.TB, holds func() bool, otherwise func() string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for stop := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(stop) {
			t.Fatal(otherwise())
		}
	}
}

// pause lets time pass: for a client that is slow or silent on purpose.
func pause(d time.Duration) { <-time.After(d) }

// janitor removes what tests leave on the broker. Doing it once at the end keeps
// the tests from paying for a connection each.
var janitor sweeper

type sweeper struct {
	mu   sync.Mutex
	left map[[2]string]bool // kind, name
}

func (s *sweeper) note(kind, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == nil {
		s.left = map[[2]string]bool{}
	}
	s.left[[2]string{kind, name}] = true
}

func (s *sweeper) queue(_ testing.TB, name string)    { s.note("queue", name) }
func (s *sweeper) exchange(_ testing.TB, name string) { s.note("exchange", name) }

// sweep deletes it all; a server started for the tests is thrown away as a
// whole instead. What cannot be deleted stays: it is rubbish, not a failure.
func (s *sweeper) sweep() {
	if broker.own != nil || len(s.left) == 0 {
		return
	}
	c, err := stockDial()
	if err != nil {
		return
	}
	defer c.Close()
	ch, err := c.Channel()
	if err != nil {
		return
	}
	for k := range s.left {
		if k[0] == "queue" {
			ch.QueueDelete(k[1], false, false, false)
		} else {
			ch.ExchangeDelete(k[1], false, false)
		}
	}
}

// stockDial connects with the public Go client as it comes.
func stockDial() (*amqp.Connection, error) {
	u := url.URL{Scheme: "amqp", User: url.UserPassword(broker.user, broker.pass), Host: broker.addr, Path: "/"}
	return amqp.DialConfig(u.String(), amqp.Config{Vhost: broker.vhost})
}

// endpoints is the file a server writes once it listens.
func endpoints(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var e map[string]any
	if err := json.Unmarshal(b, &e); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for k, v := range e {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out, nil
}
