package queue

import "mayfly/ttl"

// Where a message is (invariant 1). A pending letter is no message any more.
const (
	stateNone  uint8 = iota // no message at this position
	stateReady              // waits in its lane
	stateHeld               // assigned, not settled
	stateMask        = 3

	flagReturned   uint8 = 1 << 2 // ready, and in its lane's heap of returned ones instead of the list
	flagIndexed    uint8 = 1 << 3 // has an entry in the deadline index
	flagPersistent uint8 = 1 << 4
	flagPriority   uint8 = 1 << 5 // priority is the publisher's, not the default
)

// message is what the state keeps of one message: 64 bytes without a pointer, so
// a chunk of 64 fills one 4 KiB allocation that the garbage collector never
// looks into. The body stays in the log.
type message struct {
	index    uint64 // of the log entry
	off      uint32 // of the envelope in the entry
	size     uint32 // of the envelope
	body     uint32 // body bytes, what max-length-bytes counts (L-1)
	holder   uint32 // slot of the consumer that holds it, when held
	enqueued ttl.Stamp
	ttl      int64 // its own time to live, or NoTTL; with enqueued and the configuration it gives the deadline (T-12)
	next     Pos   // neighbours in the list it is in: its lane while ready for the first time, its holder's while held
	prev     Pos
	acquired uint32 // assignments so far
	failed   uint16 // failed deliveries so far, saturating
	priority uint8  // as published, clamped only when its lane is chosen
	flags    uint8
}

const maxFailed = 1<<16 - 1

func (m *message) state() uint8 { return m.flags & stateMask }

func (m *message) setState(s uint8) { m.flags = m.flags&^stateMask | s }

func (m *message) has(flag uint8) bool { return m.flags&flag != 0 }

func (m *message) ref() Ref { return Ref{Index: m.index, Off: m.off, Size: m.size} }

// deadlineOf is the one place where a message's deadline comes from (T-10, T-14).
// The configuration is asked each time, so a changed queue TTL re-times what is
// there without touching it (T-16, T-17).
func (q *Queue) deadlineOf(m *message) ttl.Stamp {
	if q.cfg.MessageTTLWins {
		return ttl.Deadline(m.enqueued, ttl.EffectiveMessageFirst(m.ttl, q.cfg.TTL, q.cfg.TTLCeiling))
	}
	return ttl.Deadline(m.enqueued, ttl.Effective(m.ttl, q.cfg.TTL))
}

// due tells whether m must not be given to anybody any more.
func (q *Queue) due(m *message) bool {
	return q.mayExpire(m) && q.deadlineOf(m).Due(q.now)
}

// mayExpire spares messages without any TTL the arithmetic.
func (q *Queue) mayExpire(m *message) bool { return m.ttl >= 0 || q.cfg.expiresAll() }

// indexKey is where m stands in the deadline index, Never when it is not in it:
// messages that live by the queue's TTL alone expire in order of entry, so their
// lanes are index enough (T-17), and an expire-at-head queue looks at its head.
func (q *Queue) indexKey(m *message) ttl.Stamp {
	switch {
	case q.cfg.ExpireAtHead:
		return ttl.Never
	case q.cfg.MessageTTLWins:
		return q.deadlineOf(m)
	}
	return ttl.Deadline(m.enqueued, m.ttl)
}

func (q *Queue) levelOf(m *message) uint8 {
	return q.cfg.level(m.priority, m.has(flagPriority))
}
