package amqp

import (
	"context"
	"errors"
	"strconv"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
)

// The texts a channel sends, as templates of amqp.md, sections 5 and 9 to 16.
// The dispatcher adds the ids of the method, except where the protocol wants none.

func errAccess(explanation string) *Error       { return newError(codeAccessRefused, explanation) }
func errPrecondition(explanation string) *Error { return newError(codePreconditionFailed, explanation) }

func errNoPreviousQueue() *Error { return newError(codeNotFound, "no previously declared queue") }

func errSingleActiveGet(vhost, name string) *Error {
	return newError(codeResourceLocked, "cannot obtain access to locked "+catalog.QueueName(vhost, name)+
		". basic.get operations are not supported by quorum queues with single active consumer")
}

func errExclusiveUse(vhost, name string) *Error {
	return errAccess(catalog.QueueName(vhost, name) + " in exclusive use")
}

func errInUse(resource string) *Error { return errPrecondition(resource + " in use") }

func errNotEmpty(resource string) *Error { return errPrecondition(resource + " not empty") }

// errRights is the refusal of a permission; resource names what was asked for.
func errRights(right, resource, user string) *Error {
	return errAccess(right + " access to " + resource + " refused for user '" + user + "'")
}

func errTopicRights(right, key, vhost, exchange, user string) *Error {
	return errAccess(right + " access to topic '" + key + "' in " + catalog.ExchangeName(vhost, exchange) + " refused for user '" + user + "'")
}

func errReservedQueue(name string) *Error {
	return errAccess("queue name '" + name + "' contains reserved prefix 'amq.*'")
}

func errReservedExchange(name string) *Error {
	return errAccess("exchange name '" + name + "' contains reserved prefix 'amq.*'")
}

func errDefaultExchange() *Error { return errAccess("operation not permitted on the default exchange") }

func errSystemExchange(vhost, name string) *Error {
	return errAccess("deletion of system " + catalog.ExchangeName(vhost, name) + " not allowed")
}

func errInternalExchange(vhost, name string) *Error {
	return errAccess("cannot publish to internal " + catalog.ExchangeName(vhost, name))
}

// errArgument is a bad argument of a queue; detail prints as RabbitMQ's term.
func errArgument(key, resource, detail string) *Error {
	return errPrecondition("invalid arg '" + key + "' for " + resource + ": " + detail)
}

func errForeignArgument(key, resource, typ string) *Error {
	return errPrecondition("invalid arg '" + key + "' for " + resource + " of queue type " + typ)
}

func errMessageSize(size uint64, limit int, hardCap bool) *Error {
	which := "configured max size "
	if hardCap {
		which = "max size "
	}
	return errPrecondition("message size " + strconv.FormatUint(size, 10) + " is larger than " + which + strconv.Itoa(limit))
}

func errExpiration(value []byte, detail string) *Error {
	return errPrecondition("invalid expiration '" + string(value) + "': " + detail)
}

func errUserID(claimed []byte, user string) *Error {
	return errPrecondition("user_id property set to '" + string(claimed) + "' but authenticated user was '" + user + "'")
}

func errUnknownTag(tag uint64) *Error {
	return errPrecondition("unknown delivery tag " + strconv.FormatUint(tag, 10))
}

func errTxToConfirm() *Error { return errPrecondition("cannot switch from tx to confirm mode") }
func errConfirmToTx() *Error { return errPrecondition("cannot switch from confirm to tx mode") }
func errNotTx() *Error       { return errPrecondition("channel is not transactional") }
func errPartialTx() *Error   { return errPrecondition("partial tx completion") }

func errTxTooLarge(limit int) *Error {
	return errPrecondition("transaction is larger than " + strconv.Itoa(limit) + " bytes")
}

func errReplyAck() *Error      { return errPrecondition("reply consumer cannot acknowledge") }
func errReplyTwice() *Error    { return errPrecondition("reply consumer already set") }
func errNoReplyTarget() *Error { return errPrecondition("fast reply consumer does not exist") }

// What follows closes the connection.

func errTagReuse(tag string) *Error {
	return newError(codeNotAllowed, "attempt to reuse consumer tag '"+tag+"'")
}

func errConsumerLimit(n int) *Error {
	return newError(codeNotAllowed, "reached maximum ("+strconv.Itoa(n)+") of consumers per channel")
}

func errImmediate() *Error      { return newError(codeNotImplemented, "immediate=true") }
func errFlowOff() *Error        { return newError(codeNotImplemented, "active=false") }
func errRecoverDiscard() *Error { return newError(codeNotImplemented, "requeue=false") }

func errPrefetchSize(n uint32) *Error {
	return newError(codeNotImplemented, "prefetch_size!=0 ("+strconv.FormatUint(uint64(n), 10)+")")
}

func errGlobalQos(resource string) *Error {
	return newError(codeNotImplemented, resource+" does not support global qos")
}

func errUnimplemented() *Error { return newError(codeCommandInvalid, "unimplemented method") }

// The faults of section 5 in the order of a channel's frames.

func errNoContentDue() *Error {
	return newError(codeUnexpectedFrame, "expected method frame, got non method frame instead")
}

func errHeaderDue() *Error {
	return newError(codeUnexpectedFrame, "expected content header for class 60, got non content header frame instead").by(wire.BasicPublishID)
}

func errHeaderClass(class uint16) *Error {
	return newError(codeUnexpectedFrame, "expected content header for class 60, got one for class "+
		strconv.Itoa(int(class))+" instead").by(wire.BasicPublishID)
}

func errBodyDue() *Error {
	return newError(codeUnexpectedFrame, "expected content body, got non content body frame instead").by(wire.BasicPublishID)
}

func errBodyTooLong() *Error {
	return newError(codeFrameError, "content body frame exceeds remaining content size").by(wire.BasicPublishID)
}

// errTrouble is what a client is told when a queue or the catalogue does not
// answer in time (section 18). It ends the channel alone, where the client can
// retry, although its code is one of the connection's.
func errTrouble(what string, err error) *Error {
	text := what + ": no quorum, no answer in time"
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		text = what + ": no quorum or no answer (" + err.Error() + ")"
	}
	e := newError(codeInternalError, text)
	e.Hard = false
	return e
}
