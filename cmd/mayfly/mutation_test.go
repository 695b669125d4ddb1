package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	replayers     = 24   // connections at a time
	mutationRound = 2000 // mutants between two clean-ups

	// leakBound is what the server may hold more after the run than after the
	// warm-up, which is a tenth of the run and at least warmUp mutants. One that
	// kept a connection, a channel or a queue in memory for each mutant would be
	// past it within the default run.
	leakBound = 24 << 20
	warmUp    = 1000
)

// TestMutations replays random mutations of recorded sessions against a server
// (X2, X3, X4, F4): it stays alive, serves a healthy session throughout, logs no
// fault, ends every connection, and holds no more memory, sockets and goroutines
// afterwards than before. MAYFLY_MUTATIONS sets how many (100000 for the claim),
// MAYFLY_SEED repeats a run.
func TestMutations(t *testing.T) {
	n, seed := uint64(3000), uint64(time.Now().UnixNano())
	if v, err := strconv.ParseUint(os.Getenv("MAYFLY_MUTATIONS"), 10, 64); err == nil {
		n = v
	}
	if v, err := strconv.ParseUint(os.Getenv("MAYFLY_SEED"), 10, 64); err == nil {
		seed = v
	}
	t.Logf("MAYFLY_MUTATIONS=%d MAYFLY_SEED=%d", n, seed)
	t.Setenv("GOGC", "25") // what is resident follows what is held
	dir := t.TempDir()
	args := []string{"--management", "off", "--log-format", "json", "--set", "storage.cache=4MiB", "--set", "storage.segment_size=4MiB"}
	p := startProcess(t, dir, args...)
	r := &mutationRun{t: t, p: p, seed: seed, queues: map[string]bool{}, exchanges: map[string]bool{}, codes: map[uint16]int{}}
	for _, s := range scripts {
		r.takes = append(r.takes, record(t, p.ends["amqp"].(string), s))
	}
	h := startHealthy(p)
	sockets := p.sockets()
	warm := max(n/10, warmUp)
	r.play(0, warm, sockets)
	plateau := p.settle()
	r.play(warm, warm+n, sockets)
	rest := p.settle()
	h.stop()
	t.Logf("%d mutants in %v, %d octets sent, answers by close code: %v", r.done.Load(), r.took.Round(time.Millisecond), r.octets.Load(), r.codes)
	t.Logf("resident: %d MiB after the warm-up, %d MiB after the run, %d MiB at most", plateau>>20, rest>>20, p.status("VmHWM")>>20)
	t.Logf("healthy session: %d round trips, median %v, slowest %v", len(h.times), h.median(), slices.Max(h.times))
	if rest > plateau+leakBound {
		t.Errorf("resident memory grew from %d to %d octets over %d mutants, the bound is %d", plateau, rest, n, leakBound)
	}
	p.checkLog()
	p.checkGoroutines()
	// What the mutants left in the log must not stop the next start.
	p = startProcess(t, dir, args...)
	h = startHealthy(p)
	h.stop()
	p.checkLog()
	p.stop()
	if code := p.wait(); code != 0 {
		t.Errorf("server stopped with code %d:\n%s", code, p.logText())
	}
}

// mutationRun is what a run has done so far.
type mutationRun struct {
	t      *testing.T
	p      *process
	seed   uint64
	takes  []take
	took   time.Duration
	octets atomic.Int64
	done   atomic.Int64

	mu        sync.Mutex
	faults    int
	codes     map[uint16]int
	queues    map[string]bool // that may exist
	exchanges map[string]bool
}

// play replays the mutants from..to and removes, now and then, what they made.
func (r *mutationRun) play(from, to uint64, sockets int) {
	r.t.Helper()
	begun := time.Now()
	defer func() { r.took += time.Since(begun) }()
	for ; from < to; from += mutationRound {
		var next atomic.Uint64
		next.Store(from)
		end := min(from+mutationRound, to)
		var wg sync.WaitGroup
		for number := range replayers {
			wg.Go(func() {
				for n := next.Add(1) - 1; n < end && r.p.alive(); n = next.Add(1) - 1 {
					r.one(n, number)
				}
			})
		}
		wg.Wait()
		r.p.awaitSockets(sockets)
		r.cleanUp()
		r.p.checkLog()
		if r.t.Failed() {
			r.t.FailNow()
		}
	}
}

// one replays mutant n. Some replayers share their names, for the collisions.
func (r *mutationRun) one(n uint64, number int) {
	m := mutate(r.takes, r.seed, n).named(max(number, replayers/4))
	octets := m.octets()
	said, err := m.replay(r.p.ends["amqp"].(string))
	qs, xs := declared(octets)
	r.octets.Add(int64(len(octets)))
	r.done.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range append(qs, said.queues...) {
		r.queues[q] = true
	}
	for _, x := range xs {
		r.exchanges[x] = true
	}
	r.codes[said.code]++
	if err != nil {
		if r.faults++; r.faults <= 10 {
			r.t.Errorf("mutant %d (%s): %v", n, m.what, err)
		}
	}
}

// cleanUp deletes what the mutants may have made.
func (r *mutationRun) cleanUp() {
	r.t.Helper()
	c := r.p.connect()
	defer c.Close()
	var ch *amqp.Channel
	try := func(name string, remove func() error) {
		var err error
		if ch == nil || ch.IsClosed() {
			if ch, err = c.Channel(); err != nil {
				r.t.Fatal(err)
			}
		}
		if err := remove(); err != nil {
			r.t.Errorf("delete %q: %v", name, err)
		}
	}
	for _, q := range slices.Sorted(maps.Keys(r.queues)) {
		if q != "" {
			try(q, func() error { _, err := ch.QueueDelete(q, false, false, false); return err })
		}
	}
	for _, x := range slices.Sorted(maps.Keys(r.exchanges)) {
		if x != "" && !strings.HasPrefix(x, "amq.") {
			try(x, func() error { return ch.ExchangeDelete(x, false, false) })
		}
	}
	clear(r.queues)
	clear(r.exchanges)
}

// healthy is a client that behaves while others do not.
type healthy struct {
	p     *process
	quit  chan struct{}
	done  chan struct{}
	times []time.Duration
}

// startHealthy begins a session of round trips: publish, confirm, get. It has
// done one when this returns.
func startHealthy(p *process) *healthy {
	p.t.Helper()
	h := &healthy{p: p, quit: make(chan struct{}), done: make(chan struct{})}
	c := p.connect()
	ch, err := c.Channel()
	if err == nil {
		err = ch.Confirm(false)
	}
	var q amqp.Queue
	if err == nil {
		q, err = ch.QueueDeclare("", false, false, true, false, nil)
	}
	if err == nil {
		err = h.trip(ch, q.Name)
	}
	if err != nil {
		p.t.Fatalf("healthy session: %v", err)
	}
	go func() {
		defer close(h.done)
		defer c.Close()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-h.quit:
				return
			case <-tick.C:
			}
			if err := h.trip(ch, q.Name); err != nil {
				p.t.Errorf("healthy session after %d round trips: %v", len(h.times), err)
				return
			}
		}
	}()
	return h
}

func (h *healthy) trip(ch *amqp.Channel, queue string) error {
	begun := time.Now()
	body := strconv.AppendInt(nil, int64(len(h.times)), 10)
	sent, err := ch.PublishWithDeferredConfirm("", queue, false, false, amqp.Publishing{Body: body})
	if err != nil {
		return err
	}
	select {
	case <-sent.Done():
	case <-time.After(10 * time.Second):
		return errors.New("no confirm within 10 s")
	}
	d, ok, err := ch.Get(queue, true)
	if err != nil || !ok || !bytes.Equal(d.Body, body) || !sent.Acked() {
		return fmt.Errorf("got %q, %v, confirmed %v, %w", d.Body, ok, sent.Acked(), err)
	}
	h.times = append(h.times, time.Since(begun))
	return nil
}

// stop ends the session; its times may be read then.
func (h *healthy) stop() {
	close(h.quit)
	<-h.done
}

func (h *healthy) median() time.Duration { return median(h.times) }

func median(times []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(times))
	return s[len(s)/2]
}

func (p *process) alive() bool {
	select {
	case <-p.done:
		p.t.Errorf("the server has ended:\n%s", p.logText())
		return false
	default:
		return true
	}
}

// checkLog fails the test for a line that tells of a fault of the server's own.
func (p *process) checkLog() {
	p.t.Helper()
	for line := range strings.Lines(p.logText()) {
		if strings.Contains(line, "fault of ours") || strings.Contains(line, "panic") || strings.Contains(line, `"level":"ERROR"`) {
			p.t.Fatalf("the server's log: %s", line)
		}
	}
}

// checkGoroutines ends the server with a list of its goroutines: none may wait for
// a connection that is gone. One that is running is on its way out: the socket is
// closed before the last goroutine returns.
func (p *process) checkGoroutines() {
	p.t.Helper()
	before := len(p.logText())
	p.awaitSockets(0)
	// Clean-up goes through the log. Sessions of our own that went through it as
	// well come behind whatever is still under way.
	for range 3 {
		c := p.connect()
		ch, err := c.Channel()
		if err != nil {
			p.t.Fatal(err)
		}
		if _, err := ch.QueueDeclare("", false, true, true, false, nil); err != nil {
			p.t.Fatal(err)
		}
		c.Close()
	}
	p.awaitSockets(0)
	p.end(syscall.SIGQUIT)
	stacks := strings.Split(p.logText()[before:], "\n\ngoroutine ")
	for _, s := range stacks {
		if state, _, _ := strings.Cut(s, "]"); strings.Contains(state, "[runn") {
			continue
		}
		if strings.Contains(s, "amqp.(*conn)") || strings.Contains(s, "amqp.(*channel)") || strings.Contains(s, "amqp.(*writer)") {
			p.t.Errorf("a goroutine is left behind:\n%s", s)
		}
	}
	if len(stacks) < 5 || len(stacks) > 100 {
		p.t.Errorf("%d goroutines without clients:\n%s", len(stacks), p.logText()[before:])
	}
	p.t.Logf("%d goroutines without clients", len(stacks))
}
