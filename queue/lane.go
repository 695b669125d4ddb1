package queue

import "slices"

// lane is the ready messages of one priority in order of position. Those that
// were never delivered hang in a list through the messages themselves; those that
// came back stand in a heap of positions, because they return in any order and
// must find their place again (S10b). The front is the smaller of the two fronts.
type lane struct {
	head, tail Pos
	n          uint64
	back       []Pos // min-heap; may hold positions of messages that died meanwhile
	dead       int   // how many of those
}

// front is the first ready message of the lane, 0 when it is empty.
func (l *lane) front() Pos {
	if len(l.back) > 0 && (l.head == 0 || l.back[0] < l.head) {
		return l.back[0]
	}
	return l.head
}

// join puts the ready message m at p into its lane: at the end when it is new,
// at its place when it comes back.
func (q *Queue) join(p Pos, m *message) {
	level := q.levelOf(m)
	l := &q.lanes[level]
	if l.n++; l.n == 1 {
		q.filled[level>>6] |= 1 << (level & 63)
	}
	q.ready++
	q.readyBytes += uint64(m.body)
	if m.ttl >= 0 {
		q.timed++
	}
	if p < l.tail {
		m.flags |= flagReturned
		l.push(p)
		return
	}
	m.prev, m.next = l.tail, 0
	if l.tail != 0 {
		q.slab.mut(l.tail).next = p
	} else {
		l.head = p
	}
	l.tail = p
}

// leave takes the ready message m at p out of its lane and the deadline index.
func (q *Queue) leave(p Pos, m *message) {
	level := q.levelOf(m)
	l := &q.lanes[level]
	if l.n--; l.n == 0 {
		q.filled[level>>6] &^= 1 << (level & 63)
	}
	q.ready--
	q.readyBytes -= uint64(m.body)
	if m.ttl >= 0 {
		q.timed--
	}
	if m.has(flagIndexed) {
		q.index.Remove(q.indexKey(m), uint64(p))
		m.flags &^= flagIndexed
	}
	if m.has(flagReturned) {
		m.flags &^= flagReturned
		q.leaveBack(l, p)
		return
	}
	if m.prev != 0 {
		q.slab.mut(m.prev).next = m.next
	} else {
		l.head = m.next
	}
	if m.next != 0 {
		q.slab.mut(m.next).prev = m.prev
	} else {
		l.tail = m.prev
	}
	m.prev, m.next = 0, 0
}

// leaveBack takes p out of the heap: at once when it is the top, else by leaving
// it there as dead. A dead position never comes to life again, for positions are
// given once and only the front of a lane can be assigned.
func (q *Queue) leaveBack(l *lane, p Pos) {
	if l.back[0] != p {
		l.dead++
		if l.dead > 64 && l.dead > len(l.back)/2 {
			l.sweep(func(p Pos) bool { return q.isBack(p) })
		}
		return
	}
	l.pop()
	for l.dead > 0 && len(l.back) > 0 && !q.isBack(l.back[0]) {
		l.pop()
		l.dead--
	}
}

// isBack tells whether p stands in a heap and is alive. The message that is just
// leaving has lost its flag already.
func (q *Queue) isBack(p Pos) bool {
	m := q.slab.get(p)
	return m != nil && m.state() == stateReady && m.has(flagReturned)
}

// sweep drops the dead. An ascending slice is a heap.
func (l *lane) sweep(alive func(Pos) bool) {
	kept := l.back[:0]
	for _, p := range l.back {
		if alive(p) {
			kept = append(kept, p)
		}
	}
	slices.Sort(kept)
	l.back, l.dead = kept, 0
}

func (l *lane) push(p Pos) {
	l.back = append(l.back, p)
	i := len(l.back) - 1
	for i > 0 {
		up := (i - 1) / 2
		if l.back[up] < p {
			break
		}
		l.back[i] = l.back[up]
		i = up
	}
	l.back[i] = p
}

// pop takes the top out.
func (l *lane) pop() {
	n := len(l.back) - 1
	p := l.back[n]
	l.back = l.back[:n]
	if n == 0 {
		return
	}
	i := 0
	for {
		kid := 2*i + 1
		if kid >= n {
			break
		}
		if kid+1 < n && l.back[kid+1] < l.back[kid] {
			kid++
		}
		if p < l.back[kid] {
			break
		}
		l.back[i] = l.back[kid]
		i = kid
	}
	l.back[i] = p
}
