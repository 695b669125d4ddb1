package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
)

// serverFlags are the command line of `mayfly server` (design.md, section 6).
type serverFlags struct {
	config string
	sets   []string // key=value
}

// flagKeys are flags that are a short way to say --set key=value.
var flagKeys = []struct{ flag, value, key, help string }{
	{"data-dir", "DIR", "node.data_dir", "where everything is kept"},
	{"node-name", "NAME", "node.name", "name of this node"},
	{"amqp", "ADDR", "amqp.listen", "address for clients, host:port, or off"},
	{"management", "ADDR", "management.listen", "address of the management API, host:port, or off"},
	{"log-level", "LEVEL", "log.level", "debug, info, warn or error"},
	{"log-format", "FORMAT", "log.format", "text or json"},
}

// unbuilt are flags of the whole design whose parts this release has not; they
// accept the values that ask for nothing, and refuse the others.
var unbuilt = []struct{ flag, accepts, means string }{
	{"metrics", "off", "the metrics listener"},
	{"cluster", "off", "the listener between nodes"},
	{"gossip", "off", "the gossip listener"},
	{"peers", "off", "a cluster of several nodes"},
	{"expect", "1", "a cluster of several nodes"},
}

func parseServerFlags(args []string) (serverFlags, error) {
	var f serverFlags
	fs := flag.NewFlagSet("mayfly server", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // serverUsage says more than flag's text
	fs.StringVar(&f.config, "config", "", "")
	fs.Func("set", "", func(v string) error {
		f.sets = append(f.sets, v)
		return nil
	})
	for _, k := range flagKeys {
		fs.Func(k.flag, "", func(v string) error {
			f.sets = append(f.sets, k.key+"="+v)
			return nil
		})
	}
	for _, u := range unbuilt {
		fs.Func(u.flag, "", func(v string) error {
			if v != u.accepts && v != "off" {
				return fmt.Errorf("%s is not built yet, only %s is accepted", u.means, u.accepts)
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

func serverUsage(w io.Writer) {
	fmt.Fprint(w, "Usage: mayfly server [flags]\n\nRuns one node. Without flags it is a complete broker: AMQP on port 5672, the\nmanagement API on port 15672, user guest with password guest from this machine.\n\n")
	line := func(flag, help string) { fmt.Fprintf(w, "  %-25s %s\n", flag, help) }
	for _, k := range flagKeys {
		line("--"+k.flag+" "+k.value, k.help)
	}
	line("--config FILE", "configuration file (TOML)")
	line("--set section.key=value", "any setting; may be repeated; mayfly config print lists them")
	fmt.Fprint(w, "\nAccepted for scripts that name them, but not built yet:\n\n")
	for _, u := range unbuilt {
		line("--"+u.flag+" "+u.accepts, u.means)
	}
	fmt.Fprint(w, "\nSIGTERM or Ctrl-C stops it in order. DIR/endpoints.json tells the addresses it really\nlistens on (port 0 takes a free one).\n")
}

func runServer(args []string, out, errs io.Writer) int {
	f, err := parseServerFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		serverUsage(out)
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(errs, "mayfly server: %v\nmayfly server --help tells the flags.\n", err)
		return exitUsage
	}
	c, err := loadConfig(f.config, f.sets)
	if err != nil {
		fmt.Fprintln(errs, "mayfly server:", err)
		return exitConfig
	}
	if err := serve(c, newLogger(c, errs), errs); err != nil {
		fmt.Fprintln(errs, "mayfly server:", err)
		return exitCode(err)
	}
	return exitOK
}

func exitCode(err error) int {
	var broken *storageError
	var wrong *configError
	switch {
	case errors.As(err, &broken):
		return exitIO
	case errors.As(err, &wrong):
		return exitConfig
	}
	return exitSoftware
}

func newLogger(c *config, w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
		level = slog.LevelInfo // cannot happen: the setting takes known words only
	}
	o := &slog.HandlerOptions{Level: level}
	if c.logFormat == "text" || c.logFormat == "" && isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}
