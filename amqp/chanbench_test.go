package amqp

import (
	"context"
	"encoding/binary"
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
func benchChannel(b testing.TB) (*channel, *benchLane) {
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

// hotPath runs one path n times, after a warm-up that fills its buffers.
type hotPath func(tb testing.TB) (run func(n int))

func publishing1(confirm bool, props []byte) hotPath {
	return func(tb testing.TB) func(int) {
		ch, lane := benchChannel(tb)
		if confirm {
			ch.mode = modeConfirm
			ch.confirms.begin()
		}
		fs := published(&wire.BasicPublish{RoutingKey: "q"}, props, make([]byte, 1024))
		var out []byte
		return func(n int) {
			for i := range n {
				for _, f := range fs {
					if e := ch.handleFrame(f); e != nil {
						tb.Fatal(e)
					}
				}
				if confirm && i%64 == 63 {
					ch.Confirmed(lane, lane.seq, nil)
					out, _ = ch.drain(out[:0], 1<<17)
				}
			}
		}
	}
}

// delivering is deliveries in batches of 64: sink, writer, acks.
func delivering(failed uint32) hotPath {
	return func(tb testing.TB) func(int) {
		ch, lane := benchChannel(tb)
		c := &consumer{tag: "consumer", lane: ch.lanes[lane.id], attached: true}
		ch.consumers.add(c)
		ds := make([]queue.Delivery, 64)
		for i := range ds {
			ds[i] = queue.Delivery{Consumer: c.number, Number: uint64(i + 1), Ref: queue.Ref{Size: 1100}, Failed: failed}
		}
		ack := methodFrame(1, &wire.BasicAck{})
		var out []byte
		tag := uint64(0)
		return func(n int) {
			for i := 0; i < n; i += len(ds) {
				ch.Deliver(lane, ds)
				for more := true; more; {
					out, more = ch.drain(out[:0], 1<<17)
				}
				for range ds {
					tag++
					binary.BigEndian.PutUint64(ack.Payload[4:], tag)
					if e := ch.handleFrame(ack); e != nil {
						tb.Fatal(e)
					}
				}
				ch.flushInput()
			}
		}
	}
}

var (
	hotPublish   = publishing1(false, noProps)
	hotConfirm   = publishing1(true, noProps)
	hotHeaders   = publishing1(true, headersOnly(wire.AppendString(wire.AppendLong(nil, "n", 1), "s", "value")))
	hotDeliver   = delivering(0)
	hotRedeliver = delivering(1)
)

func bench(b *testing.B, path hotPath) {
	run := path(b)
	run(1024)
	b.ReportAllocs()
	b.ResetTimer()
	run(b.N)
}

func BenchmarkPublish(b *testing.B)        { bench(b, hotPublish) }
func BenchmarkPublishConfirm(b *testing.B) { bench(b, hotConfirm) }
func BenchmarkPublishHeaders(b *testing.B) { bench(b, hotHeaders) }
func BenchmarkDeliverAck(b *testing.B)     { bench(b, hotDeliver) }
func BenchmarkRedeliver(b *testing.B)      { bench(b, hotRedeliver) }
