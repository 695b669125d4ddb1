package bench

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestPercentiles(t *testing.T) {
	ms := func(n int) []time.Duration {
		ds := make([]time.Duration, n)
		for i := range ds {
			ds[i] = time.Duration(i+1) * time.Millisecond
		}
		rand.Shuffle(n, func(i, j int) { ds[i], ds[j] = ds[j], ds[i] })
		return ds
	}
	for _, c := range []struct {
		name string
		in   []time.Duration
		want Percentiles
	}{
		{"one", ms(1), Percentiles{1, 1, 1}},
		{"two", ms(2), Percentiles{1, 2, 2}},
		{"three", ms(3), Percentiles{2, 3, 3}},
		{"hundred", ms(100), Percentiles{50, 99, 100}},
		{"thousand", ms(1000), Percentiles{500, 990, 1000}},
		{"below a millisecond", []time.Duration{1500, 250 * time.Microsecond}, Percentiles{0.001, 0.25, 0.25}},
		{"too early", []time.Duration{-2 * time.Millisecond, time.Millisecond}, Percentiles{-2, 1, 1}},
	} {
		if got := percentilesOf(c.in); *got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, *got, c.want)
		}
	}
	if got := percentilesOf(nil); got != nil {
		t.Errorf("nothing measured: got %+v, want no figure", got)
	}
}
