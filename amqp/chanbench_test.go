package amqp

import (
	"context"
	"testing"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// benchLane is a queue that costs nothing: what is measured is the channel.
type benchLane struct {
	id   queue.ID
	seq  uint64
	env  queue.Envelope
	acks int
}

func (l *benchLane) Queue() queue.ID                                    { return l.id }
func (l *benchLane) Publish(*queue.Message) uint64                      { l.seq++; return l.seq }
func (l *benchLane) Settle(ps []queue.Pos)                              { l.acks += len(ps) }
func (l *benchLane) Reject([]queue.Pos)                                 {}
func (l *benchLane) Return([]queue.Pos, queue.Why)                      {}
func (l *benchLane) Credit(uint32, uint32)                              {}
func (l *benchLane) Attach(context.Context, queue.ConsumerSpec) error   { return nil }
func (l *benchLane) Detach(context.Context, uint32) error               { return nil }
func (l *benchLane) Purge(context.Context) (uint64, error)              { return 0, nil }
func (l *benchLane) Stat(context.Context) (queue.Stat, error)           { return queue.Stat{}, nil }
func (l *benchLane) Delete(context.Context, bool, bool) (uint64, error) { return 0, nil }
func (l *benchLane) Commit(context.Context, *queue.Tx) (int, error)     { return 0, nil }
func (l *benchLane) Load(*queue.Delivery) (queue.Envelope, error)       { return l.env, nil }
func (l *benchLane) Release(*queue.Delivery)                            {}
func (l *benchLane) Get(context.Context, bool) (d queue.Delivery, n uint64, ok bool, err error) {
	return
}

// benchChannel is a channel of a connection whose writer never runs, with queue q.
func benchChannel(b *testing.B) (*channel, *benchLane) {
	s, broker, _ := newServerRig(b, nil)
	broker.must(b, catalog.DeclareQueue{Vhost: "/", Name: "q"})
	c := newConn(s, quietConn{&outPipe{}}, quietConn{&outPipe{}})
	c.user, c.vhost, c.frameMax = "guest", "/", 131072
	ch := newChannel(c, 1)
	ls := ch.laneOf(broker.View().Vhost("/").Queue("q"))
	lane := &benchLane{id: ls.Queue(), env: queue.Envelope{Key: []byte("q"), Props: noProps, Body: make([]byte, 1024)}}
	ls.Lane = lane
	return ch, lane
}

// published is the three frames of a message.
func published(m *wire.BasicPublish, props, body []byte) []wire.Frame {
	fs := []wire.Frame{methodFrame(1, m)}
	for b := wire.AppendContent(nil, 1, props, body, 131072); len(b) > 0; {
		size := int(b[3])<<24 | int(b[4])<<16 | int(b[5])<<8 | int(b[6])
		fs = append(fs, wire.Frame{Type: b[0], Channel: 1, Payload: b[7 : 7+size]})
		b = b[8+size:]
	}
	return fs
}

func benchPublish(b *testing.B, confirm bool, props []byte) {
	ch, lane := benchChannel(b)
	if confirm {
		ch.mode = modeConfirm
		ch.confirms.begin()
	}
	fs := published(&wire.BasicPublish{RoutingKey: "q"}, props, make([]byte, 1024))
	var out []byte
	b.ReportAllocs()
	for i := range b.N {
		for _, f := range fs {
			if e := ch.handleFrame(f); e != nil {
				b.Fatal(e)
			}
		}
		if confirm && i%64 == 63 {
			ch.Confirmed(lane, lane.seq, nil)
			out, _ = ch.drain(out[:0], 1<<17)
		}
	}
}

func BenchmarkPublish(b *testing.B)        { benchPublish(b, false, noProps) }
func BenchmarkPublishConfirm(b *testing.B) { benchPublish(b, true, noProps) }
func BenchmarkPublishHeaders(b *testing.B) {
	benchPublish(b, true, headersOnly(wire.AppendString(wire.AppendLong(nil, "n", 1), "s", "value")))
}

// BenchmarkDeliverAck is one delivery in a batch of 64: sink, writer, ack.
func BenchmarkDeliverAck(b *testing.B) { benchDeliver(b, 0) }

// BenchmarkRedeliver adds the server's headers.
func BenchmarkRedeliver(b *testing.B) { benchDeliver(b, 1) }

func benchDeliver(b *testing.B, failed uint32) {
	ch, lane := benchChannel(b)
	c := &consumer{tag: "consumer", lane: ch.lanes[lane.id], attached: true}
	ch.consumers.add(c)
	ds := make([]queue.Delivery, 64)
	for i := range ds {
		ds[i] = queue.Delivery{Consumer: c.number, Ref: queue.Ref{Size: 1100}, Failed: failed}
	}
	ack := methodFrame(1, &wire.BasicAck{})
	var out []byte
	b.ReportAllocs()
	for i := 0; i < b.N; i += len(ds) {
		ch.Deliver(lane, ds)
		for more := true; more; {
			out, more = ch.drain(out[:0], 1<<17)
		}
		for k := range ds {
			tag := uint64(i + k + 1)
			for s := range 8 {
				ack.Payload[4+s] = byte(tag >> (56 - 8*s))
			}
			if e := ch.handleFrame(ack); e != nil {
				b.Fatal(e)
			}
		}
		ch.flushInput()
	}
}

// Goal of the hot paths: not one allocation a message in steady state.
func TestHotPathsAllocateNothing(t *testing.T) {
	for name, f := range map[string]func(*testing.B){
		"publish": BenchmarkPublish, "confirm": BenchmarkPublishConfirm, "headers": BenchmarkPublishHeaders,
		"deliver": BenchmarkDeliverAck, "redeliver": BenchmarkRedeliver,
	} {
		if r := testing.Benchmark(f); r.AllocsPerOp() != 0 {
			t.Errorf("%s: %d allocations a message", name, r.AllocsPerOp())
		}
	}
}
