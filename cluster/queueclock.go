package cluster

import (
	"sync"
	"time"

	"mayfly/internal/clock"
	"mayfly/ttl"
)

// firstStamp is the stamp of a machine that no entry has reached.
const firstStamp ttl.Stamp = 1

// queueClock makes a group's stamps while this node leads it (reliability.md,
// "The queue clock"): elapsed time since an anchor, by the boot-time clock, so a
// step of the wall clock changes nothing.
type queueClock struct {
	clock clock.Clock

	mu   sync.Mutex
	base ttl.Stamp     // stamp at the anchor
	at   time.Duration // boot reading at the anchor
}

func (c *queueClock) init(cl clock.Clock) { c.clock = cl }

// anchor starts a term. last is the machine's stamp; lastBoot is this node's own
// boot reading when it applied that stamp, or 0 if it has restarted since. Then
// what has passed is the difference of its own two wall readings, wall being the
// one of when it stored the last entry, and never negative.
func (c *queueClock) anchor(last ttl.Stamp, lastBoot int64, wall time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.clock.Boot()
	switch {
	case last <= firstStamp:
		c.base = ttl.Stamp(c.clock.Now().UnixMilli())
	case lastBoot != 0:
		c.base = last + ttl.Stamp((c.at-time.Duration(lastBoot))/time.Millisecond)
	case wall.IsZero():
		c.base = last // nothing is known: lag rather than expire everything
	default:
		c.base = last + ttl.Stamp(max(0, c.clock.Now().UnixMilli()-wall.UnixMilli()))
	}
}

func (c *queueClock) now() ttl.Stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base + ttl.Stamp((c.clock.Boot()-c.at)/time.Millisecond)
}

// until is how long from now a stamp is due; never negative, and a millisecond
// late rather than early.
func (c *queueClock) until(s ttl.Stamp) time.Duration {
	return max(0, time.Duration(s-c.now())*time.Millisecond) + time.Millisecond
}
