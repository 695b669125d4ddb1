package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// usage is what processes have used since they started.
type usage struct {
	cpu     time.Duration
	written int64 // bytes sent to the disk
	rss     int64
}

// clockTick is the kernel's USER_HZ, 100 on every Linux of today.
const clockTick = 10 * time.Millisecond

func selfUsage() (usage, error) { return usageOf([]int{os.Getpid()}) }

func usageOf(pids []int) (usage, error) {
	var u usage
	for _, pid := range pids {
		if err := u.add(pid); err != nil {
			return u, fmt.Errorf("usage of process %d: %w", pid, err)
		}
	}
	return u, nil
}

func (u *usage) add(pid int) error {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return err
	}
	// The command's name may hold spaces and brackets; fields count from behind it.
	_, rest, ok := strings.Cut(string(stat), ") ")
	f := strings.Fields(rest)
	if !ok || len(f) < 22 {
		return fmt.Errorf("%s/stat has another form", dir)
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	pages, _ := strconv.ParseInt(f[21], 10, 64)
	u.cpu += time.Duration(user+system) * clockTick
	u.rss += pages * int64(os.Getpagesize())
	io, err := os.ReadFile(dir + "/io")
	if err != nil {
		return nil // not readable for another user's process; CPU is
	}
	for line := range strings.Lines(string(io)) {
		if n, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			b, _ := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			u.written += b
		}
	}
	return nil
}
