// Package catalog is the metadata machine: vhosts, users, permissions, exchanges,
// bindings, queues with their owners, limits, parameters and nodes, changed by
// commands from its own log and by nothing else. Its state is one immutable View
// of persistent structures; a change makes a new one that shares the rest, so
// connections read without a lock and a snapshot costs nothing to take.
//
// It must never know Raft, sockets, the clock or randomness: password hashes,
// server-made names and connection numbers arrive in commands. It does not ask who
// may send a command either; whoever proposes has looked that up in a View (S24).
//
// Invariants, each named in Check:
//
//  1. A queue is found under its name and under its number, or under neither.
//  2. A binding ends at a queue or an exchange that is there.
//  3. Permissions name vhosts that are there.
//  4. Queue numbers and incarnations given out are below the next one to give.
//  5. Every exclusive queue is in the list of its owner's incarnation, and nothing
//     else is.
//  6. A command refused leaves the state as it was.
//
// Start reading at view.go, then machine.go; command.go is the vocabulary.
package catalog
