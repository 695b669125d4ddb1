// Package dlx is what happens to the dead: why a message died, the letter that
// waits until its target has it, the history that travels along and the headers
// that tell clients of it (queues-ttl-dlx.md, section 4).
//
// It must never know a queue, a log or a network. It does not decide that a
// message dies, nor where the letter goes; it knows no clock (the time of a death
// is the stamp of the entry it died in) and no mistrusted input: what it rewrites
// was validated when it was published.
//
// Start with letter.go and pending.go, the box that the queue's machine keeps;
// then rewrite.go, which makes a letter into a message, with notes.go, the
// history, and cycle.go, which ends loops.
package dlx
