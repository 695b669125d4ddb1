package cluster

import (
	"testing"
	"time"

	"mayfly/internal/clock"
	"mayfly/queue"
	"mayfly/ttl"
)

func TestQueueClock(t *testing.T) {
	begin := clock.NewFake()
	start, boot := ttl.Stamp(begin.Now().UnixMilli()), int64(begin.Boot())
	later := begin.Now().Add(10 * time.Second)
	for _, c := range []struct {
		name string
		last ttl.Stamp
		boot int64
		wall time.Time
		want ttl.Stamp
	}{
		{"a new queue starts at the wall", firstStamp, 0, time.Time{}, start + 10_000},
		{"a running process goes by boot time", 500, boot, later, 10_500},
		{"a restart goes by its own wall readings", 500, 0, later.Add(-7 * time.Second), 7_500},
		{"never back (S14)", 500, 0, later.Add(time.Hour), 500},
		{"an unknown wall reading is no elapsed time", 500, 0, time.Time{}, 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := clock.NewFake()
			fake.Advance(10 * time.Second)
			var q queueClock
			q.init(fake)
			q.anchor(c.last, c.boot, c.wall)
			if got := q.now(); got != c.want {
				t.Fatalf("stamp %d, want %d", got, c.want)
			}
			fake.StepWall(-time.Hour)
			fake.Advance(1500 * time.Millisecond)
			if got := q.now(); got != c.want+1500 {
				t.Fatalf("1.5 s and a wall step later: %d, want %d", got, c.want+1500)
			}
			if got := q.until(q.now() + 5); got != 6*time.Millisecond {
				t.Fatalf("due in 5 ms: %v; want a millisecond late", got)
			}
			if got := q.until(q.now() - 100); got != time.Millisecond {
				t.Fatalf("overdue: %v", got)
			}
		})
	}
}

// TestDowntimeCountsForExpiry: the time a node was down is elapsed time, by its own
// wall readings (reliability.md, The queue clock). Neither what it replays nor what
// its election writes may pass for the last sign of life.
func TestDowntimeCountsForExpiry(t *testing.T) {
	fake := clock.NewFake()
	r := newRig(t)
	r.clock = fake
	r.start()
	id := r.queue("q", "x-message-ttl", 60_000)
	r.publish(id, "a", "b")
	r.stop()
	fake.Advance(50 * time.Second)
	r.start()
	r.publish(id, "c") // behind the entry that lets them expire, if it does
	if st := r.stat(id); st.Ready != 3 {
		t.Fatalf("after 50 of 60 seconds: %+v", st)
	}
	r.stop()
	fake.Advance(11 * time.Second)
	r.start()
	defer r.stop()
	if got := r.take(id); len(got) != 1 || got[0] != "c" {
		t.Fatalf("after 61 of 60 seconds: %q", got)
	}
}

// TestDeadlineTimer: the one timer of a led group brings the tick, and wakes again
// for the deadline after it.
func TestDeadlineTimer(t *testing.T) {
	fake := clock.NewFake()
	r := newRig(t)
	r.clock = fake
	r.start()
	defer r.stop()
	id := r.queue("q")
	u := r.user(id)
	for _, ms := range []int64{3000, 1000, 2000} {
		m := message("x")
		m.TTL = ms
		u.l.Publish(m)
	}
	u.wait(t, "confirmed", func() bool { return u.confirmed[id] == 3 })
	for left := uint64(3); left > 0; left-- {
		if st := r.stat(id); st.Ready != left {
			t.Fatalf("%+v, want %d ready", st, left)
		}
		fake.Advance(1002 * time.Millisecond)
		eventually(t, "expired", func() bool { return r.lookup(id).stat.Load().Ready == left-1 })
	}
}

// TestTimerAfterUnfinishedWork: a machine that leaves work over asks for a tick and
// names its next deadline; when the tick finds that same deadline, the timer for
// it must run.
func TestTimerAfterUnfinishedWork(t *testing.T) {
	fake := clock.NewFake()
	n := &Node{clock: fake, opts: Options{}, log: discard, groups: map[queue.ID]*group{}}
	g := newGroup(n, 1)
	g.phase = led
	g.clock.anchor(1000, int64(fake.Boot()), time.Time{})
	g.setWake(5000, true)
	if g.pending.empty() {
		t.Fatal("no tick for the work left over")
	}
	g.pending.take()
	g.setWake(5000, false)
	if fake.Timers() != 1 {
		t.Fatalf("%d timers run for the deadline that is left", fake.Timers())
	}
	fake.Advance(5 * time.Second)
	if g.pending.empty() {
		t.Fatal("no tick at the deadline")
	}
}
