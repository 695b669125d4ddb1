//go:build !linux

package clock

import "time"

var processStart = time.Now()

// bootTime is the time since the process started, by the runtime's monotonic
// clock: other systems are for development only.
func bootTime() time.Duration { return time.Since(processStart) }
