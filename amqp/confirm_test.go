package amqp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mayfly/amqp/wire"
)

// answers collects confirms until n numbers are answered.
type answers struct {
	acked, nacked map[uint64]bool
	low           uint64 // all below are answered
}

func newAnswers() *answers {
	return &answers{acked: map[uint64]bool{}, nacked: map[uint64]bool{}, low: 1}
}

// take notes an answer and says what is wrong with it.
func (a *answers) take(m wire.Method) error {
	switch m := m.(type) {
	case *wire.BasicAck:
		return a.note(a.acked, m.DeliveryTag, m.Multiple)
	case *wire.BasicNack:
		if !m.Requeue {
			return fmt.Errorf("a nack without the requeue bit")
		}
		return a.note(a.nacked, m.DeliveryTag, m.Multiple)
	}
	return fmt.Errorf("got %s", describe(m))
}

func (a *answers) note(set map[uint64]bool, tag uint64, multiple bool) error {
	if a.acked[tag] || a.nacked[tag] {
		return fmt.Errorf("%d answered twice", tag)
	}
	set[tag] = true
	if multiple {
		for n := a.low; n < tag; n++ {
			if !a.acked[n] && !a.nacked[n] {
				set[n] = true
			}
		}
	}
	for a.acked[a.low] || a.nacked[a.low] {
		a.low++
	}
	return nil
}

func (a *answers) count() int { return len(a.acked) + len(a.nacked) }

// Checklist 79: every number is answered exactly once.
func TestChecklist79EachOnce(t *testing.T) {
	r := newChanRig(t)
	r.declare("a", nil)
	r.declare("b", nil)
	r.call(1, &wire.QueueBind{Queue: "a", Exchange: "amq.fanout"}, &wire.QueueBindOk{})
	r.call(1, &wire.QueueBind{Queue: "b", Exchange: "amq.fanout"}, &wire.QueueBindOk{})
	r.call(1, &wire.ConfirmSelect{}, &wire.ConfirmSelectOk{})
	const n = 100_000
	for i := range n {
		switch i % 3 {
		case 0:
			r.publish(1, message{key: "a", body: "x"})
		case 1:
			r.publish(1, message{exchange: "amq.fanout"})
		default:
			r.publish(1, message{key: "b"})
		}
	}
	got := newAnswers()
	for got.count() < n {
		_, m, _ := r.next()
		if err := got.take(m); err != nil {
			t.Fatal(err)
		}
	}
	if len(got.nacked) > 0 || got.low != n+1 {
		t.Errorf("%d nacked, answered up to %d", len(got.nacked), got.low)
	}
	r.quiet()
}

// Checklist 80: in any order of completion, a multiple never covers an open
// number, nor one that is to be answered otherwise.
func TestChecklist80MultipleCoversKnownOnly(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var c confirms
		c.begin()
		const n = 300
		open := map[uint64]int{}
		refused := map[uint64]bool{}
		got := newAnswers()
		var out []byte
		drain := func() {
			out = c.append(out[:0], 1)
			for len(out) > 0 {
				payload := out[7 : 7+int(out[6])]
				m, err := wire.Decode(payload)
				if err != nil {
					t.Fatal(err)
				}
				before := got.low
				if err := got.take(m); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for k := before; k < got.low; k++ {
					if open[k] > 0 {
						t.Fatalf("seed %d: open %d answered", seed, k)
					}
				}
				out = out[7+int(out[6])+1:]
			}
		}
		for next := uint64(1); next <= n || len(open) > 0; {
			switch k := rnd.IntN(5); {
			case k < 2 && next <= n:
				targets := rnd.IntN(4)
				no := targets == 0 && rnd.IntN(3) == 0
				if num := c.add(targets, no); num != next {
					t.Fatalf("number %d, want %d", num, next)
				}
				refused[next] = no
				if targets > 0 {
					open[next] = targets
				}
				next++
			case k < 4:
				for num := range open { // any
					no := rnd.IntN(4) == 0
					refused[num] = refused[num] || no
					if open[num]--; open[num] == 0 {
						delete(open, num)
					}
					c.done(num, no)
					break
				}
			default:
				drain()
			}
		}
		drain()
		if got.low != n+1 || c.ready() || c.slots.len() > 0 {
			t.Fatalf("seed %d: answered below %d", seed, got.low)
		}
		for num, no := range refused {
			if got.nacked[num] != no {
				t.Fatalf("seed %d: %d nacked %v, refused %v", seed, num, got.nacked[num], no)
			}
		}
	}
}

// Checklist 81 and L-6: one refusal is enough; without confirms it is silent.
func TestChecklist81Refused(t *testing.T) {
	r := newChanRig(t)
	r.declare("full", nil)
	r.declare("free", nil)
	for _, q := range []string{"full", "free"} {
		r.call(1, &wire.QueueBind{Queue: q, Exchange: "amq.fanout"}, &wire.QueueBindOk{})
	}
	r.broker.queue("full").refuse = true
	r.to("full", "silent")
	r.quiet()
	r.call(1, &wire.ConfirmSelect{}, &wire.ConfirmSelectOk{})
	r.broker.pause(true)
	r.publish(1, message{exchange: "amq.fanout", body: "1"}, message{key: "full", body: "2"}, message{key: "free", body: "3"}, message{key: "full", body: "4"})
	r.broker.pause(false)
	got := newAnswers()
	for got.count() < 4 {
		_, m, _ := r.next()
		if err := got.take(m); err != nil {
			t.Fatal(err)
		}
	}
	if !got.nacked[1] || !got.nacked[2] || !got.acked[3] || !got.nacked[4] {
		t.Errorf("acked %v, nacked %v", got.acked, got.nacked)
	}
	r.ready("free", "1", "3")
}

// Checklist 82.
func TestChecklist82ConfirmAndTx(t *testing.T) {
	r := newChanRig(t)
	r.call(1, &wire.ConfirmSelect{}, &wire.ConfirmSelectOk{})
	r.call(1, &wire.ConfirmSelect{}, &wire.ConfirmSelectOk{})
	r.send(1, &wire.ConfirmSelect{NoWait: true})
	r.refused(&wire.TxSelect{}, 406, "PRECONDITION_FAILED - cannot switch from confirm to tx mode")
	r.call(1, &wire.TxSelect{}, &wire.TxSelectOk{})
	r.refused(&wire.ConfirmSelect{}, 406, "PRECONDITION_FAILED - cannot switch from tx to confirm mode")
}

// A queue that is deleted no longer counts: its publishes are acked.
func TestConfirmOfDeletedQueue(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.call(1, &wire.ConfirmSelect{}, &wire.ConfirmSelectOk{})
	r.broker.pause(true)
	r.to("q", "1", "2")
	r.call(1, &wire.QueueDelete{Queue: "q"}, &wire.QueueDeleteOk{MessageCount: 2})
	r.broker.pause(false)
	got := newAnswers()
	for got.count() < 2 {
		_, m, _ := r.next()
		if err := got.take(m); err != nil {
			t.Fatal(err)
		}
	}
}

// The answer of a lane may overtake the return of Publish.
func TestConfirmOvertakes(t *testing.T) {
	var c confirms
	var l laneConfirms
	c.begin()
	l.answered(&c, 3, []uint64{2})
	for seq, no := range []bool{false, true, false} {
		due, refused := l.expect(uint64(seq+1), c.next())
		if due || refused != no {
			t.Errorf("%d: due %v, refused %v", seq+1, due, refused)
		}
		c.add(0, refused)
	}
	if due, _ := l.expect(5, c.next()); !due { // 4 was another command's
		t.Error("5 is answered")
	}
	c.add(1, false)
	l.answered(&c, 5, []uint64{5})
	if got := c.append(nil, 1); len(got) != 4*21 || c.ready() {
		t.Errorf("%d bytes of answers", len(got))
	}
}

// Settlements and confirms before channel.close are on the wire before close-ok
// (S8, 9.1).
func TestConfirmsBeforeCloseOk(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.call(1, &wire.ConfirmSelect{}, &wire.ConfirmSelectOk{})
	for range 50 {
		r.publish(1, message{key: "q", body: "x"})
	}
	r.broker.settle()
	r.frame(methodFrame(1, &wire.ChannelClose{}))
	got := newAnswers()
	for {
		_, m, _ := r.next()
		if _, ok := m.(*wire.ChannelCloseOk); ok {
			break
		}
		if err := got.take(m); err != nil {
			t.Fatal(err)
		}
	}
	if got.count() != 50 {
		t.Errorf("%d of 50 confirmed before close-ok", got.count())
	}
}
