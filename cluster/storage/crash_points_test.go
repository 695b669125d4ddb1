package storage

import (
	"errors"
	"testing"

	"mayfly/cluster/storage/vfs"
)

// Recovery itself is cut after each of its operations, and must then still find
// the same.
func TestCrashDuringRecovery(t *testing.T) {
	t.Parallel()
	steps := func(s *script) {
		s.append(1, 1, 40, 1)
		s.live(1, 3)
		s.vote(1, 2, "a")
		s.truncate(1, 30)
		s.append(1, 30, 50, 2)
		s.snapshot(1, 45)
		s.compact(1, 40)
		s.settle()
	}
	whole := vfs.NewMem()
	runScript(t, whole, steps)
	for n := 20; n <= whole.Operations(); n += 3 {
		fs := vfs.NewMem()
		fs.CrashAfter(n)
		s := runScript(t, fs, steps)
		for _, keep := range []vfs.Keep{vfs.All, vfs.None, vfs.Torn(512)} {
			for ops := 0; ; ops++ {
				left := fs.Crash(keep)
				left.CrashAfter(ops)
				e, err := Open(left, "log", crashOptions())
				if err == nil {
					must(t, errors.Join(e.Close(), s.recovered(left.Crash(vfs.None))))
					break
				}
				for _, again := range []vfs.Keep{vfs.All, vfs.None, vfs.Torn(511)} {
					if err := s.recovered(left.Crash(again)); err != nil {
						t.Fatalf("crash after operation %d, then after operation %d of recovery: %v", n, ops, err)
					}
				}
			}
		}
	}
}

func TestCrashAppendAndRoll(t *testing.T) {
	t.Parallel()
	enumerate(t, func(s *script) {
		s.append(1, 1, 3, 1)
		s.append(2, 10, 11, 4)
		s.append(1, 4, 60, 1) // more than a segment
		s.append(2, 12, 12, 5)
		s.append(1, 61, 90, 2)
	})
}

func TestCrashTruncate(t *testing.T) {
	t.Parallel()
	enumerate(t, func(s *script) {
		s.append(1, 1, 20, 1)
		s.truncate(1, 11)
		s.append(1, 11, 25, 2)
		s.append(1, 26, 60, 2)
		s.truncate(1, 20)
		s.append(1, 20, 22, 3)
		s.truncate(1, 1)
		s.append(1, 40, 41, 4)
	})
}

func TestCrashStateRecords(t *testing.T) {
	t.Parallel()
	enumerate(t, func(s *script) {
		s.vote(1, 3, "a")
		s.vote(2, 7, "b")
		s.append(1, 1, 2, 3)
		s.vote(1, 4, "a")
		s.vote(1, 5, "c")
		s.append(2, 1, 80, 7)
		s.vote(2, 8, "c")
		s.vote(1, 6, "a")
	})
}

func TestCrashSnapshot(t *testing.T) {
	t.Parallel()
	enumerate(t, func(s *script) {
		s.append(1, 1, 10, 1)
		s.snapshot(1, 8)
		s.compact(1, 7)
		s.append(1, 11, 12, 1)
		s.snapshot(1, 12)
		s.compact(1, 10)
		s.append(2, 1, 3, 1)
		s.snapshot(2, 3)
	})
}

func TestCrashReclaim(t *testing.T) {
	t.Parallel()
	enumerate(t, func(s *script) {
		s.vote(1, 2, "a")
		s.vote(3, 5, "b")
		s.append(1, 1, 50, 2)
		s.append(2, 1, 20, 1)
		for i := uint64(1); i <= 50; i += 12 {
			s.live(1, i)
		}
		s.snapshot(1, 48)
		s.append(1, 51, 100, 2)
		s.compact(1, 48)
		s.settle()
		s.append(1, 101, 130, 2)
		s.snapshot(1, 129)
		s.compact(1, 128)
		s.settle()
		s.append(1, 131, 160, 3)
	})
}

// Entries that a conflict overruled must not come back when what overruled them
// is freed first.
func TestCrashReclaimAfterConflict(t *testing.T) {
	t.Parallel()
	enumerate(t, func(s *script) {
		s.append(2, 1, 10, 1)
		s.live(2, 3)
		s.append(1, 1, 30, 1)
		s.truncate(1, 11)
		s.append(1, 11, 70, 2)
		s.live(1, 5)
		s.live(1, 15)
		s.snapshot(1, 69)
		s.compact(1, 68)
		s.settle()
		s.append(1, 71, 130, 2)
		s.snapshot(1, 129)
		s.compact(1, 128)
		s.settle()
	})
}

func TestCrashGroupRemoval(t *testing.T) {
	t.Parallel()
	enumerate(t, func(s *script) {
		s.append(1, 1, 30, 1)
		s.append(2, 1, 3, 1)
		s.vote(1, 3, "a")
		s.snapshot(1, 20)
		s.remove(1)
		s.append(1, 5, 8, 4) // the group comes back to this node
		s.append(2, 4, 60, 1)
		s.remove(1)
		s.snapshot(2, 60)
		s.compact(2, 59)
		s.settle()
		s.append(2, 61, 70, 1)
	})
}
