package conformance

import (
	"strings"
	"testing"
)

const replyQueue = "amq.rabbitmq.reply-to"

// requester is a channel with the pseudo consumer, and the name that its
// requests carry.
func requester(t *testing.T, server *channel, requests string) (*channel, string) {
	t.Helper()
	ch := openChannel(t)
	ch.consume(replyQueue, "replies", noAck)
	ch.publish("", requests, props{pReplyTo: replyQueue, pCorrelationID: "c1"}, "question")
	server.counted(requests, counts{1, 0})
	m := server.get(requests, 1)
	name, _ := m.props(t)[pReplyTo].(string)
	if m.body != "question" || m.props(t)[pCorrelationID] != "c1" {
		t.Fatalf("the request came as %+v", m)
	}
	if !strings.HasPrefix(name, replyQueue+".") || len(name) < len(replyQueue)+20 || len(name) > 255 {
		t.Fatalf("reply-to was rewritten to %q", name)
	}
	return ch, name
}

func TestLine105ReplyConsumer(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	ch.refused(preconditionFailed, "reply consumer cannot acknowledge", basicConsume, consumeArgs(replyQueue, "t", 0, nil)...)
	ch.publish("", q, props{pReplyTo: replyQueue}, "m")
	ch.closed(preconditionFailed, "fast reply consumer does not exist", basicPublish)
	ch.open()
	ch.consume(replyQueue, "t", noAck)
	ch.refused(preconditionFailed, "reply consumer already set", basicConsume, consumeArgs(replyQueue, "u", noAck, nil)...)
	ch.publish("", q, props{pReplyTo: "another"}, "m")
	if m := ch.get(q, 1); m.props(t)[pReplyTo] != "another" {
		t.Error("an ordinary reply-to was changed")
	}
	if tag := ch.consume(replyQueue, "", noAck); !strings.HasPrefix(tag, "amq.ctag-") {
		t.Errorf("made tag %q", tag)
	}
	t.Run("a used tag", func(t *testing.T) {
		ch := openChannel(t)
		ch.consume(ch.queue(), "t", noAck)
		ch.hard(notAllowed, "attempt to reuse consumer tag 't'", basicConsume, consumeArgs(replyQueue, "t", noAck, nil)...)
	})
}

func TestLine106Reply(t *testing.T) {
	t.Parallel()
	server := openChannel(t)
	requests := server.shared()
	ch, name := requester(t, server, requests)
	sent := props{pCorrelationID: "c1", pContentType: "text/plain", pHeaders: table{{"h", array{1, "x"}}}}.encode()
	body := noise(200000)
	server.c.write(publication(1, 131072, "", name, 0, sent, []byte(body)))
	m := ch.deliver()
	if m.tag != "replies" || m.exchange != "" || m.key != name || m.redelivered || m.body != body || string(m.properties) != string(sent) {
		t.Errorf("the reply came as tag %q exchange %q key %q redelivered %v properties %q", m.tag, m.exchange, m.key, m.redelivered, m.properties)
	}
	server.publish("", name, nil, "second")
	second := ch.delivers("second")[0]
	if !broker.rabbit && second.delivery != m.delivery+1 { // [M] of amqp.md 14: RabbitMQ stands still
		t.Errorf("delivery tags %d, %d", m.delivery, second.delivery)
	}
	ch.qos(1, false) // replies ignore prefetch
	for range 5 {
		server.publish("", name, nil, "more")
	}
	ch.delivers("more", "more", "more", "more", "more")

	t.Run("a second requester has another name", func(t *testing.T) {
		_, other := requester(t, server, requests)
		if other == name {
			t.Error("two requesters share a name")
		}
	})
	t.Run("mandatory and confirmed", func(t *testing.T) {
		server.confirms()
		server.publishWith("", name, mandatory, nil, "m")
		if broker.rabbit { // returned although delivered; [M] of amqp.md 14
			server.returned()
		}
		server.confirmed(1, 1)
		ch.delivers("m")
	})
}

func TestLine107DeclareReplyName(t *testing.T) {
	t.Parallel()
	server := openChannel(t)
	ch, name := requester(t, server, server.shared())
	for _, flags := range []bits{0, passive, durable} {
		if got, n := server.declare(name, flags, nil); got != name || n != (counts{0, 1}) {
			t.Errorf("declare of the live name: %q %+v", got, n)
		}
		if got, n := server.declare(replyQueue, flags, nil); got != replyQueue || n != (counts{0, 1}) {
			t.Errorf("declare of the bare name: %q %+v", got, n)
		}
	}
	ch.cancel("replies")
	for _, flags := range []bits{0, passive} {
		server.refused(notFound, "no "+rs(name), queueDeclare, declareArgs(name, flags, nil)...)
	}
	server.refused(notFound, "no "+rs(replyQueue), basicGet, uint16(0), replyQueue, bits(0))
	server.refused(notFound, "no "+rs(replyQueue), queueBind, uint16(0), replyQueue, "amq.direct", "k", bits(0), table{})
	if n := server.deleteQueue(replyQueue, 0); n != 0 {
		t.Errorf("delete answered %d", n)
	}
	ch.consume(replyQueue, "replies", noAck)
	_, other := requester(t, server, server.shared())
	if other == name {
		t.Error("the token was used again")
	}
}

func TestLine108RequesterGone(t *testing.T) {
	t.Parallel()
	server := openChannel(t)
	server.confirms()
	requests := server.shared()
	seq := uint64(0)
	for _, row := range []struct {
		name  string
		leave func(ch *channel)
	}{
		{"cancelled", func(ch *channel) { ch.cancel("replies") }},
		{"channel closed", func(ch *channel) { ch.close() }},
		{"connection closed", func(ch *channel) { ch.c.close() }},
	} {
		t.Run(row.name, func(t *testing.T) {
			ch, name := requester(t, server, requests)
			row.leave(ch)
			server.publish("", name, nil, "dropped")
			seq++
			server.confirmed(seq, seq)
			server.publishWith("", name, mandatory, nil, "returned")
			if m := server.returned(); m.code != noRoute || m.key != name || m.body != "returned" {
				t.Errorf("returned %+v", m)
			}
			seq++
			server.confirmed(seq, seq)
		})
	}
}
