package catalog

import (
	"math/bits"
	"slices"
	"strings"
)

// pmap is an immutable map from strings: with and without return a new map that
// shares all but one path. A hash trie of 32-way nodes; a lookup by string or by
// bytes allocates nothing. Its own order follows a fixed hash, so it is the same
// on every node; whoever shows or stores its content asks for sorted.
type pmap[V any] struct {
	root *pnode[V]
	n    int
}

// pnode holds the children whose bits are set, in the order of their bits. Below
// the last bit of the hash a node has no bits and its slots are sorted by key, so
// that names chosen to collide cost a binary search, not a walk.
type pnode[V any] struct {
	bits  uint32
	slots []pslot[V]
}

// pslot is a child node, or an entry when sub is nil.
type pslot[V any] struct {
	sub *pnode[V]
	key string
	val V
}

const (
	levelBits = 5
	levelMask = 1<<levelBits - 1
	lastShift = 60 // the level that uses the top bits of the hash
)

// hashKey mixes eight bytes at a time. The constants are those of wyhash.
func hashKey[K string | []byte](k K) uint64 {
	const p0, p1 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db
	h := uint64(len(k)) ^ p0
	i := 0
	for ; i+8 <= len(k); i += 8 {
		w := uint64(k[i]) | uint64(k[i+1])<<8 | uint64(k[i+2])<<16 | uint64(k[i+3])<<24 |
			uint64(k[i+4])<<32 | uint64(k[i+5])<<40 | uint64(k[i+6])<<48 | uint64(k[i+7])<<56
		hi, lo := bits.Mul64(h^w, p1)
		h = hi ^ lo
	}
	var w uint64
	for s := 0; i < len(k); i, s = i+1, s+8 {
		w |= uint64(k[i]) << s
	}
	hi, lo := bits.Mul64(h^w, p0)
	hi, lo = bits.Mul64(hi^lo, p1)
	return hi ^ lo
}

func find[V any, K string | []byte](m pmap[V], k K) (V, bool) {
	var none V
	n := m.root
	if n == nil {
		return none, false
	}
	h := hashKey(k)
	for shift := 0; shift <= lastShift; shift += levelBits {
		bit := uint32(1) << (h >> shift & levelMask)
		if n.bits&bit == 0 {
			return none, false
		}
		s := &n.slots[bits.OnesCount32(n.bits&(bit-1))]
		if s.sub == nil {
			if s.key == string(k) {
				return s.val, true
			}
			return none, false
		}
		n = s.sub
	}
	lo, hi := 0, len(n.slots)
	for lo < hi {
		mid := (lo + hi) / 2
		if n.slots[mid].key < string(k) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(n.slots) && n.slots[lo].key == string(k) {
		return n.slots[lo].val, true
	}
	return none, false
}

func (m pmap[V]) get(k string) (V, bool) { return find(m, k) }

// at is get with the zero value for what is not there.
func (m pmap[V]) at(k string) V {
	v, _ := find(m, k)
	return v
}

func (m pmap[V]) len() int { return m.n }

// with adds or replaces an entry.
func (m pmap[V]) with(k string, v V) pmap[V] {
	if m.root == nil {
		m.root = &pnode[V]{}
	}
	root, added := m.root.with(hashKey(k), 0, pslot[V]{key: k, val: v})
	m.root = root
	if added {
		m.n++
	}
	return m
}

func (n *pnode[V]) with(h uint64, shift int, e pslot[V]) (*pnode[V], bool) {
	if shift > lastShift {
		i, found := n.search(e.key)
		if found {
			return n.replaced(i, e), false
		}
		return &pnode[V]{slots: inserted(n.slots, i, e)}, true
	}
	bit := uint32(1) << (h >> shift & levelMask)
	i := bits.OnesCount32(n.bits & (bit - 1))
	if n.bits&bit == 0 {
		return &pnode[V]{bits: n.bits | bit, slots: inserted(n.slots, i, e)}, true
	}
	s := n.slots[i]
	if s.sub != nil {
		sub, added := s.sub.with(h, shift+levelBits, e)
		return n.replaced(i, pslot[V]{sub: sub}), added
	}
	if s.key == e.key {
		return n.replaced(i, e), false
	}
	return n.replaced(i, pslot[V]{sub: pair(s, hashKey(s.key), e, h, shift+levelBits)}), true
}

// pair makes the smallest tree that holds two entries.
func pair[V any](a pslot[V], ha uint64, b pslot[V], hb uint64, shift int) *pnode[V] {
	if shift > lastShift {
		if a.key > b.key {
			a, b = b, a
		}
		return &pnode[V]{slots: []pslot[V]{a, b}}
	}
	ia, ib := ha>>shift&levelMask, hb>>shift&levelMask
	if ia == ib {
		return &pnode[V]{bits: 1 << ia, slots: []pslot[V]{{sub: pair(a, ha, b, hb, shift+levelBits)}}}
	}
	if ia > ib {
		a, b = b, a
	}
	return &pnode[V]{bits: 1<<ia | 1<<ib, slots: []pslot[V]{a, b}}
}

// without removes an entry, if it is there.
func (m pmap[V]) without(k string) pmap[V] {
	if _, ok := m.get(k); !ok {
		return m
	}
	m.n--
	if m.n == 0 {
		m.root = nil
		return m
	}
	m.root = m.root.without(hashKey(k), 0, k)
	return m
}

// without removes an entry that is there. The result is nil when nothing is left.
func (n *pnode[V]) without(h uint64, shift int, k string) *pnode[V] {
	if shift > lastShift {
		i, _ := n.search(k)
		return n.dropped(i, 0)
	}
	bit := uint32(1) << (h >> shift & levelMask)
	i := bits.OnesCount32(n.bits & (bit - 1))
	s := n.slots[i]
	if s.sub == nil {
		return n.dropped(i, bit)
	}
	sub := s.sub.without(h, shift+levelBits, k)
	switch {
	case sub == nil:
		return n.dropped(i, bit)
	case len(sub.slots) == 1 && sub.slots[0].sub == nil:
		return n.replaced(i, sub.slots[0]) // an entry alone needs no node of its own
	}
	return n.replaced(i, pslot[V]{sub: sub})
}

func (n *pnode[V]) search(k string) (int, bool) {
	return slices.BinarySearchFunc(n.slots, k, func(s pslot[V], k string) int { return strings.Compare(s.key, k) })
}

func (n *pnode[V]) replaced(i int, s pslot[V]) *pnode[V] {
	slots := slices.Clone(n.slots)
	slots[i] = s
	return &pnode[V]{bits: n.bits, slots: slots}
}

func (n *pnode[V]) dropped(i int, bit uint32) *pnode[V] {
	if len(n.slots) == 1 {
		return nil
	}
	slots := make([]pslot[V], 0, len(n.slots)-1)
	slots = append(append(slots, n.slots[:i]...), n.slots[i+1:]...)
	return &pnode[V]{bits: n.bits &^ bit, slots: slots}
}

func inserted[V any](old []pslot[V], i int, s pslot[V]) []pslot[V] {
	slots := make([]pslot[V], 0, len(old)+1)
	return append(append(append(slots, old[:i]...), s), old[i:]...)
}

// keys lists the keys in byte order.
func (m pmap[V]) keys() []string {
	if m.root == nil {
		return nil
	}
	ks := make([]string, 0, m.n)
	m.root.each(func(k string, _ V) { ks = append(ks, k) })
	slices.Sort(ks)
	return ks
}

// sorted lists the values in the byte order of their keys.
func (m pmap[V]) sorted() []V {
	if m.root == nil {
		return nil
	}
	es := make([]pslot[V], 0, m.n)
	m.root.each(func(k string, v V) { es = append(es, pslot[V]{key: k, val: v}) })
	slices.SortFunc(es, func(a, b pslot[V]) int { return strings.Compare(a.key, b.key) })
	vs := make([]V, len(es))
	for i := range es {
		vs[i] = es[i].val
	}
	return vs
}

func (n *pnode[V]) each(f func(string, V)) {
	for i := range n.slots {
		if s := &n.slots[i]; s.sub != nil {
			s.sub.each(f)
		} else {
			f(s.key, s.val)
		}
	}
}
