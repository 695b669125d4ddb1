package storage

import "slices"

// slot says where the latest record of one log entry lies. 24 bytes.
type slot struct {
	seg  uint32 // segment number; 0 = nothing here
	off  uint32
	size uint32 // of the record, header included
	live uint32 // bodies in it that the state machine still refers to
	term uint32
	typ  uint8
}

const chunkSlots = 128

// chunk holds the slots of neighbouring indexes, base first.
type chunk struct {
	base  uint64
	used  int
	slots []slot
}

func (c *chunk) end() uint64 { return c.base + uint64(len(c.slots)) }

// index maps log index to slot. Dense where the log is, so that an entry costs
// its slot; short chunks for what lives on below the log's first index.
type index struct {
	chunks []*chunk // by base; none overlap
	empty  int      // chunks with used == 0
	used   int
}

// find returns the position of the last chunk with base <= i, or -1.
func (x *index) find(i uint64) int {
	n := len(x.chunks)
	if n > 0 && x.chunks[n-1].base <= i {
		return n - 1
	}
	p, found := slices.BinarySearchFunc(x.chunks, i, func(c *chunk, i uint64) int {
		switch {
		case c.base < i:
			return -1
		case c.base > i:
			return 1
		}
		return 0
	})
	if found {
		return p
	}
	return p - 1
}

// get returns the slot of i, or nil. The pointer is good until the next change.
func (x *index) get(i uint64) *slot {
	p := x.find(i)
	if p < 0 {
		return nil
	}
	c := x.chunks[p]
	if i >= c.end() {
		return nil
	}
	if s := &c.slots[i-c.base]; s.seg != 0 {
		return s
	}
	return nil
}

// put sets the slot of i.
func (x *index) put(i uint64, s slot) {
	p := x.find(i)
	if p < 0 || i-x.chunks[p].base >= chunkSlots {
		p++
		x.chunks = slices.Insert(x.chunks, p, &chunk{base: i})
		x.empty++
	}
	c := x.chunks[p]
	n := int(i - c.base)
	if n >= len(c.slots) {
		c.grow(n + 1)
	}
	if c.slots[n].seg == 0 {
		if c.used == 0 {
			x.empty--
		}
		c.used++
		x.used++
	}
	c.slots[n] = s
}

// grow makes room for n slots. Small groups stay small.
func (c *chunk) grow(n int) {
	if n > cap(c.slots) {
		want := 4
		for want < n {
			want *= 4
		}
		slots := make([]slot, len(c.slots), min(want, chunkSlots))
		copy(slots, c.slots)
		c.slots = slots
	}
	c.slots = c.slots[:n]
}

// drop empties the slot of i, which must be in use.
func (x *index) drop(i uint64) {
	c := x.chunks[x.find(i)]
	c.slots[i-c.base] = slot{}
	x.used--
	if c.used--; c.used > 0 {
		return
	}
	c.slots = nil
	x.empty++
	if x.empty > 8 && x.empty*2 > len(x.chunks) || x.used == 0 {
		x.chunks = slices.DeleteFunc(x.chunks, func(c *chunk) bool { return c.used == 0 })
		x.empty = 0
		if len(x.chunks) == 0 {
			x.chunks = nil
		}
	}
}

// next returns the lowest index >= i that has a slot.
func (x *index) next(i uint64) (uint64, bool) {
	for p := max(x.find(i), 0); p < len(x.chunks); p++ {
		c := x.chunks[p]
		if c.used == 0 {
			continue
		}
		for j := max(i, c.base); j < c.end(); j++ {
			if c.slots[j-c.base].seg != 0 {
				return j, true
			}
		}
	}
	return 0, false
}

// prev returns the highest index <= i that has a slot.
func (x *index) prev(i uint64) (uint64, bool) {
	for p := x.find(i); p >= 0; p-- {
		c := x.chunks[p]
		if c.used == 0 {
			continue
		}
		for j := min(i+1, c.end()); j > c.base; j-- {
			if c.slots[j-1-c.base].seg != 0 {
				return j - 1, true
			}
		}
	}
	return 0, false
}

// each calls f for every slot in [from, to], ascending; f may change the slot
// in place but not the index.
func (x *index) each(from, to uint64, f func(i uint64, s *slot)) {
	for p := max(x.find(from), 0); p < len(x.chunks) && x.chunks[p].base <= to; p++ {
		c := x.chunks[p]
		if c.used == 0 || c.end() <= from {
			continue
		}
		for j := max(from, c.base) - c.base; j < uint64(len(c.slots)) && c.base+j <= to; j++ {
			if c.slots[j].seg != 0 {
				f(c.base+j, &c.slots[j])
			}
		}
	}
}

// removeIf drops the slots in [from, to] for which f says so, f being free to
// account for them.
func (x *index) removeIf(from, to uint64, f func(i uint64, s *slot) bool) {
	for p := max(x.find(from), 0); p < len(x.chunks) && x.chunks[p].base <= to; p++ {
		c := x.chunks[p]
		if c.used == 0 || c.end() <= from {
			continue
		}
		for j := max(from, c.base) - c.base; j < uint64(len(c.slots)) && c.base+j <= to; j++ {
			if c.slots[j].seg != 0 && f(c.base+j, &c.slots[j]) {
				c.slots[j] = slot{}
				c.used--
				x.used--
			}
		}
		if c.used == 0 {
			c.slots = nil
			x.empty++
		}
	}
	if x.empty > 0 {
		x.chunks = slices.DeleteFunc(x.chunks, func(c *chunk) bool { return c.used == 0 })
		x.empty = 0
	}
	if len(x.chunks) == 0 {
		x.chunks = nil
	}
}
