package amqp

import (
	"fmt"
	"testing"

	"mayfly/amqp/wire"
)

func (r *chanRig) tx() {
	r.t.Helper()
	r.call(1, &wire.TxSelect{}, &wire.TxSelectOk{})
}

func (r *chanRig) commit() {
	r.t.Helper()
	r.call(1, &wire.TxCommit{}, &wire.TxCommitOk{})
}

// Checklist 83: nothing shows before commit; rollback and channel end drop.
func TestChecklist83Publishes(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.declare("p", nil)
	r.tx()
	r.call(1, &wire.TxSelect{}, &wire.TxSelectOk{})
	r.to("q", "1", "2")
	r.to("p", "3")
	r.ready("q")
	r.commit()
	r.ready("q", "1", "2")
	r.ready("p", "3")
	r.to("q", "no")
	r.call(1, &wire.TxRollback{}, &wire.TxRollbackOk{})
	r.commit()
	r.publish(1, message{key: "nowhere", mandatory: true, body: "back"})
	r.to("q", "4")
	r.quiet() // returned at commit, before commit-ok
	r.send(1, &wire.TxCommit{})
	c := r.want(1, &wire.BasicReturn{ReplyCode: 312, ReplyText: "NO_ROUTE", RoutingKey: "nowhere"})
	if c.body != "back" {
		t.Errorf("returned %q", c.body)
	}
	r.want(1, &wire.TxCommitOk{})
	r.ready("q", "1", "2", "4")
	r.broker.queue("q").refuse = true
	r.to("q", "5")
	r.to("p", "6")
	r.refused(&wire.TxCommit{}, 406, "PRECONDITION_FAILED - partial tx completion")
	r.tx()
	r.to("p", "dropped")
	r.call(1, &wire.ChannelClose{}, &wire.ChannelCloseOk{})
	r.ready("p", "3", "6")
}

// Checklist 84: settlements are undone by rollback, double ones refused.
func TestChecklist84Settlements(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.to("q", "1", "2", "3", "4")
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
	r.got(4)
	r.tx()
	r.send(1, &wire.BasicAck{DeliveryTag: 1})
	r.call(1, &wire.TxRollback{}, &wire.TxRollbackOk{})
	r.send(1, &wire.BasicAck{DeliveryTag: 1}, &wire.BasicReject{DeliveryTag: 2}, &wire.BasicNack{DeliveryTag: 3, Requeue: true})
	q := r.broker.queue("q")
	r.quiet()
	if len(q.settled)+len(q.rejected) != 0 {
		t.Error("settled before commit")
	}
	r.send(1, &wire.TxCommit{})
	r.amid(&wire.TxCommitOk{})
	r.got(1) // the one that went back
	if fmt.Sprint(q.settled, q.rejected) != "[1] [2]" {
		t.Errorf("settled %v, rejected %v", q.settled, q.rejected)
	}
	r.send(1, &wire.BasicAck{DeliveryTag: 4})
	r.refused(&wire.BasicAck{DeliveryTag: 4}, 406, "PRECONDITION_FAILED - unknown delivery tag 4")
}

// A multiple ack in a transaction covers what is not settled in it yet.
func TestTxMultiple(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.to("q", "1", "2", "3")
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
	r.got(3)
	r.tx()
	r.send(1, &wire.BasicReject{DeliveryTag: 2}, &wire.BasicAck{DeliveryTag: 3, Multiple: true})
	r.commit()
	q := r.broker.queue("q")
	if fmt.Sprint(q.settled, q.rejected) != "[1 3] [2]" {
		t.Errorf("settled %v, rejected %v", q.settled, q.rejected)
	}
	r.refused(&wire.BasicAck{DeliveryTag: 3}, 406, "PRECONDITION_FAILED - unknown delivery tag 3")
}

// Checklist 85, and the bound of a transaction.
func TestChecklist85NotTx(t *testing.T) {
	r := chanRigWith(t, func(o *Options) { o.MaxMessageSize = 1 })
	const text = "PRECONDITION_FAILED - channel is not transactional"
	r.refused(&wire.TxCommit{}, 406, text)
	r.refused(&wire.TxRollback{}, 406, text)
	r.declare("q", nil)
	r.tx()
	r.channel(1).tx.bytes = txBytes
	r.to("q", "x")
	r.closed(406, fmt.Sprintf("PRECONDITION_FAILED - transaction is larger than %d bytes", txBytes+1), wire.BasicPublishID)
}

// Validity is checked at once.
func TestTxChecksAtOnce(t *testing.T) {
	r := newChanRig(t)
	r.tx()
	r.publish(1, message{exchange: "none"})
	r.closed(404, "NOT_FOUND - no exchange 'none' in vhost '/'", wire.BasicPublishID)
}
