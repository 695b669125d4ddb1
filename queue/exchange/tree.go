package exchange

import (
	"math/bits"
	"slices"
)

// tree is a persistent map from strings: with and without give new trees that
// share all but a few small nodes with the old one. It is a hash trie of 32-fold
// branches. The hash has no seed, so a tree has the same shape on every node;
// whoever could make keys collide in all 64 bits would get a sorted list.
//
// The zero value is an empty map.
type tree[V any] struct {
	root *branch[V]
	n    int
}

// leaf is one key and its value.
type leaf[V any] struct {
	key string
	val V
}

// branch holds, for each of 32 values of the hash's next five bits, nothing, a
// leaf or a further branch. Below the last bits leaves is a list sorted by key
// and both maps are zero. No branch but the root has less than two leaves below.
type branch[V any] struct {
	leafMap, kidMap uint32
	leaves          []leaf[V]
	kids            []*branch[V]
}

const lastShift = 60

// get finds a key of which the caller knows the hash.
func (t tree[V]) get(h uint64, key string) (v V, ok bool) {
	l := t.root.slot(h)
	for i := range l {
		if l[i].key == key {
			return l[i].val, true
		}
	}
	return v, false
}

// getBytes is get for a key that is bytes; nothing is allocated.
func (t tree[V]) getBytes(h uint64, key []byte) (v V, ok bool) {
	l := t.root.slot(h)
	for i := range l {
		if l[i].key == string(key) {
			return l[i].val, true
		}
	}
	return v, false
}

// slot is the leaf that a key with this hash must be, if it is there; in the
// worst case several.
func (b *branch[V]) slot(h uint64) []leaf[V] {
	for shift := uint(0); b != nil; shift += 5 {
		if shift > lastShift {
			return b.leaves
		}
		bit := uint32(1) << (h >> shift & 31)
		if b.kidMap&bit != 0 {
			b = b.kids[place(b.kidMap, bit)]
			continue
		}
		if b.leafMap&bit == 0 {
			return nil
		}
		i := place(b.leafMap, bit)
		return b.leaves[i : i+1]
	}
	return nil
}

// with is the tree in which key has that value.
func (t tree[V]) with(key string, v V) tree[V] {
	h := hashString(key)
	if _, had := t.get(h, key); !had {
		t.n++
	}
	t.root = t.root.with(0, h, key, v)
	return t
}

// without is the tree in which key is not.
func (t tree[V]) without(key string) tree[V] {
	h := hashString(key)
	if _, had := t.get(h, key); !had {
		return t
	}
	if t.n--; t.n == 0 {
		return tree[V]{}
	}
	t.root = t.root.without(0, h, key)
	return t
}

// leaves are all keys and values in an order that only the keys determine.
func (t tree[V]) leaves() []leaf[V] {
	return t.root.append(make([]leaf[V], 0, t.n))
}

func (b *branch[V]) append(dst []leaf[V]) []leaf[V] {
	if b == nil {
		return dst
	}
	dst = append(dst, b.leaves...)
	for _, k := range b.kids {
		dst = k.append(dst)
	}
	return dst
}

func (b *branch[V]) with(shift uint, h uint64, key string, v V) *branch[V] {
	bit := uint32(1) << (h >> shift & 31)
	if b == nil {
		b = &branch[V]{leaves: []leaf[V]{{key, v}}}
		if shift <= lastShift {
			b.leafMap = bit
		}
		return b
	}
	c := *b
	switch {
	case shift > lastShift:
		i, found := slices.BinarySearchFunc(b.leaves, key, compareLeaf[V])
		if found {
			c.leaves = replaced(b.leaves, i, leaf[V]{key, v})
		} else {
			c.leaves = inserted(b.leaves, i, leaf[V]{key, v})
		}
	case b.kidMap&bit != 0:
		i := place(b.kidMap, bit)
		c.kids = replaced(b.kids, i, b.kids[i].with(shift+5, h, key, v))
	case b.leafMap&bit != 0:
		i := place(b.leafMap, bit)
		old := b.leaves[i]
		if old.key == key {
			c.leaves = replaced(b.leaves, i, leaf[V]{key, v})
			break
		}
		// Two keys for one place: both go one level down.
		var kid *branch[V]
		kid = kid.with(shift+5, hashString(old.key), old.key, old.val).with(shift+5, h, key, v)
		c.leaves, c.leafMap = removed(b.leaves, i), b.leafMap&^bit
		c.kids, c.kidMap = inserted(b.kids, place(b.kidMap, bit), kid), b.kidMap|bit
	default:
		c.leaves, c.leafMap = inserted(b.leaves, place(b.leafMap, bit), leaf[V]{key, v}), b.leafMap|bit
	}
	return &c
}

// without is the branch without a key that is below it.
func (b *branch[V]) without(shift uint, h uint64, key string) *branch[V] {
	c := *b
	if shift > lastShift {
		i, _ := slices.BinarySearchFunc(b.leaves, key, compareLeaf[V])
		c.leaves = removed(b.leaves, i)
		return &c
	}
	bit := uint32(1) << (h >> shift & 31)
	if b.kidMap&bit == 0 {
		c.leaves, c.leafMap = removed(b.leaves, place(b.leafMap, bit)), b.leafMap&^bit
		return &c
	}
	i := place(b.kidMap, bit)
	kid := b.kids[i].without(shift+5, h, key)
	if len(kid.kids) > 0 || len(kid.leaves) > 1 {
		c.kids = replaced(b.kids, i, kid)
		return &c
	}
	// A lone leaf comes up, so that equal maps have equal shapes.
	c.kids, c.kidMap = removed(b.kids, i), b.kidMap&^bit
	c.leaves, c.leafMap = inserted(b.leaves, place(b.leafMap, bit), kid.leaves[0]), b.leafMap|bit
	return &c
}

func compareLeaf[V any](l leaf[V], key string) int {
	switch {
	case l.key < key:
		return -1
	case l.key > key:
		return 1
	}
	return 0
}

// place is how many of a map's members come before bit.
func place(m, bit uint32) int { return bits.OnesCount32(m & (bit - 1)) }

// replaced, inserted and removed give new slices and leave the old one alone.

func replaced[E any](s []E, i int, e E) []E {
	c := slices.Clone(s)
	c[i] = e
	return c
}

func inserted[E any](s []E, i int, e E) []E {
	c := make([]E, len(s)+1)
	copy(c, s[:i])
	c[i] = e
	copy(c[i+1:], s[i:])
	return c
}

func removed[E any](s []E, i int) []E {
	if len(s) == 1 {
		return nil
	}
	c := make([]E, len(s)-1)
	copy(c, s[:i])
	copy(c[i:], s[i+1:])
	return c
}

// The hash is FNV-1a, stirred at the end: the branches look at its low bits first.

const (
	fnvStart = 14695981039346656037
	fnvPrime = 1099511628211
)

func hashString(s string) uint64 {
	h := uint64(fnvStart)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return stir(h)
}

func hashBytes(b []byte) uint64 {
	h := uint64(fnvStart)
	for _, c := range b {
		h = (h ^ uint64(c)) * fnvPrime
	}
	return stir(h)
}

func stir(h uint64) uint64 {
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}
