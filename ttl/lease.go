package ttl

// Lease is how long a queue may lie unused (queues-ttl-dlx.md, section 3). The
// zero value never ends. It is a plain value: whoever owns it writes it into its
// snapshot as two numbers.
type Lease struct {
	Term int64 // milliseconds, 0 for no lease
	Used Stamp // end of the last use
}

// Touch notes a use that ends at now. Stamps never go back, so neither does Used.
func (l *Lease) Touch(now Stamp) { l.Used = max(l.Used, now) }

// Deadline is when the queue goes if nothing uses it until then. While something
// holds the queue (a consumer, an unacked message) there is none.
func (l Lease) Deadline(held bool) Stamp {
	if l.Term <= 0 || held {
		return Never
	}
	return Deadline(l.Used, l.Term)
}

// Due says whether the lease is over at now: never early.
func (l Lease) Due(now Stamp, held bool) bool { return l.Deadline(held).Due(now) }
