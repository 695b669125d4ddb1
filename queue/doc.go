// Package queue is one queue as a value: its messages by position, the lanes they
// wait in, the consumers they are assigned to, deadlines, limits, the numbers of
// its producers, and the letters of its dead. It also holds the vocabulary that a
// channel and the cluster share about queues (session.go: Session, Lane, Sink).
//
// It must never know a clock, a goroutine, a socket, a log or a wire format: time
// comes in with each entry, messages are references into the log, and what the
// world should be told goes out as plain Effects. The same entries give the same
// queue on every node, for ever; a decision from anything else would split them.
//
// Start with queue.go: Begin and End bracket one log entry and show the firm order
// of steps. Then enqueue.go, checkout.go, settle.go, dead.go. The invariants,
// checked by Check (check.go) after each step in tests:
//
//  1. A message is in exactly one place: ready, checked out, or pending letter.
//     Counts and bytes always add up.
//  2. State's time never goes back; no delivery at now has a deadline at or before
//     now, but for a TTL-zero message in the very Apply that brought it.
//  3. The deadline index holds exactly the ready messages with deadlines of their
//     own; those that live by the queue's TTL alone are found in order of entry.
//  4. Two machines fed the same entries have the same digest after each; so has one
//     that was snapshot and restored between any two.
//  5. A confirm is sent only after the entry is applied on the leader, for every
//     queue the message was routed to.
//  6. A letter leaves the box only when every target confirmed it, or its policy
//     says at most once.
//  7. A consumer never holds more than its prefetch; a settled position never comes
//     back.
//  8. A command refused is a state unchanged, but for time and what time killed.
//
// Check covers 1, 2, 3, 7 and the order of the box (6); fsm/fsmtest covers 4 and
// 8 with two machines and a model; 5 belongs to the cluster.
package queue
