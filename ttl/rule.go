package ttl

// Max is the largest TTL, lease or delay: ten years of 365 days in milliseconds
// (T-1, A-41).
const Max = 315360000000

// None is the absence of a TTL.
const None int64 = -1

// Effective is a message's TTL in a queue: the lower of its own and the queue's,
// each None when absent (T-10). Each queue decides for itself.
func Effective(message, queue int64) int64 {
	switch {
	case message < 0:
		return max(queue, None)
	case queue < 0:
		return message
	}
	return min(message, queue)
}

// EffectiveMessageFirst is the rule under x-ttl-precedence=message: a message
// with a TTL of its own uses that alone, even if longer, but for the operator's
// ceiling, which nobody exceeds (T-14).
func EffectiveMessageFirst(message, queue, ceiling int64) int64 {
	if message < 0 {
		message = queue
	}
	return Effective(message, ceiling)
}

// Deadline is when a message that entered at that stamp dies (T-12): Never
// without a TTL. A deadline is set once, at entry, and kept through every return
// to the queue (T-24).
func Deadline(entry Stamp, ttl int64) Stamp {
	if ttl < 0 {
		return Never
	}
	// Stamps are far from zero; a clock at the epoch must still not turn a
	// deadline into Never.
	return max(entry.Add(ttl), Never+1)
}

// Due says whether a deadline has come: at its own stamp it has (T-12, T-20).
func (s Stamp) Due(now Stamp) bool { return s != Never && now >= s }

// Earlier is the earlier of two deadlines, of which either may be Never.
func Earlier(a, b Stamp) Stamp {
	if a == Never || (b != Never && b < a) {
		return b
	}
	return a
}

// Seconds is the stamp in the unit of AMQP timestamps, as in x-death (D-22).
func (s Stamp) Seconds() uint64 { return uint64(max(s, 0)) / 1000 }
