package clock

import (
	"sync"
	"time"
)

// Fake is a clock for tests: it moves only by Advance. Wall and boot time move
// together; StepWall moves the wall alone, as an operator or NTP would.
type Fake struct {
	mu      sync.Mutex
	changed *sync.Cond // a timer was armed or disarmed
	wall    time.Time
	boot    time.Duration
	seq     uint64 // orders timers of one moment by their arming
	timers  []*fakeTimer
}

// NewFake gives a clock that shows 2026-01-01 00:00:00 UTC and one hour of uptime.
func NewFake() *Fake {
	f := &Fake{wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), boot: time.Hour}
	f.changed = sync.NewCond(&f.mu)
	return f
}

func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wall
}

func (f *Fake) Boot() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.boot
}

// StepWall moves the wall clock without time passing.
func (f *Fake) StepWall(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wall = f.wall.Add(d)
}

// Advance lets d pass. Timers fire in order of their moments, each seeing its
// own moment as the current time; functions of AfterFunc run before Advance returns.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	end := f.boot + d
	for {
		t := f.nextDue(end)
		if t == nil {
			break
		}
		f.moveTo(t.at)
		f.fire(t)
	}
	f.moveTo(end)
	f.mu.Unlock()
}

// Timers is the number of timers and tickers that are armed.
func (f *Fake) Timers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.timers)
}

// WaitTimers blocks until at least n timers and tickers are armed: the way for
// a test to know that another goroutine has started to wait.
func (f *Fake) WaitTimers(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.timers) < n {
		f.changed.Wait()
	}
}

func (f *Fake) NewTimer(d time.Duration) Timer {
	return f.arm(&fakeTimer{clock: f, c: make(chan time.Time, 1)}, d)
}

func (f *Fake) AfterFunc(d time.Duration, fn func()) Timer {
	return f.arm(&fakeTimer{clock: f, fn: fn}, d)
}

func (f *Fake) NewTicker(d time.Duration) Ticker {
	if d <= 0 {
		panic("clock: non-positive interval of a ticker")
	}
	t := f.arm(&fakeTimer{clock: f, c: make(chan time.Time, 1), every: d}, d)
	return fakeTicker{t}
}

func (f *Fake) arm(t *fakeTimer, d time.Duration) *fakeTimer {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.insert(t, d)
	return t
}

// insert arms t; the caller holds mu.
func (f *Fake) insert(t *fakeTimer, d time.Duration) {
	f.seq++
	t.at, t.seq = f.boot+max(d, 0), f.seq
	f.timers = append(f.timers, t)
	f.changed.Broadcast()
}

// remove disarms t; the caller holds mu.
func (f *Fake) remove(t *fakeTimer) bool {
	for i, other := range f.timers {
		if other == t {
			f.timers = append(f.timers[:i], f.timers[i+1:]...)
			f.changed.Broadcast()
			return true
		}
	}
	return false
}

// nextDue is the earliest timer not later than end, nil when there is none.
func (f *Fake) nextDue(end time.Duration) *fakeTimer {
	var next *fakeTimer
	for _, t := range f.timers {
		if t.at > end {
			continue
		}
		if next == nil || t.at < next.at || t.at == next.at && t.seq < next.seq {
			next = t
		}
	}
	return next
}

func (f *Fake) moveTo(boot time.Duration) {
	if boot > f.boot {
		f.wall = f.wall.Add(boot - f.boot)
		f.boot = boot
	}
}

// fire disarms (or re-arms a ticker) and tells; mu is given up while a function
// runs, because it may well use the clock.
func (f *Fake) fire(t *fakeTimer) {
	f.remove(t)
	if t.every > 0 {
		f.insert(t, t.every)
	}
	if t.fn != nil {
		f.mu.Unlock()
		t.fn()
		f.mu.Lock()
		return
	}
	select {
	case t.c <- f.wall:
	default:
	}
}

type fakeTimer struct {
	clock *Fake
	c     chan time.Time
	fn    func()
	every time.Duration // of a ticker
	at    time.Duration // boot time of firing
	seq   uint64
}

func (t *fakeTimer) C() <-chan time.Time {
	if t.fn != nil {
		return nil
	}
	return t.c
}

func (t *fakeTimer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.clock.remove(t)
	t.drain()
	t.clock.insert(t, d)
	return was
}

func (t *fakeTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.drain()
	return t.clock.remove(t)
}

// drain throws an unreceived firing away, as the runtime's timers do since Go 1.23.
func (t *fakeTimer) drain() {
	select {
	case <-t.c:
	default:
	}
}

type fakeTicker struct{ t *fakeTimer }

func (k fakeTicker) C() <-chan time.Time { return k.t.c }

func (k fakeTicker) Reset(d time.Duration) {
	k.t.clock.mu.Lock()
	defer k.t.clock.mu.Unlock()
	k.t.clock.remove(k.t)
	k.t.drain()
	k.t.every = d
	k.t.clock.insert(k.t, d)
}

func (k fakeTicker) Stop() { k.t.Stop() }
