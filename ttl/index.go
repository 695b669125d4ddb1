package ttl

import (
	"iter"
	"slices"
	"sort"
)

// blockLen entries make a block of 4 KiB: small enough that moving half of one
// costs some tens of nanoseconds, large enough that the list of blocks stays
// short (40,000 entries of it for ten million deadlines).
const blockLen = 256

// entry is one deadline and whose it is.
type entry struct {
	at  Stamp
	pos uint64
}

func (e entry) less(f entry) bool { return e.at < f.at || (e.at == f.at && e.pos < f.pos) }

// block is a sorted run of entries: buf[lo:]. It is never empty. Entries leave
// at the front by raising lo, so popping what is due moves nothing.
type block struct {
	first entry // buf[lo], kept here so that a search touches only the list
	lo    int
	buf   []entry
}

func (b *block) live() []entry { return b.buf[b.lo:] }

// Index holds (deadline, position) pairs in that order, and yields what is due.
// The zero value is empty and ready, and is all that a queue without deadlines
// pays.
//
// It is a sorted list of sorted blocks. Deadlines mostly come in ascending order
// (one TTL for all), which fills blocks to the brim and appends at the end;
// random deadlines leave them about 70 % full, that is some 23 bytes a pair.
// Removal is exact, so nothing stale is ever carried along.
//
// An Index belongs to one owner; it is rebuilt, not snapshot: the deadlines are
// in the messages.
type Index struct {
	blocks []block
	n      int
	spare  []entry // one emptied block, for the next: a queue in steady flow allocates nothing
}

// Len is how many deadlines there are.
func (x *Index) Len() int { return x.n }

// Next is the earliest deadline, or false when there is none.
func (x *Index) Next() (Stamp, bool) {
	if x.n == 0 {
		return Never, false
	}
	return x.blocks[0].first.at, true
}

// Add notes that pos is due at that stamp. Adding a pair that is there changes
// nothing and answers false, as does the deadline Never.
func (x *Index) Add(at Stamp, pos uint64) bool {
	if at == Never {
		return false
	}
	e := entry{at, pos}
	if x.n == 0 {
		x.blocks = append(x.blocks, block{first: e, buf: append(x.newBuf(4), e)})
		x.n = 1
		return true
	}
	if last := &x.blocks[len(x.blocks)-1]; last.buf[len(last.buf)-1].less(e) {
		x.addLast(last, e)
		return true
	}
	i := x.block(e)
	b := &x.blocks[i]
	k := search(b.live(), e)
	if k < len(b.live()) && b.live()[k] == e {
		return false
	}
	if len(b.live()) == blockLen {
		x.split(i)
		if b = &x.blocks[i]; k > len(b.live()) {
			k -= len(b.live())
			b = &x.blocks[i+1]
		}
	}
	b.insert(k, e)
	x.n++
	return true
}

// addLast puts e, the greatest so far, at the end. A full last block is left
// full and a new one begun: splitting it would leave a trail of half-empty ones.
func (x *Index) addLast(last *block, e entry) {
	x.n++
	// Sliding a nearly full block for every entry would cost a move per entry;
	// with a quarter of it free it costs four moved per one added.
	if len(last.buf) < blockLen || last.lo >= blockLen/4 {
		last.push(e)
		return
	}
	x.blocks = append(x.blocks, block{first: e, buf: append(x.newBuf(blockLen), e)})
}

// Remove takes a pair out, and answers whether it was there.
func (x *Index) Remove(at Stamp, pos uint64) bool {
	if x.n == 0 || at == Never {
		return false
	}
	e := entry{at, pos}
	i := x.block(e)
	b := &x.blocks[i]
	k := search(b.live(), e)
	if k == len(b.live()) || b.live()[k] != e {
		return false
	}
	x.n--
	if k == 0 {
		x.dropFirst(i)
	} else {
		copy(b.live()[k:], b.live()[k+1:])
		b.buf = b.buf[:len(b.buf)-1]
	}
	x.tidy(i)
	return true
}

// Pop takes the earliest pair out if it is due at now.
func (x *Index) Pop(now Stamp) (at Stamp, pos uint64, ok bool) {
	if x.n == 0 || !x.blocks[0].first.at.Due(now) {
		return Never, 0, false
	}
	e := x.blocks[0].first
	x.n--
	x.dropFirst(0)
	return e.at, e.pos, true
}

// PopDue takes out at most limit pairs due at now, in (deadline, position) order
// (T-32), gives each to fn, and answers how many. fn runs after its pair is out
// and may change the index.
func (x *Index) PopDue(now Stamp, limit int, fn func(at Stamp, pos uint64)) int {
	n := 0
	for n < limit {
		at, pos, ok := x.Pop(now)
		if !ok {
			break
		}
		n++
		fn(at, pos)
	}
	return n
}

// All yields the pairs in order. The index must not change meanwhile.
func (x *Index) All() iter.Seq2[Stamp, uint64] {
	return func(yield func(Stamp, uint64) bool) {
		for i := range x.blocks {
			for _, e := range x.blocks[i].live() {
				if !yield(e.at, e.pos) {
					return
				}
			}
		}
	}
}

// Clear empties the index.
func (x *Index) Clear() { *x = Index{} }

// Ordered checks the index in full: ascending pairs, no empty block, a true
// count. It is for tests and for Queue.Check.
func (x *Index) Ordered() bool {
	n, last := 0, entry{Never, 0}
	for i := range x.blocks {
		b := &x.blocks[i]
		if len(b.live()) == 0 || len(b.live()) > blockLen || b.first != b.live()[0] {
			return false
		}
		for k, e := range b.live() {
			if (n > 0 || k > 0) && !last.less(e) {
				return false
			}
			last = e
			n++
		}
	}
	return n == x.n
}

// block is the number of the block where e is or belongs.
func (x *Index) block(e entry) int {
	i := sort.Search(len(x.blocks), func(i int) bool { return e.less(x.blocks[i].first) })
	return max(i-1, 0)
}

// search is where in a sorted run e is or belongs.
func search(run []entry, e entry) int {
	lo, hi := 0, len(run)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); run[mid].less(e) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// push appends e to a block with fewer than blockLen live entries.
func (b *block) push(e entry) {
	if len(b.buf) == cap(b.buf) && b.lo > 0 && cap(b.buf) == blockLen {
		b.slide()
	}
	b.buf = append(b.buf, e)
}

// slide moves the live entries to the start of their memory.
func (b *block) slide() {
	n := copy(b.buf, b.live())
	b.buf, b.lo = b.buf[:n], 0
}

// insert puts e at place k of the live entries, of which there are fewer than
// blockLen.
func (b *block) insert(k int, e entry) {
	if k == 0 && b.lo > 0 {
		b.lo--
		b.buf[b.lo] = e
		b.first = e
		return
	}
	b.push(e)
	live := b.live()
	copy(live[k+1:], live[k:])
	live[k] = e
	b.first = live[0]
}

// dropFirst takes the first entry of block i out, and the block if that was all.
func (x *Index) dropFirst(i int) {
	b := &x.blocks[i]
	b.lo++
	if b.lo < len(b.buf) {
		b.first = b.buf[b.lo]
		return
	}
	if cap(b.buf) > cap(x.spare) {
		x.spare = b.buf[:0]
	}
	// A short list moves up, so that it keeps its memory; a long one only loses
	// its first, so that popping a million does not move the list each time.
	if i == 0 && len(x.blocks) > 64 {
		x.blocks[0] = block{}
		x.blocks = x.blocks[1:]
		return
	}
	x.blocks = slices.Delete(x.blocks, i, i+1)
}

// tidy joins block i with its right neighbour when both together fill less than
// three quarters of one: removals in the middle must not leave a long list of
// nearly empty blocks.
func (x *Index) tidy(i int) {
	if i+1 >= len(x.blocks) {
		return
	}
	a, b := &x.blocks[i], &x.blocks[i+1]
	if len(a.live())+len(b.live()) > blockLen*3/4 {
		return
	}
	buf := append(x.newBuf(blockLen), a.live()...)
	a.buf, a.lo = append(buf, b.live()...), 0
	x.blocks = slices.Delete(x.blocks, i+1, i+2)
}

// split halves the full block i.
func (x *Index) split(i int) {
	b := &x.blocks[i]
	half := len(b.live()) / 2
	right := append(x.newBuf(blockLen), b.live()[half:]...)
	b.buf = b.buf[:b.lo+half]
	x.blocks = slices.Insert(x.blocks, i+1, block{first: right[0], buf: right})
}

// newBuf is memory for at least n entries.
func (x *Index) newBuf(n int) []entry {
	if cap(x.spare) >= n {
		buf := x.spare
		x.spare = nil
		return buf
	}
	return make([]entry, 0, n)
}
