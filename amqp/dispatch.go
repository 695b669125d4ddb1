package amqp

import "mayfly/amqp/wire"

// method executes a method frame; the caller holds own.
func (ch *channel) method(payload []byte) *Error {
	id, err := wire.MethodID(payload)
	if err != nil {
		return faultOf(err)
	}
	switch id { // the frequent ones, undecoded
	case wire.BasicPublishID:
		return named(ch.basicPublish(payload), id)
	case wire.BasicAckID:
		return named(ch.basicAck(payload), id)
	case wire.BasicNackID:
		return named(ch.basicNack(payload), id)
	case wire.BasicRejectID:
		return named(ch.basicReject(payload), id)
	}
	m, err := wire.Decode(payload)
	if err != nil {
		return faultOf(err)
	}
	if !waits(id) {
		return named(ch.executeNow(m), id)
	}
	return ch.startWork(func() *Error {
		ch.pushSettlements()
		return named(ch.execute(m), id)
	})
}

// named adds the ids of the method to an error that has none.
func named(e *Error, id wire.ID) *Error {
	if e != nil && e.Class == 0 {
		e.by(id)
	}
	return e
}

// waits tells the methods that wait for a queue or the catalogue.
func waits(id wire.ID) bool {
	switch id {
	case wire.ExchangeDeclareID, wire.ExchangeDeleteID, wire.ExchangeBindID, wire.ExchangeUnbindID,
		wire.QueueDeclareID, wire.QueueDeleteID, wire.QueueBindID, wire.QueueUnbindID, wire.QueuePurgeID,
		wire.BasicConsumeID, wire.BasicCancelID, wire.BasicGetID, wire.TxCommitID:
		return true
	}
	return false
}

// executeNow runs a method that needs nobody's answer.
func (ch *channel) executeNow(m wire.Method) *Error {
	switch m := m.(type) {
	case *wire.BasicQos:
		return ch.basicQos(m)
	case *wire.BasicRecover:
		return ch.recover(m.Requeue, true)
	case *wire.BasicRecoverAsync:
		return ch.recover(m.Requeue, false)
	case *wire.ChannelFlow:
		return ch.channelFlow(m)
	case *wire.ConfirmSelect:
		return ch.confirmSelect(m)
	case *wire.TxSelect:
		return ch.txSelect()
	case *wire.TxRollback:
		return ch.txRollback()
	case *wire.AccessRequest:
		ch.answer(&wire.AccessRequestOk{Ticket: 1})
		return nil
	case *wire.BasicCancelOk, *wire.ChannelFlowOk:
		return nil // answers to what the server may have sent; nothing waits for them
	}
	return errUnimplemented()
}

// execute runs a method that waits, on the worker.
func (ch *channel) execute(m wire.Method) *Error {
	switch m := m.(type) {
	case *wire.ExchangeDeclare:
		return ch.exchangeDeclare(m)
	case *wire.ExchangeDelete:
		return ch.exchangeDelete(m)
	case *wire.ExchangeBind:
		return ch.exchangeBind(m)
	case *wire.ExchangeUnbind:
		return ch.exchangeUnbind(m)
	case *wire.QueueDeclare:
		return ch.queueDeclare(m)
	case *wire.QueueDelete:
		return ch.queueDelete(m)
	case *wire.QueueBind:
		return ch.queueBind(m)
	case *wire.QueueUnbind:
		return ch.queueUnbind(m)
	case *wire.QueuePurge:
		return ch.queuePurge(m)
	case *wire.BasicConsume:
		return ch.basicConsume(m)
	case *wire.BasicCancel:
		return ch.basicCancel(m)
	case *wire.BasicGet:
		return ch.basicGet(m)
	case *wire.TxCommit:
		return ch.txCommit()
	}
	return errUnimplemented()
}
