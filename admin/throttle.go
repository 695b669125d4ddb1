package admin

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"mayfly/internal/clock"
)

// Bounds on failed logins (X7): so many at once, then one more each second, of an
// address as of a user.
const (
	failuresAtOnce = 20
	failureForgot  = time.Second
	throttleSlots  = 4096
)

// throttle counts failed logins. Its memory is fixed: marks share slots, by a hash
// whose seed no stranger knows, and who is unlucky waits for somebody else's failures.
// Filling many slots takes more wrong passwords than the verifier checks in the
// time in which they are forgotten.
type throttle struct {
	clock clock.Clock
	seed  maphash.Seed

	mu    sync.Mutex
	clean [throttleSlots]time.Duration // when the slot's failures are all forgotten, on the clock's Boot
}

func newThrottle(c clock.Clock) *throttle {
	return &throttle{clock: c, seed: maphash.MakeSeed()}
}

func (t *throttle) slot(mark string) *time.Duration {
	return &t.clean[maphash.String(t.seed, mark)%throttleSlots]
}

// allow tells whether a login with these marks may be tried.
func (t *throttle) allow(marks []string) bool {
	now := t.clock.Boot()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range marks {
		if *t.slot(m)-now > (failuresAtOnce-1)*failureForgot {
			return false
		}
	}
	return true
}

// count notes a failure.
func (t *throttle) count(marks []string) {
	now := t.clock.Boot()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range marks {
		s := t.slot(m)
		*s = max(*s, now) + failureForgot
	}
}

// network is what counts as one address: of IPv6 the half that a site is given.
func network(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
