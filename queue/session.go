package queue

import (
	"context"

	"mayfly/ttl"
)

// ID names a queue's Raft group, cluster-wide and for ever: it is taken from
// the catalogue's log and never reused, so a queue that is deleted and declared
// again is another group.
type ID uint64

// SessionID names one channel's session, cluster-wide and for ever: the node's
// incarnation in the upper half, a counter in the lower. It is the producer and
// the consumer owner that the queue's machine knows (design.md, principle 4).
type SessionID uint64

// Node is the incarnation of the node that opened the session.
func (s SessionID) Node() uint32 { return uint32(s >> 32) }

// Pos is a message's place in its queue: the order in which messages entered.
type Pos uint64

// NoTTL marks a message without an expiration of its own.
const NoTTL int64 = -1

// Message is what a publisher hands over. Whoever receives one copies what it
// keeps: the slices belong to the caller and change after the call.
type Message struct {
	Exchange    []byte
	Key         []byte
	Props       []byte // property flags and values as on the wire
	Annotations []byte // the broker's own notes that travel along (BCC keys, death history); nearly always empty
	Body        []byte
	TTL         int64 // of the `expiration` property in milliseconds, or NoTTL
	Priority    uint8
	HasPriority bool
	Persistent  bool
}

// Envelope is a message as read back from the log. It aliases memory that is
// never written again; it may be kept as long as wanted.
type Envelope struct {
	Exchange    []byte
	Key         []byte
	Annotations []byte
	Props       []byte
	Body        []byte
}

// Ref tells where a message's envelope lies: in which log entry of the group,
// and where in that entry's data.
type Ref struct {
	Index uint64
	Off   uint32
	Size  uint32
}

// Delivery is one assignment of a message to a consumer, or the answer to a get.
type Delivery struct {
	Ref         Ref
	Pos         Pos
	Enqueued    ttl.Stamp
	Deadline    ttl.Stamp // ttl.Never when it does not expire
	Consumer    uint32    // the number given at Attach; 0 for a get
	Failed      uint32    // earlier failed deliveries: x-delivery-count
	Acquired    uint32    // earlier assignments
	Redelivered bool
	Settled     bool // no-ack: the queue has forgotten it; Lane.Release must follow Load

	// Number counts the consumer's assignments: 1, 2, 3, … 0 when the same
	// assignment was told before (a new leader tells outstanding ones again).
	Number uint64
}

// ConsumerSpec is what Attach registers.
type ConsumerSpec struct {
	Number    uint32 // chosen by the session, > 0, unique in it
	Tag       string // for listings
	Prefetch  uint32 // unacked deliveries allowed; 0 = not limited by acks
	Window    uint32 // deliveries not yet reported written (Lane.Credit); bounds what a slow socket holds; 0 = unbounded
	Priority  int32
	NoAck     bool
	Exclusive bool
}

// Why says on whose account messages return to the queue; it decides whether
// the return counts as a failed delivery (queues-ttl-dlx.md, C-4).
type Why uint8

const (
	WhyNack Why = iota + 1
	WhyReject
	WhyRecover
	WhyClosed // channel or connection end
	WhyTimeout
	WhyNodeGone
)

// Stat is a queue's counts as a client sees them.
type Stat struct {
	Ready     uint64
	Unacked   uint64
	Consumers uint32
	Bytes     uint64 // of ready bodies
}

// Refusal is why a queue's machine said no. It is computed in Apply, alike on
// every replica; amqp turns it into the protocol's code and text.
type Refusal uint8

const (
	RefusedNone         Refusal = iota
	RefusedGone                 // the queue is deleted or expired: 404
	RefusedExclusive            // an exclusive consumer holds it, or one is wanted and others are there: 403
	RefusedInUse                // delete if-unused: 406
	RefusedNotEmpty             // delete if-empty: 406
	RefusedSingleActive         // get on a single-active-consumer queue: 405
	RefusedFull                 // reject-publish: basic.nack
)

// Error makes a refusal an error value.
func (r Refusal) Error() string {
	switch r {
	case RefusedNone:
		return "not refused"
	case RefusedGone:
		return "queue is gone"
	case RefusedExclusive:
		return "queue is in exclusive use"
	case RefusedInUse:
		return "queue is in use"
	case RefusedNotEmpty:
		return "queue is not empty"
	case RefusedSingleActive:
		return "queue has a single active consumer"
	case RefusedFull:
		return "queue is full"
	}
	return "refused"
}

// Sink is what a session is told. amqp implements it, cluster calls it, from
// the outbox goroutine of any group: no method may block, and no slice may be
// kept after the call.
type Sink interface {
	// Deliver gives assignments in queue order. l is the lane they came by.
	Deliver(l Lane, ds []Delivery)
	// Confirmed says that every publish of this lane numbered <= upTo is applied.
	// refused lists, ascending, those among them that the queue refused (RefusedFull).
	Confirmed(l Lane, upTo uint64, refused []uint64)
	// Cancelled says that a consumer is gone because its queue is (deleted, expired).
	Cancelled(l Lane, consumer uint32)
}

// Session is one channel's standing with the broker. cluster implements it,
// amqp calls it. Lanes are opened on first use and live until Close.
type Session interface {
	ID() SessionID
	// Lane opens (once) the road to a queue. It never waits for the queue's leader.
	Lane(q ID) Lane
	// Close detaches the consumers, returns what is unacked, forgets the producer,
	// on every lane, and answers when all that is applied (S8: channel.close-ok
	// comes after). After Close the sink is told nothing more.
	Close(ctx context.Context) error
}

// Lane is one session's road to one queue. Calls of one lane come from one
// goroutine at a time, and take effect in the order of the calls; Credit, Load,
// Release and Return may come from another at the same time, the one that writes
// to the client. Methods
// without a context do not wait for the log, but for room when a bound is full.
type Lane interface {
	Queue() ID
	// Publish hands m over and returns its number on this lane: 1, 2, 3, …
	// The outcome comes by Sink.Confirmed.
	Publish(m *Message) uint64
	// Settle, Reject (dead-letter or drop) and Return end assignments. Positions
	// that the queue does not know as held by this session are ignored.
	Settle(ps []Pos)
	Reject(ps []Pos)
	Return(ps []Pos, why Why)
	// Credit reports n further deliveries of a consumer as written to the socket.
	Credit(consumer uint32, n uint32)

	// These wait until their command is applied. Errors are a Refusal or trouble
	// with the group (no leader in time, shutting down).
	Attach(ctx context.Context, c ConsumerSpec) error
	// Detach ends a consumer; what it holds stays assigned to the session.
	Detach(ctx context.Context, consumer uint32) error
	// Get takes one message; ok is false on an empty queue. ready counts what is left.
	Get(ctx context.Context, noAck bool) (d Delivery, ready uint64, ok bool, err error)
	Purge(ctx context.Context) (uint64, error)
	Stat(ctx context.Context) (Stat, error)
	// Delete removes the queue from its log and the catalogue.
	Delete(ctx context.Context, ifUnused, ifEmpty bool) (ready uint64, err error)
	// Commit applies a transaction's part for this queue in one log entry, all or
	// nothing. refused tells how many of the publishes the queue refused.
	Commit(ctx context.Context, tx *Tx) (refused int, err error)

	// Load reads the message of a delivery. It may read the disk.
	Load(d *Delivery) (Envelope, error)
	// Release lets go of the body of a delivery that was Settled at assignment.
	// Exactly once for each of those, after the last use of Load's result is begun.
	Release(d *Delivery)
}

// Tx is what one transaction does to one queue, in the order of section 10 of
// amqp.md: first the publishes, then the settlements.
type Tx struct {
	Publishes []*Message // owned by the transaction
	Settles   []Pos
	Rejects   []Pos
	Returns   []Pos
}
