package ttl

import (
	"math/rand"
	"testing"
)

// BenchmarkIndexFlow is the usual life of a deadline: all messages have one TTL
// and leave, acked, from the front.
func BenchmarkIndexFlow(b *testing.B) {
	var x Index
	next := uint64(1)
	for ; next < 100000; next++ {
		x.Add(Stamp(next), next)
	}
	b.ReportAllocs()
	for b.Loop() {
		x.Add(Stamp(next), next)
		x.Remove(Stamp(next-50000), next-50000)
		next++
		x.Pop(1)
	}
}

// BenchmarkIndexRandom adds and removes random deadlines among a million (T-34).
func BenchmarkIndexRandom(b *testing.B) {
	var x Index
	r := rand.New(rand.NewSource(1))
	at := make([]Stamp, 1<<20)
	for i := range at {
		at[i] = 1 + Stamp(r.Int63n(1<<40))
		x.Add(at[i], uint64(i))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		k := r.Intn(len(at))
		x.Remove(at[k], uint64(k))
		at[k] = 1 + Stamp(r.Int63n(1<<40))
		x.Add(at[k], uint64(k))
	}
}

// BenchmarkIndexPopDue expires a backlog.
func BenchmarkIndexPopDue(b *testing.B) {
	var x Index
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		if x.Len() == 0 {
			for range 1 << 17 {
				n++
				x.Add(Stamp(1+n%1000), n)
			}
		}
		x.Pop(1 << 50)
	}
}

func BenchmarkParseExpiration(b *testing.B) {
	s := []byte("60000")
	b.ReportAllocs()
	for b.Loop() {
		ParseExpiration(s)
	}
}
