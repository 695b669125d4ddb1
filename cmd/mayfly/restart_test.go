package main

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// amountOf is a count that the environment may raise for the real measurement.
func amountOf(t *testing.T, name string, usual int) int {
	t.Helper()
	v, ok := os.LookupEnv(name)
	if !ok {
		return usual
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: want a number", name, v)
	}
	return n
}

// memory is what a process holds now and held at most, in MiB.
func (p *process) memory() (now, peak float64) {
	p.t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status")
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseFloat(f[1], 64)
		switch f[0] {
		case "VmRSS:":
			now = kib / 1024
		case "VmHWM:":
			peak = kib / 1024
		}
	}
	return now, peak
}

// serving waits until the queues tell their messages, and answers the least number
// that one of them holds.
func (p *process) serving(queues ...string) int {
	p.t.Helper()
	c := p.connect()
	defer c.Close()
	ch, err := c.Channel()
	if err != nil {
		p.t.Fatal(err)
	}
	least := math.MaxInt
	for _, name := range queues {
		q, err := ch.QueueDeclarePassive(name, true, false, false, false, nil)
		if err != nil {
			p.t.Fatalf("%v\n%s", err, p.logText())
		}
		least = min(least, q.Messages)
	}
	return least
}

// TestRestartWithBacklog fills a queue with 1 KiB messages, and restarts the server
// in order and by kill -9: how long until the queue serves, and in how much memory.
// MAYFLY_BACKLOG=1000000 is the size of the claim: 5 s and 150 MiB.
func TestRestartWithBacklog(t *testing.T) {
	backlog := amountOf(t, "MAYFLY_BACKLOG", 50_000)
	dir := t.TempDir()
	p := startProcess(t, dir)
	r := benchRun(t, p, "backlog", "--count", strconv.Itoa(backlog), "--size", "1024", "--keep")
	now, peak := p.memory()
	t.Logf("filled %d messages at %.0f/s; memory %.0f MiB, at most %.0f MiB", backlog, r.FillPerSecond, now, peak)
	for _, how := range []struct {
		name string
		end  func()
	}{{"in order", func() { p.stop() }}, {"kill -9", func() { p.kill() }}} {
		start := time.Now()
		how.end()
		stopped := time.Since(start)
		start = time.Now()
		p = startProcess(t, dir)
		ready := time.Since(start)
		if n := p.serving("mayfly-bench-0"); n != backlog {
			t.Fatalf("%s: %d messages after the restart, want %d", how.name, n, backlog)
		}
		took := time.Since(start)
		now, peak := p.memory()
		t.Logf("%s: stopped in %v, ready in %v, queue serves after %v; memory %.0f MiB, at most %.0f MiB", how.name, stopped, ready, took, now, peak)
		// A tenth of the fill's time would do; slow machines get as long as the fill.
		if limit := time.Duration(r.Seconds*float64(time.Second)) + 5*time.Second; took > limit {
			t.Errorf("%s: restart took %v, want less than %v", how.name, took, limit)
		}
		if limit := 150 + float64(backlog)*100/(1<<20); now > limit {
			t.Errorf("%s: %.0f MiB after the restart, want less than %.0f", how.name, now, limit)
		}
	}
	fetchOne(t, p, "mayfly-bench-0", 1024)
}

func fetchOne(t *testing.T, p *process, queue string, size int) {
	t.Helper()
	c := p.connect()
	defer c.Close()
	ch, err := c.Channel()
	if err != nil {
		t.Fatal(err)
	}
	d, ok, err := ch.Get(queue, true)
	if err != nil || !ok || len(d.Body) != size {
		t.Errorf("get from %s: %v, %v, %d bytes, want %d", queue, ok, err, len(d.Body), size)
	}
}

// TestRestartWithManyQueues declares durable queues and puts a message into each
// tenth, then restarts. MAYFLY_QUEUES=10000 is the size of the claim: declared
// in 30 s, restarted in 10 s. MAYFLY_USED is how many of them hold a message.
func TestRestartWithManyQueues(t *testing.T) {
	queues := amountOf(t, "MAYFLY_QUEUES", 500)
	used := min(queues, amountOf(t, "MAYFLY_USED", max(1, queues/10)))
	dir := t.TempDir()
	p := startProcess(t, dir)
	r := benchRun(t, p, "manyqueues", "--count", strconv.Itoa(queues), "--duration", "1ms", "--keep", "--sample", strconv.Itoa(used))
	now, peak := p.memory()
	t.Logf("declared %d queues in %.2f s (%.0f/s), first publish to %d of them %+v ms; memory %.0f MiB, at most %.0f MiB", queues, r.Seconds, r.DeclarePerSecond, used, *r.TouchMs, now, peak)
	var sample []string
	for i := range used {
		sample = append(sample, "mayfly-bench-"+strconv.Itoa(i*(queues/used)))
	}
	for _, how := range []struct {
		name string
		end  func()
	}{{"in order", func() { p.stop() }}, {"kill -9", func() { p.kill() }}} {
		start := time.Now()
		how.end()
		stopped := time.Since(start)
		start = time.Now()
		p = startProcess(t, dir)
		ready := time.Since(start)
		if n := p.serving(sample...); n != 1 {
			t.Fatalf("%s: %d messages in one of the queues, want 1", how.name, n)
		}
		took := time.Since(start)
		now, peak := p.memory()
		t.Logf("%s: stopped in %v, ready in %v, all %d used queues serve after %v; memory %.0f MiB, at most %.0f MiB", how.name, stopped, ready, used, took, now, peak)
		if limit := 10*time.Second + time.Duration(used)*10*time.Millisecond; took > limit {
			t.Errorf("%s: restart took %v, want less than %v", how.name, took, limit)
		}
	}
	p.serving("mayfly-bench-" + strconv.Itoa(queues-1))
	logSize(t, dir)
}

// logSize tells what the queues' log takes on the disk.
func logSize(t *testing.T, dir string) {
	t.Helper()
	var size int64
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the data directory holds %d MiB", size>>20)
}
