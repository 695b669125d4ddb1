package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// ledger is what clients know of every message, by its id.
type ledger struct {
	mu        sync.Mutex
	next      int
	confirmed map[string]bool
	acked     map[string]bool // ack sent, outcome unknown
	settled   map[string]bool // ack known applied: channel.close-ok came after it (S8)
	failures  []string
	more      sync.Cond // the number of confirms grew
}

func newLedger() *ledger {
	l := &ledger{confirmed: map[string]bool{}, acked: map[string]bool{}, settled: map[string]bool{}}
	l.more.L = &l.mu
	return l
}

// waitConfirmed waits for n confirms more than there are.
func (l *ledger) waitConfirmed(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for want := len(l.confirmed) + n; len(l.confirmed) < want && len(l.failures) == 0; {
		l.more.Wait()
	}
}

func (l *ledger) failf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, fmt.Sprintf(format, args...))
	l.more.Signal()
}

func (l *ledger) id() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	return strconv.Itoa(l.next)
}

var killQueues = []string{"kills-a", "kills-b"}

// TestKill9UnderLoad kills the server at random moments under publish and consume
// load (S1, S2, S8): every confirmed message is there after the restart, none is
// there twice, none comes back after its ack was known applied. MAYFLY_KILLS sets
// how often (200 for `make kills`), MAYFLY_SEED repeats a run.
func TestKill9UnderLoad(t *testing.T) {
	kills, seed := 8, uint64(time.Now().UnixNano())
	if n, err := strconv.Atoi(os.Getenv("MAYFLY_KILLS")); err == nil {
		kills = n
	}
	if n, err := strconv.ParseUint(os.Getenv("MAYFLY_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("MAYFLY_KILLS=%d MAYFLY_SEED=%d", kills, seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	l := newLedger()
	// Small segments: kills hit rolls and reclaims too.
	args := []string{"--set", "storage.segment_size=1MiB"}
	for round := range kills {
		p := startProcess(t, dir, args...)
		declareKillQueues(p)
		var clients sync.WaitGroup
		for _, q := range killQueues {
			size := 1 << rng.IntN(15)
			clients.Go(func() { publishUntilLost(p, l, q, size) })
			take := 1 + rng.IntN(400)
			clients.Go(func() { consumeUntilLost(p, l, q, take) })
		}
		l.waitConfirmed(1 + rng.IntN(4000)) // the moment of the kill is given in work done
		p.kill()
		clients.Wait()
		if len(l.failures) > 0 {
			t.Fatalf("round %d: %v", round, l.failures)
		}
	}
	p := startProcess(t, dir, args...)
	verifyDrain(t, p, l)
	p.stop()
	t.Logf("%d published, %d confirmed, %d acks known applied", l.next, len(l.confirmed), len(l.settled))
	if len(l.confirmed) < kills || len(l.settled) == 0 {
		t.Fatalf("run proved nothing: %d confirmed, %d settled", len(l.confirmed), len(l.settled))
	}
}

func declareKillQueues(p *process) {
	c := p.connect()
	defer c.Close()
	ch, err := c.Channel()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, q := range killQueues {
		if _, err := ch.QueueDeclare(q, true, false, false, false, nil); err != nil {
			p.t.Fatal(err)
		}
	}
}

// publishUntilLost publishes with confirms, 100 at a time in flight, until the
// connection is lost. What was confirmed goes into the ledger.
func publishUntilLost(p *process, l *ledger, queue string, size int) {
	c, err := amqp.Dial(p.url())
	if err != nil {
		return
	}
	defer c.Close()
	ch, err := c.Channel()
	if err != nil || ch.Confirm(false) != nil {
		return
	}
	acks := ch.NotifyPublish(make(chan amqp.Confirmation, 100))
	flight := make(chan struct{}, 100)
	var ids []string
	var mu sync.Mutex
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		for a := range acks {
			mu.Lock()
			id := ids[a.DeliveryTag-1]
			mu.Unlock()
			if !a.Ack {
				l.failf("message %s was nacked", id)
			}
			l.mu.Lock()
			l.confirmed[id] = true
			l.mu.Unlock()
			l.more.Signal()
			<-flight
		}
	}()
	lost := ch.NotifyClose(make(chan *amqp.Error, 1))
	body := make([]byte, size)
	for {
		select {
		case <-lost:
			<-collected
			return
		case flight <- struct{}{}:
		}
		id := l.id()
		mu.Lock()
		ids = append(ids, id)
		mu.Unlock()
		m := amqp.Publishing{MessageId: id, DeliveryMode: amqp.Persistent, Body: body}
		if err := ch.PublishWithContext(context.Background(), "", queue, false, false, m); err != nil {
			<-collected
			return
		}
	}
}

// consumeUntilLost takes messages in rounds of take, acks them, and closes the
// channel; only then are its acks known applied.
func consumeUntilLost(p *process, l *ledger, queue string, take int) {
	c, err := amqp.Dial(p.url())
	if err != nil {
		return
	}
	defer c.Close()
	for {
		ch, err := c.Channel()
		if err != nil || ch.Qos(50, 0, false) != nil {
			return
		}
		in, err := ch.Consume(queue, "", false, false, false, false, nil)
		if err != nil {
			return
		}
		var mine []string
		for d := range in {
			l.mu.Lock()
			back := l.settled[d.MessageId]
			l.acked[d.MessageId] = true
			l.mu.Unlock()
			if back {
				l.failf("message %s came back after its ack was known applied", d.MessageId)
			}
			if d.Ack(false) != nil {
				break
			}
			mine = append(mine, d.MessageId)
			if len(mine) == take {
				break
			}
		}
		if err := ch.Close(); err != nil || len(mine) < take {
			return
		}
		l.mu.Lock()
		for _, id := range mine {
			l.settled[id] = true
		}
		l.mu.Unlock()
	}
}

// verifyDrain empties the queues and judges the ledger.
func verifyDrain(t *testing.T, p *process, l *ledger) {
	t.Helper()
	c := p.connect()
	defer c.Close()
	ch, err := c.Channel()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, q := range killQueues {
		for {
			d, ok, err := ch.Get(q, true)
			if err != nil {
				t.Fatal(errors.Join(err, errors.New(p.logText())))
			}
			if !ok {
				break
			}
			switch {
			case there[d.MessageId]:
				t.Errorf("message %s is there twice", d.MessageId)
			case l.settled[d.MessageId]:
				t.Errorf("message %s is there after its ack was known applied", d.MessageId)
			}
			there[d.MessageId] = true
		}
	}
	lost := 0
	for id := range l.confirmed {
		if !there[id] && !l.acked[id] {
			lost++
			if lost <= 10 {
				t.Errorf("confirmed message %s is lost", id)
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d confirmed messages lost of %d", lost, len(l.confirmed))
	}
}
