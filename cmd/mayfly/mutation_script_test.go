package main

import (
	"bytes"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// token stands in names for the number of whoever replays a session; it has the
// length of what replaces it.
const token = "@@@@"

// script is a session that is recorded to be mutated.
type script struct {
	name string
	run  func(*scene)
}

var scripts = []script{
	{"queues", playQueues}, {"arguments", playArguments}, {"exchanges", playExchanges},
	{"properties", playProperties}, {"bodies", playBodies}, {"confirms", playConfirms},
	{"consume", playConsume}, {"get", playGet}, {"tx", playTx}, {"reply", playReply},
	{"channels", playChannels}, {"deadletters", playDeadLetters}, {"consumers", playConsumers},
	{"fault", playFault},
}

func playQueues(s *scene) {
	s.queue("q"+token+"-durable", true, false, false, nil)
	s.queue("q"+token+"-durable", true, false, false, nil)
	s.queue("q"+token+"-exclusive", false, false, true, nil)
	s.queue("q"+token+"-auto", true, true, false, nil)
	s.queue("", false, true, true, nil)
	s.do(s.ch.QueueBind("", "key", "amq.direct", false, nil))
	s.do(s.ch.QueueBind("", "a.*.#", "amq.topic", true, nil))
	s.do(s.ch.QueueBind("q"+token+"-durable", "", "amq.headers", false, amqp.Table{"x-match": "any", "n": int32(7)}))
	s.do(s.ch.QueueUnbind("q"+token+"-durable", "", "amq.headers", amqp.Table{"x-match": "any", "n": int32(7)}))
	_, err := s.ch.QueueDeclarePassive("q"+token+"-durable", true, false, false, false, nil)
	s.do(err)
	_, err = s.ch.QueueDeclare("q"+token+"-nowait", true, false, false, true, nil)
	s.do(err)
	s.publish("", "q"+token+"-durable", amqp.Publishing{Body: []byte("purged")})
	_, err = s.ch.QueuePurge("q"+token+"-durable", false)
	s.do(err)
	_, err = s.ch.QueueDelete("q"+token+"-durable", true, true, false)
	s.do(err)
	s.drop("q"+token+"-nowait", "q"+token+"-auto", "q"+token+"-exclusive", "q"+token+"-missing")
}

func playArguments(s *scene) {
	s.queue("a"+token+"-limits", true, false, false, amqp.Table{
		"x-max-length": int64(10), "x-max-length-bytes": int64(100000), "x-overflow": "reject-publish",
		"x-message-ttl": int32(60000), "x-expires": int64(3600000),
	})
	s.queue("a"+token+"-prio", true, false, false, amqp.Table{"x-max-priority": int8(9)})
	s.queue("a"+token+"-dead", true, false, false, amqp.Table{
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "a" + token + "-prio", "x-delivery-limit": int64(3),
		"x-queue-type": "quorum", "x-dead-letter-strategy": "at-most-once",
	})
	s.queue("a"+token+"-classic", false, false, true, amqp.Table{"x-queue-mode": "lazy", "x-queue-type": "classic", "unknown": amqp.Table{"deep": []any{int32(1), "two", nil}}})
	for i := range 4 {
		s.publish("", "a"+token+"-prio", amqp.Publishing{Priority: uint8(i), Body: []byte("p")})
		s.publish("", "a"+token+"-limits", amqp.Publishing{Body: bytes.Repeat([]byte("l"), 200)})
	}
	_, _, err := s.ch.Get("a"+token+"-prio", true)
	s.do(err)
	s.drop("a"+token+"-limits", "a"+token+"-prio", "a"+token+"-dead")
}

func playExchanges(s *scene) {
	q := "e" + token + "-q"
	s.queue(q, false, false, true, nil)
	for _, kind := range []string{"direct", "fanout", "topic", "headers"} {
		x := "e" + token + "-" + kind
		s.do(s.ch.ExchangeDeclare(x, kind, true, false, false, false, amqp.Table{"alternate-exchange": "amq.fanout"}))
		s.do(s.ch.QueueBind(q, "a.b", x, false, amqp.Table{"x-match": "all", "k": "v", "n": int64(1)}))
	}
	s.do(s.ch.ExchangeDeclare("e"+token+"-inner", "fanout", false, true, true, false, nil))
	s.do(s.ch.ExchangeDeclarePassive("e"+token+"-topic", "topic", true, false, false, false, nil))
	s.do(s.ch.ExchangeBind("e"+token+"-fanout", "a.#", "e"+token+"-topic", false, nil))
	s.do(s.ch.ExchangeBind("e"+token+"-topic", "a.*", "e"+token+"-fanout", false, nil)) // a cycle
	s.do(s.ch.ExchangeBind("e"+token+"-inner", "", "e"+token+"-direct", false, nil))
	for _, kind := range []string{"direct", "fanout", "topic", "headers"} {
		s.publish("e"+token+"-"+kind, "a.b", amqp.Publishing{Headers: amqp.Table{"k": "v", "n": int32(1)}, Body: []byte("routed")})
	}
	s.publish("e"+token+"-direct", "elsewhere", amqp.Publishing{Headers: amqp.Table{"CC": []any{"a.b", "c"}, "BCC": []any{"d"}}, Body: []byte("alternate")})
	s.do(s.ch.ExchangeUnbind("e"+token+"-topic", "a.*", "e"+token+"-fanout", false, nil))
	s.do(s.ch.QueueUnbind(q, "a.b", "e"+token+"-topic", amqp.Table{"x-match": "all", "k": "v", "n": int64(1)}))
	for _, kind := range []string{"direct", "fanout", "topic", "headers"} {
		s.do(s.ch.ExchangeDelete("e"+token+"-"+kind, false, false))
	}
	s.drop(q)
}

func playProperties(s *scene) {
	q := "p" + token
	s.queue(q, true, false, false, nil)
	s.publish("", q, amqp.Publishing{
		ContentType: "text/plain", ContentEncoding: "utf-8", DeliveryMode: amqp.Persistent, Priority: 5,
		CorrelationId: "corr", ReplyTo: "somewhere", Expiration: "60000", MessageId: "id-1",
		Timestamp: time.Unix(1700000000, 0), Type: "kind", UserId: "guest", AppId: "app",
		Headers: amqp.Table{
			"bool": true, "byte": byte(1), "i8": int8(-2), "i16": int16(3), "i32": int32(-4), "i64": int64(5),
			"f32": float32(1.5), "f64": 2.5, "dec": amqp.Decimal{Scale: 2, Value: 314}, "str": "text", "bin": []byte{0, 1, 255},
			"time": time.Unix(1700000001, 0), "void": nil,
			"array": []any{int32(1), "two", []any{true, nil}, amqp.Table{"x": int64(9)}},
			"table": amqp.Table{"a": amqp.Table{"b": amqp.Table{"c": "deep"}}},
		},
		Body: []byte("all properties"),
	})
	s.publish("", q, amqp.Publishing{Headers: amqp.Table{"CC": []any{q + "x"}, "BCC": []any{q + "y"}}})
	s.publish("", q, amqp.Publishing{Expiration: "0", Body: []byte("gone at once")})
	back := s.ch.NotifyReturn(make(chan amqp.Return, 1))
	s.do(s.ch.PublishWithContext(s.t.Context(), "amq.direct", "nowhere", true, false, amqp.Publishing{UserId: "guest", Body: []byte("returned")}))
	<-back
	for range 2 {
		_, _, err := s.ch.Get(q, true)
		s.do(err)
	}
	s.drop(q)
}

func playBodies(s *scene) {
	q := "b" + token
	s.queue(q, true, false, false, nil)
	for _, n := range []int{0, 1, 5000, 131072 - 8, 131072 - 7} {
		s.publish("", q, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: bytes.Repeat([]byte{'x'}, n)})
	}
	in, err := s.ch.Consume(q, "bodies", true, false, false, false, nil)
	s.do(err)
	for range 5 {
		s.take(in)
	}
	s.drop(q)
}

func playConfirms(s *scene) {
	q := "c" + token
	s.queue(q, true, false, false, amqp.Table{"x-max-length": int32(5), "x-overflow": "reject-publish"})
	s.do(s.ch.Confirm(false))
	for range 3 {
		var last *amqp.DeferredConfirmation
		for i := range 4 {
			d, err := s.ch.PublishWithDeferredConfirmWithContext(s.t.Context(), "", q, i%2 == 0, false, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte("confirmed")})
			s.do(err)
			last = d
		}
		last.Wait()
	}
	_, err := s.ch.QueuePurge(q, false)
	s.do(err)
	s.drop(q)
	s.do(s.ch.Close())
}

func playConsume(s *scene) {
	q := "k" + token
	s.queue(q, true, false, false, nil)
	s.do(s.ch.Qos(3, 0, false))
	in, err := s.ch.Consume(q, "eater", false, false, false, false, nil)
	s.do(err)
	for range 8 {
		s.publish("", q, amqp.Publishing{Body: []byte("eaten")})
	}
	s.do(s.take(in).Ack(false))
	s.do(s.take(in).Nack(false, true))
	s.do(s.take(in).Reject(true))
	s.do(s.take(in).Reject(false))
	s.take(in)
	s.do(s.take(in).Ack(true))
	for range 3 { // all that the prefetch allows: none is on its way when it recovers
		s.take(in)
	}
	s.do(s.ch.Qos(10, 0, true))
	s.do(s.ch.Recover(true))
	s.take(in)
	s.do(s.take(in).Nack(true, false))
	s.do(s.ch.Cancel("eater", false))
	s.drop(q)
}

func playGet(s *scene) {
	q := "g" + token
	s.queue(q, true, false, false, nil)
	for range 5 {
		s.publish("", q, amqp.Publishing{Body: []byte("got")})
	}
	get := func(noAck bool) amqp.Delivery {
		d, _, err := s.ch.Get(q, noAck)
		s.do(err)
		return d
	}
	s.do(get(false).Ack(false))
	s.do(get(false).Nack(false, true))
	get(false)
	s.do(get(false).Ack(true))
	get(true)
	get(true)
	get(true) // empty by now
	s.drop(q)
}

func playTx(s *scene) {
	q := "t" + token
	s.queue(q, true, false, false, nil)
	s.do(s.ch.Tx())
	for range 3 {
		s.publish("", q, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte("in tx")})
	}
	s.do(s.ch.TxCommit())
	s.publish("", q, amqp.Publishing{Body: []byte("rolled back")})
	s.do(s.ch.TxRollback())
	for i := range 3 {
		d, _, err := s.ch.Get(q, false)
		s.do(err)
		if i == 2 {
			s.do(d.Reject(true))
		} else {
			s.do(d.Ack(false))
		}
		if i%2 == 0 {
			s.do(s.ch.TxCommit())
		} else {
			s.do(s.ch.TxRollback())
		}
	}
	s.drop(q)
}

func playReply(s *scene) {
	q := "r" + token
	s.queue(q, false, true, false, nil)
	requests, err := s.ch.Consume(q, "server", true, false, false, false, nil)
	s.do(err)
	server := s.ch
	client := s.open()
	replies, err := client.Consume("amq.rabbitmq.reply-to", "", true, false, false, false, nil)
	s.do(err)
	for range 2 {
		s.publish("", q, amqp.Publishing{ReplyTo: "amq.rabbitmq.reply-to", CorrelationId: "one", Body: []byte("ask")})
		d := s.take(requests)
		s.do(server.PublishWithContext(s.t.Context(), "", d.ReplyTo, true, false, amqp.Publishing{CorrelationId: d.CorrelationId, Body: []byte("answer")}))
		s.take(replies)
	}
	s.do(client.Close())
	s.ch = server
	s.drop(q)
}

func playChannels(s *scene) {
	first := s.ch
	_, err := s.ch.QueueDeclarePassive("h"+token+"-missing", false, false, false, false, nil)
	if err == nil {
		s.t.Fatal("a missing queue is there")
	}
	for range 6 {
		s.open()
		s.do(s.ch.Flow(true))
		s.queue("h"+token, false, true, true, nil)
	}
	s.do(s.ch.Close())
	s.open()
	s.do(s.conn.UpdateSecret("guest", "because"))
	s.publish("", "h"+token, amqp.Publishing{Body: []byte("last words")})
	if !first.IsClosed() {
		s.t.Fatal("the channel survived its error")
	}
}

func playDeadLetters(s *scene) {
	q, dead := "d"+token, "d"+token+"-dead"
	s.queue(dead, true, false, false, nil)
	s.queue(q, true, false, false, amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead, "x-message-ttl": int64(200), "x-max-length": int64(4)})
	in, err := s.ch.Consume(dead, "grave", false, false, false, false, nil)
	s.do(err)
	for range 6 {
		s.publish("", q, amqp.Publishing{Headers: amqp.Table{"n": int32(1)}, Body: []byte("mortal")})
	}
	d, _, err := s.ch.Get(q, false)
	s.do(err)
	s.do(d.Reject(false))
	for range 3 {
		s.do(s.take(in).Ack(false))
	}
	s.drop(q, dead)
}

func playConsumers(s *scene) {
	q := "s" + token
	s.queue(q, true, false, false, amqp.Table{"x-single-active-consumer": true})
	first := s.ch
	in, err := s.ch.Consume(q, "first", false, false, false, false, amqp.Table{"x-priority": int32(10)})
	s.do(err)
	second := s.open()
	next, err := s.ch.Consume(q, "second", false, false, false, true, amqp.Table{"x-priority": int32(10)})
	s.do(err)
	for range 2 {
		s.publish("", q, amqp.Publishing{Body: []byte("for one")})
	}
	s.take(in)
	s.take(in)
	s.do(first.Close()) // both go to the second, redelivered
	s.take(next)
	s.do(s.take(next).Ack(true))
	s.do(second.Cancel("second", true))
	s.queue("s"+token+"-own", false, false, true, nil)
	alone, err := s.ch.Consume("s"+token+"-own", "alone", true, true, false, false, nil)
	s.do(err)
	s.publish("", "s"+token+"-own", amqp.Publishing{Body: []byte("mine")})
	s.take(alone)
	s.drop(q, "s"+token+"-own") // the consumer is cancelled by us
}

// playFault ends with a connection exception (540): immediate is not built.
func playFault(s *scene) {
	q := "f" + token
	s.queue(q, false, false, true, nil)
	s.publish("", q, amqp.Publishing{Body: []byte("before")})
	closed := s.conn.NotifyClose(make(chan *amqp.Error, 1))
	s.do(s.ch.PublishWithContext(s.t.Context(), "", q, false, true, amqp.Publishing{Body: []byte("immediate")}))
	<-closed
}
