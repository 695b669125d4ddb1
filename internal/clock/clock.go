package clock

import "time"

// Clock reads time and makes timers. Real and *Fake implement it. All methods
// may be called from any goroutine.
type Clock interface {
	// Now is the wall clock: for logs, certificates and stamps shown to people.
	// It may be stepped at any moment; never subtract two of its values.
	Now() time.Time
	// Boot is the time since the machine started, suspended time included. It
	// never goes back and is not stepped with the wall clock (S20 and the queue
	// clock of reliability.md rest on that).
	Boot() time.Duration
	// NewTimer fires once on C after d.
	NewTimer(d time.Duration) Timer
	// AfterFunc calls f once after d: on its own goroutine with the real clock,
	// on the goroutine that advances time with the fake one. f must not block.
	AfterFunc(d time.Duration, f func()) Timer
	// NewTicker fires on C every d; a slow receiver loses ticks.
	NewTicker(d time.Duration) Ticker
}

// Timer is one pending moment.
type Timer interface {
	// C delivers the time of firing; nil for AfterFunc.
	C() <-chan time.Time
	// Reset moves the moment to d from now, and reports whether it was pending.
	Reset(d time.Duration) bool
	// Stop cancels, and reports whether the timer was pending.
	Stop() bool
}

// Ticker is a repeating moment.
type Ticker interface {
	C() <-chan time.Time
	Reset(d time.Duration)
	Stop()
}

// Real is the machine's own time.
var Real Clock = realClock{}

// realClock has no state, so that passing it as a Clock allocates nothing.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Boot() time.Duration { return bootTime() }

func (realClock) NewTimer(d time.Duration) Timer { return realTimer{time.NewTimer(d)} }

func (realClock) AfterFunc(d time.Duration, f func()) Timer { return realTimer{time.AfterFunc(d, f)} }

func (realClock) NewTicker(d time.Duration) Ticker { return realTicker{time.NewTicker(d)} }

type realTimer struct{ t *time.Timer }

func (r realTimer) C() <-chan time.Time        { return r.t.C }
func (r realTimer) Reset(d time.Duration) bool { return r.t.Reset(d) }
func (r realTimer) Stop() bool                 { return r.t.Stop() }

type realTicker struct{ t *time.Ticker }

func (r realTicker) C() <-chan time.Time   { return r.t.C }
func (r realTicker) Reset(d time.Duration) { r.t.Reset(d) }
func (r realTicker) Stop()                 { r.t.Stop() }
