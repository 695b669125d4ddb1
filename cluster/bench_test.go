package cluster

import (
	"bytes"
	"sync/atomic"
	"testing"

	"mayfly/cluster/storage"
	"mayfly/queue"
)

// benchSink counts confirms and settles deliveries in the outbox's goroutine.
type benchSink struct {
	confirmed, settled atomic.Uint64
	ps                 []queue.Pos
	window             chan struct{}
}

func (s *benchSink) Deliver(l queue.Lane, ds []queue.Delivery) {
	s.ps = s.ps[:0]
	for i := range ds {
		if _, err := l.Load(&ds[i]); err != nil {
			panic(err)
		}
		s.ps = append(s.ps, ds[i].Pos)
	}
	l.Settle(s.ps)
	s.settled.Add(uint64(len(ds)))
	s.tell()
}

func (s *benchSink) Confirmed(_ queue.Lane, upTo uint64, _ []uint64) {
	s.confirmed.Store(upTo)
	s.tell()
}

func (s *benchSink) Cancelled(queue.Lane, uint32) {}

func (s *benchSink) tell() {
	select {
	case s.window <- struct{}{}:
	default:
	}
}

// BenchmarkPublish is publish to confirm with 1 KiB bodies, a window of 3,000, on
// the real file system; with a consumer also deliver, load and settle.
func BenchmarkPublish(b *testing.B) {
	for _, c := range []struct {
		name    string
		size    int
		consume bool
	}{{"confirm/100B", 100, false}, {"confirm/1KiB", 1024, false}, {"settle/100B", 100, true}, {"settle/1KiB", 1024, true}} {
		b.Run(c.name, func(b *testing.B) {
			n, err := Start(Options{Name: "n1", DataDir: b.TempDir(), Seed: seed, Storage: storage.Options{}})
			if err != nil {
				b.Fatal(err)
			}
			defer n.Stop()
			r := &rig{t: b, Node: n}
			sink := &benchSink{window: make(chan struct{}, 1)}
			l := n.Open(sink).Lane(r.queue("q"))
			if c.consume {
				if err := l.Attach(b.Context(), queue.ConsumerSpec{Number: 1, Prefetch: 2000}); err != nil {
					b.Fatal(err)
				}
			}
			m := message(string(bytes.Repeat([]byte("x"), c.size)))
			done := func(i uint64) bool {
				return sink.confirmed.Load() >= i && (!c.consume || sink.settled.Load()+1 >= i)
			}
			b.ReportAllocs()
			b.ResetTimer()
			var last uint64
			for range b.N {
				last = l.Publish(m)
				for last > 3000 && !done(last-3000) {
					<-sink.window
				}
			}
			for !done(last) {
				<-sink.window
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}
