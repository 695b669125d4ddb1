package bench

import (
	"math"
	"slices"
	"time"
)

// Percentiles of a set of durations, in milliseconds.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// percentilesOf sorts ds and takes the nearest ranks: the least value that the
// given share of all does not exceed.
func percentilesOf(ds []time.Duration) *Percentiles {
	if len(ds) == 0 {
		return nil
	}
	slices.Sort(ds)
	at := func(q float64) float64 {
		rank := max(1, int(math.Ceil(q*float64(len(ds)))))
		return float64(ds[rank-1].Microseconds()) / 1000
	}
	return &Percentiles{P50: at(0.50), P99: at(0.99), Max: at(1)}
}
