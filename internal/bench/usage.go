package bench

import (
	"errors"
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

// selfUsage is the loader's own; zero where there is no /proc.
func selfUsage() usage {
	u, err := usageOf([]int{os.Getpid()})
	if err != nil {
		return usage{}
	}
	return u
}

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
	if err := u.addStat(string(stat)); err != nil {
		return fmt.Errorf("%s/stat: %w", dir, err)
	}
	if io, err := os.ReadFile(dir + "/io"); err == nil { // not readable for another user's process; CPU is
		u.addIO(string(io))
	}
	return nil
}

// addStat reads the line of /proc/PID/stat (proc(5)): fields 14, 15 and 24.
func (u *usage) addStat(stat string) error {
	// The command's name may hold spaces and brackets; fields count from behind it.
	f := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(f) < 22 {
		return errors.New("has another form than expected")
	}
	var n [3]int64
	for i, at := range []int{11, 12, 21} {
		var err error
		if n[i], err = strconv.ParseInt(f[at], 10, 64); err != nil {
			return err
		}
	}
	u.cpu += time.Duration(n[0]+n[1]) * clockTick
	u.rss += n[2] * int64(os.Getpagesize())
	return nil
}

func (u *usage) addIO(io string) {
	for line := range strings.Lines(io) {
		if n, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			b, _ := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			u.written += b
		}
	}
}
