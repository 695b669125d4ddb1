package exchange

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// weight is a destination of a consistent-hash exchange: its share of the
// messages is its weight in the sum of all. It is the binding key.
type weight struct {
	hit
	hash   uint64
	weight uint64
	bound  *bound
}

func withWeight(ws []weight, x *bound) []weight {
	n, _ := strconv.ParseUint(x.Key, 10, 32)
	i, _ := slices.BinarySearchFunc(ws, x, func(w weight, x *bound) int {
		if d := strings.Compare(destKey(w.bound.Dest), destKey(x.Dest)); d != 0 {
			return d
		}
		return strings.Compare(w.bound.id, x.id)
	})
	return inserted(ws, i, weight{hit: single(x.Dest), hash: hashString(destKey(x.Dest)), weight: n, bound: x})
}

// matchHash adds the one destination that a message's key (or the header that the
// exchange names) leads to. It is rendezvous hashing: each destination draws a
// number from the key, and the highest, weighted, wins. So a new destination
// takes over just its share and one that goes leaves the other keys in place.
func (r *Router) matchHash(e *Exchange, m *Message) {
	key := m.Key
	if e.header != "" {
		v, _ := m.Headers.Get(e.header)
		key = v.Data
	}
	h := hashBytes(key)
	best := -1
	var bestLog, bestWeight uint64
	for i := range e.weights {
		w := &e.weights[i]
		if w.weight == 0 {
			continue
		}
		// With u drawn evenly from 0 to 1, the lowest -log(u)/weight wins. The
		// fractions are compared as products: no float may decide (style.md 2).
		l := minusLog(stir(h ^ w.hash))
		ah, al := bits.Mul64(l, bestWeight)
		bh, bl := bits.Mul64(bestLog, w.weight)
		if best < 0 || ah < bh || (ah == bh && al < bl) {
			best, bestLog, bestWeight = i, l, w.weight
		}
	}
	if best >= 0 {
		r.hits = append(r.hits, e.weights[best].hit)
	}
}

// minusLog is -log2((x+1)/2^64) in units of 2^-32, at least 1.
func minusLog(x uint64) uint64 {
	if x++; x == 0 {
		return 1
	}
	whole := uint64(bits.LeadingZeros64(x))
	// The fraction digit by digit: squaring a number from 1 to 2 doubles its
	// logarithm; if the square is 2 or more, the next digit is 1.
	m := x << whole
	frac := uint64(0)
	for range 32 {
		hi, _ := bits.Mul64(m, m)
		frac <<= 1
		if hi>>63 != 0 {
			frac |= 1
			m = hi
		} else {
			m = hi << 1
		}
	}
	return max((whole+1)<<32-frac, 1)
}

// matchRandom adds one destination, any.
func (r *Router) matchRandom(t *targets) {
	if t == nil {
		return
	}
	r.Seed += hashOne
	i := int(stir(r.Seed) % uint64(len(t.queues)+len(t.exchanges)))
	if i < len(t.queues) {
		r.hits = append(r.hits, hit{queues: t.queues[i : i+1]})
		return
	}
	i -= len(t.queues)
	r.hits = append(r.hits, hit{exchanges: t.exchanges[i : i+1]})
}
