package password

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"mayfly/internal/clock"
)

type digestKey [sha256.Size]byte

// cache remembers credentials that were found right: a digest, under a key of this
// process, over user, stored hash and password together. A wrong password and a
// changed hash are other digests, so nothing must ever be invalidated. It holds at
// most len(ring) digests; a newer one takes the oldest one's place.
type cache struct {
	clock clock.Clock
	keep  time.Duration
	key   digestKey

	mu    sync.Mutex
	until map[digestKey]time.Duration // on the clock's Boot
	ring  []digestKey
	next  int
}

func (c *cache) id(user string, s Stored, password []byte) digestKey {
	m := hmac.New(sha256.New, c.key[:])
	for _, part := range [][]byte{[]byte(user), []byte(s.Algorithm), s.Hash, password} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		m.Write(n[:])
		m.Write(part)
	}
	var id digestKey
	m.Sum(id[:0])
	return id
}

func (c *cache) has(id digestKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	until, ok := c.until[id]
	return ok && c.clock.Boot() < until
}

func (c *cache) put(id digestKey) {
	if c.keep < 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.until[id]; !ok {
		delete(c.until, c.ring[c.next])
		c.ring[c.next] = id
		c.next = (c.next + 1) % len(c.ring)
	}
	c.until[id] = c.clock.Boot() + c.keep
}
