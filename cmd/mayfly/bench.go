package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mayfly/internal/bench"
)

func runBench(args []string, out, errs io.Writer) int {
	if len(args) == 0 {
		benchUsage(errs)
		return exitUsage
	}
	if args[0] == "help" || wantsHelp(args[0]) {
		benchUsage(out)
		return exitOK
	}
	scenario := bench.Find(args[0])
	if scenario == nil {
		fmt.Fprintf(errs, "mayfly bench: unknown scenario %q\n\n", args[0])
		benchUsage(errs)
		return exitUsage
	}
	o, err := parseBenchFlags(args[1:])
	if errors.Is(err, flag.ErrHelp) {
		scenarioUsage(out, scenario)
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(errs, "mayfly bench %s: %v\nmayfly bench %s --help tells the flags.\n", scenario.Name, err, scenario.Name)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	r, err := scenario.Run(ctx, o)
	if err != nil {
		fmt.Fprintf(errs, "mayfly bench %s: %v\n", scenario.Name, err)
		return exitSoftware
	}
	if err := json.NewEncoder(out).Encode(r); err != nil {
		return exitIO
	}
	return exitOK
}

func benchUsage(w io.Writer) {
	fmt.Fprint(w, "Usage: mayfly bench SCENARIO [flags]\n\nLoads an AMQP 0-9-1 broker, any broker, and prints one line of JSON with rates,\nlatencies and, with --pids, what the broker's processes used.\n\n")
	for _, s := range bench.Scenarios {
		fmt.Fprintf(w, "  %-11s %s\n", s.Name, s.Does)
	}
	fmt.Fprint(w, `
It makes and deletes queues named mayfly-bench-*. Try:

  mayfly bench publish --url amqp://guest:guest@127.0.0.1:5672/ --pids $(pidof mayfly)

mayfly bench SCENARIO --help tells the flags.
`)
}

// scenarioUsage prints the flags that make a difference to the scenario.
func scenarioUsage(w io.Writer, s *bench.Scenario) {
	fmt.Fprintf(w, "Usage: mayfly bench %s [flags]\n\n%s.\n\n", s.Name, strings.ToUpper(s.Does[:1])+s.Does[1:])
	fs, _ := benchFlags()
	fs.VisitAll(func(f *flag.Flag) {
		if !slices.Contains(s.Uses, f.Name) && !slices.Contains(everyBench, f.Name) {
			return
		}
		kind, help := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" {
			help += " (" + f.DefValue + ")"
		}
		fmt.Fprintf(w, "  %-16s %s\n", strings.TrimSpace("--"+f.Name+" "+benchValues[kind]), help)
	})
}

// benchValues says how the help names a value of each kind of flag.
var benchValues = map[string]string{"int": "N", "string": "TEXT", "duration": "TIME"}

// everyBench names the flags that all scenarios use.
var everyBench = []string{"url", "pids", "type", "transient"}

// benchText are the flags that need more than flag's own parsing.
type benchText struct {
	options    bench.Options
	urls, pids string
}

func benchFlags() (*flag.FlagSet, *benchText) {
	b := &benchText{}
	o := &b.options
	fs := flag.NewFlagSet("mayfly bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // scenarioUsage says what matters
	fs.StringVar(&b.urls, "url", "amqp://guest:guest@127.0.0.1:5672/", "URLs of the broker's nodes, commas between; clients are spread over them")
	fs.StringVar(&b.pids, "pids", "", "process numbers of the broker's processes on this machine, commas between: tells their CPU time, memory and bytes written")
	fs.IntVar(&o.Count, "count", 200000, "messages in all, or queues for manyqueues")
	fs.IntVar(&o.Size, "size", 1024, "bytes of a body")
	fs.IntVar(&o.Window, "window", 3000, "publishes not yet confirmed, over all queues")
	fs.IntVar(&o.Prefetch, "prefetch", 1000, "deliveries not yet acknowledged of a consumer; 0 = no limit")
	fs.IntVar(&o.Queues, "queues", 1, "queues side by side, one publisher each and one consumer if there are any")
	fs.IntVar(&o.Sample, "sample", 500, "queues that get a message, one after the other")
	fs.IntVar(&o.Rate, "rate", 500, "messages a second")
	fs.DurationVar(&o.Duration, "duration", 10*time.Second, "of the measured phase, or until the first message expires")
	fs.StringVar(&o.Type, "type", "", "x-queue-type of the queues; the broker's default when empty")
	fs.BoolVar(&o.Transient, "transient", false, "transient messages in queues that are not durable")
	fs.BoolVar(&o.Keep, "keep", false, "leave queues and messages behind")
	return fs, b
}

func parseBenchFlags(args []string) (bench.Options, error) {
	fs, b := benchFlags()
	if err := fs.Parse(args); err != nil {
		return b.options, err
	}
	if fs.NArg() > 0 {
		return b.options, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	o := b.options
	for u := range strings.SplitSeq(b.urls, ",") {
		if u != "" {
			o.URLs = append(o.URLs, u)
		}
	}
	for p := range strings.SplitSeq(b.pids, ",") {
		if p == "" {
			continue
		}
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 {
			return o, fmt.Errorf("--pids %s: want process numbers with commas between", b.pids)
		}
		o.Pids = append(o.Pids, n)
	}
	return o, o.Validate()
}
