package amqp

import (
	"strings"
	"testing"

	"mayfly/amqp/wire"
)

// request publishes a request of channel 1 to queue "rpc" and gives the reply-to
// that its receiver sees.
func (r *chanRig) request() string {
	r.t.Helper()
	props := append([]byte{0, 0}, wire.AppendShortstr(wire.AppendShortstr(nil, "corr"), replyQueue)...)
	flags := wire.PropCorrelationID | wire.PropReplyTo
	props[0], props[1] = byte(flags>>8), byte(flags)
	r.publish(1, message{key: "rpc", props: props, body: "question"})
	r.send(1, &wire.BasicGet{Queue: "rpc", NoAck: true})
	_, m, c := r.next()
	if _, ok := m.(*wire.BasicGetOk); !ok {
		r.t.Fatal(describe(m))
	}
	var p wire.Properties
	if err := wire.ParseProperties(c.props, &p); err != nil {
		r.t.Fatal(err)
	}
	if id, _ := p.CorrelationID(); string(id) != "corr" {
		r.t.Errorf("correlation-id %q", id)
	}
	to, _ := p.ReplyTo()
	return string(to)
}

func (r *chanRig) consumeReplies(tag string) {
	r.t.Helper()
	r.consume(1, &wire.BasicConsume{Queue: replyQueue, ConsumerTag: tag, NoAck: true})
}

// Checklist 105.
func TestChecklist105ReplyConsumer(t *testing.T) {
	r := newChanRig(t)
	r.refused(&wire.BasicConsume{Queue: replyQueue}, 406, "PRECONDITION_FAILED - reply consumer cannot acknowledge")
	r.consumeReplies("c")
	first := r.channel(1)
	r.refused(&wire.BasicConsume{Queue: replyQueue, NoAck: true}, 406, "PRECONDITION_FAILED - reply consumer already set")
	<-first.ended
	r.consumeReplies("c")
	ch := r.channel(1)
	r.refused(&wire.BasicGet{Queue: "none"}, 404, "NOT_FOUND - no queue 'none' in vhost '/'")
	<-ch.ended
	r.publish(1, message{key: "rpc", props: short(wire.PropReplyTo, replyQueue)})
	r.closed(406, "PRECONDITION_FAILED - fast reply consumer does not exist", wire.BasicPublishID)
	r.server.replies.mu.Lock()
	if n := len(r.server.replies.waiting); n != 0 { // those of channels that ended are gone
		t.Errorf("%d names", n)
	}
	r.server.replies.mu.Unlock()
	r.consumeReplies("c")
	r.cut(&wire.BasicConsume{Queue: replyQueue, ConsumerTag: "c", NoAck: true}, 530, "NOT_ALLOWED - attempt to reuse consumer tag 'c'")
}

// Checklist 106 and 108.
func TestChecklist106Reply(t *testing.T) {
	r := newChanRig(t)
	r.declare("rpc", nil)
	r.consumeReplies("c")
	to := r.request()
	if !strings.HasPrefix(to, replyPrefix) || len(to) > 255 || len(to) < 85 {
		t.Errorf("reply-to %q", to)
	}
	p := r.peer()
	p.call(1, &wire.ConfirmSelect{}, &wire.ConfirmSelectOk{})
	props := short(wire.PropMessageID, "m")
	p.publish(1, message{key: to, mandatory: true, props: props, body: "answer"})
	p.want(1, &wire.BasicAck{DeliveryTag: 1})
	d, c := r.delivered(1, 2, "answer") // the get before took tag 1
	if d.ConsumerTag != "c" || d.Exchange != "" || d.RoutingKey != to || d.Redelivered || string(c.props) != string(props) {
		t.Errorf("%s with %q", describe(d), c.props)
	}
	r.call(1, &wire.BasicCancel{ConsumerTag: "c"}, &wire.BasicCancelOk{ConsumerTag: "c"})
	p.publish(1, message{key: to, body: "lost"})
	p.want(1, &wire.BasicAck{DeliveryTag: 2})
	p.publish(1, message{key: to, mandatory: true, body: "late"})
	if c := p.want(1, &wire.BasicReturn{ReplyCode: 312, ReplyText: "NO_ROUTE", RoutingKey: to}); c.body != "late" {
		t.Errorf("returned %q", c.body)
	}
	p.want(1, &wire.BasicAck{DeliveryTag: 3})
	r.consumeReplies("again")
	if again := r.request(); again == to {
		t.Error("the old name serves a new consumer")
	}
}

// Checklist 107 and the other methods on the names.
func TestChecklist107Declare(t *testing.T) {
	r := newChanRig(t)
	r.declare("rpc", nil)
	r.consumeReplies("c")
	to := r.request()
	p := r.peer()
	for _, passive := range []bool{true, false} {
		p.call(1, &wire.QueueDeclare{Queue: to, Passive: passive}, &wire.QueueDeclareOk{Queue: to, ConsumerCount: 1})
		p.call(1, &wire.QueueDeclare{Queue: replyQueue, Passive: passive}, &wire.QueueDeclareOk{Queue: replyQueue, ConsumerCount: 1})
	}
	missing := "NOT_FOUND - no queue '" + to + "' in vhost '/'"
	p.refused(&wire.BasicGet{Queue: to}, 404, missing)
	p.refused(&wire.QueueBind{Queue: to, Exchange: "amq.direct"}, 404, missing)
	p.call(1, &wire.QueueDelete{Queue: to}, &wire.QueueDeleteOk{})
	r.call(1, &wire.ChannelClose{}, &wire.ChannelCloseOk{})
	p.refused(&wire.QueueDeclare{Queue: to}, 404, missing)
}

// In a transaction replies go out at commit.
func TestReplyInTx(t *testing.T) {
	r := newChanRig(t)
	r.declare("rpc", nil)
	r.consumeReplies("c")
	to := r.request()
	p := r.peer()
	p.tx()
	p.publish(1, message{key: to, body: "answer"})
	p.quiet()
	r.quiet()
	p.commit()
	r.delivered(1, 2, "answer")
	p.publish(1, message{key: "amq.rabbitmq.reply-to.gone", mandatory: true, body: "late"})
	p.send(1, &wire.TxCommit{})
	p.want(1, &wire.BasicReturn{ReplyCode: 312, ReplyText: "NO_ROUTE", RoutingKey: "amq.rabbitmq.reply-to.gone"})
	p.want(1, &wire.TxCommitOk{})
}
