package catalog

import (
	"strconv"

	"mayfly/amqp/wire"
	"mayfly/queue"
)

// Queue is a queue's entry in the catalogue. It never changes.
type Queue struct {
	ID                             queue.ID
	Vhost, Name                    string
	Durable, AutoDelete, Exclusive bool
	Owner                          uint64 // connection that declared it; an exclusive queue obeys it alone
	Args                           wire.Table
	User                           string       // who declared it
	Born                           uint32       // newest incarnation when it was declared
	TypeNamed                      string       // "classic" or "quorum" as the client said, "" for native
	Config                         queue.Config // what its machine is told, from the arguments
}

// incarnation is the owner's node: the upper half of a connection's number.
func (q *Queue) incarnation() uint32 { return uint32(q.Owner >> 32) }

// OpenTo tells whether a connection may use the queue. Publishing is open to all.
func (q *Queue) OpenTo(connection uint64) bool { return !q.Exclusive || q.Owner == connection }

// Locked is the 405 of.
func Locked(vhost, name string) *Refusal {
	return refuse(codeResourceLocked, "cannot obtain exclusive access to locked "+QueueName(vhost, name)+
		". It could be originally declared on another connection or the exclusive property value does not match that of the original declaration.")
}

// Names of the queue types that clients may ask for.
const (
	typeClassic = "classic"
	typeQuorum  = "quorum"
)

// typeNamed is the type the arguments ask for; "" is native. An argument that
// names no type at all is seen by checkType.
func typeNamed(args wire.Table) string {
	val, ok := args.Get("x-queue-type")
	if !ok || val.Tag != 'S' || string(val.Data) == "undefined" {
		return ""
	}
	return string(val.Data)
}

// Equivalent tells what differs between a queue and a declaration of it, in the
// order of A-30, or nil. Arguments are compared, not validated.
func (q *Queue) Equivalent(c DeclareQueue) *Refusal {
	if q.Exclusive != c.Exclusive || !q.OpenTo(c.Owner) {
		return Locked(q.Vhost, q.Name)
	}
	res := QueueName(q.Vhost, q.Name)
	if durable := c.Durable && !c.Exclusive; durable != q.Durable {
		return inequivalent("durable", res, strconv.FormatBool(durable), strconv.FormatBool(q.Durable))
	}
	if c.AutoDelete != q.AutoDelete {
		return inequivalent("auto_delete", res, strconv.FormatBool(c.AutoDelete), strconv.FormatBool(q.AutoDelete))
	}
	for i := range queueArgs {
		a := &queueArgs[i]
		if a.key == "x-queue-type" {
			if r := q.compareType(c, res); r != nil {
				return r
			}
			continue
		}
		if a.foreignTo(q.TypeNamed) {
			continue
		}
		if r := compareArg(a.key, res, c.Args, q.Args); r != nil {
			return r
		}
	}
	return nil
}

// compareType is: a native queue equals one of either type.
func (q *Queue) compareType(c DeclareQueue, res string) *Refusal {
	asked := typeNamed(c.Args)
	known := asked == "" || asked == typeClassic || asked == typeQuorum
	val, ok := c.Args.Get("x-queue-type")
	if ok && val.Tag != 'S' {
		known = false
	}
	if known && (c.RelaxedType || asked == "" || q.TypeNamed == "" || asked == q.TypeNamed) {
		return nil
	}
	return compareArg("x-queue-type", res, c.Args, q.Args)
}

func inequivalent(name, resource, received, current string) *Refusal {
	return refuse(codePreconditionFailed, "inequivalent arg '"+name+"' for "+resource+": received '"+received+"' but current is '"+current+"'")
}

// compareArg compares one argument of a declaration with what is there.
func compareArg(key, resource string, received, current wire.Table) *Refusal {
	r, haveR := received.Get(key)
	c, haveC := current.Get(key)
	text := "inequivalent arg '" + key + "' for " + resource + ": received "
	switch {
	case !haveR && !haveC:
		return nil
	case !haveR:
		text += "none but current is the value '" + c.Text() + "' of type '" + c.TypeName() + "'"
	case !haveC:
		text += "the value '" + r.Text() + "' of type '" + r.TypeName() + "' but current is none"
	case sameClass(r, c) && wire.ValueEqual(r, c):
		return nil
	default:
		text += "'" + r.Text() + "' but current is '" + c.Text() + "'"
		if r.Text() == c.Text() {
			text += " (types " + r.TypeName() + " and " + c.TypeName() + ")"
		}
	}
	return refuse(codePreconditionFailed, text)
}

// sameClass is A-34: integers of any width and decimals are one class, floats and
// doubles another, every other type one of its own.
func sameClass(a, b wire.Value) bool { return class(a.Tag) == class(b.Tag) }

func class(tag byte) byte {
	switch tag {
	case 'b', 'B', 's', 'u', 'I', 'i', 'l', 'L', 'D':
		return 'i'
	case 'f', 'd':
		return 'f'
	}
	return tag
}

func (c DeclareQueue) apply(ch *change) *Refusal {
	if r := checkName("queue name", c.Name); r != nil {
		return r
	}
	v, r := ch.vhost(c.Vhost)
	if r != nil {
		return r
	}
	if q := v.queues.at(c.Name); q != nil {
		ch.out.Queue, ch.out.Existed = q, true
		if c.IfAbsent {
			return nil
		}
		return q.Equivalent(c)
	}
	durable := c.Durable && !c.Exclusive
	config, r := CheckQueueArgs(c.Vhost, c.Name, c.Durable, c.AutoDelete, c.Exclusive, c.Args)
	if r != nil {
		return r
	}
	if l := v.MaxQueues; !l.Allows(int64(v.queues.len())) {
		return refuse(codePreconditionFailed, "cannot declare queue '"+c.Name+"': queue limit in vhost '"+c.Vhost+"' ("+strconv.FormatInt(l.Max, 10)+") is reached")
	}
	q := &Queue{ID: ch.nextID(), Vhost: v.Name, Name: c.Name, Durable: durable, AutoDelete: c.AutoDelete, Exclusive: c.Exclusive, Owner: c.Owner,
		Args: cloneArgs(c.Args), User: c.User, Born: ch.incarnation, TypeNamed: typeNamed(c.Args), Config: config}
	v.queues = v.queues.with(q.Name, q)
	ch.putVhost(&v)
	ch.addQueue(q)
	ch.out.Queue = q
	return nil
}
