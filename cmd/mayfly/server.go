package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"mayfly/admin"
	"mayfly/amqp"
	"mayfly/cluster"
	"mayfly/cluster/storage"
	"mayfly/fsm/catalog"
	"mayfly/internal/clock"
	"mayfly/internal/password"
)

// storageError is a disk that failed, or whose data cannot be trusted.
type storageError struct{ err error }

func (e *storageError) Error() string { return "storage failed: " + e.err.Error() }
func (e *storageError) Unwrap() error { return e.err }

// configError is a setting that names what cannot be used.
type configError struct{ err error }

func (e *configError) Error() string { return e.err.Error() }
func (e *configError) Unwrap() error { return e.err }

// importTimeout bounds the import of a definitions file.
const importTimeout = time.Minute

// startGCPercent is the collector's pace until the queues are open.
const startGCPercent = 20

// serve runs a node until a signal or a storage failure ends it. What a person at
// a terminal should see goes to banner.
func serve(c *config, log *slog.Logger, banner io.Writer) error {
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
	// Replaying the logs leaves garbage of many times what is kept, and what is
	// kept holds few pointers: collecting often costs little here.
	gcPercent := debug.SetGCPercent(startGCPercent)
	node, err := cluster.Start(c.node)
	if errors.Is(err, storage.ErrDamaged) {
		return &storageError{err}
	}
	if err != nil {
		return err
	}
	b, err := newBroker(c, node, log)
	if err != nil {
		return errors.Join(err, node.Stop())
	}
	go func() {
		<-node.Reopened()
		debug.SetGCPercent(gcPercent)
		debug.FreeOSMemory()
	}()
	log.Info("mayfly is ready", "version", version, "node", c.node.Name, "data_dir", c.node.DataDir, "amqp", b.addresses())
	if isTerminal(banner) {
		fmt.Fprint(banner, b.banner())
	}
	select {
	case s := <-signals:
		log.Info("stopping", "signal", s.String())
	case <-node.Failed():
		// Nothing may be confirmed through that file again (S3): the process ends
		// and comes back through recovery from disk.
		return &storageError{node.Err()}
	}
	return b.stop(signals)
}

// seedCommand makes the default vhost and user; hashing is done here because the
// catalogue's machine knows no randomness.
func seedCommand(c *config) (catalog.Command, error) {
	seed, err := admin.Seed(c.defaultVhost, c.defaultUser, c.defaultPass)
	if err != nil {
		return nil, &configError{fmt.Errorf("auth.default_user: %w", err)}
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
	manage    *management // nil when it is off
	log       *slog.Logger
}

func newBroker(c *config, node *cluster.Node, log *slog.Logger) (*broker, error) {
	b := &broker{c: c, node: node, log: log}
	if c.definitions != "" {
		if err := importDefinitions(c, node); err != nil {
			return nil, err
		}
	}
	opts := c.amqp
	opts.Verifier = password.NewVerifier(password.Options{Clock: opts.Clock})
	server, err := amqp.New(node, opts, log)
	if err != nil {
		return nil, err
	}
	b.server = server
	node.OnView(func(auth bool) {
		if auth {
			go server.Recheck()
		}
	})
	err = b.listen()
	if err == nil && c.manage != "off" {
		b.manage, err = startManagement(c.manage, node, server, opts, log)
	}
	if err != nil {
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
	if b.manage != nil {
		ends["management"] = b.manage.address()
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
	if b.manage != nil {
		b.manage.stop()
	}
	err := b.server.Shutdown(ctx)
	os.Remove(filepath.Join(b.c.node.DataDir, "endpoints.json"))
	return errors.Join(err, b.node.Stop())
}

// importDefinitions loads a RabbitMQ definitions file into the catalogue, all or
// nothing.
func importDefinitions(c *config, node *cluster.Node) error {
	data, err := os.ReadFile(c.definitions)
	if err != nil {
		return &configError{fmt.Errorf("definitions.load: %w", err)}
	}
	batch, err := admin.ParseDefinitions(data, admin.ImportOptions{SkipUnsupported: c.skipUnsupported, View: node.View()})
	if err != nil {
		return &configError{fmt.Errorf("definitions.load %s: %w", c.definitions, err)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), importTimeout)
	defer cancel()
	o, err := node.Change(ctx, batch)
	if err != nil {
		return fmt.Errorf("definitions.load %s: %w", c.definitions, err)
	}
	if o.Code != 0 {
		return &configError{fmt.Errorf("definitions.load %s: %s", c.definitions, o.Text)}
	}
	return nil
}
