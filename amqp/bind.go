package amqp

import (
	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/queue/exchange"
)

// binding is one of the four methods that bind and unbind.
type binding struct {
	method wire.ID
	remove bool
	exchange.Binding
	noWait bool
	ok     wire.Method
}

// queueBind is queue.bind. Queue "" is the last one declared, and so is the key
// then, if it is "" too.
func (ch *channel) queueBind(m *wire.QueueBind) *Error {
	name, key, e := ch.bindNames(m.Queue, m.RoutingKey)
	if e != nil {
		return e
	}
	return ch.bind(&binding{method: wire.QueueBindID, noWait: m.NoWait, ok: &wire.QueueBindOk{}, Binding: exchange.Binding{
		Source: stripCRLF(m.Exchange), Dest: exchange.Dest{Queue: true, Name: name}, Key: key, Args: m.Arguments}})
}

// queueUnbind is queue.unbind.
func (ch *channel) queueUnbind(m *wire.QueueUnbind) *Error {
	name, key, e := ch.bindNames(m.Queue, m.RoutingKey)
	if e != nil {
		return e
	}
	return ch.bind(&binding{method: wire.QueueUnbindID, remove: true, ok: &wire.QueueUnbindOk{}, Binding: exchange.Binding{
		Source: stripCRLF(m.Exchange), Dest: exchange.Dest{Queue: true, Name: name}, Key: key, Args: m.Arguments}})
}

func (ch *channel) bindNames(queue, key string) (string, string, *Error) {
	name, e := ch.queueName(queue)
	if queue == "" && key == "" {
		key = name
	}
	return name, key, e
}

// exchangeBind is exchange.bind.
func (ch *channel) exchangeBind(m *wire.ExchangeBind) *Error {
	return ch.bind(&binding{method: wire.ExchangeBindID, noWait: m.NoWait, ok: &wire.ExchangeBindOk{}, Binding: exchange.Binding{
		Source: stripCRLF(m.Source), Dest: exchange.Dest{Name: stripCRLF(m.Destination)}, Key: m.RoutingKey, Args: m.Arguments}})
}

// exchangeUnbind is exchange.unbind.
func (ch *channel) exchangeUnbind(m *wire.ExchangeUnbind) *Error {
	return ch.bind(&binding{method: wire.ExchangeUnbindID, remove: true, noWait: m.NoWait, ok: &wire.ExchangeUnbindOk{}, Binding: exchange.Binding{
		Source: stripCRLF(m.Source), Dest: exchange.Dest{Name: stripCRLF(m.Destination)}, Key: m.RoutingKey, Args: m.Arguments}})
}

// bind checks and changes a binding. What is missing makes bind fail and unbind
// succeed; the catalogue decides, on what this node may not have seen yet.
func (ch *channel) bind(b *binding) *Error {
	if b.Source == "" || !b.Dest.Queue && b.Dest.Name == "" {
		return errDefaultExchange()
	}
	res := resources{queue: b.Dest.Name, exchange: b.Source, source: b.Source, destination: b.Dest.Name}
	if e := ch.allow(b.method, res); e != nil {
		return e
	}
	if e := ch.allowTopic(catalog.Read, b.Source, b.Key); e != nil {
		return e
	}
	var cmd catalog.Command = catalog.Bind{Vhost: ch.c.vhost, Binding: b.Binding, Owner: ch.c.id}
	if b.remove {
		cmd = catalog.Unbind{Vhost: ch.c.vhost, Binding: b.Binding, Owner: ch.c.id}
	}
	if _, e := ch.change(cmd); e != nil {
		return e
	}
	if !b.noWait {
		ch.answer(b.ok)
	}
	return nil
}

// allowTopic checks the right on a routing key, at a topic exchange only.
func (ch *channel) allowTopic(right catalog.Right, name, key string) *Error {
	view := ch.c.view()
	v := view.Vhost(ch.c.vhost)
	if v == nil {
		return nil
	}
	x := v.Exchange(name)
	if x == nil || x.Kind != exchange.Topic || view.TopicAllowed(ch.c.user, ch.c.vhost, name, right, []byte(key)) {
		return nil
	}
	return errTopicRights(right.String(), key, ch.c.vhost, name, ch.c.user)
}
