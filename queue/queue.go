package queue

import (
	"math/bits"

	"mayfly/dlx"
	"mayfly/ttl"
)

// maxKills bounds the messages that one Apply lets die of old age or of a lowered
// limit (T-16); what is left asks for a tick at once. Deaths that the entry itself
// brings about (a reject, an eviction for each enqueue) come on top: they are
// bounded by its size.
const maxKills = 1000

// Queue is one queue as a value: nothing in it knows time, threads or sockets.
// All change goes through the methods that fsm.Machine.Apply calls, between Begin
// and End, in the order that style.md section 4 fixes.
type Queue struct {
	cfg   Config
	now   ttl.Stamp // state's time, never goes back (invariant 2)
	lease ttl.Lease
	gone  GoneReason // not GoneNot: the queue has ended, only letters may be left

	slab         slab
	lanes        []lane    // by priority; one without x-max-priority
	filled       [4]uint64 // bit set of lanes that are not empty
	ready        uint64
	readyBytes   uint64
	unacked      uint64
	unackedBytes uint64
	timed        uint64    // ready messages with a TTL of their own
	index        ttl.Index // deadlines, see indexKey

	sessions  map[SessionID]*session
	recent    *session    // the one found last: a batch mostly comes from one
	ended     []SessionID // sessions that are over, newest last
	goneNodes []uint32

	holders   []*holder // by slot
	freeSlots []uint32
	consumers []*holder // attached ones by falling priority, then age
	rings     []ring    // consumers with room, by falling priority
	active    *holder   // the single active consumer
	exclusive *holder
	births    uint64 // consumers ever attached
	turns     uint64
	epoch     uint64 // activations of a single active consumer

	letters     dlx.Pending
	letterBytes uint64
	deaths      uint64 // ordinal of the last letter
	counters    Counters
	digest      uint64 // rolling, over every change (invariant 4)
	entries     uint64 // entries applied

	// Of the Apply in progress.
	out      *Outcome
	entry    uint64 // index of the log entry
	first    Pos    // first position that this entry may give
	own      uint32 // bodies of this entry that are live
	kills    int    // left of maxKills
	extra    int    // evictions the entry's own enqueues and returns allow
	instant  bool   // the entry brought a message that is due at once (T-21)
	unlisted bool   // the entry brought a message that the deadline index may have to learn of
	ending   bool   // the queue ended in this entry
	oversize []Pos  // messages that alone exceed max-length-bytes (L-8)
	touched  []*session
	scratch  []Pos
}

// New is an empty queue that has not been configured yet.
func New() *Queue {
	q := &Queue{cfg: Defaults(), now: 1, lanes: make([]lane, 1)}
	q.slab.next = 1
	return q
}

// Begin is steps 1 and 2 of an Apply: time advances, and what is due dies. lead
// marks the first entry of a leadership, which restarts the lease.
func (q *Queue) Begin(index uint64, stamp ttl.Stamp, lead bool, out *Outcome) {
	q.out, q.entry, q.first = out, index, q.slab.next
	q.own, q.kills, q.extra, q.instant, q.unlisted = 0, maxKills, 0, false, false
	q.oversize, q.ending = q.oversize[:0], false
	q.entries++
	q.now = max(q.now, stamp)
	q.fold(index, uint64(q.now))
	if lead || q.inUse() || q.entries == 1 {
		q.lease.Touch(q.now)
	}
	q.expireDue()
	q.expireLease()
}

// End is steps 4 to 7: hand out, kill what had no time at all, kill what is over
// the limit, and say what is to be said.
func (q *Queue) End() {
	q.settleDown()
	q.indexNew()
	q.confirmAll()
	if q.ending {
		e := q.effect(EffectGone)
		e.Reason = q.gone
	}
	q.out.Live = q.own
	q.out.Wake, q.out.More = q.wake()
	q.fold(uint64(len(q.out.Effects)), q.ready)
	q.out = nil
}

// settleDown is steps 4, 5 and 6. A command that asks what is in the queue runs
// them for the commands before it in the same entry, so that its answer does not
// depend on how commands were batched.
func (q *Queue) settleDown() {
	q.handOut()
	q.expireInstant()
	q.evict()
}

// Config is the configuration in force.
func (q *Queue) Config() Config { return q.cfg }

// Now is the queue's time.
func (q *Queue) Now() ttl.Stamp { return q.now }

// Gone tells whether and why the queue has ended.
func (q *Queue) Gone() GoneReason { return q.gone }

// Digest is the rolling digest over all that happened (invariant 4).
func (q *Queue) Digest() uint64 { return q.digest }

// Counters are the totals since the declare.
func (q *Queue) Counters() Counters { return q.counters }

// inUse is what keeps a lease from running.
func (q *Queue) inUse() bool { return len(q.consumers) > 0 || q.unacked > 0 }

// effect appends an empty effect, to be filled by the caller at once.
func (q *Queue) effect(k Kind) *Effect {
	q.out.Effects = append(q.out.Effects, Effect{Kind: k})
	return &q.out.Effects[len(q.out.Effects)-1]
}

// released gives a body up.
func (q *Queue) released(index uint64) {
	if index == q.entry {
		q.own--
		return
	}
	q.out.Released = addRelease(q.out.Released, index)
}

// fold takes one change into the digest: a multiply and a rotate each, because
// every message passes here several times.
func (q *Queue) fold(a, b uint64) {
	const k1, k2 = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
	q.digest = bits.RotateLeft64(q.digest^a*k1, 29)*k2 + b
}

// What happened, for fold: the kind in the upper byte, the position below.
const (
	didEnqueue = uint64(iota+1) << 56
	didAssign
	didSettle
	didReturn
	didKill
	didRefuse
	didForward
)

// top is the lane to serve first, -1 when all are empty.
func (q *Queue) top() int {
	for i := len(q.filled) - 1; i >= 0; i-- {
		if q.filled[i] != 0 {
			return i<<6 + 63 - bits.LeadingZeros64(q.filled[i])
		}
	}
	return -1
}

// bottom is the lane to evict from first (L-9), -1 when all are empty.
func (q *Queue) bottom() int {
	for i, w := range q.filled {
		if w != 0 {
			return i<<6 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// oldest is the ready message that entered first, 0 when there is none.
func (q *Queue) oldest() Pos {
	if len(q.lanes) == 1 {
		return q.lanes[0].front()
	}
	var found Pos
	for i, w := range q.filled {
		for ; w != 0; w &= w - 1 {
			if p := q.lanes[i<<6+bits.TrailingZeros64(w)].front(); found == 0 || p < found {
				found = p
			}
		}
	}
	return found
}

// front is the ready message to be delivered next, 0 when there is none.
func (q *Queue) front() Pos {
	if len(q.lanes) == 1 {
		return q.lanes[0].front()
	}
	if q.ready == 0 {
		return 0
	}
	return q.lanes[q.top()].front()
}
