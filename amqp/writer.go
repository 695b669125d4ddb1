package amqp

import (
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"mayfly/amqp/wire"
)

// Bounds of a connection's output (X5). What waits beyond them waits in the
// queues' machines (deliveries, by Lane.Credit) or in the peer's own socket
// (requests, because the reader stops reading).
const (
	turnBytes  = 128 << 10 // one socket write gathers about this much
	shareBytes = 32 << 10  // of it goes to one channel when several wait
	chunkBytes = 256 << 10 // a longer turn (a big message) is written in pieces of this, so that progress shows
	stallBytes = 1 << 20   // unwritten control frames at which the reader stops reading
	keepBytes  = 512 << 10 // a batch buffer grown beyond this is not pooled
)

// batches holds the buffers that turns are gathered in. An idle connection
// holds none, which is what makes ten thousand of them cheap.
var batches = sync.Pool{New: func() any { b := make([]byte, 0, turnBytes+shareBytes); return &b }}

// writer owns a connection's output. Its goroutine (run) is the only one that
// writes to the socket; everybody else appends under mu or asks for a turn.
//
// Order on the wire: control frames in the order of the calls of send; before a
// channel's drain, all that was sent before that drain began.
type writer struct {
	w      io.Writer
	onFail func(error) // the socket refused; called once, on the writer's goroutine

	offered atomic.Uint64 // octets given to the socket
	sent    atomic.Uint64 // octets it took
	done    chan struct{} // closed when run has returned

	mu      sync.Mutex
	work    sync.Cond // signalled for run
	room    sync.Cond // broadcast when control was taken, or at the end
	control []byte    // whole frames, bounded by the reader (stallBytes)
	waiting []*channel
	final   []byte // goes out when nothing else waits; then the writer is sealed
	muted   bool   // connection.close was sent: no channel is drained, no frame accepted but final
	sealed  bool   // nothing is accepted any more
	closing bool   // run returns when all is written
	stopped bool   // run returns at once
	active  bool   // a turn is being gathered or written

	batch *[]byte // run's own: the turn being gathered, nil while idle
}

func newWriter(w io.Writer, onFail func(error)) *writer {
	out := &writer{w: w, onFail: onFail, done: make(chan struct{})}
	out.work.L, out.room.L = &out.mu, &out.mu
	return out
}

// send appends whole control frames: fn gets the buffer, under the lock, and
// must do nothing but append. It never blocks.
func (w *writer) send(fn func(dst []byte) []byte) {
	w.mu.Lock()
	if w.accepts() {
		w.control = fn(w.control)
		w.work.Signal()
	}
	w.mu.Unlock()
}

// sendMethod appends one method frame.
func (w *writer) sendMethod(ch uint16, m wire.Method) {
	w.mu.Lock()
	if w.accepts() {
		w.control = wire.AppendMethod(w.control, ch, m)
		w.work.Signal()
	}
	w.mu.Unlock()
}

// wake asks for a turn for a channel that has something to drain. Repeats
// before that turn cost one atomic load.
func (w *writer) wake(ch *channel) {
	if ch.queued.Load() || !ch.queued.CompareAndSwap(false, true) {
		return
	}
	w.mu.Lock()
	w.waiting = append(w.waiting, ch)
	w.work.Signal()
	w.mu.Unlock()
}

// failChannel sends m (channel.close) and drains the channel no more: nothing
// of it follows the close on the wire.
func (w *writer) failChannel(ch *channel, m wire.Method) {
	w.mu.Lock()
	if w.accepts() {
		ch.muted.Store(true)
		w.control = wire.AppendMethod(w.control, ch.id, m)
		w.work.Signal()
	}
	w.mu.Unlock()
}

// finishChannel sends m (channel.close-ok) once the channel has nothing more to
// drain, and drains it no more.
func (w *writer) finishChannel(ch *channel, m wire.Method) {
	w.mu.Lock()
	ch.last = wire.AppendMethod(nil, ch.id, m)
	w.mu.Unlock()
	w.wake(ch)
}

// accepts tells whether more control frames may go out; the caller holds mu.
func (w *writer) accepts() bool { return !w.muted && !w.sealed && !w.stopped }

// fail sends m (connection.close). Nothing follows it but the close-ok of finish,
// if the peer closes as well.
func (w *writer) fail(m wire.Method) {
	w.mu.Lock()
	if w.accepts() {
		w.muted = true
		w.control = wire.AppendMethod(w.control, 0, m)
		w.work.Signal()
	}
	w.mu.Unlock()
}

// finish sends m (connection.close-ok) after all that waits, and nothing after it.
func (w *writer) finish(m wire.Method) {
	w.mu.Lock()
	if !w.sealed && !w.stopped {
		w.final = wire.AppendMethod(w.final, 0, m)
		w.work.Signal()
	}
	w.mu.Unlock()
}

// close lets run return when everything is written; done tells when.
func (w *writer) close() {
	w.mu.Lock()
	w.closing = true
	w.work.Signal()
	w.mu.Unlock()
}

// abort lets run return at once and frees a waiting reader. A write under way
// ends when the socket is closed, which is the caller's part.
func (w *writer) abort() {
	w.mu.Lock()
	w.stopped = true
	w.control, w.waiting, w.final = nil, nil, nil
	w.work.Signal()
	w.room.Broadcast()
	w.mu.Unlock()
}

// waitRoom blocks the reader while the peer leaves too many answers unread (X5).
func (w *writer) waitRoom() {
	w.mu.Lock()
	for len(w.control) > stallBytes && !w.stopped {
		w.room.Wait()
	}
	w.mu.Unlock()
}

// busy tells whether something is on its way to the socket.
func (w *writer) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.active || w.hasWork()
}

// run is the writer goroutine. It ends after close or abort, or when the socket
// refuses a write.
func (w *writer) run() {
	defer close(w.done)
	for w.await() {
		batch := w.gather()
		if err := w.flush(batch); err != nil {
			w.abort()
			w.onFail(err)
			return
		}
	}
}

// await waits for something to write; false ends the goroutine.
func (w *writer) await() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = false
	for {
		if w.stopped {
			w.release()
			return false
		}
		if w.hasWork() {
			w.active = true
			return true
		}
		w.release()
		if w.closing {
			return false
		}
		w.work.Wait()
	}
}

// hasWork tells whether something waits for a turn; the caller holds mu.
func (w *writer) hasWork() bool {
	return len(w.control) > 0 || len(w.waiting) > 0 || w.final != nil
}

// release gives the batch buffer back before idling.
func (w *writer) release() {
	if w.batch == nil {
		return
	}
	if cap(*w.batch) <= keepBytes {
		*w.batch = (*w.batch)[:0]
		batches.Put(w.batch)
	}
	w.batch = nil
	if cap(w.control) > shareBytes {
		w.control = nil // control frames are small; a burst need not be kept for
	}
}

// gather makes one turn: all control frames, then the waiting channels round
// robin, until the turn is full or nobody waits.
func (w *writer) gather() []byte {
	if w.batch == nil || cap(*w.batch) > keepBytes {
		w.batch = batches.Get().(*[]byte)
	}
	batch := (*w.batch)[:0]
	w.mu.Lock()
	for {
		batch = w.takeControl(batch)
		if w.muted || w.sealed {
			w.dropWaiting()
		}
		if len(w.waiting) == 0 || len(batch) >= turnBytes || w.stopped {
			break
		}
		batch = w.takeChannel(batch)
	}
	if len(w.waiting) == 0 && len(batch) < turnBytes && w.final != nil {
		batch, w.final, w.sealed = append(batch, w.final...), nil, true
	}
	w.mu.Unlock()
	*w.batch = batch
	return batch
}

// takeControl moves the control frames into the turn; the caller holds mu.
func (w *writer) takeControl(batch []byte) []byte {
	if len(w.control) == 0 {
		return batch
	}
	batch = append(batch, w.control...)
	w.control = w.control[:0]
	w.room.Broadcast()
	return batch
}

// takeChannel gives the first waiting channel its share; the caller holds mu,
// which is given up while the channel drains.
func (w *writer) takeChannel(batch []byte) []byte {
	ch := w.waiting[0]
	w.waiting = slices.Delete(w.waiting, 0, 1)
	share := turnBytes - len(batch)
	if len(w.waiting) > 0 {
		share = min(share, shareBytes)
	}
	// Not queued from here on, and before last is read: a finishChannel that comes
	// too late for this turn must get another.
	ch.queued.Store(false)
	last := ch.last // read before the drain, so that the drain comes after the teardown
	w.mu.Unlock()
	more := false
	if !ch.muted.Load() {
		batch, more = ch.drain(batch, share)
	}
	w.mu.Lock()
	if more {
		if ch.queued.CompareAndSwap(false, true) {
			w.waiting = append(w.waiting, ch)
		}
	} else if last != nil && ch.last != nil {
		batch = append(batch, last...)
		ch.last = nil
		ch.muted.Store(true)
	}
	return batch
}

// dropWaiting forgets who waits; the caller holds mu.
func (w *writer) dropWaiting() {
	for i, ch := range w.waiting {
		ch.queued.Store(false)
		w.waiting[i] = nil
	}
	w.waiting = w.waiting[:0]
}

// flush writes one turn.
func (w *writer) flush(batch []byte) error {
	w.offered.Add(uint64(len(batch)))
	for len(batch) > 0 {
		n := min(len(batch), chunkBytes)
		m, err := w.w.Write(batch[:n])
		w.sent.Add(uint64(m))
		if err != nil {
			return err
		}
		batch = batch[n:]
	}
	return nil
}
