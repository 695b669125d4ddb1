package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"mayfly/internal/bench"
)

// benchRun runs `mayfly bench` against a server, and answers its JSON line.
func benchRun(t *testing.T, p *process, scenario string, args ...string) bench.Report {
	t.Helper()
	var out, errs strings.Builder
	line := append([]string{"bench", scenario, "--url", p.url(), "--pids", strconv.Itoa(p.cmd.Process.Pid)}, args...)
	if code := run(line, &out, &errs); code != exitOK {
		t.Fatalf("%v: code %d: %s\n%s", line, code, errs.String(), p.logText())
	}
	var r bench.Report
	d := json.NewDecoder(strings.NewReader(out.String()))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Fatalf("%v: %v, not one line of JSON: %s", line, err, out.String())
	}
	if r.Scenario != scenario || !strings.HasPrefix(r.Broker, "Mayfly ") || r.Seconds <= 0 || r.RSSMiB <= 0 {
		t.Errorf("%v: incomplete: %s", line, out.String())
	}
	return r
}

// Every scenario with small counts against a server.
func TestBenchScenarios(t *testing.T) {
	p := startProcess(t, t.TempDir())
	t.Run("publish", func(t *testing.T) {
		r := benchRun(t, p, "publish", "--count", "301", "--queues", "3", "--size", "100", "--window", "10")
		if r.Messages != 300 || r.Queues != 3 || r.Size != 100 || r.PerSecond <= 0 || r.WrittenPerMessage <= 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("pubcon", func(t *testing.T) {
		for _, prefetch := range []string{"0", "1", "20"} {
			if r := benchRun(t, p, "pubcon", "--count", "250", "--prefetch", prefetch, "--type", "quorum"); r.Messages != 250 {
				t.Errorf("prefetch %s: %+v", prefetch, r)
			}
		}
	})
	t.Run("latency", func(t *testing.T) {
		r := benchRun(t, p, "latency", "--rate", "500", "--duration", "200ms")
		if r.Messages != 100 || r.ConfirmMs == nil || r.EndToEnd == nil || r.EndToEnd.P50 <= 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("backlog", func(t *testing.T) {
		r := benchRun(t, p, "backlog", "--count", "500")
		if r.FillPerSecond <= 0 || r.DrainPerSecond <= 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("manyqueues", func(t *testing.T) {
		r := benchRun(t, p, "manyqueues", "--count", "20", "--duration", "50ms")
		if r.Queues != 20 || r.DeclarePerSecond <= 0 || r.TouchMs == nil || r.Messages != 0 {
			t.Errorf("%+v", r)
		}
	})
	// Lateness is not below zero: nothing dies before its time (T-16).
	for _, scenario := range []string{"burst", "decreasing"} {
		t.Run(scenario, func(t *testing.T) {
			r := benchRun(t, p, scenario, "--count", "200", "--size", "16", "--duration", "300ms")
			if r.Messages != 200 || r.LateMs == nil || r.LateMs.P50 <= 0 {
				t.Errorf("%+v, late %+v", r, r.LateMs)
			}
			t.Logf("late %+v ms", *r.LateMs)
		})
	}
	assertNoQueues(t, p)
}

// assertNoQueues checks that the scenarios cleaned up.
func assertNoQueues(t *testing.T, p *process) {
	t.Helper()
	for _, q := range []string{"mayfly-bench-0", "mayfly-bench-1", "mayfly-bench-19", "mayfly-bench-dead"} {
		c := p.connect()
		ch, err := c.Channel()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ch.QueueDeclarePassive(q, true, false, false, false, nil); err == nil {
			t.Errorf("%s was left behind", q)
		}
		c.Close()
	}
}

// A broker that goes away ends a run with an error; it does not hang.
func TestBenchBrokerGone(t *testing.T) {
	p := startProcess(t, t.TempDir())
	ended := make(chan int, 1)
	var out, errs strings.Builder
	url := p.url()
	go func() {
		ended <- run([]string{"bench", "latency", "--rate", "100", "--duration", "1h", "--url", url}, &out, &errs)
	}()
	p.waitQueue("mayfly-bench-0")
	p.kill()
	if code := <-ended; code != exitSoftware || !strings.Contains(errs.String(), "mayfly bench latency:") {
		t.Errorf("code %d, %s", code, errs.String())
	}
}

// waitQueue waits until messages are taken from a queue, that is, until it has a
// consumer.
func (p *process) waitQueue(name string) {
	p.t.Helper()
	c := p.connect()
	defer c.Close()
	for {
		ch, err := c.Channel()
		if err != nil {
			p.t.Fatal(err)
		}
		if q, err := ch.QueueDeclarePassive(name, true, false, false, false, nil); err == nil && q.Consumers > 0 {
			return
		}
	}
}
