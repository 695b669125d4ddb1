package conformance

import (
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

func TestLine020PublishThenClose(t *testing.T) {
	t.Parallel()
	check := openChannel(t)
	publish50 := func(t *testing.T, q string) *channel {
		ch := openChannel(t)
		var b []byte
		for i := range 50 {
			b = append(b, publication(1, 131072, "", q, 0, props{}.encode(), []byte(strconv.Itoa(i)))...)
		}
		ch.c.write(b)
		return ch
	}
	t.Run("connection", func(t *testing.T) {
		q := check.shared()
		publish50(t, q).c.close()
		check.counted(q, counts{50, 0})
	})
	t.Run("channel", func(t *testing.T) {
		q := check.shared()
		publish50(t, q).close()
		check.counted(q, counts{50, 0})
	})
}

// bye is the client's own connection.close.
var bye = method(connectionClose, uint16(replySuccess), "bye", uint16(0), uint16(0))

func TestLine021CrossingCloses(t *testing.T) {
	t.Parallel()
	t.Run("after the broker's close", func(t *testing.T) {
		t.Parallel()
		ch := openChannel(t)
		ch.publishWith("", "q", immediate, nil, "hard error")
		ch.c.closing(notImplemented, "immediate=true", basicPublish)
		ch.c.send(0, bye)
		ch.c.expect(connectionCloseOk).end()
		ch.c.send(0, method(connectionCloseOk))
		ch.c.ended(patience)
	})
	t.Run("behind the error in one segment", func(t *testing.T) {
		t.Parallel()
		ch := openChannel(t)
		b := publication(1, 131072, "", "q", immediate, props{}.encode(), nil)
		ch.c.write(append(b, frameBytes(typeMethod, 0, bye)...))
		ch.c.closing(notImplemented, "immediate=true", basicPublish)
		if !broker.rabbit { // RabbitMQ never answers this one
			ch.c.expect(connectionCloseOk).end()
		}
		ch.c.send(0, method(connectionCloseOk))
		ch.c.ended(patience)
	})
}

func TestLine022NoCloseOk(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		heartbeat uint16
		least     time.Duration
		most      time.Duration
		long      bool
	}{
		{1, 500 * time.Millisecond, 6 * time.Second, false},
		{0, 25 * time.Second, 33 * time.Second, true},
	} {
		if row.long && !*long {
			continue
		}
		t.Run("heartbeat "+strconv.Itoa(int(row.heartbeat)), func(t *testing.T) {
			t.Parallel()
			ch := openChannel(t, heartbeat(row.heartbeat))
			begin := time.Now()
			ch.publishWith("", "q", immediate, nil, "hard error")
			ch.c.closing(notImplemented, "immediate=true", basicPublish)
			if took := ch.c.ended(row.most + patience).Sub(begin); took < row.least || took > row.most {
				t.Errorf("closed %v after connection.close, want %v to %v", took, row.least, row.most)
			}
		})
	}
	t.Run("frames after connection.close are ignored", func(t *testing.T) {
		t.Parallel()
		check := openChannel(t)
		q := check.shared()
		ch := openChannel(t)
		ch.publishWith("", q, immediate, nil, "hard error")
		ch.c.closing(notImplemented, "immediate=true", basicPublish)
		ch.publish("", q, nil, "too late")
		ch.send(queueDeclare, declareArgs("", 0, nil)...)
		ch.c.send(0, method(connectionCloseOk))
		ch.c.ended(patience)
		if n := check.count(q); n != (counts{}) {
			t.Errorf("the queue holds %+v after publishes to a closing connection", n)
		}
	})
}

func TestLine025UpdateSecret(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.send(0, method(connectionUpdateSecret, []byte("another"), "rotation"))
	c.expect(connectionUpdateSecretOk).end()
	c.channel(1)
	c.close()
}

// stopping returns a broker's address, and what stops it in order and waits. It is the
// broker under test only if that is RabbitMQ; then it is started again.
func stopping(t *testing.T) (addr string, stop, again func() string) {
	if broker.rabbit {
		nothing := func() string { return broker.addr }
		return broker.addr, func() string { operator(t, "stop_app"); return broker.addr }, func() string {
			operator(t, "start_app")
			eventually(t, func() bool {
				nc, err := net.Dial("tcp", broker.addr)
				if err == nil {
					nc.Close()
				}
				return err == nil
			}, func() string { return "the broker did not come back" })
			return nothing()
		}
	}
	s := serve(t)
	return s.addr, func() string {
			if err := s.stop(); err != nil {
				t.Errorf("exit after SIGTERM: %v", err)
			}
			return s.addr
		}, func() string {
			if err := s.start(); err != nil {
				t.Fatal(err)
			}
			return s.addr
		}
}

// TestLine026Shutdown does not run in parallel: RabbitMQ is stopped as a whole.
func TestLine026Shutdown(t *testing.T) {
	addr, stop, again := stopping(t)
	const many = 20
	var conns []*conn
	for range many {
		conns = append(conns, openChannel(t, at(addr)).c)
	}
	var done sync.WaitGroup
	done.Go(func() { stop() })
	for i, c := range conns {
		c.closing(connectionForced, "broker forced connection closure with reason 'shutdown'", 0)
		if i == 0 {
			if nc, err := net.Dial("tcp", addr); err == nil {
				nc.Close()
				t.Error("a connection was accepted after 320 had been sent")
			}
		}
		c.send(0, method(connectionCloseOk))
	}
	for _, c := range conns {
		c.ended(patience)
	}
	done.Wait()
	open(t, at(again())).close()
}

func TestLine124RestartKeepsTopology(t *testing.T) {
	addr, stop, again := stopping(t)
	c := openChannel(t, at(addr))
	q, _ := c.declare(unique("q"), durable, nil)
	x := unique("x")
	c.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(x, "direct", durable, nil)...).end()
	c.bind(q, x, "k")
	c.confirms()
	for i := range 10 {
		c.publish(x, "k", props{pDeliveryMode: uint8(2)}, strconv.Itoa(i))
	}
	c.confirmed(1, 10)
	c.consume(q, "t", 0)
	c.delivers("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
	c.ack(3, true)
	c.count(q) // the acks are in
	stop()
	c.c.closing(connectionForced, "…", 0)

	// What auto-recovering clients do: connect, declare everything again, consume.
	r := openChannel(t, at(again()))
	r.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(x, "direct", durable, nil)...).end()
	r.declare(q, durable, nil)
	r.bind(q, x, "k")
	r.consume(q, "t", 0)
	for _, m := range r.delivers("3", "4", "5", "6", "7", "8", "9") {
		if !m.redelivered {
			t.Errorf("%q came again without the redelivered flag", m.body)
		}
	}
	r.confirms()
	r.publish(x, "k", nil, "new")
	r.deliverOrConfirm("new", 1)
	r.cancel("t")
	r.deleteQueue(q, 0)
	r.call(exchangeDeleteOk, exchangeDelete, uint16(0), x, bits(0)).end()
}

// deliverOrConfirm takes a delivery and a confirm in whichever order they come.
func (ch *channel) deliverOrConfirm(body string, seq uint64) {
	t := ch.c.t
	t.Helper()
	delivered, confirmed := false, false
	for !delivered || !confirmed {
		f, err := ch.c.next(ch.n, patience)
		if err != nil {
			t.Fatal(err)
		}
		a := &args{t, f.payload[4:]}
		switch f.id() {
		case basicAck:
			if got := a.u64(); got != seq {
				t.Fatalf("ack of %d, want %d", got, seq)
			}
			confirmed = true
		case basicDeliver:
			m := &message{}
			ch.content(m)
			if m.body != body {
				t.Fatalf("delivered %q, want %q", m.body, body)
			}
			delivered = true
		default:
			t.Fatalf("want a delivery and a confirm, got %v", f)
		}
	}
}
