// Package ttl is the arithmetic of time to live: stamps, the rule of the two
// TTLs, the grammar of the `expiration` property, the index that yields what is
// due, and the lease of an idle queue (queues-ttl-dlx.md, sections 2 and 3).
//
// It must never know a clock, a queue or a message. Time comes in as a Stamp
// that the leader put into the log, a message is a number, and everything here
// gives the same answer on every node for ever.
//
// Start with rule.go, which says when a message dies; then index.go, which finds
// the dead; parse.go and lease.go stand alone.
package ttl
