package vfs

import "slices"

// pageSize is the unit in which a kernel writes back.
const pageSize = 4096

// unit is something that a power cut may or may not leave on disk: one change of
// a name, one truncation, one page of one write.
type unit struct {
	op   int // index in ops, or -1
	node *inode
	w    write
}

// Keep decides about the i-th of n units that no sync covered: it returns how
// many bytes of it survive (size for all, 0 for none). Changes of names and
// truncations have size 1. Units come in the order in which they were made;
// those of failed syncs are gone anyway and not asked about.
type Keep func(i, n, size int) int

// All, None, Without, Only and Torn are the subsets that crash-point enumeration
// tries (reliability.md 3.3); a test adds random ones.
func All(_, _, size int) int { return size }

// None keeps nothing that was not synced.
func None(_, _, _ int) int { return 0 }

// Without loses one unit.
func Without(k int) Keep {
	return func(i, _, size int) int {
		if i == k {
			return 0
		}
		return size
	}
}

// Only keeps one unit.
func Only(k int) Keep {
	return func(i, _, size int) int {
		if i == k {
			return size
		}
		return 0
	}
}

// Torn keeps all but the last unit, and of that the first n bytes.
func Torn(bytes int) Keep {
	return func(i, n, size int) int {
		if i == n-1 {
			return min(bytes, size)
		}
		return size
	}
}

// Pending is how many units a crash now would ask about.
func (m *Mem) Pending() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.units())
}

// units lists what is not durable, names first; m.mu is held.
func (m *Mem) units() []unit {
	var us []unit
	seen := make(map[*inode]bool)
	var nodes []*inode
	note := func(n *inode) {
		if !seen[n] {
			seen[n] = true
			nodes = append(nodes, n)
		}
	}
	for i, o := range m.ops {
		us = append(us, unit{op: i})
		note(o.node)
	}
	for _, names := range []map[string]*inode{m.stable, m.names} {
		var sorted []string
		for name := range names {
			sorted = append(sorted, name)
		}
		slices.Sort(sorted)
		for _, name := range sorted {
			note(names[name])
		}
	}
	for _, n := range nodes {
		for _, w := range n.pending {
			us = append(us, w.pages(n)...)
		}
	}
	return us
}

// pages splits a write where pages of the file begin.
func (w write) pages(n *inode) []unit {
	if w.lost {
		return nil
	}
	if w.truncate {
		return []unit{{op: -1, node: n, w: w}}
	}
	var us []unit
	for off, rest := w.off, w.data; len(rest) > 0; {
		k := min(int64(len(rest)), pageSize-off%pageSize)
		us = append(us, unit{op: -1, node: n, w: write{off: off, data: rest[:k]}})
		off += k
		rest = rest[k:]
	}
	return us
}

// Crash returns the file system as a power cut at this moment may leave it: all
// that is durable, and of the rest what keep says. m itself is not changed, so
// that many outcomes of one moment can be tried.
func (m *Mem) Crash(keep Keep) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := NewMem()
	c.total = m.total
	for d := range m.dirs {
		c.dirs[d] = true
	}
	names := make(map[string]*inode, len(m.stable))
	for name, n := range m.stable {
		names[name] = n
	}
	data := make(map[*inode][]byte)
	content := func(n *inode) []byte {
		if b, ok := data[n]; ok {
			return b
		}
		return slices.Clone(n.durable)
	}
	us := m.units()
	for i, u := range us {
		if u.op >= 0 {
			if keep(i, len(us), 1) > 0 {
				m.ops[u.op].apply(names)
			}
			continue
		}
		size := len(u.w.data)
		if u.w.truncate {
			size = 1
		}
		k := keep(i, len(us), size)
		if k == 0 {
			continue
		}
		w := u.w
		if !w.truncate {
			w.data = w.data[:k]
		}
		data[u.node] = w.apply(content(u.node))
	}
	nodes := make(map[*inode]*inode)
	for name, n := range names {
		if nodes[n] == nil {
			b := content(n)
			nodes[n] = &inode{data: b, durable: slices.Clone(b)}
		}
		c.names[name], c.stable[name] = nodes[n], nodes[n]
	}
	return c
}
