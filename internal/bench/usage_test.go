package bench

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestStatLine(t *testing.T) {
	page := int64(os.Getpagesize())
	const tail = " S 1 2 3 0 -1 4194560 9 9 0 0 150 50 7 7 20 0 12 0 900 123456 250 18446744073709551615 1 1"
	for _, c := range []struct {
		name, stat string
		want       usage
		bad        bool
	}{
		{"plain", "42 (mayfly)" + tail, usage{cpu: 2 * time.Second, rss: 250 * page}, false},
		{"a name with brackets and spaces", "42 (a) b (c)" + tail, usage{cpu: 2 * time.Second, rss: 250 * page}, false},
		{"cut off", "42 (mayfly) S 1 2 3", usage{}, true},
		{"not a number", "42 (mayfly) S 1 2 3 0 -1 4194560 9 9 0 0 x 50 7 7 20 0 12 0 900 123456 250", usage{}, true},
		{"empty", "", usage{}, true},
	} {
		var u usage
		if err := u.addStat(c.stat); (err != nil) != c.bad {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		if !c.bad && u != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, u, c.want)
		}
	}
}

func TestIOFile(t *testing.T) {
	var u usage
	u.addIO("rchar: 1\nwchar: 2\nread_bytes: 3\nwrite_bytes: 4096\ncancelled_write_bytes: 5\n")
	u.addIO("write_bytes: 1000\n")
	if u.written != 5096 {
		t.Errorf("got %d bytes written, want 5096", u.written)
	}
}

// Figures of several processes add up; a process that is not there is named.
func TestUsageOfProcesses(t *testing.T) {
	one, err := usageOf([]int{os.Getpid()})
	if err != nil || one.rss == 0 {
		t.Fatalf("own usage: %+v, %v", one, err)
	}
	two, err := usageOf([]int{os.Getpid(), os.Getpid()})
	if err != nil || two.rss < one.rss*3/2 {
		t.Errorf("twice the same process: %+v, %v, once %+v", two, err, one)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := usageOf([]int{gone.Process.Pid}); err == nil {
		t.Error("usage of a process that has ended: no error")
	}
}
