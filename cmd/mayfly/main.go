// Command mayfly is the broker and its tools in one binary.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// version is set by the build (-ldflags "-X main.version=…"); dotted integers,
// because clients parse it (amqp.md, section 2.2).
var version = "0.1.0"

type command struct {
	name, does string
	run        func(args []string, out, errs io.Writer) int
}

var commands = []command{
	{"server", "run one node", runServer},
	{"bench", "load any AMQP 0-9-1 broker and print what it did", runBench},
	{"config", "print or check the configuration", runConfig},
	{"version", "print the version", runVersion},
}

// planned are subcommands that the documentation of a later milestone describes;
// until they exist they are refused, not ignored.
var planned = []string{"dev", "ctl", "healthcheck", "prestop"}

// Exit codes (sysexits; operations.md, section 2.2).
const (
	exitOK       = 0
	exitUsage    = 64 // unknown command or flag
	exitSoftware = 70 // could not start or stop: address taken, directory in use
	exitIO       = 74 // storage failed or is damaged
	exitConfig   = 78 // a setting is wrong
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	if len(args) == 0 {
		usage(errs)
		return exitUsage
	}
	if args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(out)
		return exitOK
	}
	if args[0] == "--version" {
		args[0] = "version"
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.run(args[1:], out, errs)
		}
	}
	for _, p := range planned {
		if p == args[0] {
			fmt.Fprintf(errs, "mayfly: %s is not built yet; see CHANGELOG.md for what this release has\n", p)
			return exitUsage
		}
	}
	fmt.Fprintf(errs, "mayfly: unknown command %q\n\n", args[0])
	usage(errs)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Mayfly is a message broker that speaks AMQP 0-9-1 and keeps time.\n\nUsage: mayfly COMMAND [flags]\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.does)
	}
	fmt.Fprint(w, "\nmayfly COMMAND --help tells the flags. Start with: mayfly server\n")
}

func runVersion(_ []string, out, _ io.Writer) int {
	fmt.Fprintf(out, "mayfly %s", version)
	if info, ok := debug.ReadBuildInfo(); ok {
		fmt.Fprintf(out, " %s", info.GoVersion)
	}
	fmt.Fprintln(out)
	return exitOK
}
