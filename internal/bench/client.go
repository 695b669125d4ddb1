package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// minBody holds the moment of sending, for end-to-end latency.
const minBody = 8

var errClosed = errors.New("the broker closed the channel")

// link is a connection with one channel.
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

// fresh makes sure that the queues exist and are empty.
func fresh(o Options) (string, error) {
	l, err := dial(o, 0)
	if err != nil {
		return "", err
	}
	defer l.close()
	for i := range o.Queues {
		if _, err := l.ch.QueueDelete(queueName(i), false, false, false); err != nil {
			return "", fmt.Errorf("delete %s: %w", queueName(i), err)
		}
		if err := l.declare(o, queueName(i)); err != nil {
			return "", err
		}
	}
	return l.product(), nil
}

func clean(o Options) error {
	if o.Keep {
		return nil
	}
	l, err := dial(o, 0)
	if err != nil {
		return err
	}
	defer l.close()
	for i := range o.Queues {
		if _, err := l.ch.QueueDelete(queueName(i), false, false, false); err != nil {
			return fmt.Errorf("delete %s: %w", queueName(i), err)
		}
	}
	return nil
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
}

func (p *publisher) run(ctx context.Context, o Options) error {
	if err := p.link.ch.Confirm(false); err != nil {
		return fmt.Errorf("confirm.select: %w", err)
	}
	acks := p.link.ch.NotifyPublish(make(chan amqp.Confirmation, p.window))
	slots := make(chan struct{}, p.window)
	settled := make(chan error, 1)
	go func() { settled <- p.collect(acks, slots) }()
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
		slots <- struct{}{}
		now := time.Now()
		if p.sent != nil {
			p.sent[i] = now
		}
		binary.BigEndian.PutUint64(body, uint64(now.UnixNano()))
		if err := p.link.ch.PublishWithContext(ctx, "", p.queue, false, false, amqp.Publishing{DeliveryMode: mode, Body: body}); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	return <-settled
}

// collect takes confirms until every message has its own.
func (p *publisher) collect(acks <-chan amqp.Confirmation, slots <-chan struct{}) error {
	for range p.count {
		c, ok := <-acks
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

// together runs all and returns the first error.
func together(fs ...func() error) error {
	errs := make(chan error, len(fs))
	for _, f := range fs {
		go func() { errs <- f() }()
	}
	var all error
	for range fs {
		all = errors.Join(all, <-errs)
	}
	return all
}
