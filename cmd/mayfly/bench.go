package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mayfly/internal/bench"
)

func runBench(args []string, out, errs io.Writer) int {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		benchUsage(errs)
		return exitUsage
	}
	var scenario *bench.Scenario
	for i := range bench.Scenarios {
		if bench.Scenarios[i].Name == args[0] {
			scenario = &bench.Scenarios[i]
		}
	}
	if scenario == nil {
		fmt.Fprintf(errs, "mayfly bench: unknown scenario %q\n", args[0])
		benchUsage(errs)
		return exitUsage
	}
	o, err := parseBenchFlags(args[1:], errs)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil {
		err = o.Validate()
	}
	if err != nil {
		fmt.Fprintln(errs, "mayfly bench:", err)
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
	fmt.Fprint(w, "Usage: mayfly bench SCENARIO [flags]\n\n")
	for _, s := range bench.Scenarios {
		fmt.Fprintf(w, "  %-11s %s\n", s.Name, s.Does)
	}
	fmt.Fprint(w, "\nmayfly bench SCENARIO --help tells the flags.\n")
}

func parseBenchFlags(args []string, errs io.Writer) (bench.Options, error) {
	var o bench.Options
	var urls, pids string
	fs := flag.NewFlagSet("mayfly bench", flag.ContinueOnError)
	fs.SetOutput(errs)
	fs.StringVar(&urls, "url", "amqp://guest:guest@127.0.0.1:5672/", "broker `URLs`, comma separated")
	fs.StringVar(&pids, "pids", "", "`pids` of the broker's processes, comma separated, for CPU and memory")
	fs.IntVar(&o.Count, "count", 200000, "messages, or queues for manyqueues")
	fs.IntVar(&o.Size, "size", 1024, "bytes of a body")
	fs.IntVar(&o.Window, "window", 3000, "publishes not yet confirmed")
	fs.IntVar(&o.Prefetch, "prefetch", 1000, "unacked deliveries of a consumer")
	fs.IntVar(&o.Queues, "queues", 1, "queues side by side")
	fs.IntVar(&o.Rate, "rate", 500, "messages a second (latency)")
	fs.DurationVar(&o.Duration, "duration", 10*time.Second, "of the paced or idle phase")
	fs.StringVar(&o.Type, "type", "", "x-queue-type of the queues")
	fs.BoolVar(&o.Transient, "transient", false, "transient messages, non-durable queues")
	fs.BoolVar(&o.Keep, "keep", false, "leave queues and messages behind")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	o.URLs = strings.Split(urls, ",")
	for p := range strings.SplitSeq(pids, ",") {
		if p == "" {
			continue
		}
		n, err := strconv.Atoi(p)
		if err != nil {
			return o, fmt.Errorf("--pids %s: %w", pids, err)
		}
		o.Pids = append(o.Pids, n)
	}
	return o, nil
}
