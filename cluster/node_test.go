package cluster

import (
	"fmt"
	"testing"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// TestPublishConsumeRestart walks the whole path of one node: publish, confirm,
// deliver, ack, and what is left after a restart (S1, S8).
func TestPublishConsumeRestart(t *testing.T) {
	dir := t.TempDir()
	n := testNode(t, dir)
	id := declare(t, n, "q", catalog.DeclareQueue{Durable: true})
	sink := newTestSink()
	s := n.Open(sink)
	l := s.Lane(id)
	const count = 1000
	for i := range count {
		if seq := l.Publish(message(fmt.Sprint("m", i))); seq != uint64(i+1) {
			t.Fatalf("publish %d has number %d", i, seq)
		}
	}
	sink.wait(t, "confirmed", func() bool { return sink.confirmed[id] == count })
	if st, err := l.Stat(t.Context()); err != nil || st.Ready != count {
		t.Fatalf("stat %+v, %v", st, err)
	}
	if err := l.Attach(t.Context(), queue.ConsumerSpec{Number: 1, Prefetch: 100}); err != nil {
		t.Fatal(err)
	}
	sink.wait(t, "delivered", func() bool { return len(sink.got) == 100 })
	var ps []queue.Pos
	for i, d := range sink.got[:100] {
		env, err := l.Load(&d)
		if err != nil || string(env.Body) != fmt.Sprint("m", i) {
			t.Fatalf("delivery %d: %q %v", i, env.Body, err)
		}
		ps = append(ps, d.Pos)
	}
	l.Settle(ps[:50])
	sink.wait(t, "delivered more", func() bool { return len(sink.got) == 150 })
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopNode(t, n)

	n = testNode(t, dir)
	defer stopNode(t, n)
	sink = newTestSink()
	l = n.Open(sink).Lane(id)
	st, err := l.Stat(t.Context())
	if err != nil || st.Ready != count-50 || st.Unacked != 0 || st.Consumers != 0 {
		t.Fatalf("after restart %+v, %v", st, err)
	}
	d, left, ok, err := l.Get(t.Context(), false)
	if err != nil || !ok || left != count-51 || !d.Redelivered {
		t.Fatalf("get %+v left %d ok %v err %v", d, left, ok, err)
	}
	if env, err := l.Load(&d); err != nil || string(env.Body) != "m50" {
		t.Fatalf("first message %q %v", env.Body, err)
	}
}

// TestUnackedReturnAfterCrash leaves sessions behind, as a crash does: what they
// held is ready again for the next incarnation (S6).
func TestUnackedReturnAfterCrash(t *testing.T) {
	dir := t.TempDir()
	n := testNode(t, dir)
	id := declare(t, n, "q", catalog.DeclareQueue{Durable: true})
	sink := newTestSink()
	l := n.Open(sink).Lane(id)
	for range 10 {
		l.Publish(message("x"))
	}
	if err := l.Attach(t.Context(), queue.ConsumerSpec{Number: 1}); err != nil {
		t.Fatal(err)
	}
	sink.wait(t, "delivered", func() bool { return len(sink.got) == 10 })
	stopNode(t, n) // the session is not closed

	n = testNode(t, dir)
	defer stopNode(t, n)
	sink = newTestSink()
	l = n.Open(sink).Lane(id)
	if err := l.Attach(t.Context(), queue.ConsumerSpec{Number: 1}); err != nil {
		t.Fatal(err)
	}
	sink.wait(t, "delivered again", func() bool { return len(sink.got) == 10 })
	for _, d := range sink.got {
		if !d.Redelivered {
			t.Fatalf("%+v is not marked redelivered", d)
		}
	}
}

func TestExclusiveQueueLivesInMemory(t *testing.T) {
	n := testNode(t, t.TempDir())
	defer stopNode(t, n)
	id := declare(t, n, "q", catalog.DeclareQueue{Exclusive: true, Owner: n.NextID()})
	sink := newTestSink()
	l := n.Open(sink).Lane(id)
	for i := range 10 {
		l.Publish(message(fmt.Sprint(i)))
	}
	sink.wait(t, "confirmed", func() bool { return sink.confirmed[id] == 10 })
	d, left, ok, err := l.Get(t.Context(), true)
	if err != nil || !ok || left != 9 || !d.Settled {
		t.Fatalf("%+v %d %v %v", d, left, ok, err)
	}
	if env, err := l.Load(&d); err != nil || string(env.Body) != "0" {
		t.Fatalf("%q %v", env.Body, err)
	}
	l.Release(&d)
	if len(n.engine.Groups()) != 0 {
		t.Fatalf("an exclusive queue has a log: %v", n.engine.Groups())
	}
}

// TestDeleteTellsEveryone: requests are refused, consumers cancelled, publishes
// answered, when a queue is deleted under its users (amqp.md 10, C-32).
func TestDeleteTellsEveryone(t *testing.T) {
	n := testNode(t, t.TempDir())
	defer stopNode(t, n)
	id := declare(t, n, "q", catalog.DeclareQueue{Durable: true})
	consumer, other := newTestSink(), newTestSink()
	lc, lo := n.Open(consumer).Lane(id), n.Open(other).Lane(id)
	if err := lc.Attach(t.Context(), queue.ConsumerSpec{Number: 7}); err != nil {
		t.Fatal(err)
	}
	if _, err := lo.Delete(t.Context(), true, false); err != queue.RefusedInUse {
		t.Fatalf("if-unused with a consumer: %v", err)
	}
	lo.Publish(message("x"))
	if _, err := lo.Delete(t.Context(), false, false); err != nil {
		t.Fatal(err)
	}
	consumer.wait(t, "cancelled", func() bool { return len(consumer.cancelled) == 1 && consumer.cancelled[0] == 7 })
	seq := lo.Publish(message("late"))
	other.wait(t, "confirmed though gone", func() bool { return other.confirmed[id] == seq })
	if _, _, _, err := lo.Get(t.Context(), true); err != queue.RefusedGone {
		t.Fatalf("get on a deleted queue: %v", err)
	}
	if n.View().QueueByID(id) != nil {
		t.Fatal("the catalogue still has it")
	}
}

// TestDeadLetterArrives: an expired message reaches the queue its dead go to,
// with its history (D-1, D-22), and leaves the box.
func TestDeadLetterArrives(t *testing.T) {
	n := testNode(t, t.TempDir())
	defer stopNode(t, n)
	target := declare(t, n, "dead", catalog.DeclareQueue{Durable: true})
	args := wire.AppendLong(nil, "x-message-ttl", 20)
	args = wire.AppendString(args, "x-dead-letter-exchange", "")
	args = wire.AppendString(args, "x-dead-letter-routing-key", "dead")
	source := declare(t, n, "work", catalog.DeclareQueue{Durable: true, Args: args})
	sink := newTestSink()
	s := n.Open(sink)
	ls, lt := s.Lane(source), s.Lane(target)
	if err := lt.Attach(t.Context(), queue.ConsumerSpec{Number: 1}); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		ls.Publish(message("soon dead"))
	}
	sink.wait(t, "dead-lettered", func() bool { return len(sink.got) == 300 })
	env, err := lt.Load(&sink.got[0])
	if err != nil || string(env.Body) != "soon dead" || string(env.Key) != "dead" {
		t.Fatalf("%+v %v", env, err)
	}
	var p wire.Properties
	if err := wire.ParseProperties(env.Props, &p); err != nil {
		t.Fatal(err)
	}
	if v, ok := p.Headers().Get("x-first-death-reason"); !ok || v.Text() != "expired" {
		t.Fatalf("x-first-death-reason %v %v", v, ok)
	}
}
