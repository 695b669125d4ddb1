package amqp

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/amqp/wire"
	"mayfly/internal/clock"
	"mayfly/queue"
)

// Bounds of a channel's waiting.
const (
	finishLimit = 10 * time.Second // what was received before an orderly close
	graceLimit  = 2 * time.Second  // until what was told to give up has done so
	closeLimit  = 20 * time.Second // Session.Close
	maxUnsent   = 1 << 20          // octets of answers and returns not yet taken by the writer; then the reader waits
)

type channelMode uint8

const (
	modePlain channelMode = iota
	modeConfirm
	modeTx
)

// channel is one AMQP channel.
//
// Its input (the client's methods) is executed by one goroutine at a time, which
// holds own: the connection's reader, or for methods that wait for a queue or
// the catalogue the channel's worker, while the reader puts frames aside
// (backlog.go). Its output is a queue that Sink calls and the input append to
// and the connection's writer drains (deliver.go). mu guards what the two sides
// share and is held for moments only; it is never held across a call of
// Session or Lane. Order of locks: own before mu.
type channel struct {
	chanPort
	c       *conn
	session queue.Session
	ctx     context.Context // of everything the channel waits for
	cancel  context.CancelFunc

	content content // reader only
	backlog backlog
	crowded atomic.Bool // a bound of the output is reached: the input must wait

	own       sync.Mutex // guards the next group
	onWorker  bool
	over      bool // nothing is executed any more
	mode      channelMode
	pub       publishing
	tx        transaction
	lastQueue string // most recently declared
	prefetch  uint16 // for consumers created later
	rights    rightsCache
	dirty     []*laneState // with gathered settlements
	gathered  int          // settlements in them
	recount   bool         // the channel's own prefetch changed
	laneLimit int          // lanes at which unused ones are forgotten

	mu       sync.Mutex // guards the rest
	room     sync.Cond  // broadcast when crowded ends
	failed   bool       // closed with an error, or the socket is gone: nothing goes out any more
	closing  bool       // teardown has begun: no deliveries
	lanes    map[queue.ID]*laneState
	confirms confirms
	unacked  unacked
	returned []byte // whole frames of basic.return, which precede the confirms
	out      ring[outItem]
	held     ring[outItem] // deliveries that wait for a slot of the channel's own prefetch
	unsent   int           // octets of frames in out
	lastTag  uint64        // delivery tag
	replies  int           // octets of direct replies in out
	limit    int           // the channel's own prefetch (qos global), 0 = none
	direct   *directReply
	timeout  clock.Timer // the consumer timeout's, nil until there is something to wait for
	consumers
}

// newChannel is called on channel.open; conn answers it.
func newChannel(c *conn, id uint16) *channel {
	ch := &channel{c: c, lanes: map[queue.ID]*laneState{}, laneLimit: maxLanes}
	ch.id = id
	ch.prefetch = c.opts.DefaultPrefetch
	ch.room.L = &ch.mu
	ch.backlog.changed.L = &ch.backlog.mu
	ch.ctx, ch.cancel = context.WithCancel(c.ctx)
	ch.session = c.broker.Open(ch)
	ch.pub.router.Seed = uint64(ch.session.ID())
	return ch
}

// handleFrame takes one frame, on the reader.
func (ch *channel) handleFrame(f wire.Frame) *Error {
	if e := ch.content.accept(f); e != nil {
		ch.fail()
		return e
	}
	ch.midContent = ch.content.stage != methodDue
	if ch.backlog.put(f) {
		return nil
	}
	ch.own.Lock()
	e := ch.process(f.Type, f.Payload)
	ch.own.Unlock()
	if e != nil {
		ch.fail()
	}
	return e
}

// process executes one frame; the caller holds own. content has vouched for its
// place among the others.
func (ch *channel) process(typ byte, payload []byte) *Error {
	if ch.over {
		return nil
	}
	if ch.crowded.Load() {
		ch.awaitRoom()
	}
	switch typ {
	case wire.FrameHeader:
		return ch.contentHeader(payload)
	case wire.FrameBody:
		return ch.contentBody(payload)
	}
	return ch.method(payload)
}

// flushInput is called on the reader before it waits for the socket.
func (ch *channel) flushInput() {
	if ch.backlog.busy.Load() {
		return // the worker flushes before it waits and when it is done
	}
	ch.own.Lock()
	if !ch.over {
		ch.pushSettlements()
	}
	ch.own.Unlock()
}

// startWork lets a worker execute job and what arrives after it; the caller
// holds own on the reader. On the worker itself the job is simply run.
func (ch *channel) startWork(job func() *Error) *Error {
	if ch.onWorker {
		return job()
	}
	ch.backlog.begin()
	go ch.work(job)
	return nil
}

// work is the worker goroutine: it ends when the backlog is empty.
func (ch *channel) work(job func() *Error) {
	defer ch.c.contain("channel worker")
	if e := ch.runJobs(job); e != nil {
		ch.c.asyncFail(ch, e)
	}
}

func (ch *channel) runJobs(job func() *Error) (e *Error) {
	ch.own.Lock()
	defer ch.own.Unlock()
	ch.onWorker = true
	clean := false
	defer func() {
		ch.onWorker = false
		if !clean { // an error, or a panic on its way to contain
			ch.fail()
			ch.backlog.next() // says that the worker is over
		}
	}()
	if !ch.over {
		e = job()
	}
	for e == nil {
		f, ok := ch.backlog.next()
		if !ok {
			break
		}
		e = ch.process(f.typ, f.payload)
	}
	if e == nil && !ch.over {
		ch.pushSettlements()
	}
	clean = e == nil
	return e
}

// fail stops the output at once: nothing may follow channel.close. What the
// client sends after the fault is ignored.
func (ch *channel) fail() {
	ch.mu.Lock()
	ch.failed = true
	ch.mu.Unlock()
	ch.backlog.drop()
}

// awaitRoom blocks the input while the peer leaves too much of the channel's
// output unread, or publishes run too far ahead of their confirms (X5).
func (ch *channel) awaitRoom() {
	ch.mu.Lock()
	for !ch.closing && !ch.failed && ch.isCrowded() {
		ch.room.Wait()
	}
	ch.mu.Unlock()
}

func (ch *channel) isCrowded() bool {
	return len(ch.returned) > maxUnsent || ch.unsent > maxUnsent || ch.confirms.full()
}

// noteCrowd sets or clears crowded; the caller holds mu.
func (ch *channel) noteCrowd() {
	now := ch.isCrowded()
	if ch.crowded.Load() != now {
		ch.crowded.Store(now)
		ch.room.Broadcast()
	}
}

// wake asks the writer for a turn.
func (ch *channel) wake() { ch.c.out.wake(ch) }

// waiting gives the context of one method that waits.
func (ch *channel) waiting() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ch.ctx)
	timer := ch.c.clock.AfterFunc(ch.c.opts.CallTimeout, cancel)
	return ctx, func() {
		timer.Stop()
		cancel()
	}
}

// freshen makes the catalogue's view at least as new as what is being executed,
// by asking its leader (design.md, "Read your writes"). It waits, so it is called
// on the worker only.
func (ch *channel) freshen() *Error {
	if fresh, _ := ch.backlog.fresh(); fresh {
		return nil
	}
	return ch.catchUp()
}

// catchUp is freshen for when the view has just been proved to be behind.
func (ch *channel) catchUp() *Error {
	_, mark := ch.backlog.fresh()
	ctx, done := ch.waiting()
	defer done()
	if err := ch.c.broker.CatchUp(ctx); err != nil {
		return errTrouble("catalogue", err)
	}
	ch.backlog.cover(mark)
	return nil
}
