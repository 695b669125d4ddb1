package fsm

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"mayfly/internal/invariant"
	"mayfly/queue"
	"mayfly/ttl"
)

const benchSession = queue.SessionID(1<<32 | 7)

// benchBatch is a busy entry: n publishes, and the settlement of the n before.
func benchBatch(n int, seq uint64, settled []queue.Pos, body []byte) []byte {
	b := AppendHeader(nil)
	m := queue.Message{Exchange: []byte("orders"), Key: []byte("orders.created.eu"), Props: make([]byte, 14), Body: body, TTL: queue.NoTTL, Persistent: true}
	for i := range n {
		b = AppendEnqueue(b, benchSession, seq+uint64(i), &m)
	}
	if len(settled) > 0 {
		b = AppendSettle(b, benchSession, settled)
	}
	PutStamp(b, 1_000_000)
	return b
}

// BenchmarkFlow is one message through Apply: enqueue, checkout, settle. The
// entries are made before, so only Apply is measured. Goal: 250 ns, no allocation
// per message.
func BenchmarkFlow(b *testing.B) {
	for _, size := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) { benchFlow(b, size, queue.Defaults()) })
	}
	withTTL := queue.Defaults()
	withTTL.TTL = 60_000
	b.Run("queue-ttl", func(b *testing.B) { benchFlow(b, 64, withTTL) })
	prio := queue.Defaults()
	prio.MaxPriority = 9
	b.Run("priorities", func(b *testing.B) { benchFlow(b, 64, prio) })
}

func benchFlow(b *testing.B, size int, c queue.Config) {
	m := New()
	var out Outcome
	first := AppendConfigure(AppendHeader(nil), c)
	first = AppendAttach(first, benchSession, 1, queue.ConsumerSpec{Number: 1, Tag: "c", Prefetch: 4096})
	if err := m.Apply(1, first, &out); err != nil {
		b.Fatal(err)
	}
	settled := make([]queue.Pos, size)
	const seqBase, posBase = 1 << 40, 1
	entries := make([][]byte, 64)
	prepare := func(round int) {
		for k := range entries {
			batch := round*len(entries) + k
			for i := range settled {
				settled[i] = posBase + queue.Pos((batch-1)*size+i)
			}
			entries[k] = benchBatch(size, seqBase+uint64(batch*size), settled, make([]byte, 100))
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	index := uint64(1)
	for n := 0; n < b.N; {
		r := int(index-1) % len(entries)
		if r == 0 {
			b.StopTimer()
			prepare(n / size / len(entries))
			b.StartTimer()
		}
		index++
		if err := m.Apply(index, entries[r], &out); err != nil {
			b.Fatal(err)
		}
		n += size
	}
	b.StopTimer()
	if s := m.Stat(); s.Unacked != uint64(size) || s.Ready != 0 {
		b.Fatalf("%+v: not a steady flow", s)
	}
}

// BenchmarkBacklog is the enqueue alone, into a queue that only grows.
func BenchmarkBacklog(b *testing.B) {
	const size = 64
	m := New()
	var out Outcome
	b.ReportAllocs()
	seq := uint64(1)
	for n := 0; n < b.N; n += size {
		b.StopTimer()
		e := benchBatch(size, seq, nil, make([]byte, 100))
		seq += size
		b.StartTimer()
		if err := m.Apply(seq, e, &out); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExpiry is a message with its own TTL: enqueue, index, death by tick.
func BenchmarkExpiry(b *testing.B) {
	const size = 64
	m := New()
	var out Outcome
	b.ReportAllocs()
	for n, seq := 0, uint64(1); n < b.N; n += size {
		b.StopTimer()
		e := AppendHeader(nil)
		for i := range size {
			e = AppendEnqueue(e, benchSession, seq, &queue.Message{Body: make([]byte, 100), TTL: int64(1 + (i*37)%500)})
			seq++
		}
		PutStamp(e, ttl.Stamp(1_000_000+1000*(n/size)))
		b.StartTimer()
		if err := m.Apply(uint64(n/size)+1, e, &out); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSnapshot takes and writes the state of a million ready messages.
func BenchmarkSnapshot(b *testing.B) {
	m := backlog(b, 1_000_000)
	b.Run("take", func(b *testing.B) {
		for range b.N {
			m.Snapshot()
		}
	})
	b.Run("write", func(b *testing.B) {
		for range b.N {
			n, _ := m.Snapshot().WriteTo(io.Discard)
			b.ReportMetric(float64(n)/1e6, "bytes/message")
		}
	})
}

func backlog(tb testing.TB, n int) *Machine {
	m := New()
	var out Outcome
	const size = 250
	for i := range n / size {
		if err := m.Apply(uint64(i+1), benchBatch(size, uint64(i*size+1), nil, make([]byte, 10)), &out); err != nil {
			tb.Fatal(err)
		}
	}
	return m
}

// TestBacklogMemory: a million ready messages in less than 80 MB.
func TestBacklogMemory(t *testing.T) {
	n := uint64(1_000_000)
	if invariant.Enabled {
		n = 20_000 // a full check after each entry makes a million take a minute
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := backlog(t, int(n))
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got := m.Stat().Ready; got != n {
		t.Fatalf("%d ready", got)
	}
	used := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%.1f MB", float64(used)/1e6)
	if used > 80*int64(n) {
		t.Errorf("%d ready messages cost %d bytes", n, used)
	}
	runtime.KeepAlive(m)
}
