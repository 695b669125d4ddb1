package dlx

import (
	"iter"
	"slices"
	"sort"
)

// chunkLen letters make a chunk of about 6 KiB.
const chunkLen = 128

// chunk is a run of letters with ascending IDs. Those that left have Reason 0;
// the first one, letters[head], is alive.
type chunk struct {
	first   uint64 // ID of letters[head]
	head    int
	alive   int
	shared  bool // a clone reads it too: copy before writing
	letters []Letter
}

// Pending is the box of letters, in the order of their IDs. The zero value is an
// empty box. A letter is added at the end and leaves from anywhere, mostly from
// the front.
//
// A box belongs to one owner. Clone is the exception: the copy shares memory
// with the box and may be read by another goroutine while the box goes on.
type Pending struct {
	chunks []chunk
	n      int
	bytes  uint64
	last   uint64
	spare  []Letter // memory of a chunk that went, for the next: deaths in steady flow allocate nothing
}

// Len is how many letters wait.
func (p *Pending) Len() int { return p.n }

// Bytes is the sum of their bodies (D-46).
func (p *Pending) Bytes() uint64 { return p.bytes }

// Last is the greatest ID ever put, so that the next death can be given the one
// after it: IDs are not reused when the box is empty.
func (p *Pending) Last() uint64 { return p.last }

// SetLast notes that IDs up to id were used, for a box read back from a snapshot.
func (p *Pending) SetLast(id uint64) { p.last = max(p.last, id) }

// Put adds a letter. Its ID must be above all earlier ones and its Reason set;
// otherwise nothing is changed and the answer is false.
func (p *Pending) Put(l Letter) bool {
	if l.ID <= p.last || l.Reason == 0 {
		return false
	}
	if k := len(p.chunks); k == 0 || len(p.chunks[k-1].letters) == chunkLen {
		p.chunks = append(p.chunks, chunk{first: l.ID, letters: p.spare})
		p.spare = nil
	}
	c := p.writable(len(p.chunks) - 1)
	c.letters = append(c.letters, l)
	c.alive++
	p.n++
	p.bytes += uint64(l.Body)
	p.last = l.ID
	return true
}

// Get finds a letter.
func (p *Pending) Get(id uint64) (Letter, bool) {
	i, k := p.find(id)
	if i < 0 {
		return Letter{}, false
	}
	return p.chunks[i].letters[k], true
}

// Remove takes a letter out and answers it; false if it is not there (any more).
func (p *Pending) Remove(id uint64) (Letter, bool) {
	i, k := p.find(id)
	if i < 0 {
		return Letter{}, false
	}
	c := p.writable(i)
	l := c.letters[k]
	c.letters[k].Reason = 0
	c.alive--
	p.n--
	p.bytes -= uint64(l.Body)
	switch {
	case c.alive == 0:
		p.drop(i)
	case k == c.head:
		c.advance()
	}
	return l, true
}

// First is the oldest letter.
func (p *Pending) First() (Letter, bool) {
	if p.n == 0 {
		return Letter{}, false
	}
	return p.chunks[0].letters[p.chunks[0].head], true
}

// All yields the letters in order. The box must not change meanwhile.
func (p *Pending) All() iter.Seq[Letter] { return p.From(0) }

// From yields the letters with that ID and above, in order.
func (p *Pending) From(id uint64) iter.Seq[Letter] {
	return func(yield func(Letter) bool) {
		for i := max(p.chunk(id), 0); i < len(p.chunks); i++ {
			ls := p.chunks[i].letters
			for k := p.chunks[i].head; k < len(ls); k++ {
				l := &ls[k]
				if l.Reason != 0 && l.ID >= id && !yield(*l) {
					return
				}
			}
		}
	}
}

// Clone is the box as it is now, for a snapshot. It costs one word-sized note per
// hundred letters; what is written later is copied first, a chunk at a time.
func (p *Pending) Clone() Pending {
	for i := range p.chunks {
		p.chunks[i].shared = true
	}
	c := *p
	c.chunks = slices.Clone(p.chunks)
	c.spare = nil
	return c
}

// Clear empties the box. Used IDs stay used.
func (p *Pending) Clear() { *p = Pending{last: p.last} }

// Ordered checks the box in full: ascending IDs, true counts, no dead chunk.
func (p *Pending) Ordered() bool {
	n, bytes, last := 0, uint64(0), uint64(0)
	for i := range p.chunks {
		c, alive := &p.chunks[i], 0
		if c.head >= len(c.letters) || c.letters[c.head].Reason == 0 || c.first != c.letters[c.head].ID {
			return false
		}
		for _, l := range c.letters[c.head:] {
			if l.ID <= last {
				return false
			}
			last = l.ID
			if l.Reason != 0 {
				alive++
				bytes += uint64(l.Body)
			}
		}
		if alive != c.alive {
			return false
		}
		n += alive
	}
	return n == p.n && bytes == p.bytes && last <= p.last
}

// chunk is the number of the last chunk that begins at or below id, or -1.
func (p *Pending) chunk(id uint64) int {
	return sort.Search(len(p.chunks), func(i int) bool { return p.chunks[i].first > id }) - 1
}

// find is a living letter's chunk and place in it, or -1.
func (p *Pending) find(id uint64) (int, int) {
	i := p.chunk(id)
	if i < 0 {
		return -1, 0
	}
	c := &p.chunks[i]
	ls := c.letters[c.head:]
	// IDs are dense unless the box was read back from a snapshot, so the guess is
	// nearly always right.
	k := id - c.first
	if k >= uint64(len(ls)) || ls[k].ID != id {
		k = uint64(sort.Search(len(ls), func(k int) bool { return ls[k].ID >= id }))
	}
	if k == uint64(len(ls)) || ls[k].ID != id || ls[k].Reason == 0 {
		return -1, 0
	}
	return i, c.head + int(k)
}

// writable is chunk i with memory that nobody else reads.
func (p *Pending) writable(i int) *chunk {
	c := &p.chunks[i]
	if c.shared {
		c.letters = append(make([]Letter, 0, min(2*len(c.letters), chunkLen)), c.letters...)
		c.shared = false
	}
	return c
}

// advance moves the head past the letters that left.
func (c *chunk) advance() {
	for c.letters[c.head].Reason == 0 {
		c.head++
	}
	c.first = c.letters[c.head].ID
}

// drop takes the dead chunk i out.
func (p *Pending) drop(i int) {
	if c := &p.chunks[i]; cap(c.letters) > cap(p.spare) {
		p.spare = c.letters[:0]
	}
	if i == 0 && len(p.chunks) > 64 {
		p.chunks[0] = chunk{}
		p.chunks = p.chunks[1:]
		return
	}
	p.chunks = slices.Delete(p.chunks, i, i+1)
}
