package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// runManyQueues declares Count durable queues, lets them idle for Duration, then
// publishes one confirmed message to each of a sample.
func runManyQueues(ctx context.Context, o Options) (*Report, error) {
	o.Queues = o.Count
	l, err := dial(o, 0)
	if err != nil {
		return nil, err
	}
	defer l.close()
	if err := deleteAll(ctx, o); err != nil { // of a run that kept them
		return nil, err
	}
	r := &Report{Scenario: "manyqueues", Broker: l.product()}
	before, err := usageOf(o.Pids)
	if err != nil {
		return nil, err
	}
	err = measured(o, r, o.Count, func() error {
		return eachQueue(ctx, o, func(l *link, name string) error { return l.declare(o, name) })
	})
	if err != nil {
		return nil, err
	}
	r.DeclarePerSecond, r.DeclareCPUMs = r.PerSecond, r.CPUPerMillion/1000
	r.PerSecond, r.CPUPerMillion, r.LoaderPerMillion, r.WrittenPerMessage, r.Messages = 0, 0, 0, 0, 0
	if err := idle(ctx, o, r, before); err != nil {
		return nil, err
	}
	if r.TouchMs, err = touch(ctx, o, l); err != nil {
		return nil, err
	}
	return r, clean(ctx, o)
}

func idle(ctx context.Context, o Options, r *Report, before usage) error {
	start, err := usageOf(o.Pids)
	if err != nil {
		return err
	}
	if err := sleepUntil(ctx, time.Now().Add(o.Duration)); err != nil {
		return err
	}
	end, err := usageOf(o.Pids)
	if err != nil {
		return err
	}
	if len(o.Pids) > 0 && o.Duration > 0 {
		r.IdleCPUPercent = 100 * (end.cpu - start.cpu).Seconds() / o.Duration.Seconds()
		r.KiBPerQueue = float64(end.rss-before.rss) / 1024 / float64(o.Count) / float64(len(o.Pids))
	}
	return nil
}

// touch publishes to a sample of the sleeping queues, one at a time.
func touch(ctx context.Context, o Options, l *link) (*Percentiles, error) {
	if err := l.ch.Confirm(false); err != nil {
		return nil, fmt.Errorf("confirm.select: %w", err)
	}
	var took []time.Duration
	step := max(1, o.Count/o.Sample)
	for i := 0; i < o.Count && len(took) < o.Sample; i += step {
		start := time.Now()
		c, err := l.ch.PublishWithDeferredConfirmWithContext(ctx, "", queueName(i), false, false, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: make([]byte, o.Size)})
		if err != nil {
			return nil, fmt.Errorf("publish: %w", err)
		}
		if ok, err := c.WaitContext(ctx); err != nil || !ok {
			return nil, errors.Join(fmt.Errorf("publish to %s was not confirmed", queueName(i)), err)
		}
		took = append(took, time.Since(start))
	}
	return percentilesOf(took), nil
}
