package bench

import (
	"context"
	"time"
)

// ackEvery is how many deliveries one multiple ack covers where throughput is
// measured: what a consumer that cares for speed does.
const ackEvery = 50

// ackStep is ackEvery, or less where a small prefetch would run dry before.
func ackStep(prefetch int) int {
	if prefetch == 0 {
		return ackEvery // unlimited
	}
	return min(ackEvery, max(1, prefetch/2))
}

func runPublish(ctx context.Context, o Options) (*Report, error) {
	return throughput(ctx, o, "publish", false)
}

func runPubcon(ctx context.Context, o Options) (*Report, error) {
	return throughput(ctx, o, "pubcon", true)
}

// throughput publishes Count messages over Queues queues, one connection each,
// and consumes them on as many others if wanted.
func throughput(ctx context.Context, o Options, name string, consume bool) (*Report, error) {
	product, err := fresh(ctx, o)
	if err != nil {
		return nil, err
	}
	r := &Report{Scenario: name, Broker: product}
	each := max(1, o.Count/o.Queues)
	var work []func(context.Context) error
	for i := range o.Queues {
		l, err := dial(o, i)
		if err != nil {
			return nil, err
		}
		defer l.close()
		p := &publisher{link: l, queue: queueName(i), count: each, window: max(1, o.Window/o.Queues)}
		work = append(work, func(ctx context.Context) error { return p.run(ctx, o) })
		if !consume {
			continue
		}
		cl, err := dial(o, i+1)
		if err != nil {
			return nil, err
		}
		defer cl.close()
		c := &consumer{link: cl, queue: queueName(i), count: each, prefetch: o.Prefetch, ackEvery: ackStep(o.Prefetch)}
		work = append(work, c.run)
	}
	if err := measured(o, r, each*o.Queues, func() error { return together(ctx, work...) }); err != nil {
		return nil, err
	}
	return r, clean(ctx, o)
}

// runLatency publishes at a fixed rate to one queue with one consumer that acks
// each message.
func runLatency(ctx context.Context, o Options) (*Report, error) {
	o.Queues = 1
	product, err := fresh(ctx, o)
	if err != nil {
		return nil, err
	}
	pl, cl, err := dialPair(o)
	if err != nil {
		return nil, err
	}
	defer pl.close()
	defer cl.close()
	count := max(1, int(o.Duration.Seconds()*float64(o.Rate)))
	p := &publisher{link: pl, queue: queueName(0), count: count, window: o.Window, interval: time.Second / time.Duration(o.Rate), sent: make([]time.Time, count)}
	c := &consumer{link: cl, queue: queueName(0), count: count, prefetch: o.Prefetch, ackEvery: 1, timed: true}
	r := &Report{Scenario: "latency", Broker: product}
	err = measured(o, r, count, func() error {
		return together(ctx, func(ctx context.Context) error { return p.run(ctx, o) }, c.run)
	})
	if err != nil {
		return nil, err
	}
	r.ConfirmMs, r.EndToEnd = percentilesOf(p.confirms), percentilesOf(c.delays)
	return r, clean(ctx, o)
}

// runBacklog fills one queue, notes what the broker holds, and drains it.
func runBacklog(ctx context.Context, o Options) (*Report, error) {
	o.Queues = 1
	product, err := fresh(ctx, o)
	if err != nil {
		return nil, err
	}
	pl, err := dial(o, 0)
	if err != nil {
		return nil, err
	}
	defer pl.close()
	r := &Report{Scenario: "backlog", Broker: product}
	p := &publisher{link: pl, queue: queueName(0), count: o.Count, window: o.Window}
	if err := measured(o, r, o.Count, func() error { return p.run(ctx, o) }); err != nil {
		return nil, err
	}
	r.FillPerSecond = r.PerSecond
	if o.Keep {
		return r, nil
	}
	cl, err := dial(o, 1)
	if err != nil {
		return nil, err
	}
	defer cl.close()
	c := &consumer{link: cl, queue: queueName(0), count: o.Count, prefetch: o.Prefetch, ackEvery: ackStep(o.Prefetch)}
	drain := &Report{}
	if err := measured(o, drain, o.Count, func() error { return c.run(ctx) }); err != nil {
		return nil, err
	}
	r.DrainPerSecond, r.DrainCPUPerMillion = drain.PerSecond, drain.CPUPerMillion
	return r, clean(ctx, o)
}
