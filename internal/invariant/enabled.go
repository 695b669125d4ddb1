//go:build invariants

package invariant

// Enabled tells that this build checks invariants in full.
const Enabled = true
