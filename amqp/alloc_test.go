//go:build !race

package amqp

import "testing"

// Goal of the hot paths: not one allocation a message in steady state.
func TestHotPathsAllocateNothing(t *testing.T) {
	for name, path := range map[string]hotPath{
		"publish": hotPublish, "confirm": hotConfirm, "headers": hotHeaders, "deliver": hotDeliver, "redeliver": hotRedeliver,
	} {
		run := path(t)
		run(1024)
		if n := testing.AllocsPerRun(10, func() { run(640) }); n >= 64 { // the pools lose some to the collector
			t.Errorf("%s: %v allocations in 640 messages", name, n)
		}
	}
}
