package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	minBody   = 8 // holds the moment of sending, for end-to-end latency
	declarers = 8 // connections that declare and delete queues side by side
)

var errClosed = errors.New("the broker closed the channel")

// link is a connection with one channel, used by one goroutine.
type link struct {
	conn *amqp.Connection
	ch   *amqp.Channel
}

func dial(o Options, i int) (*link, error) {
	conn, err := amqp.DialConfig(o.URLs[i%len(o.URLs)], amqp.Config{Heartbeat: 30 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	ch, err := conn.Channel()
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("open channel: %w", err)
	}
	return &link{conn, ch}, nil
}

// dialPair connects a publisher and a consumer.
func dialPair(o Options) (publish, consume *link, err error) {
	if publish, err = dial(o, 0); err != nil {
		return nil, nil, err
	}
	if consume, err = dial(o, 1); err != nil {
		publish.close()
		return nil, nil, err
	}
	return publish, consume, nil
}

func (l *link) close() { l.conn.Close() }

func (l *link) product() string {
	p, _ := l.conn.Properties["product"].(string)
	v, _ := l.conn.Properties["version"].(string)
	return p + " " + v
}

func queueName(i int) string { return fmt.Sprintf("mayfly-bench-%d", i) }

func (l *link) declare(o Options, name string) error {
	args := amqp.Table{}
	if o.Type != "" {
		args["x-queue-type"] = o.Type
	}
	_, err := l.ch.QueueDeclare(name, !o.Transient, false, false, false, args)
	if err != nil {
		return fmt.Errorf("declare %s: %w", name, err)
	}
	return nil
}

// fresh makes sure that the queues exist and are empty, and tells who the broker is.
func fresh(ctx context.Context, o Options) (string, error) {
	l, err := dial(o, 0)
	if err != nil {
		return "", err
	}
	defer l.close()
	if err := deleteAll(ctx, o); err != nil {
		return "", err
	}
	return l.product(), eachQueue(ctx, o, func(l *link, name string) error { return l.declare(o, name) })
}

// clean removes the queues after a run, unless they are to be kept.
func clean(ctx context.Context, o Options) error {
	if o.Keep {
		return nil
	}
	return deleteAll(ctx, o)
}

func deleteAll(ctx context.Context, o Options) error {
	return eachQueue(ctx, o, func(l *link, name string) error {
		if _, err := l.ch.QueueDelete(name, false, false, false); err != nil {
			return fmt.Errorf("delete %s: %w", name, err)
		}
		return nil
	})
}

// eachQueue runs f for all queues, on a few connections side by side.
func eachQueue(ctx context.Context, o Options, f func(l *link, name string) error) error {
	links := min(declarers, o.Queues)
	var work []func(context.Context) error
	for d := range links {
		work = append(work, func(ctx context.Context) error {
			l, err := dial(o, d)
			if err != nil {
				return err
			}
			defer l.close()
			for i := d; i < o.Queues && ctx.Err() == nil; i += links {
				if err := f(l, queueName(i)); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return together(ctx, work...)
}

// publisher sends count messages to one queue, at most window unconfirmed.
type publisher struct {
	link     *link
	queue    string
	count    int
	window   int
	interval time.Duration // between messages; 0 = as fast as the window allows
	sent     []time.Time   // per message, when latency is wanted
	confirms []time.Duration
	// lifetime gives the TTL of each message; its body then carries the moment it
	// is due instead of the moment it was sent. nil: no TTL.
	lifetime func(i int, now time.Time) time.Duration
}

func (p *publisher) run(ctx context.Context, o Options) error {
	// A publish that the broker holds up ends with the connection.
	defer context.AfterFunc(ctx, p.link.close)()
	if err := p.link.ch.Confirm(false); err != nil {
		return fmt.Errorf("confirm.select: %w", err)
	}
	acks := p.link.ch.NotifyPublish(make(chan amqp.Confirmation, p.window))
	slots := make(chan struct{}, p.window)
	settled := make(chan error, 1)
	go func() { settled <- p.collect(ctx, acks, slots) }()
	mode := amqp.Persistent
	if o.Transient {
		mode = amqp.Transient
	}
	body := make([]byte, o.Size)
	start := time.Now()
	for i := range p.count {
		if p.interval > 0 {
			if err := sleepUntil(ctx, start.Add(time.Duration(i)*p.interval)); err != nil {
				return err
			}
		}
		select {
		case slots <- struct{}{}:
		case err := <-settled: // it ends early only when the broker or the user ended the run
			return err
		}
		now := time.Now()
		if p.sent != nil {
			p.sent[i] = now
		}
		m := amqp.Publishing{DeliveryMode: mode, Body: body}
		if p.lifetime != nil {
			life := p.lifetime(i, now)
			m.Expiration = strconv.FormatInt(life.Milliseconds(), 10)
			now = now.Add(life)
		}
		binary.BigEndian.PutUint64(body, uint64(now.UnixNano()))
		if err := p.link.ch.PublishWithContext(ctx, "", p.queue, false, false, m); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	return <-settled
}

// collect takes confirms until every message has its own.
func (p *publisher) collect(ctx context.Context, acks <-chan amqp.Confirmation, slots <-chan struct{}) error {
	for range p.count {
		var c amqp.Confirmation
		var ok bool
		select {
		case c, ok = <-acks:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !ok {
			return errClosed
		}
		if !c.Ack {
			return fmt.Errorf("message %d was refused", c.DeliveryTag)
		}
		if p.sent != nil {
			p.confirms = append(p.confirms, time.Since(p.sent[c.DeliveryTag-1]))
		}
		<-slots
	}
	return nil
}

func sleepUntil(ctx context.Context, at time.Time) error {
	d := time.Until(at)
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// consumer takes count messages of one queue and acks them, a multiple ack for
// each ackEvery.
type consumer struct {
	link     *link
	queue    string
	count    int
	prefetch int
	ackEvery int
	delays   []time.Duration
	timed    bool
}

func (c *consumer) run(ctx context.Context) error {
	if err := c.link.ch.Qos(c.prefetch, 0, false); err != nil {
		return fmt.Errorf("qos: %w", err)
	}
	in, err := c.link.ch.Consume(c.queue, "", false, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	for i := 1; i <= c.count; i++ {
		select {
		case d, ok := <-in:
			if !ok {
				return errClosed
			}
			if c.timed {
				c.delays = append(c.delays, time.Since(time.Unix(0, int64(binary.BigEndian.Uint64(d.Body)))))
			}
			if i%c.ackEvery == 0 || i == c.count {
				if err := d.Ack(true); err != nil {
					return fmt.Errorf("ack: %w", err)
				}
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// together runs all until each has ended; the first error ends the others, which
// would wait for messages that never come.
func together(ctx context.Context, fs ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, f := range fs {
		running.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
