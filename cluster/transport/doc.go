// Package transport carries Raft's calls between the members of a group.
//
// It must never know what a queue is, and never use Raft's asynchronous
// heartbeat handler (raft.md, fact 7). Addresses stay here: groups know names.
//
// Start reading at Solo, the transport of a group with one member.
package transport
