package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"time"

	"mayfly/internal/clock"
)

// Options bound what verifying may cost. Zero values take the defaults.
type Options struct {
	Parallel  int           // hard hashes at one time, 19 MiB each; default 2
	CacheSize int           // verified credentials remembered; default 4096
	CacheFor  time.Duration // how long; default 30 s; negative: not at all
	Clock     clock.Clock   // default the real one
}

// Verifier answers whether a password is a user's. All listeners of a node share
// one, so that its bounds hold for the node. Any goroutine may call it.
type Verifier struct {
	slots  chan struct{} // one token per hard hash under way; waiting for one is bounded by the caller's context
	cache  *cache
	derive func(a argon, password []byte) []byte // argon.derive; counted in tests
}

// NewVerifier makes a verifier with a cache of its own.
func NewVerifier(o Options) *Verifier {
	if o.Parallel <= 0 {
		o.Parallel = 2
	}
	if o.CacheSize <= 0 {
		o.CacheSize = 4096
	}
	if o.CacheFor == 0 {
		o.CacheFor = 30 * time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.Real
	}
	v := &Verifier{slots: make(chan struct{}, o.Parallel), derive: argon.derive}
	v.cache = &cache{clock: o.Clock, keep: o.CacheFor, ring: make([]digestKey, o.CacheSize), until: make(map[digestKey]time.Duration)}
	rand.Read(v.cache.key[:])
	return v
}

// Verify tells whether password is the one stored for user. For a user who is not
// there pass the zero Stored: the answer costs the same time, so that a stranger
// learns nothing (X7). Every "no" costs exactly one hard hash, whatever the
// stored algorithm; a "yes" for one of RabbitMQ's hashes, or a repeated "yes",
// costs none. An error means that ctx ended while waiting for a turn.
//
// Nothing has to be told of a changed or removed password: what is remembered is
// bound to the user and to the stored hash (S24).
func (v *Verifier) Verify(ctx context.Context, user string, s Stored, password []byte) (bool, error) {
	id := v.cache.id(user, s, password)
	if v.cache.has(id) {
		return true, nil
	}
	ok := matchSalted(s, password) && len(password) > 0
	if ok {
		v.cache.put(id)
		return true, nil
	}
	select {
	case v.slots <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-v.slots }()
	if v.cache.has(id) { // many connections of one user come at once after a failover: the first pays
		return true, nil
	}
	if !v.matchHard(s, password) || len(password) == 0 {
		return false, nil
	}
	v.cache.put(id)
	return true, nil
}

func (v *Verifier) matchHard(s Stored, password []byte) bool {
	a, real := standIn, false
	if s.Algorithm == Argon2id {
		if p, err := parseArgon(s.Hash); err == nil {
			a, real = p, true
		}
	}
	same := subtle.ConstantTimeCompare(v.derive(a, password), a.key) == 1
	return same && real
}
