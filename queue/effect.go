package queue

import (
	"mayfly/dlx"
	"mayfly/ttl"
)

// Kind says what an effect asks for.
type Kind uint8

const (
	EffectNone Kind = iota
	// EffectDeliver gives Delivery to Session's consumer. The body of one with
	// Delivery.Settled must be released by whoever receives it.
	EffectDeliver
	// EffectConfirm says every publish of Session up to Seq is applied. Right before
	// it come the EffectRefused of those that the queue was too full for, and no
	// other session's.
	EffectConfirm
	// EffectRefused answers the numbered command Seq of Session with Refusal, which
	// for a publish is RefusedFull. Publishes to a queue that is gone are confirmed.
	EffectRefused
	// EffectAttached answers Attach, EffectDetached Detach (Session, Seq, Consumer).
	EffectAttached
	EffectDetached
	// EffectGot answers Get: Found tells whether Delivery is filled; N is what is
	// left ready.
	EffectGot
	// EffectPurged and EffectClosed answer Purge and Close: N messages were ready.
	EffectPurged
	EffectClosed
	// EffectCommitted answers Tx: N of its publishes were refused, and when that is
	// not zero nothing of it was applied.
	EffectCommitted
	// EffectCancelled tells Session that Consumer is gone because the queue is.
	EffectCancelled
	// EffectEnded says that Session is over and forgotten here: its SessionClosed
	// is applied, or it belongs to a node that was declared gone.
	EffectEnded
	// EffectForward asks for the letter numbered N to be forwarded.
	EffectForward
	// EffectGone says that the queue is no more, for Reason; the catalogue must
	// drop it. It is the last effect of its Apply.
	EffectGone
	// EffectAssigned, given by Resume only, says that N deliveries in all were
	// assigned to a consumer with a window. Deliveries of a no-ack consumer may have
	// been lost with the old leader; crediting them keeps its window open.
	EffectAssigned
)

// GoneReason is why a queue ended.
type GoneReason uint8

const (
	GoneNot GoneReason = iota
	GoneDeleted
	GoneAutoDelete
	GoneExpired
)

// String names the reason for logs and metrics.
func (g GoneReason) String() string {
	switch g {
	case GoneDeleted:
		return "deleted"
	case GoneAutoDelete:
		return "auto-delete"
	case GoneExpired:
		return "expired"
	}
	return "not gone"
}

// Effect is one thing the world should be told. It is plain data, may be lost and
// may come again: state is the truth (design.md, principle 3).
type Effect struct {
	Kind     Kind
	Refusal  Refusal
	Reason   GoneReason
	Found    bool
	Consumer uint32
	Session  SessionID
	Seq      uint64
	N        uint64
	Delivery Delivery
}

// Release says that N bodies of the log entry Index are no longer needed.
type Release struct {
	Index uint64
	N     uint32
}

// Outcome is all that one Apply has to say. The caller owns it and may use it
// again; Reset keeps the memory.
type Outcome struct {
	Effects []Effect
	// Released are bodies of earlier entries that nobody needs any more.
	Released []Release
	// Settled are bodies given away by no-ack deliveries in this Apply, of this and
	// of earlier entries. On the leader the receiver of each Delivery releases its
	// own; everybody else must release these.
	Settled []Release
	// Live counts the bodies of this very entry that are still needed after Apply,
	// those in Settled included.
	Live uint32
	// Wake is the earliest deadline, 0 when there is none.
	Wake ttl.Stamp
	// More says that bounded work was left over: propose a tick at once.
	More bool
}

// Reset empties the outcome and keeps its memory.
func (o *Outcome) Reset() {
	o.Effects = o.Effects[:0]
	o.Released = o.Released[:0]
	o.Settled = o.Settled[:0]
	o.Live, o.Wake, o.More = 0, ttl.Never, false
}

// addRelease counts one body of entry index into rs; neighbours of one entry
// share an element, which is why acks of a batch cost nothing to report.
func addRelease(rs []Release, index uint64) []Release {
	if n := len(rs); n > 0 && rs[n-1].Index == index {
		rs[n-1].N++
		return rs
	}
	return append(rs, Release{Index: index, N: 1})
}

// Counters are totals since the queue was declared. They are state: alike on
// every replica, kept in snapshots.
type Counters struct {
	Enqueued  uint64 // accepted publishes
	Refused   uint64 // publishes refused because the queue was full
	Assigned  uint64 // assignments to consumers and gets, again or not
	Returned  uint64 // assignments that came back
	Settled   uint64 // acks, and assignments to no-ack consumers
	Purged    uint64
	Deleted   uint64                        // messages that went with the queue
	Deaths    [dlx.DeliveryLimit + 1]uint64 // by dlx.Reason
	Letters   uint64                        // deaths that became letters
	Forwarded uint64                        // letters that arrived
	Dropped   [dlx.Causes]uint64            // deaths that were not forwarded, by dlx.Cause
}
