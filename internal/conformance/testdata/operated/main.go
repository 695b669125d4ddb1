// Command operated is a node with a keyhole for an operator: it takes changes of
// the catalogue on its standard input, one a line, fields separated by tabs, and
// answers each with a line. Tests use it for what a client sees when somebody
// else deletes a user. Its first line of output is the address it listens on; it
// stops when its input ends.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"mayfly/admin"
	"mayfly/amqp"
	"mayfly/cluster"
	"mayfly/fsm/catalog"
	"mayfly/internal/clock"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: operated data-dir definitions.json")
		os.Exit(64)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "operated:", err)
		os.Exit(1)
	}
}

// run joins a node and a server as cmd/mayfly does.
func run(dir, definitions string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	seed, err := admin.Seed("/", "guest", "guest")
	if err != nil {
		return err
	}
	node, err := cluster.Start(cluster.Options{Name: "operated@localhost", DataDir: dir, Clock: clock.Real, Logger: log, Seed: seed})
	if err != nil {
		return err
	}
	defer node.Stop()
	text, err := os.ReadFile(definitions)
	if err != nil {
		return err
	}
	batch, err := admin.ParseDefinitions(text, admin.ImportOptions{})
	if err != nil {
		return err
	}
	if err := change(node, batch); err != nil {
		return err
	}
	server, err := amqp.New(node, amqp.DefaultOptions(), log)
	if err != nil {
		return err
	}
	node.OnView(func(auth bool) {
		if auth {
			go server.Recheck()
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go server.Serve(l)
	defer server.Shutdown(context.Background())
	fmt.Println(l.Addr())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := obey(node, strings.Split(in.Text(), "\t")); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("ok")
		}
	}
	return nil
}

func obey(node *cluster.Node, words []string) error {
	switch {
	case words[0] == "set_permissions" && len(words) == 6:
		return change(node, catalog.PutPermission{User: words[1], Vhost: words[2], Configure: words[3], Write: words[4], Read: words[5]})
	case words[0] == "delete_user" && len(words) == 2:
		return change(node, catalog.DeleteUser{Name: words[1]})
	case words[0] == "delete_vhost" && len(words) == 2:
		return change(node, catalog.DeleteVhost{Name: words[1]})
	}
	return fmt.Errorf("unknown order %q", words)
}

func change(node *cluster.Node, cmd catalog.Command) error {
	o, err := node.Change(context.Background(), cmd)
	if err != nil {
		return err
	}
	if o.Code != 0 {
		return fmt.Errorf("%d %s", o.Code, o.Text)
	}
	return nil
}
