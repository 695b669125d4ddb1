// Package invariant carries the switch between production and checking builds:
// with the build tag `invariants` Enabled is true and Assert panics on a broken
// promise; without it both vanish at compile time.
//
// It must never know what is checked. It imports nothing, so that the purest
// packages may use it, and it never sees input from outside: a client's
// nonsense is an error, only our own mistakes are a panic.
//
// Start with Assert in invariant.go. Expensive checks are written as
// `if invariant.Enabled { ... }`, so that production does not even compute them.
package invariant
