// Package arch holds no code: its tests read the tree and fail the build when a
// package imports what lies above it, when a pure package does what is not pure,
// when time or files are touched outside their homes, or when ARCHITECTURE.md
// names a file or function that is not there.
//
// It must never be imported.
//
// Start reading at floors_test.go, the table of who may import whom.
package arch
