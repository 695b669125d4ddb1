package catalog

import (
	"strconv"
	"strings"

	"mayfly/amqp/wire"
	"mayfly/queue/exchange"
)

// ReservedPrefix begins the names that only the broker gives; it is case-sensitive.
const ReservedPrefix = "amq."

const alternateKey = "alternate-exchange"

func onDefaultExchange() *Refusal {
	return refuse(codeAccessRefused, "operation not permitted on the default exchange")
}

// CheckExchangeType is the first check of exchange.declare, before permissions.
func CheckExchangeType(name string) (exchange.Kind, *Refusal) {
	k, ok := exchange.ParseKind(name)
	if !ok {
		return k, refuse(codePreconditionFailed, "unknown exchange type '"+name+"'")
	}
	return k, nil
}

// CheckAlternate finds the alternate exchange among an exchange's arguments.
func CheckAlternate(vhost, name string, args wire.Table) (alternate string, has bool, r *Refusal) {
	return nameArg(ExchangeName(vhost, name), alternateKey, args)
}

// nameArg is an argument that names an exchange: a string, or refused with the
// text of A-7.
func nameArg(resource, key string, args wire.Table) (string, bool, *Refusal) {
	val, ok := args.Get(key)
	if !ok {
		return "", false, nil
	}
	if val.Tag != 'S' {
		return "", false, refuse(codePreconditionFailed, "invalid type '"+val.TypeName()+"' for arg '"+key+"' in "+resource)
	}
	return string(val.Data), true, nil
}

// CheckExchangeArgs validates the arguments of a new exchange (T-60, Q-30).
func CheckExchangeArgs(vhost, name string, kind exchange.Kind, args wire.Table) *Refusal {
	if _, _, r := CheckAlternate(vhost, name, args); r != nil {
		return r
	}
	for _, a := range []struct {
		key   string
		check func(wire.Value) string
	}{{"x-expires", checkExpires}, {"x-message-ttl", checkTTL}} {
		if val, ok := args.Get(a.key); ok {
			if detail := a.check(val); detail != "" {
				return invalidArg(a.key, ExchangeName(vhost, name), detail)
			}
		}
	}
	if text := exchange.CheckDeclare(kind, args); text != "" {
		return refuse(codePreconditionFailed, text)
	}
	return nil
}

func newExchange(c DeclareExchange, kind exchange.Kind) *exchange.Exchange {
	alternate, _, _ := CheckAlternate(c.Vhost, c.Name, c.Args)
	return exchange.New(exchange.Spec{Name: c.Name, Kind: kind, Durable: c.Durable, AutoDelete: c.AutoDelete, Internal: c.Internal,
		Args: cloneArgs(c.Args), Alternate: alternate})
}

// ExchangeEquivalent tells what differs between an exchange and a declaration of
// it, in the order of amqp.md 12, or nil.
func ExchangeEquivalent(x *exchange.Exchange, c DeclareExchange) *Refusal {
	res := ExchangeName(c.Vhost, c.Name)
	for _, p := range []struct{ name, received, current string }{
		{"type", c.Type, x.Kind.String()},
		{"durable", strconv.FormatBool(c.Durable), strconv.FormatBool(x.Durable)},
		{"auto_delete", strconv.FormatBool(c.AutoDelete), strconv.FormatBool(x.AutoDelete)},
		{"internal", strconv.FormatBool(c.Internal), strconv.FormatBool(x.Internal)},
	} {
		if p.received != p.current {
			return inequivalent(p.name, res, p.received, p.current)
		}
	}
	return compareArg(alternateKey, res, c.Args, x.Args)
}

func (c DeclareExchange) apply(ch *change) *Refusal {
	if c.Name == "" {
		return onDefaultExchange()
	}
	v, r := ch.vhost(c.Vhost)
	if r != nil {
		return r
	}
	kind, r := CheckExchangeType(c.Type)
	if r != nil {
		return r
	}
	if x := v.exchanges.Get(c.Name); x != nil {
		ch.out.Exchange, ch.out.Existed = x, true
		if c.IfAbsent {
			return nil
		}
		return ExchangeEquivalent(x, c)
	}
	if r := checkName("exchange name", c.Name); r != nil {
		return r
	}
	if strings.HasPrefix(c.Name, ReservedPrefix) {
		return refuse(codeAccessRefused, "exchange name '"+c.Name+"' contains reserved prefix 'amq.*'")
	}
	if r := CheckExchangeArgs(c.Vhost, c.Name, kind, c.Args); r != nil {
		return r
	}
	x := newExchange(c, kind)
	v.exchanges = v.exchanges.With(x)
	if !c.Durable {
		v.born = v.born.with(c.Name, ch.incarnation)
	}
	ch.putVhost(&v)
	ch.out.Exchange = x
	return nil
}

func (c DeleteExchange) apply(ch *change) *Refusal {
	if c.Name == "" {
		return onDefaultExchange()
	}
	if strings.HasPrefix(c.Name, ReservedPrefix) {
		return refuse(codeAccessRefused, "deletion of system "+ExchangeName(c.Vhost, c.Name)+" not allowed")
	}
	v, r := ch.vhost(c.Vhost)
	if r != nil {
		return r
	}
	x := v.exchanges.Get(c.Name)
	if x == nil {
		return nil
	}
	if c.IfUnused && x.BindingCount() > 0 {
		return refuse(codePreconditionFailed, ExchangeName(c.Vhost, c.Name)+" in use")
	}
	ch.out.Existed = true
	v.dropExchange(c.Name)
	ch.putVhost(&v)
	return nil
}
