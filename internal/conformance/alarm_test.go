package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// alarmed gives a broker whose disk alarm the test can switch. With RabbitMQ it
// is the broker under test, whose publishers all block: such tests do not run
// in parallel. With Mayfly it is a server of its own that wants a little less
// free space than there is, and a file takes the difference away.
func alarmed(t *testing.T) (addr string, on, off func()) {
	if broker.rabbit {
		off = func() { operator(t, "set_disk_free_limit", "50MB") }
		t.Cleanup(off)
		return broker.addr, func() { operator(t, "set_disk_free_limit", "900000GB") }, off
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(workDir, &fs); err != nil {
		t.Fatal(err)
	}
	free := int64(fs.Bavail) * fs.Bsize
	room := min(free/8, 4<<30)
	s := serve(t, "--set", "limits.disk_free="+strconv.FormatInt(free-room, 10))
	path := filepath.Join(workDir, "ballast")
	off = func() {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	t.Cleanup(off)
	return s.addr, func() {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := syscall.Fallocate(int(f.Fd()), 0, 0, 2*room); err != nil {
			t.Fatal(err)
		}
	}, off
}

// untilBlocked publishes, one message after another, until one is not confirmed
// because the alarm holds it. It answers the number of that publish; the
// broker's connection.blocked is left unread.
func untilBlocked(ch *channel, q string) uint64 {
	t := ch.c.t
	t.Helper()
	for seq := uint64(1); ; seq++ {
		pause(10 * time.Millisecond)
		ch.publish("", q, nil, strconv.FormatUint(seq, 10))
		f, err := ch.c.next(ch.n, time.Second)
		if errors.Is(err, errSilence) {
			return seq
		}
		if err != nil || f.id() != basicAck {
			t.Fatalf("want a confirm or silence, got %v, %v", f, err)
		}
	}
}

func TestLine023Blocked(t *testing.T) {
	addr, on, off := alarmed(t)
	idle := openChannel(t, at(addr))
	q, _ := idle.declare(unique("q"), durable, nil)
	janitor.queue(t, q)
	busy := openChannel(t, at(addr))
	busy.confirms()

	on()
	seq := untilBlocked(busy, q)
	a := busy.c.expect(connectionBlocked)
	if reason := a.short(); reason != "low on disk" {
		t.Errorf("reason %q, want low on disk", reason)
	}
	a.end()
	busy.publish("", q, nil, "second")
	idle.quiet(q)
	idle.consume(q, "t", noAck)
	for n := range seq - 1 {
		idle.delivers(strconv.FormatUint(n+1, 10))
	}
	late := openChannel(t, at(addr)) // open-ok, and no word of the alarm
	late.quiet(q)
	for _, ch := range []*channel{idle, late} {
		ch.c.nothingOn0() // they do not publish
	}

	off()
	busy.c.expect(connectionUnblocked).end() // and so no second connection.blocked before
	if nacked := busy.confirmed(seq, seq+1); nacked != nil {
		t.Errorf("refused after the alarm: %v", nacked)
	}
	idle.delivers(strconv.FormatUint(seq, 10), "second")
}

func TestLine024BlockedWithoutCapability(t *testing.T) {
	addr, on, off := alarmed(t)
	check := openChannel(t, at(addr))
	q, _ := check.declare(unique("q"), durable, nil)
	janitor.queue(t, q)
	busy := openChannel(t, at(addr), without("connection.blocked"))
	busy.confirms()
	on()
	seq := untilBlocked(busy, q)
	off()
	busy.confirmed(seq, seq)
	busy.c.nothingOn0()
	check.counted(q, counts{uint32(seq), 0})
}

// nothingOn0 shows that the broker has not spoken on channel 0.
func (c *conn) nothingOn0() {
	c.t.Helper()
	if f, err := c.next(0, time.Millisecond); !errors.Is(err, errSilence) {
		c.t.Fatalf("unasked on channel 0: %v, %v", f, err)
	}
}
