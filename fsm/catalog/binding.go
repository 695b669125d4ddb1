package catalog

import (
	"slices"
	"strings"

	"mayfly/queue/exchange"
)

// inbound says which exchanges have how many bindings to one destination, sorted
// by name. It finds what must be unbound when the destination goes.
type inbound []source

type source struct {
	exchange string
	n        int
}

// add counts a binding more or less of an exchange.
func (in inbound) add(x string, n int) inbound {
	i, ok := slices.BinarySearchFunc(in, x, func(s source, x string) int { return strings.Compare(s.exchange, x) })
	out := slices.Clone(in)
	if !ok {
		return slices.Insert(out, i, source{x, n})
	}
	if out[i].n += n; out[i].n == 0 {
		out = slices.Delete(out, i, i+1)
	}
	return out
}

func queueDest(name string) exchange.Dest { return exchange.Dest{Queue: true, Name: name} }

func exchangeDest(name string) exchange.Dest { return exchange.Dest{Name: name} }

func destKey(d exchange.Dest) string {
	if d.Queue {
		return "q" + d.Name
	}
	return "e" + d.Name
}

func (v *Vhost) count(d exchange.Dest, x string, n int) {
	k := destKey(d)
	if in := v.inbound.at(k).add(x, n); len(in) > 0 {
		v.inbound = v.inbound.with(k, in)
	} else {
		v.inbound = v.inbound.without(k)
	}
}

// unbindAll removes all bindings to a destination that goes, and the auto-delete
// exchanges whose last binding that was.
func (v *Vhost) unbindAll(d exchange.Dest) {
	k := destKey(d)
	sources := v.inbound.at(k)
	v.inbound = v.inbound.without(k)
	for _, s := range sources {
		// It is there: a cascade takes an exchange only when it has no binding left,
		// and this one still has its to d.
		x, _ := v.exchanges.Get(s.exchange).UnbindDest(d)
		v.exchanges = v.exchanges.With(x)
		v.reap(x)
	}
}

// reap removes an auto-delete exchange that has just lost its last binding as a
// source.
func (v *Vhost) reap(x *exchange.Exchange) {
	if x.AutoDelete && x.BindingCount() == 0 {
		v.dropExchange(x.Name)
	}
}

// dropExchange removes an exchange with the bindings from it and to it. It leaves
// the table first, so a cycle of auto-delete exchanges comes to an end.
func (v *Vhost) dropExchange(name string) {
	x := v.exchanges.Get(name)
	v.exchanges = v.exchanges.Without(name)
	v.born = v.born.without(name)
	for _, b := range x.Bindings() {
		v.count(b.Dest, name, -1)
	}
	v.unbindAll(exchangeDest(name))
}

// ends finds what a binding joins, or says what is missing. Of two missing ends the
// source is named.
func (v *Vhost) ends(b *exchange.Binding) (x *exchange.Exchange, q *Queue, missing *Refusal) {
	if x = v.exchanges.Get(b.Source); x == nil {
		return nil, nil, NoExchange(v.Name, b.Source)
	}
	if b.Dest.Queue {
		if q = v.queues.at(b.Dest.Name); q == nil {
			return nil, nil, NoQueue(v.Name, b.Dest.Name)
		}
		return x, q, nil
	}
	if v.exchanges.Get(b.Dest.Name) == nil {
		return nil, nil, NoExchange(v.Name, b.Dest.Name)
	}
	return x, nil, nil
}

func onDefault(b *exchange.Binding) bool {
	return b.Source == "" || !b.Dest.Queue && b.Dest.Name == ""
}

func (c Bind) apply(ch *change) *Refusal {
	if onDefault(&c.Binding) {
		return onDefaultExchange()
	}
	v, r := ch.vhost(c.Vhost)
	if r != nil {
		return r
	}
	x, q, r := v.ends(&c.Binding)
	if r != nil {
		return r
	}
	if len(c.Binding.Key) > maxName {
		return refuse(codeBadRequest, "routing key must have at most 255 bytes")
	}
	if text := exchange.CheckArgs(x.Kind, c.Binding.Args); text != "" {
		return refuse(codePreconditionFailed, text)
	}
	if text := exchange.CheckKey(x.Kind, c.Binding.Key); text != "" {
		return refuse(codePreconditionFailed, text)
	}
	if q != nil && !q.OpenTo(c.Owner) {
		return Locked(c.Vhost, q.Name)
	}
	b := c.Binding
	b.Args = cloneArgs(b.Args)
	x, added := x.Bind(b)
	ch.out.Existed = !added
	if added {
		v.exchanges = v.exchanges.With(x)
		v.count(b.Dest, b.Source, 1)
		ch.putVhost(&v)
	}
	return nil
}

func (c Unbind) apply(ch *change) *Refusal {
	if onDefault(&c.Binding) {
		return onDefaultExchange()
	}
	v, r := ch.vhost(c.Vhost)
	if r != nil {
		return r
	}
	x, q, missing := v.ends(&c.Binding)
	if missing != nil {
		return nil
	}
	x, removed := x.Unbind(c.Binding)
	if !removed {
		return nil
	}
	if q != nil && !q.OpenTo(c.Owner) {
		return Locked(c.Vhost, q.Name)
	}
	ch.out.Existed = true
	v.exchanges = v.exchanges.With(x)
	v.count(c.Binding.Dest, c.Binding.Source, -1)
	v.reap(x)
	ch.putVhost(&v)
	return nil
}
