package exchange

import (
	"slices"

	"mayfly/amqp/wire"
)

// Message is what routing looks at.
type Message struct {
	Key     []byte
	Extra   [][]byte // further routing keys, of CC and BCC
	Headers wire.Table
}

// Router is the working memory of Route. It belongs to one goroutine and is used
// again for every message; then routing allocates nothing. The zero value is
// ready.
type Router struct {
	// Seed sets where the choices of random exchanges begin.
	Seed uint64

	hits    []hit       // what matched
	work    []*Exchange // visited, and still to visit
	seen    set[Exchange]
	out     []string
	topic   topicMatch
	headers []header
}

// Table is the exchanges of one vhost. It is immutable; nil is an empty one.
type Table struct {
	m tree[*Exchange]
}

// Get finds an exchange; nil if there is none of that name.
func (t *Table) Get(name string) *Exchange {
	if t == nil {
		return nil
	}
	x, _ := t.m.get(hashString(name), name)
	return x
}

// GetBytes is Get for a name that is bytes; it allocates nothing.
func (t *Table) GetBytes(name []byte) *Exchange {
	if t == nil {
		return nil
	}
	x, _ := t.m.getBytes(hashBytes(name), name)
	return x
}

// Len is how many exchanges there are.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	return t.m.n
}

// With is the table with an exchange added or replaced.
func (t *Table) With(x *Exchange) *Table {
	var c Table
	if t != nil {
		c = *t
	}
	c.m = c.m.with(x.Name, x)
	return &c
}

// Without is the table without an exchange. Bindings that lead to it are the
// caller's to remove; one that is left leads nowhere.
func (t *Table) Without(name string) *Table {
	if t.Get(name) == nil {
		return t
	}
	return &Table{t.m.without(name)}
}

// All are the exchanges, sorted by name.
func (t *Table) All() []*Exchange {
	if t == nil {
		return nil
	}
	list := t.m.leaves()
	slices.SortFunc(list, func(a, b leaf[*Exchange]) int { return compareLeaf(a, b.key) })
	out := make([]*Exchange, len(list))
	for i := range list {
		out[i] = list[i].val
	}
	return out
}

// Route is the names of the queues that a message published to x goes to, sorted,
// each once (amqp.md 13). Bindings to exchanges are followed, each exchange being
// visited once, so that cycles end; an exchange that matches nothing hands over
// to its alternate.
//
// The result is good until the next Route with the same Router, and not to be
// changed: it may be part of the exchange itself.
func (t *Table) Route(x *Exchange, m *Message, r *Router) []string {
	r.hits = r.hits[:0]
	x.match(m, r)
	// Nearly every message goes to one exchange, and nearly always one set of
	// queues answers: no more is to be done then than to name it.
	if len(r.hits) == 1 && len(r.hits[0].exchanges) == 0 {
		return r.hits[0].queues
	}
	t.walk(x, m, r)
	return r.merge()
}

// walk visits the exchanges that are reached from x, which has matched already.
func (t *Table) walk(x *Exchange, m *Message, r *Router) {
	if len(r.hits) == 0 && x.Alternate == "" {
		return
	}
	r.work = r.work[:0]
	r.seen.clear()
	r.visit(x)
	from := 0
	for i := 0; ; {
		if len(r.hits) == from {
			r.visit(t.alternate(r.work[i]))
		}
		for k := from; k < len(r.hits); k++ {
			for _, name := range r.hits[k].exchanges {
				r.visit(t.Get(name))
			}
		}
		if i++; i == len(r.work) {
			return
		}
		from = len(r.hits)
		r.work[i].match(m, r)
	}
}

func (t *Table) alternate(x *Exchange) *Exchange {
	if x.Alternate == "" {
		return nil
	}
	return t.Get(x.Alternate)
}

// visit notes an exchange as one to go to, unless it was already or is none.
func (r *Router) visit(x *Exchange) {
	if x != nil && r.seen.add(x.hash, x) {
		r.work = append(r.work, x)
	}
}

// match adds what the bindings of one exchange make of a message.
func (e *Exchange) match(m *Message, r *Router) {
	switch e.Kind {
	case Direct:
		r.matchDirect(e, m.Key)
		for _, k := range m.Extra {
			r.matchDirect(e, k)
		}
	case Topic:
		r.matchTopic(e.topic, m.Key)
		for _, k := range m.Extra {
			r.matchTopic(e.topic, k)
		}
	case Headers:
		r.matchHeaders(e.headers, m.Headers)
	case LocalRandom:
		r.matchRandom(e.all)
	case ConsistentHash:
		r.matchHash(e, m)
	default:
		if e.all != nil {
			r.hits = append(r.hits, e.all.hit)
		}
	}
}

func (r *Router) matchDirect(e *Exchange, key []byte) {
	if t, ok := e.keys.getBytes(hashBytes(key), key); ok {
		r.hits = append(r.hits, t.hit)
	}
}

// merge makes one sorted list of all queues that were hit.
func (r *Router) merge() []string {
	var only []string
	lists := 0
	for i := range r.hits {
		if q := r.hits[i].queues; len(q) > 0 {
			only = q
			lists++
		}
	}
	if lists <= 1 {
		return only
	}
	r.out = r.out[:0]
	for i := range r.hits {
		r.out = append(r.out, r.hits[i].queues...)
	}
	slices.Sort(r.out)
	r.out = slices.Compact(r.out)
	return r.out
}
