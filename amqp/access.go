package amqp

import (
	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
)

// role says which of a method's names a right is asked for.
type role uint8

const (
	roleQueue role = iota
	roleExchange
	roleSource      // of an exchange-to-exchange binding
	roleDestination // of one
	roleDeadLetter  // exchange named by x-dead-letter-exchange
	roleAlternate   // exchange named by alternate-exchange
)

// resources are the names a method works on.
type resources struct {
	queue, exchange, source, destination, deadLetter, alternate string
}

func (r *resources) name(o role) string {
	switch o {
	case roleQueue:
		return r.queue
	case roleExchange:
		return r.exchange
	case roleSource:
		return r.source
	case roleDestination:
		return r.destination
	case roleDeadLetter:
		return r.deadLetter
	}
	return r.alternate
}

// when narrows a row of the table to a form of its method.
type when uint8

const (
	always when = iota
	ifPassive
	ifDeadLetter // a new queue with x-dead-letter-exchange
	ifAlternate  // a new exchange with alternate-exchange
)

type need struct {
	role  role
	right catalog.Right
}

// accessRow is what one method asks for, in the order of checking (section 16).
type accessRow struct {
	method wire.ID
	when   when
	any    bool // one of the needs is enough
	needs  []need
}

// accessTable is all there is of rights on AMQP (X8): a method that is not here
// needs none, and a test walks both.
var accessTable = []accessRow{
	{wire.ExchangeDeclareID, always, false, []need{{roleExchange, catalog.Configure}}},
	{wire.ExchangeDeclareID, ifAlternate, false, []need{{roleExchange, catalog.Read}, {roleAlternate, catalog.Write}}},
	{wire.ExchangeDeclareID, ifPassive, true, []need{{roleExchange, catalog.Configure}, {roleExchange, catalog.Write}, {roleExchange, catalog.Read}}},
	{wire.ExchangeDeleteID, always, false, []need{{roleExchange, catalog.Configure}}},
	{wire.ExchangeBindID, always, false, []need{{roleDestination, catalog.Write}, {roleSource, catalog.Read}}},
	{wire.ExchangeUnbindID, always, false, []need{{roleDestination, catalog.Write}, {roleSource, catalog.Read}}},
	{wire.QueueDeclareID, always, false, []need{{roleQueue, catalog.Configure}}},
	{wire.QueueDeclareID, ifDeadLetter, false, []need{{roleQueue, catalog.Read}, {roleDeadLetter, catalog.Write}}},
	{wire.QueueDeclareID, ifPassive, true, []need{{roleQueue, catalog.Configure}, {roleQueue, catalog.Write}, {roleQueue, catalog.Read}}},
	{wire.QueueDeleteID, always, false, []need{{roleQueue, catalog.Configure}}},
	{wire.QueueBindID, always, false, []need{{roleQueue, catalog.Write}, {roleExchange, catalog.Read}}},
	{wire.QueueUnbindID, always, false, []need{{roleQueue, catalog.Write}, {roleExchange, catalog.Read}}},
	{wire.QueuePurgeID, always, false, []need{{roleQueue, catalog.Read}}},
	{wire.BasicConsumeID, always, false, []need{{roleQueue, catalog.Read}}},
	{wire.BasicGetID, always, false, []need{{roleQueue, catalog.Read}}},
	{wire.BasicPublishID, always, false, []need{{roleExchange, catalog.Write}}},
}

// accessNeeds finds a row.
func accessNeeds(id wire.ID, w when) *accessRow {
	for i := range accessTable {
		if r := &accessTable[i]; r.method == id && r.when == w {
			return r
		}
	}
	return nil
}

// allow checks what a method asks for in its plain form.
func (ch *channel) allow(id wire.ID, res resources) *Error { return ch.allowWhen(id, always, res) }

// allowWhen checks one row of the table. Rights come before existence: who may
// not read learns nothing.
func (ch *channel) allowWhen(id wire.ID, w when, res resources) *Error {
	row := accessNeeds(id, w)
	view := ch.c.view()
	var first *Error
	for _, n := range row.needs {
		name := res.name(n.role)
		ok := ch.rights.has(view, ch.c, n.right, []byte(name))
		if ok && row.any {
			return nil
		}
		if !ok && first == nil {
			first = errRights(n.right.String(), resourceText(n.role, ch.c.vhost, name), ch.c.user)
			if !row.any {
				return first
			}
		}
	}
	return first
}

func resourceText(o role, vhost, name string) string {
	if o == roleQueue {
		return catalog.QueueName(vhost, name)
	}
	return catalog.ExchangeName(vhost, name)
}

// maxRights is how many answers a channel remembers.
const maxRights = 16

// rightsCache remembers what the view answered about rights, until users,
// permissions or vhosts change: a revocation acts on the next method.
type rightsCache struct {
	version uint64
	known   []knownRight
	next    int // which one is forgotten next
}

type knownRight struct {
	right catalog.Right
	name  string
	ok    bool
}

// has allocates only for an answer it does not know yet.
func (r *rightsCache) has(view *catalog.View, c *conn, right catalog.Right, name []byte) bool {
	if v := view.AuthVersion(); v != r.version {
		r.version, r.known, r.next = v, r.known[:0], 0
	}
	for i := range r.known {
		if k := &r.known[i]; k.right == right && k.name == string(name) {
			return k.ok
		}
	}
	k := knownRight{right: right, name: string(name)}
	k.ok = view.Allowed(c.user, c.vhost, right, k.name)
	if len(r.known) < maxRights {
		r.known = append(r.known, k)
	} else {
		r.known[r.next] = k
		r.next = (r.next + 1) % maxRights
	}
	return k.ok
}
