package amqp

import (
	"errors"
	"strings"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// openQueue finds the queue a method names, "" being the last one declared on
// the channel, and checks the right to read and the exclusive owner. It may wait
// for the catalogue before it says 404.
func (ch *channel) openQueue(id wire.ID, name string) (*catalog.Queue, *Error) {
	name, e := ch.queueName(name)
	if e != nil {
		return nil, e
	}
	if e := ch.allow(id, resources{queue: name}); e != nil {
		return nil, e
	}
	return ch.usableQueue(name)
}

// queueName resolves "" and strips what names never hold.
func (ch *channel) queueName(name string) (string, *Error) {
	if name != "" {
		return stripCRLF(name), nil
	}
	if ch.lastQueue == "" {
		return "", errNoPreviousQueue()
	}
	return ch.lastQueue, nil
}

var crlf = strings.NewReplacer("\r", "", "\n", "")

func stripCRLF(name string) string { return crlf.Replace(name) }

// usableQueue is findQueue that says 404 and 405.
func (ch *channel) usableQueue(name string) (*catalog.Queue, *Error) {
	q, e := ch.findQueue(name)
	switch {
	case e != nil:
		return nil, e
	case q == nil:
		return nil, refused(catalog.NoQueue(ch.c.vhost, name))
	case !q.OpenTo(ch.c.id):
		return nil, refused(catalog.Locked(ch.c.vhost, name))
	}
	return q, nil
}

// findQueue gives nil only after the catalogue's leader was asked.
func (ch *channel) findQueue(name string) (*catalog.Queue, *Error) {
	if q := ch.queueInView(name); q != nil {
		return q, nil
	}
	if e := ch.freshen(); e != nil {
		return nil, e
	}
	return ch.queueInView(name), nil
}

func (ch *channel) queueInView(name string) *catalog.Queue {
	if v := ch.c.view().Vhost(ch.c.vhost); v != nil {
		return v.Queue(name)
	}
	return nil
}

// queueError turns a queue's answer into what the client is told.
func (ch *channel) queueError(name string, err error) *Error {
	resource := catalog.QueueName(ch.c.vhost, name)
	var r queue.Refusal
	if errors.As(err, &r) {
		switch r {
		case queue.RefusedGone:
			return refused(catalog.NoQueue(ch.c.vhost, name))
		case queue.RefusedExclusive:
			return errExclusiveUse(ch.c.vhost, name)
		case queue.RefusedInUse:
			return errInUse(resource)
		case queue.RefusedNotEmpty:
			return errNotEmpty(resource)
		case queue.RefusedSingleActive:
			return errSingleActiveGet(ch.c.vhost, name)
		}
	}
	return errTrouble(resource, err)
}
