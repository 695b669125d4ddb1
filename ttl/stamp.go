package ttl

// Stamp is a point on a queue's clock: milliseconds since the epoch, given by
// the leader inside the log entry and never read from a local clock
// (reliability.md, "The queue clock"). Stamps of one group never go back.
type Stamp int64

// Never is the deadline of what does not expire.
const Never Stamp = 0

// Add returns the stamp ms milliseconds later.
func (s Stamp) Add(ms int64) Stamp { return s + Stamp(ms) }
