package storage

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"mayfly/cluster/storage/vfs"
)

// ledger is a state machine that keeps, as a queue would, references to entries
// and not their bytes.
type ledger struct {
	g    *Group
	mu   sync.Mutex
	refs []uint64
}

func (l *ledger) Apply(e *raft.Log) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refs = append(l.refs, e.Index)
	l.g.Live(e.Index, 1)
	return len(e.Data)
}

func (l *ledger) Snapshot() (raft.FSMSnapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b bytes.Buffer
	for _, i := range l.refs {
		fmt.Fprintln(&b, i)
	}
	return ledgerSnapshot(b.Bytes()), nil
}

func (l *ledger) Restore(r io.ReadCloser) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refs = nil
	l.g.ResetLive()
	for {
		var i uint64
		if _, err := fmt.Fscanln(r, &i); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		l.refs = append(l.refs, i)
		l.g.Live(i, 1)
	}
	l.g.LiveKnown()
	return nil
}

type ledgerSnapshot []byte

func (s ledgerSnapshot) Persist(k raft.SnapshotSink) error {
	if _, err := k.Write(s); err != nil {
		return err
	}
	return k.Close()
}

func (ledgerSnapshot) Release() {}

// startRaft runs a single-node instance on group 1 and waits until it leads.
func startRaft(t *testing.T, e *Engine) (*raft.Raft, *ledger) {
	t.Helper()
	g := mustGroup(t, e, 1)
	conf := raft.DefaultConfig()
	conf.LocalID = "a"
	conf.Logger = hclog.NewNullLogger()
	conf.HeartbeatTimeout, conf.ElectionTimeout, conf.LeaderLeaseTimeout = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	conf.CommitTimeout = 5 * time.Millisecond
	conf.TrailingLogs = 10
	_, trans := raft.NewInmemTransport("a")
	known, err := raft.HasExistingState(g, g, g.Snapshots())
	must(t, err)
	if !known {
		must(t, raft.BootstrapCluster(conf, g, g, g.Snapshots(), trans, raft.Configuration{
			Servers: []raft.Server{{ID: "a", Address: "a"}},
		}))
	}
	l := &ledger{g: g}
	g.HeadersOnly(true)
	r, err := raft.NewRaft(conf, l, g, g, g.Snapshots(), trans)
	g.HeadersOnly(false)
	must(t, err)
	if lead := <-r.LeaderCh(); !lead {
		t.Fatal("instance lost leadership at once")
	}
	must(t, r.Barrier(0).Error())
	return r, l
}

// Everything that raft acknowledged is there after each of a few restarts, half
// of them power cuts, with snapshots and compaction in between.
func TestRaftRestarts(t *testing.T) {
	fs := vfs.NewMem()
	var want [][]byte
	for round := range 6 {
		e := mustOpen(t, fs, small())
		r, l := startRaft(t, e)
		if len(l.refs) != len(want) {
			t.Fatalf("round %d: %d entries applied, want %d", round, len(l.refs), len(want))
		}
		for i, ref := range l.refs {
			got, err := l.g.Entry(ref)
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if !bytes.Equal(got, want[i]) {
				t.Fatalf("round %d: entry %d differs", round, i)
			}
		}
		for i := range 100 {
			data := body(uint64(round), uint64(i), 0, i*50)
			must(t, r.Apply(data, 0).Error())
			want = append(want, data)
		}
		if round%2 == 1 {
			must(t, r.Snapshot().Error())
			if first, _ := l.g.FirstIndex(); first < 50 {
				t.Fatalf("log begins at %d after a snapshot", first)
			}
		}
		for range 10 {
			must(t, r.Apply([]byte("tail"), 0).Error())
			want = append(want, []byte("tail"))
		}
		cut := fs.Crash(vfs.None)
		must(t, r.Shutdown().Error())
		must(t, e.Close())
		if round%3 != 0 {
			fs = cut
		}
	}
}
