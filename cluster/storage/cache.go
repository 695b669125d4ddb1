package storage

import "sync"

// cache keeps recent entries of all groups in memory, bounded in bytes: those
// just stored (the slices that raft gave, kept as they are) and those read back
// and verified. Least recently used go first. Its mutex is a leaf.
type cache struct {
	mu    sync.Mutex
	max   int64
	bytes int64
	items map[cacheKey]*cacheItem
	head  cacheItem // ring: head.next is the newest
}

type cacheKey struct {
	g     *Group
	index uint64
}

type cacheItem struct {
	key        cacheKey
	term       uint64 // with the index it identifies the content
	appended   int64
	data, ext  []byte
	next, prev *cacheItem
}

// itemOverhead is what an item costs besides its bytes.
const itemOverhead = 176

func (it *cacheItem) size() int64 { return int64(len(it.data)) + int64(len(it.ext)) + itemOverhead }

func newCache(maxBytes int64) *cache {
	c := &cache{max: maxBytes, items: make(map[cacheKey]*cacheItem)}
	c.head.next, c.head.prev = &c.head, &c.head
	return c
}

func (c *cache) unlink(it *cacheItem) {
	it.prev.next, it.next.prev = it.next, it.prev
	it.next, it.prev = nil, nil
}

func (c *cache) front(it *cacheItem) {
	it.prev, it.next = &c.head, c.head.next
	it.prev.next, it.next.prev = it, it
}

func (c *cache) remove(it *cacheItem) {
	c.unlink(it)
	delete(c.items, it.key)
	c.bytes -= it.size()
	it.data, it.ext = nil, nil // items come in slabs: one must not keep the others' bytes
}

// get returns the entry if its term is the expected one.
func (c *cache) get(g *Group, index uint64, term uint32) (data, ext []byte, appended int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	it := c.items[cacheKey{g, index}]
	if it == nil || it.term != uint64(term) {
		return nil, nil, 0, false
	}
	if c.head.next != it {
		c.unlink(it)
		c.front(it)
	}
	return it.data, it.ext, it.appended, true
}

// add takes over items with key, term and bytes set.
func (c *cache) add(items []cacheItem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range items {
		it := &items[i]
		if old := c.items[it.key]; old != nil {
			c.remove(old)
		}
		c.items[it.key] = it
		c.front(it)
		c.bytes += it.size()
	}
	for c.bytes > c.max {
		c.remove(c.head.prev)
	}
}

func (c *cache) drop(g *Group, index uint64) {
	c.mu.Lock()
	if it := c.items[cacheKey{g, index}]; it != nil {
		c.remove(it)
	}
	c.mu.Unlock()
}

func (c *cache) used() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
