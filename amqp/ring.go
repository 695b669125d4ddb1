package amqp

import "unsafe"

// keepRing is how many octets an empty ring keeps after a burst.
const keepRing = 128 << 10

// ring is a queue in a circular buffer that grows by doubling and allocates
// nothing in steady state. The zero value is empty.
type ring[T any] struct {
	buf  []T // length is a power of two
	head int
	n    int
}

func (r *ring[T]) len() int { return r.n }

// at is the i-th element from the front; the pointer holds until the next push.
func (r *ring[T]) at(i int) *T { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

// push appends and returns the new element to be filled in: large elements are
// written once.
func (r *ring[T]) push() *T {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.n++
	return r.at(r.n - 1)
}

// pop removes the front; what it referred to is let go.
func (r *ring[T]) pop() T {
	p := r.at(0)
	v := *p
	var zero T
	*p = zero
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	if r.n == 0 && len(r.buf)*int(unsafe.Sizeof(zero)) > keepRing {
		r.buf, r.head = nil, 0
	}
	return v
}

// keep drops every element that f refuses, in one pass, order kept.
func (r *ring[T]) keep(f func(*T) bool) {
	kept := 0
	for i := range r.n {
		if p := r.at(i); f(p) {
			*r.at(kept) = *p
			kept++
		}
	}
	var zero T
	for i := kept; i < r.n; i++ {
		*r.at(i) = zero
	}
	r.n = kept
}

func (r *ring[T]) grow() {
	bigger := make([]T, max(16, 2*len(r.buf)))
	n := copy(bigger, r.buf[r.head:])
	copy(bigger[n:], r.buf[:r.head])
	r.buf, r.head = bigger, 0
}
