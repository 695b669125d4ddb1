// Package vfs is the seam between Mayfly's storage and the file system: a small
// interface for the file operations that durability rests on, the real thing
// (OS), and a twin in memory (Mem) that loses what was not synced, tears writes
// and fails calls on demand (reliability.md 2.2, faultfs).
//
// It must never know what is stored: no record, group or snapshot. It retries
// nothing and hides no error; a short write is an error (S3).
//
// Start reading with FS and File in vfs.go, then Mem in mem.go, whose Crash
// says what a power cut may leave behind.
package vfs
