package catalog

import (
	"slices"

	"mayfly/amqp/wire"
	"mayfly/queue/exchange"
)

// Vhost is one virtual host at one moment. Nothing crosses vhosts.
type Vhost struct {
	Name             string
	Description      string
	Tags             []string
	DefaultQueueType string
	Tracing          bool
	Protected        bool
	MaxConnections   Limit // queues-ttl-dlx.md 7.4
	MaxQueues        Limit

	queues    pmap[*Queue]
	exchanges *exchange.Table
	inbound   pmap[inbound] // by destKey: which exchanges have bindings to it
	born      pmap[uint32]  // non-durable exchanges: the newest incarnation when they were declared
	params    pmap[pmap[[]byte]]
}

// Queue finds a queue, or nil.
func (v *Vhost) Queue(name string) *Queue { return v.queues.at(name) }

// QueueBytes is Queue for a name that is bytes, without an allocation.
func (v *Vhost) QueueBytes(name []byte) *Queue {
	q, _ := find(v.queues, name)
	return q
}

// Queues lists the queues by name.
func (v *Vhost) Queues() []*Queue { return v.queues.sorted() }

// QueueCount counts them.
func (v *Vhost) QueueCount() int { return v.queues.len() }

// Exchange finds an exchange, or nil. The default exchange is none: it has neither
// state nor bindings (RouteDefault).
func (v *Vhost) Exchange(name string) *exchange.Exchange { return v.exchanges.Get(name) }

// ExchangeBytes is Exchange for a name that is bytes.
func (v *Vhost) ExchangeBytes(name []byte) *exchange.Exchange { return v.exchanges.GetBytes(name) }

// Exchanges lists the exchanges by name.
func (v *Vhost) Exchanges() []*exchange.Exchange { return v.exchanges.All() }

// Route appends the queues a message published to x goes to, each once, in the
// order of their names. A name that no queue bears is left out.
func (v *Vhost) Route(x *exchange.Exchange, m *exchange.Message, r *exchange.Router, dst []*Queue) []*Queue {
	for _, name := range v.exchanges.Route(x, m, r) {
		if q, ok := v.queues.get(name); ok {
			dst = append(dst, q)
		}
	}
	return dst
}

// RouteDefault appends the queue a key names at the default exchange, unless dst
// has it. It is called for the routing key, then for each CC and BCC key.
func (v *Vhost) RouteDefault(key []byte, dst []*Queue) []*Queue {
	if q, ok := find(v.queues, key); ok && !slices.Contains(dst, q) {
		dst = append(dst, q)
	}
	return dst
}

// BindingsTo lists the bindings that end at a destination, by source.
func (v *Vhost) BindingsTo(d exchange.Dest) []exchange.Binding {
	var bs []exchange.Binding
	for _, s := range v.inbound.at(destKey(d)) {
		bs = append(bs, v.exchanges.Get(s.exchange).BindingsTo(d)...)
	}
	return bs
}

// Bindings lists all bindings, by source.
func (v *Vhost) Bindings() []exchange.Binding {
	var bs []exchange.Binding
	for _, x := range v.exchanges.All() {
		bs = append(bs, x.Bindings()...)
	}
	return bs
}

// Parameter is a component's JSON value, not to be written to.
func (v *Vhost) Parameter(component, name string) ([]byte, bool) {
	return v.params.at(component).get(name)
}

// Components lists which components have parameters, Parameters their names.
func (v *Vhost) Components() []string { return v.params.keys() }

func (v *Vhost) Parameters(component string) []string { return v.params.at(component).keys() }

// predeclared are every vhost's exchanges (amqp.md 12).
var predeclared = [...]struct {
	name     string
	kind     exchange.Kind
	internal bool
}{
	{"amq.direct", exchange.Direct, false},
	{"amq.fanout", exchange.Fanout, false},
	{"amq.headers", exchange.Headers, false},
	{"amq.match", exchange.Headers, false},
	{"amq.rabbitmq.trace", exchange.Topic, true},
	{"amq.topic", exchange.Topic, false},
}

func newVhost(name string) *Vhost {
	v := &Vhost{Name: name, exchanges: &exchange.Table{}}
	for _, p := range predeclared {
		v.exchanges = v.exchanges.With(newExchange(DeclareExchange{Name: p.name, Durable: true, Internal: p.internal}, p.kind))
	}
	return v
}

func (c PutVhost) apply(ch *change) *Refusal {
	if r := checkName("vhost name", c.Name); r != nil {
		return r
	}
	old, ok := ch.vhosts.get(c.Name)
	ch.out.Existed = ok
	if !ok {
		old = newVhost(c.Name)
	}
	v := *old
	v.Description, v.Tags, v.DefaultQueueType = c.Description, slices.Clone(c.Tags), c.DefaultQueueType
	v.Tracing, v.Protected = c.Tracing, c.Protected
	ch.putVhost(&v)
	ch.authChanged()
	return nil
}

func (c DeleteVhost) apply(ch *change) *Refusal {
	v, r := ch.vhost(c.Name)
	if r != nil {
		return r
	}
	if v.Protected {
		return refuse(codeProtected, "vhost '"+c.Name+"' is protected from deletion")
	}
	for _, q := range v.queues.sorted() {
		ch.dropQueue(&v, q)
	}
	ch.vhosts = ch.vhosts.without(c.Name)
	for _, u := range ch.users.sorted() {
		_, named := u.permissions.get(c.Name)
		if _, ruled := u.topics.get(c.Name); !named && !ruled {
			continue
		}
		n := *u
		n.permissions, n.topics = n.permissions.without(c.Name), n.topics.without(c.Name)
		ch.putUser(&n)
	}
	ch.authChanged()
	return nil
}

func (c PutVhostLimits) apply(ch *change) *Refusal {
	v, r := ch.vhost(c.Vhost)
	if r != nil {
		return r
	}
	v.MaxConnections, v.MaxQueues = c.MaxConnections, c.MaxQueues
	ch.putVhost(&v)
	return nil
}

func (c PutParameter) apply(ch *change) *Refusal {
	v, r := ch.vhost(c.Vhost)
	if r != nil {
		return r
	}
	ps := v.params.at(c.Component)
	_, ch.out.Existed = ps.get(c.Name)
	v.params = v.params.with(c.Component, ps.with(c.Name, slices.Clone(c.Value)))
	ch.putVhost(&v)
	return nil
}

func (c DeleteParameter) apply(ch *change) *Refusal {
	v, r := ch.vhost(c.Vhost)
	if r != nil {
		return r
	}
	ps := v.params.at(c.Component)
	if _, ch.out.Existed = ps.get(c.Name); !ch.out.Existed {
		return nil
	}
	if ps = ps.without(c.Name); ps.len() > 0 {
		v.params = v.params.with(c.Component, ps)
	} else {
		v.params = v.params.without(c.Component)
	}
	ch.putVhost(&v)
	return nil
}

func (c PutGlobalParameter) apply(ch *change) *Refusal {
	_, ch.out.Existed = ch.globals.get(c.Name)
	ch.globals = ch.globals.with(c.Name, slices.Clone(c.Value))
	ch.touched = true
	return nil
}

func (c DeleteGlobalParameter) apply(ch *change) *Refusal {
	if _, ch.out.Existed = ch.globals.get(c.Name); ch.out.Existed {
		ch.globals = ch.globals.without(c.Name)
		ch.touched = true
	}
	return nil
}

// cloneArgs keeps arguments apart from whatever buffer they came in.
func cloneArgs(t wire.Table) wire.Table { return slices.Clone(t) }
