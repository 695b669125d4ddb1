package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// status is a size from the kernel's account of the process, in octets.
func (p *process) status(key string) int64 {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.logText())
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == key+":" {
			kb, _ := strconv.ParseInt(f[1], 10, 64)
			return kb << 10
		}
	}
	p.t.Fatalf("no %s in %s", key, b)
	return 0
}

// sockets counts the connections of the process: its sockets but the listener.
func (p *process) sockets() int {
	p.t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid)
	es, err := os.ReadDir(dir)
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.logText())
	}
	n := -1
	for _, e := range es {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// awaitSockets waits until the process has at most n connections.
func (p *process) awaitSockets(n int) {
	p.t.Helper()
	if last, ok := poll(func() (int64, bool) { s := int64(p.sockets()); return s, s <= int64(n) }); !ok {
		p.t.Fatalf("%d connections are left, want %d", last, n)
	}
}

// settleTime is how long the collector may take to return memory. It runs at
// least every two minutes, but the healthy session keeps it busier than that.
const settleTime = 30 * time.Second

// poll calls f until it says that all is well, for at most settleTime.
func poll(f func() (int64, bool)) (int64, bool) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(settleTime); ; <-tick.C {
		if n, ok := f(); ok || time.Now().After(end) {
			return n, ok
		}
	}
}

// settle answers the resident memory once it has not fallen for some seconds, or
// has had its time.
func (p *process) settle() int64 {
	p.t.Helper()
	const calm = 60 // looks in a row
	least, same := p.status("VmRSS"), 0
	poll(func() (int64, bool) {
		n := p.status("VmRSS")
		if same++; n < least {
			least, same = n, 0
		}
		return n, same >= calm
	})
	return least
}
