// Package cluster hosts Raft: the catalogue's group and one group per queue. It
// stamps and batches what sessions hand in, applies committed entries to the
// pure machines below, and runs the effects they return. It is the only package
// that knows that Raft exists.
//
// It must never know AMQP: no frames, no reply codes, no sockets of clients. It
// takes no decision that must agree between nodes; those are taken in
// fsm.Machine.Apply and catalog.Machine.Apply, from the log alone.
//
// Start reading at group.go (a queue's group and its proposer), then machine.go
// (the adapter to Raft), outbox.go (effects), lane.go (what a session calls).
// DESIGN.md has the threads, the locks and their order.
package cluster
