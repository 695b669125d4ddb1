// Package clock is the only reader of time. It gives the wall clock for people
// and files, the boot clock (monotonic, suspended time included) for everything
// that measures how long something took, and timers on that clock.
//
// It must never know who asks or what for, and it decides nothing: stamps,
// deadlines and timeouts belong to the packages above. Pure packages never
// import it; they are given time as a value.
//
// Start with the interface Clock in clock.go; Real is what production uses,
// NewFake (fake.go) is a clock that stands still until a test moves it.
package clock
