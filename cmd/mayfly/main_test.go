package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Each row is a command line that ends by itself: its exit code, and what it says
// on standard output and standard error.
func TestCommandLines(t *testing.T) {
	dir := isolate(t)
	good := write(t, dir+"/good.toml", "[log]\nlevel = 'warn'\n")
	bad := write(t, dir+"/bad.toml", "[log]\nlevel = 'loud'\n")
	for _, row := range []struct {
		line      string
		code      int
		out, errs string
	}{
		{"", exitUsage, "", "Usage: mayfly COMMAND"},
		{"help", exitOK, "Usage: mayfly COMMAND", ""},
		{"-h", exitOK, "Usage: mayfly COMMAND", ""},
		{"--help", exitOK, "Start with: mayfly server", ""},
		{"version", exitOK, "mayfly " + version, ""},
		{"--version", exitOK, "mayfly " + version, ""},
		{"serve", exitUsage, "", `unknown command "serve"`},
		{"dev", exitUsage, "", "dev is not built yet"},
		{"ctl list_queues", exitUsage, "", "ctl is not built yet"},
		{"healthcheck", exitUsage, "", "not built yet"},
		{"prestop", exitUsage, "", "not built yet"},

		{"server --help", exitOK, "Usage: mayfly server", ""},
		{"server --nope", exitUsage, "", "-nope"},
		{"server now", exitUsage, "", `unexpected argument "now"`},
		{"server --management 15672", exitConfig, "", "want host:port"},
		{"server --metrics :15692", exitUsage, "", "the metrics listener is not built yet, only off"},
		{"server --cluster :25672", exitUsage, "", "the listener between nodes is not built yet"},
		{"server --gossip :25673", exitUsage, "", "the gossip listener is not built yet"},
		{"server --peers a:25672,b:25672", exitUsage, "", "a cluster of several nodes is not built yet"},
		{"server --expect 3", exitUsage, "", "a cluster of several nodes is not built yet, only 1"},
		{"server --management off --metrics off --cluster off --gossip off --peers off --expect 1 --log-level loud", exitConfig, "", "log.level"},
		{"server --set amqp.lisen=:1", exitConfig, "", `the nearest is "amqp.listen"`},
		{"server --set amqp.listen", exitConfig, "", "want section.key=value"},
		{"server --config gone.toml", exitConfig, "", "gone.toml"},
		{"server --amqp 5672", exitConfig, "", "want host:port"},

		{"config", exitUsage, "", "mayfly config print"},
		{"config --help", exitOK, "mayfly config print", ""},
		{"config show", exitUsage, "", `unknown verb "show"`},
		{"config print --help", exitOK, "mayfly config print", ""},
		{"config print", exitOK, "amqp.listen = ':5672'", ""},
		{"config print " + good, exitUsage, "", "--config"},
		{"config print --set log.levl=info", exitConfig, "", `"log.level"`},
		{"config print --config " + bad, exitOK, "log.level = 'loud'", ""},
		{"config validate " + good, exitOK, "ok", ""},
		{"config validate " + bad, exitConfig, "", "want one of debug, info, warn, error"},
		{"config validate gone.toml", exitConfig, "", "gone.toml"},
		{"config validate --help", exitOK, "mayfly config validate", ""},
		{"config validate", exitUsage, "", "mayfly config validate"},

		{"bench", exitUsage, "", "Usage: mayfly bench SCENARIO"},
		{"bench --help", exitOK, "manyqueues", ""},
		{"bench help", exitOK, "manyqueues", ""},
		{"bench race", exitUsage, "", `unknown scenario "race"`},
		{"bench latency --help", exitOK, "--rate N", ""},
		{"bench publish --count none", exitUsage, "", "-count"},
		{"bench publish --count 0", exitUsage, "", "at least 1"},
		{"bench publish --size 7", exitUsage, "", "size is from 8"},
		{"bench publish --url ,", exitUsage, "", "no broker URL"},
		{"bench publish --pids 1,x", exitUsage, "", "--pids 1,x"},
		{"bench publish --pids -1", exitUsage, "", "--pids -1"},
		{"bench publish soon", exitUsage, "", `unexpected argument "soon"`},
		{"bench publish --url amqp://127.0.0.1:1/", exitSoftware, "", "connect"},
	} {
		var out, errs strings.Builder
		code := run(strings.Fields(row.line), &out, &errs)
		if code != row.code || !strings.Contains(out.String(), row.out) || !strings.Contains(errs.String(), row.errs) {
			t.Errorf("mayfly %s: code %d, want %d\nout: %s\nerr: %s\nwant %q, %q", row.line, code, row.code, out.String(), errs.String(), row.out, row.errs)
		}
		if row.out == "" && out.Len() > 0 || row.errs == "" && errs.Len() > 0 {
			t.Errorf("mayfly %s says more than it should:\nout: %s\nerr: %s", row.line, out.String(), errs.String())
		}
	}
}

// A scenario's help names the flags it uses and no other.
func TestBenchHelpIsOfTheScenario(t *testing.T) {
	var out, errs strings.Builder
	run([]string{"bench", "publish", "--help"}, &out, &errs)
	for flag, want := range map[string]bool{"--count": true, "--url": true, "--rate": false, "--prefetch": false} {
		if got := strings.Contains(out.String(), flag); got != want {
			t.Errorf("help of publish names %s: %v, want %v\n%s", flag, got, want, out.String())
		}
	}
}

func TestExitCodes(t *testing.T) {
	broken := fmt.Errorf("serve: %w", &storageError{errors.New("no space left")})
	if got := exitCode(broken); got != exitIO {
		t.Errorf("storage failed: code %d, want %d", got, exitIO)
	}
	if got := exitCode(errors.New("address in use")); got != exitSoftware {
		t.Errorf("other: code %d, want %d", got, exitSoftware)
	}
}

func TestClientURL(t *testing.T) {
	for _, row := range []struct{ listen, user, pass, vhost, want string }{
		{"127.0.0.1:5672", "guest", "guest", "/", "amqp://guest:guest@127.0.0.1:5672/"},
		{"[::]:5672", "guest", "guest", "/", "amqp://guest:guest@localhost:5672/"},
		{"0.0.0.0:7", "guest", "guest", "/", "amqp://guest:guest@localhost:7/"},
		{"[::1]:7", "guest", "guest", "/", "amqp://guest:guest@[::1]:7/"},
		{"127.0.0.1:7", "me", "s3cret", "a/b", "amqp://me:PASSWORD@127.0.0.1:7/a%2Fb"},
	} {
		if got := clientURL(row.listen, row.user, row.pass, row.vhost); got != row.want {
			t.Errorf("%s: got %s, want %s", row.listen, got, row.want)
		}
	}
}
