// Package password makes and verifies password hashes: RabbitMQ's salted SHA-256
// and SHA-512, its MD5 for hashes that were imported, and argon2id for passwords
// that are set here (reliability.md, X7).
//
// It must never know who may do what, nor keep a password: the cache of verified
// credentials holds keyed digests, and its key lives and dies with the process.
// Hashes and algorithm names are stored by fsm/catalog, which knows no randomness
// and so cannot make them.
//
// Start reading at verifier.go.
package password
