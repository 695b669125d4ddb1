package cluster

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"mayfly/cluster/storage/vfs"
	"mayfly/queue"
)

// TestStorageFailure: after a failed write or sync nothing is confirmed, waiters are
// told, the node says that it must end, and what was confirmed survives (S1, S3).
func TestStorageFailure(t *testing.T) {
	for _, kind := range []string{"write", "sync"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t).start()
			id, other := r.queue("q"), r.queue("other")
			r.publish(id, numbers(50)...)
			u, v := r.user(id), r.user(other)
			if err := u.l.Attach(t.Context(), queue.ConsumerSpec{Number: 1, Prefetch: 1}); err != nil {
				t.Fatal(err)
			}
			var broken atomic.Bool
			boom := errors.New("input/output error")
			r.fs.Inject(func(op vfs.Op) vfs.Fault {
				if op.Kind == kind && strings.Contains(op.Name, "/queues/") && broken.Load() {
					return vfs.Fault{Err: boom}
				}
				return vfs.Fault{}
			})
			broken.Store(true)
			u.l.Publish(message("never"))
			<-r.Failed()
			if !errors.Is(r.Err(), boom) {
				t.Fatalf("the node's error is %v", r.Err())
			}
			broken.Store(false) // the disk seems well again: too late
			u.wait(t, "cancelled", func() bool { return len(u.cancelled) == 1 })
			if _, err := u.l.Purge(t.Context()); !errors.Is(err, errGroupFailed) {
				t.Fatalf("purge: %v", err)
			}
			for range 10 {
				u.l.Publish(message("never"))
				v.l.Publish(message("never"))
			}
			if err := u.l.Attach(t.Context(), queue.ConsumerSpec{Number: 2}); err == nil {
				t.Fatal("attached")
			}
			r.Stop() // its error is the failure again
			if len(u.confirmed) != 0 || len(v.confirmed) != 0 {
				t.Fatalf("confirmed %v and %v after the failure", u.confirmed, v.confirmed)
			}
			r.fs = r.fs.Crash(vfs.None)
			r.start()
			defer r.stop()
			got := r.take(id)
			if len(got) < 50 || strings.Join(got[:50], " ") != strings.Join(numbers(50), " ") {
				t.Fatalf("confirmed messages are lost: %q", got)
			}
		})
	}
}

// TestGoroutinesEnd: a node leaves nothing behind, whatever ran in it.
func TestGoroutinesEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	r := newRig(t).start()
	for i := range 20 {
		id := r.queue(fmt.Sprint("q", i), "x-dead-letter-exchange", "", "x-dead-letter-routing-key", "q0")
		r.publish(id, "x")
		r.kill(id)
		if i%3 == 2 {
			if _, err := r.user(id).l.Delete(t.Context(), false, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.publish(r.exclusive("mine"), "x")
	r.stop()
	eventually(t, "all goroutines ended", func() bool { return runtime.NumGoroutine() <= before })
}
