package clock

import (
	"context"
	"slices"
	"testing"
	"time"
)

func TestRealBootMoves(t *testing.T) {
	a := Real.Boot()
	if a <= 0 {
		t.Fatalf("boot time %v, want more than 0", a)
	}
	if b := Real.Boot(); b < a {
		t.Fatalf("boot time went back from %v to %v", a, b)
	}
	timer := Real.NewTimer(time.Millisecond)
	<-timer.C()
	if b := Real.Boot(); b-a < time.Millisecond {
		t.Fatalf("boot time moved by %v over a timer of 1ms", b-a)
	}
}

func TestFakeFiresInOrder(t *testing.T) {
	f := NewFake()
	start, boot := f.Now(), f.Boot()
	var got []string
	note := func(name string) func() {
		return func() { got = append(got, name+" "+(f.Boot()-boot).String()) }
	}
	f.AfterFunc(3*time.Second, note("c"))
	f.AfterFunc(time.Second, note("a"))
	f.AfterFunc(time.Second, note("b"))
	stopped := f.AfterFunc(2*time.Second, note("stopped"))
	f.AfterFunc(time.Second, func() { f.AfterFunc(time.Second, note("nested")) })
	f.AfterFunc(time.Minute, note("far"))
	if !stopped.Stop() || stopped.Stop() {
		t.Fatal("Stop must tell whether the timer was pending")
	}
	f.Advance(5 * time.Second)
	want := []string{"a 1s", "b 1s", "nested 2s", "c 3s"}
	if !slices.Equal(got, want) {
		t.Fatalf("fired %q, want %q", got, want)
	}
	if f.Now().Sub(start) != 5*time.Second || f.Boot()-boot != 5*time.Second || f.Timers() != 1 {
		t.Fatalf("after 5s: wall +%v, boot +%v, %d timers", f.Now().Sub(start), f.Boot()-boot, f.Timers())
	}
}

func TestFakeChannels(t *testing.T) {
	f := NewFake()
	timer, ticker := f.NewTimer(time.Second), f.NewTicker(400*time.Millisecond)
	f.Advance(900 * time.Millisecond)
	if len(timer.C()) != 0 || len(ticker.C()) != 1 {
		t.Fatalf("at 0.9s: timer %d, ticker %d firings waiting; want 0 and 1", len(timer.C()), len(ticker.C()))
	}
	<-ticker.C()
	if !timer.Reset(time.Second) {
		t.Fatal("Reset of a pending timer must report it")
	}
	f.Advance(time.Second)
	if len(timer.C()) != 1 {
		t.Fatal("timer did not fire one second after Reset")
	}
	if timer.Reset(time.Second) || len(timer.C()) != 0 {
		t.Fatal("Reset must forget the old firing")
	}
	timer.Stop()
	ticker.Stop()
	if f.Timers() != 0 {
		t.Fatalf("%d timers armed after Stop", f.Timers())
	}
}

func TestFakeWaitTimersAndStepWall(t *testing.T) {
	f := NewFake()
	done := make(chan time.Time)
	go func() { done <- <-f.NewTimer(time.Hour).C() }()
	f.WaitTimers(1)
	before, boot := f.Now(), f.Boot()
	f.StepWall(-time.Hour)
	if f.Now().Sub(before) != -time.Hour || f.Boot() != boot {
		t.Fatal("StepWall must move the wall clock alone")
	}
	f.Advance(time.Hour)
	if got := <-done; !got.Equal(before) {
		t.Fatalf("timer told %v, want %v", got, before)
	}
}

func BenchmarkBoot(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = Real.Boot()
	}
}

func TestWithTimeout(t *testing.T) {
	f := NewFake()
	ctx, cancel := WithTimeout(t.Context(), f, time.Second)
	early, cancelEarly := WithTimeout(t.Context(), f, time.Second)
	cancelEarly()
	f.Advance(time.Second)
	<-ctx.Done()
	if context.Cause(ctx) != context.DeadlineExceeded || context.Cause(early) != context.Canceled {
		t.Fatalf("causes %v and %v", context.Cause(ctx), context.Cause(early))
	}
	cancel()
	if f.Timers() != 0 {
		t.Fatal("timers left")
	}
}
