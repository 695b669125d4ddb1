// Package storage is a node's one shared log for all Raft groups, behind a
// handle per group that satisfies raft.LogStore and raft.StableStore, together
// with the groups' snapshot files. It is also the message store: state machines
// keep references, and bodies are read back from the log entries they came in.
// One goroutine gathers what all groups have waiting, writes it with one call
// and syncs once. DESIGN.md argues format and crash safety step by step.
//
// It must never know what an entry means: no command, queue or message. It knows
// how many bodies of an entry are still wanted (Group.Live, Group.Release) and
// nothing else about them. It touches files only through package vfs and time
// only through internal/clock, and it never retries a failed write or sync (S3).
//
// Start reading with Engine in engine.go and Group in group.go, then writer.go
// (one round: gather, write, sync, install, answer), format.go and recover.go;
// reclaim.go is how space comes back.
package storage
