package clock

import (
	"syscall"
	"time"
	"unsafe"
)

// clockBoottime is CLOCK_BOOTTIME of clock_gettime(2): monotonic, and running
// on while the machine is suspended, which CLOCK_MONOTONIC (time.Since) is not.
const clockBoottime = 7

func bootTime() time.Duration {
	var ts syscall.Timespec
	// The raw call is safe: the kernel answers at once and never blocks here.
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		// Only a kernel older than 2.6.39 lands here; monotonic time is the next best.
		return time.Since(processStart)
	}
	return time.Duration(ts.Nano())
}

var processStart = time.Now()
