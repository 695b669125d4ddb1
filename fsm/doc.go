// Package fsm is the log's vocabulary and the replicated machine of one queue: the
// commands with their codec, Apply as the only place where a queue changes, the
// effects it asks for, snapshots, and the rolling digest by which replicas compare
// themselves.
//
// It must never know Raft, a clock, a goroutine, a file or a socket, and never
// decide by anything but the state and the entry. An entry that it cannot read
// stops the replica: better absent than different. Numbers of commands and fields
// are never reused; a change of meaning is a new Version (style.md, section 9).
//
// Start with Machine.Apply in machine.go: the seven steps and their order are part
// of the format. The invariants are listed in the doc of package queue, where the
// state is; Check tests them after each Apply in tests and under the build tag
// invariants, and the O(1) ones always. encode.go is what the cluster calls.
package fsm
