package exchange

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"mayfly/amqp/wire"
)

// Dest is what a binding leads to: a queue or an exchange of the same vhost.
type Dest struct {
	Queue bool
	Name  string
}

// Binding leads from an exchange to a destination. Two bindings are the same
// when all four fields are, the order of the arguments apart.
type Binding struct {
	Source string
	Dest   Dest
	Key    string
	Args   wire.Table
}

// Spec is what an exchange is declared as.
type Spec struct {
	Name       string
	Kind       Kind
	Durable    bool
	AutoDelete bool
	Internal   bool
	Args       wire.Table
	Alternate  string // where messages go that match nothing; "" for nowhere. A policy may set it.
}

// Exchange is an exchange with its bindings. It is immutable; the slices and
// strings of what it is given are kept and must not change either.
type Exchange struct {
	Spec
	hash     uint64             // of the name
	bindings tree[tree[*bound]] // by destination, then by key and arguments
	count    int                // of bindings
	all      *targets           // fanout, local-random: every destination
	keys     tree[*targets]     // direct: by binding key
	topic    *node              // topic: by the words of the binding key
	headers  []*headersBinding  // headers: in the order of bind
	weights  []weight           // consistent-hash: sorted by destination
	header   string             // consistent-hash: hashed in place of the routing key
}

// bound is a binding in its exchange, with what makes it differ from others of
// its destination.
type bound struct {
	Binding
	id string
}

// New is an exchange without bindings.
func New(s Spec) *Exchange {
	e := &Exchange{Spec: s, hash: hashString(s.Name)}
	if s.Kind == ConsistentHash {
		if v, ok := s.Args.Get("hash-header"); ok {
			e.header = string(v.Data)
		}
	}
	return e
}

// WithAlternate is the exchange with another alternate exchange.
func (e *Exchange) WithAlternate(name string) *Exchange {
	c := *e
	c.Alternate = name
	return &c
}

// Bind is the exchange with one binding more. If it is there already, the
// exchange comes back as it is and added is false.
func (e *Exchange) Bind(b Binding) (_ *Exchange, added bool) {
	dest, id := destKey(b.Dest), identity(b)
	of, _ := e.bindings.get(hashString(dest), dest)
	if _, found := of.get(hashString(id), id); found {
		return e, false
	}
	c := *e
	x := &bound{b, id}
	c.bindings = e.bindings.with(dest, of.with(id, x))
	c.count++
	switch e.Kind {
	case Direct:
		old, _ := e.keys.get(hashString(b.Key), b.Key)
		c.keys = e.keys.with(b.Key, old.with(b.Dest))
	case Topic:
		c.topic = e.topic.with(b.Key, b.Dest)
	case Headers:
		c.headers = inserted(e.headers, len(e.headers), newHeadersBinding(x))
	case ConsistentHash:
		c.weights = withWeight(e.weights, x)
	default:
		c.all = e.all.with(b.Dest)
	}
	return &c, true
}

// Unbind is the exchange without a binding. If it is not there, the exchange
// comes back as it is and removed is false.
func (e *Exchange) Unbind(b Binding) (_ *Exchange, removed bool) {
	dest, id := destKey(b.Dest), identity(b)
	of, _ := e.bindings.get(hashString(dest), dest)
	x, found := of.get(hashString(id), id)
	if !found {
		return e, false
	}
	c := *e
	if of = of.without(id); of.n == 0 {
		c.bindings = e.bindings.without(dest)
	} else {
		c.bindings = e.bindings.with(dest, of)
	}
	c.drop(x)
	return &c, true
}

// UnbindDest is the exchange without all bindings of a destination, and how many
// those were.
func (e *Exchange) UnbindDest(d Dest) (_ *Exchange, removed int) {
	dest := destKey(d)
	of, found := e.bindings.get(hashString(dest), dest)
	if !found {
		return e, 0
	}
	c := *e
	c.bindings = e.bindings.without(dest)
	// A queue may have thousands of bindings here: lists are gone through once.
	switch e.Kind {
	case Headers:
		c.headers = slices.DeleteFunc(slices.Clone(e.headers), func(h *headersBinding) bool { return h.bound.Dest == d })
		c.count -= of.n
	case ConsistentHash:
		c.weights = slices.DeleteFunc(slices.Clone(e.weights), func(w weight) bool { return w.bound.Dest == d })
		c.count -= of.n
	default:
		for _, l := range of.leaves() {
			c.drop(l.val)
		}
	}
	return &c, of.n
}

// drop takes a binding out of what e routes by. e is not shared yet.
func (e *Exchange) drop(x *bound) {
	e.count--
	switch e.Kind {
	case Direct:
		old, _ := e.keys.get(hashString(x.Key), x.Key)
		if t := old.without(x.Dest); t != nil {
			e.keys = e.keys.with(x.Key, t)
		} else {
			e.keys = e.keys.without(x.Key)
		}
	case Topic:
		e.topic = e.topic.without(x.Key, x.Dest)
	case Headers:
		i := slices.IndexFunc(e.headers, func(h *headersBinding) bool { return h.bound == x })
		e.headers = removed(e.headers, i)
	case ConsistentHash:
		i := slices.IndexFunc(e.weights, func(w weight) bool { return w.bound == x })
		e.weights = removed(e.weights, i)
	default:
		e.all = e.all.without(x.Dest)
	}
}

// BindingCount is how many bindings lead from this exchange.
func (e *Exchange) BindingCount() int { return e.count }

// Bindings are all of them, sorted: queues before exchanges, then by name, key
// and arguments.
func (e *Exchange) Bindings() []Binding {
	list := make([]*bound, 0, e.count)
	for _, of := range e.bindings.leaves() {
		for _, l := range of.val.leaves() {
			list = append(list, l.val)
		}
	}
	return sorted(list)
}

// BindingsTo are those that lead to a destination, sorted.
func (e *Exchange) BindingsTo(d Dest) []Binding {
	dest := destKey(d)
	of, _ := e.bindings.get(hashString(dest), dest)
	list := make([]*bound, 0, of.n)
	for _, l := range of.leaves() {
		list = append(list, l.val)
	}
	return sorted(list)
}

func sorted(list []*bound) []Binding {
	slices.SortFunc(list, func(a, b *bound) int {
		if a.Dest.Queue != b.Dest.Queue {
			if a.Dest.Queue {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(a.Dest.Name, b.Dest.Name), strings.Compare(a.Key, b.Key), strings.Compare(a.id, b.id))
	})
	out := make([]Binding, len(list))
	for i, x := range list {
		out[i] = x.Binding
	}
	return out
}

func destKey(d Dest) string {
	if d.Queue {
		return "q" + d.Name
	}
	return "x" + d.Name
}

// identity is what makes a binding differ from others between the same two:
// key and arguments, these sorted by name, of duplicates the first, and the two
// tags of a long integer made one.
func identity(b Binding) string {
	id := binary.AppendUvarint(make([]byte, 0, len(b.Key)+len(b.Args)+2), uint64(len(b.Key)))
	id = append(id, b.Key...)
	if len(b.Args) == 0 {
		return string(id)
	}
	type arg struct {
		key []byte
		val wire.Value
	}
	var args []arg
	for k, v := range b.Args.All() {
		if v.Tag == 'L' {
			v.Tag = 'l'
		}
		args = append(args, arg{k, v})
	}
	slices.SortStableFunc(args, func(a, b arg) int { return bytes.Compare(a.key, b.key) })
	args = slices.CompactFunc(args, func(a, b arg) bool { return bytes.Equal(a.key, b.key) })
	for _, a := range args {
		id = wire.AppendRaw(id, string(a.key), a.val)
	}
	return string(id)
}
