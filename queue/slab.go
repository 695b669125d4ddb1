package queue

import "slices"

// Messages live in chunks of 64, chunks hang in pages of 32: a position is an
// address. Nothing is moved, a chunk that empties is used again, and a position
// that stays occupied for ever costs its chunk and its page, however many pass it.
const (
	chunkBits = 6
	chunkLen  = 1 << chunkBits
	pageBits  = 5
	pageLen   = 1 << pageBits
	maxSpare  = 2 // empty chunks kept for reuse
)

type chunk [chunkLen]message

// chunkRef is a chunk's place in its page. gen tells since which freeze the chunk
// belongs to the slab alone: one that is older than slab.gen may be shared with a
// snapshot and is copied before the first write.
type chunkRef struct {
	c    *chunk
	gen  uint32
	live uint32
}

type page struct {
	number uint64 // position >> 11 of all its messages
	used   int    // chunks that are not nil
	chunks [pageLen]chunkRef
}

// slab holds the messages of a queue by position.
type slab struct {
	pages  []*page // by ascending number, none empty
	gen    uint32
	next   Pos // the next position to give; positions start at 1, 0 is "none" in links
	count  uint64
	spare  []*chunk
	unused *page
}

func pageOf(p Pos) uint64 { return uint64(p) >> (chunkBits + pageBits) }

// find is the index of a page, or where it would be. Pages are mostly dense up to
// the newest, so counting back from it hits.
func (s *slab) find(number uint64) (int, bool) {
	last := len(s.pages) - 1
	if last < 0 {
		return 0, false
	}
	back := s.pages[last].number - number
	if back <= uint64(last) && s.pages[last-int(back)].number == number {
		return last - int(back), true
	}
	lo, hi := 0, last+1
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); s.pages[mid].number < number {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo <= last && s.pages[lo].number == number
}

func (s *slab) ref(p Pos) *chunkRef {
	i, ok := s.find(pageOf(p))
	if !ok {
		return nil
	}
	return &s.pages[i].chunks[uint64(p)>>chunkBits&(pageLen-1)]
}

// get gives the message at p for reading, nil when there is none.
func (s *slab) get(p Pos) *message {
	r := s.ref(p)
	if r == nil || r.c == nil {
		return nil
	}
	m := &r.c[p&(chunkLen-1)]
	if m.flags&stateMask == stateNone {
		return nil
	}
	return m
}

// mut gives the message at p, which must exist, for writing.
func (s *slab) mut(p Pos) *message {
	r := s.ref(p)
	if r.gen != s.gen {
		s.own(r)
	}
	return &r.c[p&(chunkLen-1)]
}

// own makes the chunk of r the slab's alone.
func (s *slab) own(r *chunkRef) {
	c := s.newChunk()
	*c = *r.c
	r.c, r.gen = c, s.gen
}

func (s *slab) newChunk() *chunk {
	if n := len(s.spare); n > 0 {
		c := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return c
	}
	return new(chunk)
}

// add gives the next position and its message, to be filled by the caller.
func (s *slab) add() (Pos, *message) {
	p := s.next
	r := s.ref(p)
	if r == nil || r.c == nil {
		r = s.grow(p)
	} else if r.gen != s.gen {
		s.own(r)
	}
	s.next++
	s.count++
	r.live++
	if s.next&(chunkLen-1) == 0 {
		// The tail moves on: from now on this chunk goes when it empties, and
		// it is not empty, for it has just got a message.
		return p, &r.c[chunkLen-1]
	}
	return p, &r.c[p&(chunkLen-1)]
}

// grow makes the chunk that p, the next position, falls into.
func (s *slab) grow(p Pos) *chunkRef {
	i, ok := s.find(pageOf(p))
	if !ok {
		pg := s.unused
		if pg == nil {
			pg = new(page)
		}
		s.unused = nil
		pg.number = pageOf(p)
		s.pages = append(s.pages, pg) // nothing is beyond the next position
	}
	pg := s.pages[i]
	r := &pg.chunks[uint64(p)>>chunkBits&(pageLen-1)]
	*r = chunkRef{c: s.newChunk(), gen: s.gen}
	pg.used++
	return r
}

// free forgets the message at p, which must exist.
func (s *slab) free(p Pos) {
	r := s.ref(p)
	s.count--
	r.live--
	if r.live == 0 && uint64(p)>>chunkBits != uint64(s.next)>>chunkBits {
		if r.gen == s.gen {
			r.c[p&(chunkLen-1)] = message{}
			if len(s.spare) < maxSpare {
				s.spare = append(s.spare, r.c)
			}
		}
		s.drop(p, r)
		return
	}
	if r.gen != s.gen {
		s.own(r)
	}
	r.c[p&(chunkLen-1)] = message{}
}

// drop takes the empty chunk of p out of its page, and the page if that was all.
func (s *slab) drop(p Pos, r *chunkRef) {
	*r = chunkRef{}
	i, _ := s.find(pageOf(p))
	pg := s.pages[i]
	if pg.used--; pg.used > 0 {
		return
	}
	s.unused = pg
	if i == 0 {
		s.pages[0] = nil
		s.pages = s.pages[1:]
		return
	}
	s.pages = slices.Delete(s.pages, i, i+1)
}

// trim gives back what an idle queue does not need: spare chunks, and the tail
// chunk when nothing is left in it.
func (s *slab) trim() {
	s.spare, s.unused = nil, nil
	if r := s.ref(s.next); r != nil && r.c != nil && r.live == 0 {
		s.drop(s.next, r)
		s.unused = nil
	}
	if len(s.pages) == 0 {
		s.pages = nil
	}
}

// put places a message at a given position, for a restore; positions ascend.
func (s *slab) put(p Pos, m message) {
	s.next = p
	_, at := s.add()
	*at = m
}

// freeze gives an unchanging view of the slab. The slab copies a chunk before it
// next writes to it.
func (s *slab) freeze() *slab {
	copies := make([]page, len(s.pages))
	f := &slab{next: s.next, count: s.count, pages: make([]*page, len(s.pages))}
	for i, pg := range s.pages {
		copies[i] = *pg
		f.pages[i] = &copies[i]
	}
	s.gen++
	return f
}

// each calls fn for the messages in order of position until it says no. fn may
// write to the messages but not add or free any.
func (s *slab) each(fn func(Pos, *message) bool) {
	for _, pg := range s.pages {
		for j := range pg.chunks {
			r := &pg.chunks[j]
			if r.c == nil || r.live == 0 {
				continue
			}
			start := Pos(pg.number<<(chunkBits+pageBits) + uint64(j)<<chunkBits)
			for k := range chunkLen {
				if m := &r.c[k]; m.state() != stateNone && !fn(start+Pos(k), m) {
					return
				}
			}
		}
	}
}
