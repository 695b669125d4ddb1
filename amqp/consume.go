package amqp

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"slices"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// consumer is one basic.consume of a channel. The channel's mu guards what changes.
type consumer struct {
	number uint32 // unique in the session; 0 for the reply consumer
	tag    string
	lane   *laneState // nil for the reply consumer
	noAck  bool
	window uint32 // deliveries the queue may have uncredited, 0 = no window

	attached   bool             // consume-ok is queued
	gone       bool             // its queue vanished before that
	early      []queue.Delivery // came before that
	uncredited uint32           // deliveries not yet reported to the queue
	unwritten  uint32           // of those, still on their way to the writer
}

// consumers are those of one channel, by number and by tag, and in the order of
// their creation.
type consumers struct {
	byNumber   map[uint32]*consumer
	byTag      map[string]*consumer
	inOrder    []*consumer
	lastNumber uint32
}

func (cs *consumers) add(c *consumer) {
	if cs.byTag == nil {
		cs.byNumber, cs.byTag = map[uint32]*consumer{}, map[string]*consumer{}
	}
	cs.byTag[c.tag] = c
	if c.lane != nil {
		cs.lastNumber++
		c.number = cs.lastNumber
		cs.byNumber[c.number] = c
		cs.inOrder = append(cs.inOrder, c)
		c.lane.consumers++
	}
}

// remove forgets a consumer, once.
func (cs *consumers) remove(c *consumer) {
	if cs.byTag[c.tag] == c {
		delete(cs.byTag, c.tag)
	}
	if i := slices.Index(cs.inOrder, c); i >= 0 {
		cs.inOrder = slices.Delete(cs.inOrder, i, i+1)
		delete(cs.byNumber, c.number)
		c.lane.consumers--
		c.window = 0 // nobody to give credit to
	}
}

// randomName is 128 random bits as 22 URL-safe characters, unique cluster-wide.
func randomName(prefix string) string {
	var b [16]byte
	rand.Read(b[:])
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// basicConsume is section 9.3; it waits for the queue.
func (ch *channel) basicConsume(m *wire.BasicConsume) *Error {
	if ch.tagInUse(m.ConsumerTag) {
		return errTagReuse(m.ConsumerTag)
	}
	if max := ch.c.opts.MaxConsumersPerChannel; max > 0 && ch.consumerCount() >= max {
		return errConsumerLimit(max)
	}
	if m.Queue == replyQueue {
		return ch.consumeReplies(m)
	}
	q, e := ch.openQueue(wire.BasicConsumeID, m.Queue)
	if e != nil {
		return e
	}
	spec, e := ch.consumerSpec(m, q)
	if e != nil {
		return e
	}
	c := &consumer{tag: m.ConsumerTag, lane: ch.laneOf(q), noAck: m.NoAck, window: spec.Window}
	if c.tag == "" {
		c.tag = randomName("amq.ctag-")
	}
	ch.mu.Lock()
	ch.consumers.add(c)
	ch.mu.Unlock()
	spec.Number, spec.Tag = c.number, c.tag
	ctx, done := ch.waiting()
	err := c.lane.Attach(ctx, spec)
	done()
	if err != nil {
		return ch.notAttached(c, err)
	}
	ch.attached(c, m.NoWait)
	return nil
}

func (ch *channel) tagInUse(tag string) bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return tag != "" && ch.byTag[tag] != nil
}

func (ch *channel) consumerCount() int {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return len(ch.byTag)
}

// consumerSpec reads the arguments (C-20, C-23, C-26) and the channel's limits.
func (ch *channel) consumerSpec(m *wire.BasicConsume, q *catalog.Queue) (queue.ConsumerSpec, *Error) {
	spec := queue.ConsumerSpec{NoAck: m.NoAck, Exclusive: m.Exclusive}
	resource := catalog.QueueName(ch.c.vhost, q.Name)
	if v, ok := m.Arguments.Get("x-priority"); ok {
		n, isInt := v.Int()
		if !isInt {
			return spec, errArgument("x-priority", resource, `"expected integer, got `+v.TypeName()+`"`)
		}
		spec.Priority = int32(max(min(n, 1<<31-1), -1<<31))
	}
	if _, ok := m.Arguments.Get("x-stream-offset"); ok {
		return spec, errForeignArgument("x-stream-offset", resource, queueType(q))
	}
	if m.Exclusive && q.Config.SingleActive {
		return spec, errExclusiveUse(ch.c.vhost, q.Name)
	}
	if m.NoAck {
		spec.Window = deliveryWindow
		return spec, nil
	}
	ch.mu.Lock()
	limit := ch.limit
	ch.mu.Unlock()
	if limit > 0 && q.TypeNamed == "quorum" {
		return spec, errGlobalQos(resource)
	}
	spec.Prefetch = uint32(ch.prefetch)
	if limit > 0 {
		spec.Window = uint32(limit)
	} else if spec.Prefetch == 0 || spec.Prefetch > deliveryWindow {
		spec.Window = deliveryWindow
	}
	return spec, nil
}

// queueType is the type as RabbitMQ's texts print it.
func queueType(q *catalog.Queue) string {
	if q.TypeNamed == "classic" {
		return "rabbit_classic_queue"
	}
	return "rabbit_quorum_queue"
}

// notAttached undoes a consume that was refused or not answered.
func (ch *channel) notAttached(c *consumer, err error) *Error {
	ch.mu.Lock()
	ch.consumers.remove(c)
	for i := range c.early { // an unanswered attach may have been applied
		ch.pushDelivery(nil, c.lane.Lane, &c.early[i])
	}
	ch.mu.Unlock()
	ch.wake()
	if errors.Is(err, queue.RefusedExclusive) {
		return errExclusiveUse(ch.c.vhost, c.lane.name)
	}
	return ch.queueError(c.lane.name, err)
}

// attached queues consume-ok and then what was delivered meanwhile.
func (ch *channel) attached(c *consumer, noWait bool) {
	ch.mu.Lock()
	c.attached = true
	if !noWait {
		ch.pushFrames(wire.AppendMethod(nil, ch.id, &wire.BasicConsumeOk{ConsumerTag: c.tag}))
	}
	for i := range c.early {
		ch.pushDelivery(c, c.lane.Lane, &c.early[i])
	}
	c.early = nil
	if c.gone {
		ch.announceCancel(c)
	}
	ch.mu.Unlock()
	ch.wake()
}

// announceCancel tells a client that wants to know; the caller holds mu.
func (ch *channel) announceCancel(c *consumer) {
	if ch.c.caps.consumerCancelNotify {
		ch.pushFrames(wire.AppendMethod(nil, ch.id, &wire.BasicCancel{ConsumerTag: c.tag, NoWait: true}))
	}
}

// Cancelled implements queue.Sink (9.6). What was delivered before stays
// ackable, which the queue then ignores.
func (ch *channel) Cancelled(l queue.Lane, number uint32) {
	ch.mu.Lock()
	c := ch.byNumber[number]
	if c == nil || ch.closing {
		ch.mu.Unlock()
		return
	}
	ch.consumers.remove(c)
	ch.held.keep(func(it *outItem) bool { return it.cons != c })
	c.gone = true
	if c.attached {
		ch.announceCancel(c)
	}
	ch.mu.Unlock()
	ch.wake()
}

// basicCancel is section 9.6: cancel-ok comes after all deliveries of the tag,
// and what the client holds stays with the channel.
func (ch *channel) basicCancel(m *wire.BasicCancel) *Error {
	ch.mu.Lock()
	c := ch.byTag[m.ConsumerTag]
	ch.mu.Unlock()
	switch {
	case c == nil:
	case c.lane == nil:
		ch.cancelReplies(c)
	default:
		ctx, done := ch.waiting()
		err := c.lane.Detach(ctx, c.number)
		done()
		var refused queue.Refusal
		if err != nil && !errors.As(err, &refused) {
			return ch.queueError(c.lane.name, err)
		}
		ch.mu.Lock()
		ch.consumers.remove(c)
		ch.dropHeld(c)
		ch.mu.Unlock()
	}
	if !m.NoWait {
		ch.answer(&wire.BasicCancelOk{ConsumerTag: m.ConsumerTag})
	}
	return nil
}

// dropHeld turns deliveries that waited for a slot of the channel's own prefetch
// into ones that go back: the consumer is no more. The caller holds mu.
func (ch *channel) dropHeld(c *consumer) {
	ch.held.keep(func(it *outItem) bool {
		if it.cons != c {
			return true
		}
		back := ch.out.push()
		back.kind, back.d, back.lane = outOrphan, it.d, it.lane
		return false
	})
}
