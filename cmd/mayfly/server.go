package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"

	"mayfly/admin"
	"mayfly/amqp"
	"mayfly/cluster"
	"mayfly/fsm/catalog"
	"mayfly/internal/clock"
)

// serverFlags are the command line of `mayfly server` (design.md, section 6).
// Each flag with a key is a short way to say --set key=value.
type serverFlags struct {
	config string
	sets   []string
}

// flagKeys maps flags to settings.
var flagKeys = []struct{ flag, key string }{
	{"data-dir", "node.data_dir"}, {"node-name", "node.name"}, {"amqp", "amqp.listen"},
	{"log-level", "log.level"}, {"log-format", "log.format"},
}

// unbuilt are flags of the whole design whose parts this release has not; they
// accept the values that ask for nothing, and refuse the others.
var unbuilt = []struct{ flag, means string }{
	{"management", "the management listener"}, {"metrics", "the metrics listener"},
	{"cluster", "the listener between nodes"}, {"gossip", "the gossip listener"},
	{"peers", "a cluster of several nodes"}, {"expect", "a cluster of several nodes"},
}

func parseServerFlags(args []string, errs io.Writer) (serverFlags, error) {
	var f serverFlags
	fs := flag.NewFlagSet("mayfly server", flag.ContinueOnError)
	fs.SetOutput(errs)
	fs.StringVar(&f.config, "config", "", "configuration `file` (TOML)")
	fs.Func("set", "one setting, `section.key=value`; may be repeated", func(v string) error {
		f.sets = append(f.sets, v)
		return nil
	})
	for _, k := range flagKeys {
		fs.Func(k.flag, "sets "+k.key, func(v string) error {
			f.sets = append(f.sets, k.key+"="+v)
			return nil
		})
	}
	for _, u := range unbuilt {
		fs.Func(u.flag, u.means+" (not built yet: only off, or 1 for expect)", func(v string) error {
			if v != "off" && !(u.flag == "expect" && v == "1") {
				return fmt.Errorf("%s is not built yet", u.means)
			}
			return nil
		})
	}
	if err := fs.Parse(args); err != nil {
		return f, err
	}
	if fs.NArg() > 0 {
		return f, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return f, nil
}

func runServer(args []string, _, errs io.Writer) int {
	f, err := parseServerFlags(args, errs)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintln(errs, "mayfly server:", err)
		return exitUsage
	}
	c, err := loadConfig(f.config, f.sets)
	if err != nil {
		fmt.Fprintln(errs, "mayfly server:", err)
		return exitConfig
	}
	if err := serve(c, newLogger(c, errs)); err != nil {
		fmt.Fprintln(errs, "mayfly server:", err)
		return exitSoftware
	}
	return exitOK
}

func newLogger(c *config, w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
		level = slog.LevelInfo // cannot happen: the setting takes known words only
	}
	o := &slog.HandlerOptions{Level: level}
	format := c.logFormat
	if format == "" {
		format = "json"
		if f, ok := w.(*os.File); ok && terminal(f) {
			format = "text"
		}
	}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

func terminal(f *os.File) bool {
	s, err := f.Stat()
	return err == nil && s.Mode()&os.ModeCharDevice != 0
}

// serve runs a node until a signal or a storage failure ends it.
func serve(c *config, log *slog.Logger) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)

	if c.cpuProfile != "" {
		f, err := os.Create(c.cpuProfile)
		if err != nil {
			return fmt.Errorf("debug.cpu_profile: %w", err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return fmt.Errorf("debug.cpu_profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	seed, err := seedCommand(c)
	if err != nil {
		return err
	}
	c.node.Logger, c.node.Clock, c.node.Seed = log, clock.Real, seed
	node, err := cluster.Start(c.node)
	if err != nil {
		return err
	}
	b, err := newBroker(c, node, log)
	if err != nil {
		return errors.Join(err, node.Stop())
	}
	log.Info("mayfly is ready", "version", version, "node", c.node.Name, "data_dir", c.node.DataDir, "amqp", b.addresses())
	fmt.Fprintf(os.Stderr, "Mayfly %s is ready. AMQP: %s  data: %s\nNext: mayfly bench publish --url amqp://guest:guest@%s/\n", version, b.addresses(), c.node.DataDir, b.addresses())
	select {
	case s := <-signals:
		log.Info("stopping", "signal", s.String())
	case <-node.Failed():
		// Nothing may be confirmed through that file again (S3): the process ends
		// and comes back through recovery from disk.
		return fmt.Errorf("storage failed: %w", node.Err())
	}
	return b.stop(signals)
}

// seedCommand makes the default vhost and user; hashing is done here because the
// catalogue's machine knows no randomness.
func seedCommand(c *config) (catalog.Command, error) {
	seed, err := admin.Seed(c.defaultVhost, c.defaultUser, c.defaultPass)
	if err != nil {
		return nil, fmt.Errorf("auth.default_user: %w", err)
	}
	return seed, nil
}

// broker is a running node with its listeners.
type broker struct {
	c         *config
	node      *cluster.Node
	server    *amqp.Server
	health    *health
	listeners []net.Listener
	log       *slog.Logger
}

func newBroker(c *config, node *cluster.Node, log *slog.Logger) (*broker, error) {
	b := &broker{c: c, node: node, log: log}
	if c.definitions != "" {
		if err := importDefinitions(c, node); err != nil {
			return nil, err
		}
	}
	if c.amqp.Version == "" {
		c.amqp.Version = version
	}
	if c.tlsAddr != "off" {
		t, err := loadTLS(c.tls)
		if err != nil {
			return nil, fmt.Errorf("amqp.tls: %w", err)
		}
		c.amqp.TLS = t
	}
	server, err := amqp.New(node, c.amqp, log)
	if err != nil {
		return nil, err
	}
	b.server = server
	node.OnView(func(auth bool) {
		if auth {
			go server.Recheck()
		}
	})
	if err := b.listen(); err != nil {
		b.closeListeners()
		return nil, err
	}
	b.health = startHealth(c, server, log)
	return b, b.writeEndpoints()
}

func (b *broker) listen() error {
	if b.c.listen != "off" {
		l, err := net.Listen("tcp", b.c.listen)
		if err != nil {
			return fmt.Errorf("amqp.listen: %w", err)
		}
		b.listeners = append(b.listeners, l)
		go b.server.Serve(l)
	}
	if b.c.tlsAddr != "off" {
		l, err := net.Listen("tcp", b.c.tlsAddr)
		if err != nil {
			return fmt.Errorf("amqp.tls.listen: %w", err)
		}
		b.listeners = append(b.listeners, l)
		go b.server.ServeTLS(l)
	}
	return nil
}

func (b *broker) closeListeners() {
	for _, l := range b.listeners {
		l.Close()
	}
}

func (b *broker) addresses() string {
	var as []string
	for _, l := range b.listeners {
		as = append(as, l.Addr().String())
	}
	return strings.Join(as, ",")
}

// writeEndpoints tells the real addresses, since port 0 is allowed.
func (b *broker) writeEndpoints() error {
	ends := map[string]any{"node": b.c.node.Name, "pid": os.Getpid()}
	names := []string{"amqp", "amqps"}
	if b.c.listen == "off" {
		names = names[1:]
	}
	for i, l := range b.listeners {
		ends[names[i]] = l.Addr().String()
	}
	data, err := json.MarshalIndent(ends, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(b.c.node.DataDir, "endpoints.json")
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write endpoints: %w", err)
	}
	return os.Rename(path+".new", path)
}

// stop drains: a pause for load balancers, 320 to every client, then the node.
// A second signal ends the pause.
func (b *broker) stop(signals <-chan os.Signal) error {
	ctx, cancel := context.WithTimeout(context.Background(), b.c.shutdownTimeout+b.c.endpointDelay)
	defer cancel()
	if b.c.endpointDelay > 0 {
		t := clock.Real.NewTimer(b.c.endpointDelay)
		select {
		case <-t.C():
		case <-signals:
		}
	}
	b.health.stop()
	err := b.server.Shutdown(ctx)
	os.Remove(filepath.Join(b.c.node.DataDir, "endpoints.json"))
	return errors.Join(err, b.node.Stop())
}

// importDefinitions loads a RabbitMQ definitions file into the catalogue, all or
// nothing.
func importDefinitions(c *config, node *cluster.Node) error {
	data, err := os.ReadFile(c.definitions)
	if err != nil {
		return fmt.Errorf("definitions.load: %w", err)
	}
	batch, err := admin.ParseDefinitions(data, admin.ImportOptions{SkipUnsupported: c.skipUnsupported})
	if err != nil {
		return fmt.Errorf("definitions.load %s: %w", c.definitions, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.shutdownTimeout)
	defer cancel()
	o, err := node.Change(ctx, batch)
	if err != nil {
		return fmt.Errorf("definitions.load %s: %w", c.definitions, err)
	}
	if o.Code != 0 {
		return fmt.Errorf("definitions.load %s: %s", c.definitions, o.Text)
	}
	return nil
}
