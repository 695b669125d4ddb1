package main

import (
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"mayfly/amqp"
	"mayfly/internal/clock"
)

const healthInterval = time.Second // L7: alarms within 2 s of each crossing

// health watches disk and memory and tells the server of alarms. One goroutine,
// from startHealth until stop.
type health struct {
	c      *config
	server *amqp.Server
	log    *slog.Logger
	memory int64 // bytes above which publishers are blocked
	quit   chan struct{}
	done   chan struct{}

	low, high bool // alarms that are on
}

func startHealth(c *config, server *amqp.Server, log *slog.Logger) *health {
	h := &health{c: c, server: server, log: log, memory: c.memoryHigh.of(machineMemory()), quit: make(chan struct{}), done: make(chan struct{})}
	h.check()
	go h.watch()
	return h
}

func (h *health) watch() {
	defer close(h.done)
	t := clock.Real.NewTicker(healthInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C():
			h.check()
		case <-h.quit:
			return
		}
	}
}

func (h *health) stop() {
	close(h.quit)
	<-h.done
}

func (h *health) check() {
	free, total, err := diskSpace(h.c.node.DataDir)
	if err != nil {
		h.log.Warn("free disk space unknown", "err", err)
		return
	}
	limit := h.c.diskFree.of(total)
	low, high := free < limit, h.memory > 0 && residentMemory() > h.memory
	if low == h.low && high == h.high {
		return
	}
	h.log.Warn("resource alarm changed", "low_disk", low, "low_memory", high, "disk_free", free, "disk_limit", limit, "memory_limit", h.memory)
	h.low, h.high = low, high
	h.server.SetAlarms(high, low)
}

func diskSpace(dir string) (free, total int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	return int64(s.Bavail) * s.Bsize, int64(s.Blocks) * s.Bsize, nil
}

// machineMemory is the limit of the control group when there is one, else the
// machine's memory; 0 if neither can be read.
func machineMemory() int64 {
	total := int64(0)
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) >= 2 && f[0] == "MemTotal:" {
				kb, _ := strconv.ParseInt(f[1], 10, 64)
				total = kb << 10
			}
		}
	}
	if b, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && (total == 0 || n < total) {
			total = n
		}
	}
	return total
}

// residentMemory is this process's, 0 if it cannot be read.
func residentMemory() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(f[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
