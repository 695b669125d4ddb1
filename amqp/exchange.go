package amqp

import (
	"strings"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/queue/exchange"
)

// exchangeDeclare is section 12. The type is looked at before any right.
func (ch *channel) exchangeDeclare(m *wire.ExchangeDeclare) *Error {
	name := stripCRLF(m.Exchange)
	if m.Passive {
		return ch.exchangePassive(name, m.NoWait)
	}
	if _, r := catalog.CheckExchangeType(m.Type); r != nil {
		return refused(r)
	}
	if name == "" {
		return errDefaultExchange()
	}
	if e := ch.allow(wire.ExchangeDeclareID, resources{exchange: name}); e != nil {
		return e
	}
	e := ch.declareExchange(catalog.DeclareExchange{
		Vhost: ch.c.vhost, Name: name, Type: m.Type, Durable: m.Durable,
		AutoDelete: m.AutoDelete, Internal: m.Internal, Args: m.Arguments,
	})
	if e == nil && !m.NoWait {
		ch.answer(&wire.ExchangeDeclareOk{})
	}
	return e
}

// declareExchange writes to the catalogue's log only what is new: clients declare
// their exchanges again at every start.
func (ch *channel) declareExchange(cmd catalog.DeclareExchange) *Error {
	x := ch.exchangeInView(cmd.Name)
	var refusal *Error
	if x == nil {
		refusal = ch.checkNewExchange(cmd.Name, cmd.Args)
	}
	if x != nil || refusal != nil {
		// What is there must be so still, and what another node has just declared
		// is compared, not validated.
		if e := ch.freshen(); e != nil {
			return e
		}
		if x = ch.exchangeInView(cmd.Name); x != nil {
			return refused(catalog.ExchangeEquivalent(x, cmd))
		}
	}
	if refusal != nil {
		return refusal
	}
	if e := ch.checkNewExchange(cmd.Name, cmd.Args); e != nil {
		return e
	}
	_, e := ch.change(cmd)
	return e
}

func (ch *channel) checkNewExchange(name string, args wire.Table) *Error {
	if strings.HasPrefix(name, catalog.ReservedPrefix) {
		return errReservedExchange(name)
	}
	alternate, has, r := catalog.CheckAlternate(ch.c.vhost, name, args)
	if r != nil || !has {
		return refused(r)
	}
	return ch.allowWhen(wire.ExchangeDeclareID, ifAlternate, resources{exchange: name, alternate: alternate})
}

// exchangePassive looks at the name alone.
func (ch *channel) exchangePassive(name string, noWait bool) *Error {
	if name == "" {
		return errDefaultExchange()
	}
	if e := ch.allowWhen(wire.ExchangeDeclareID, ifPassive, resources{exchange: name}); e != nil {
		return e
	}
	if ch.exchangeInView(name) == nil {
		if e := ch.freshen(); e != nil {
			return e
		}
		if ch.exchangeInView(name) == nil {
			return refused(catalog.NoExchange(ch.c.vhost, name))
		}
	}
	if !noWait {
		ch.answer(&wire.ExchangeDeclareOk{})
	}
	return nil
}

func (ch *channel) exchangeInView(name string) *exchange.Exchange {
	if v := ch.c.view().Vhost(ch.c.vhost); v != nil {
		return v.Exchange(name)
	}
	return nil
}

// exchangeDelete deletes; an exchange that is missing is deleted, a system one
// never is, existing or not.
func (ch *channel) exchangeDelete(m *wire.ExchangeDelete) *Error {
	name := stripCRLF(m.Exchange)
	if name == "" {
		return errDefaultExchange()
	}
	if strings.HasPrefix(name, catalog.ReservedPrefix) {
		return errSystemExchange(ch.c.vhost, name)
	}
	if e := ch.allow(wire.ExchangeDeleteID, resources{exchange: name}); e != nil {
		return e
	}
	_, e := ch.change(catalog.DeleteExchange{Vhost: ch.c.vhost, Name: name, IfUnused: m.IfUnused})
	if e == nil && !m.NoWait {
		ch.answer(&wire.ExchangeDeleteOk{})
	}
	return e
}
