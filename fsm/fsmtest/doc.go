// Package fsmtest attacks the machine of a queue from outside: commands as plain
// values that can be written in words (command.go, words.go), a naive model that
// must agree with the machine in every effect (model.go), and random walks that
// drive two machines and the model side by side (walk.go).
//
// It must never know how a queue is built: it speaks the log's vocabulary and
// looks at outcomes, counts, digests and snapshots. It is used by tests only.
//
// Start with Walk. A failing seed is replayed by giving it again; what it found
// becomes a scenario in fsm/testdata/scenarios.
package fsmtest
