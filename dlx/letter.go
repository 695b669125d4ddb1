package dlx

import "mayfly/ttl"

// Letter is one death that still has to be told: a message that left its queue
// and waits until its targets have it. It holds no pointer, so that a million of
// them cost the collector nothing.
type Letter struct {
	// ID is the ordinal of the death in its queue: 1, 2, 3, … in the order of the
	// deaths, never reused. With the queue's own id it is the name under which a
	// target knows a repeat (D-50), and targets get letters in this order (D-53).
	ID  uint64
	Pos uint64    // the place the message had in the queue
	At  ttl.Stamp // of the entry it died in: x-death.time (T-45)

	// Where the message lies: the log entry, and place and size of the envelope in it.
	Index uint64
	Off   uint32
	Size  uint32

	Body   uint32 // bytes of the body alone, for message_bytes_dlx (D-46)
	Reason Reason // 0 marks an empty place inside Pending, never a letter
}
