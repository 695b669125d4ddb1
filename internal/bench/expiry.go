package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const deadQueue = "mayfly-bench-dead"

// step is the distance between two messages' deadlines in runDecreasing.
const step = time.Millisecond

// runBurst has all messages expire at one moment, Duration after the start.
func runBurst(ctx context.Context, o Options) (*Report, error) {
	return expiry(ctx, o, "burst", func(start time.Time) func(int, time.Time) time.Duration {
		due := start.Add(o.Duration)
		return func(_ int, now time.Time) time.Duration { return roundUp(due.Sub(now)) }
	})
}

// runDecreasing gives each message an earlier deadline than those before it: the
// last one published dies first, Duration after the start. A broker that looks at
// the head of a queue only is late with all of them.
func runDecreasing(ctx context.Context, o Options) (*Report, error) {
	return expiry(ctx, o, "decreasing", func(start time.Time) func(int, time.Time) time.Duration {
		return func(i int, now time.Time) time.Duration {
			due := start.Add(o.Duration + time.Duration(o.Count-1-i)*step)
			return roundUp(due.Sub(now))
		}
	})
}

// roundUp makes a whole number of milliseconds, which is what a message can say;
// a moment that has passed is due at once.
func roundUp(d time.Duration) time.Duration {
	return max(0, (d + time.Millisecond - 1).Truncate(time.Millisecond))
}

// expiry publishes Count messages with lifetimes to a queue that nobody reads, and
// measures by how much each reaches the queue for the dead behind its moment.
func expiry(ctx context.Context, o Options, name string, lifetimes func(start time.Time) func(int, time.Time) time.Duration) (*Report, error) {
	o.Queues = 1
	pl, cl, err := dialPair(o)
	if err != nil {
		return nil, err
	}
	defer pl.close()
	defer cl.close()
	if err := declareDying(pl, o); err != nil {
		return nil, err
	}
	p := &publisher{link: pl, queue: queueName(0), count: o.Count, window: o.Window, lifetime: lifetimes(time.Now())}
	c := &consumer{link: cl, queue: deadQueue, count: o.Count, prefetch: o.Prefetch, ackEvery: ackStep(o.Prefetch), timed: true}
	r := &Report{Scenario: name, Broker: pl.product()}
	err = measured(o, r, o.Count, func() error {
		return together(ctx, func(ctx context.Context) error { return p.run(ctx, o) }, c.run)
	})
	if err != nil {
		return nil, err
	}
	r.PerSecond, r.LateMs = 0, percentilesOf(c.delays)
	if o.Keep {
		return r, nil
	}
	return r, errors.Join(drop(pl, deadQueue), drop(pl, queueName(0)))
}

// declareDying makes the queue that messages die in, and the one that takes them.
func declareDying(l *link, o Options) error {
	for _, q := range []string{queueName(0), deadQueue} {
		if err := drop(l, q); err != nil {
			return err
		}
	}
	if err := l.declare(o, deadQueue); err != nil {
		return err
	}
	args := amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": deadQueue}
	if o.Type != "" {
		args["x-queue-type"] = o.Type
	}
	if _, err := l.ch.QueueDeclare(queueName(0), !o.Transient, false, false, false, args); err != nil {
		return fmt.Errorf("declare %s: %w", queueName(0), err)
	}
	return nil
}

func drop(l *link, queue string) error {
	if _, err := l.ch.QueueDelete(queue, false, false, false); err != nil {
		return fmt.Errorf("delete %s: %w", queue, err)
	}
	return nil
}
