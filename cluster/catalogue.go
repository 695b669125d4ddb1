package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"mayfly/cluster/transport"
	"mayfly/fsm/catalog"
	"mayfly/queue"
)

const (
	changeTimeout    = 5 * time.Second
	catalogSnapshots = 2
	catalogThreshold = 8192 // entries between snapshots of the catalogue
	catalogTrailing  = 1024
)

// catalogue hosts the one group that holds everything but messages. Its log is
// raft-boltdb: few writes, a format people can inspect (design.md, section 4).
type catalogue struct {
	raft  *raft.Raft
	bolt  *raftboltdb.BoltStore
	trans *transport.Solo
	log   *slog.Logger

	mu   sync.RWMutex // held for reading while Raft is asked something
	down bool

	machine *catalog.Machine // the applying goroutine's
	view    atomic.Pointer[catalog.View]

	leased func(id queue.ID) // a queue with a lease was declared; must not block
	// changed tells of a new view: which queues left it, and whether users,
	// permissions or vhosts changed. Must not block.
	changed func(gone []queue.ID, auth bool)
}

func openCatalogue(n *Node) (*catalogue, error) {
	c := &catalogue{log: n.log, machine: catalog.New(), trans: transport.NewSolo(raft.ServerAddress(n.id.String())), leased: n.openLeased, changed: n.viewChanged}
	c.view.Store(c.machine.View())
	dir := filepath.Join(n.opts.DataDir, "catalogue")
	if err := n.opts.FS.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("make catalogue directory: %w", err)
	}
	bolt, err := raftboltdb.New(raftboltdb.Options{Path: filepath.Join(dir, "raft.db"), BoltOptions: &bbolt.Options{NoFreelistSync: true, Timeout: time.Second}})
	if err != nil {
		return nil, fmt.Errorf("open catalogue log: %w", err)
	}
	c.bolt = bolt
	snaps, err := raft.NewFileSnapshotStoreWithLogger(dir, catalogSnapshots, newRaftLogger(n.log))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open catalogue snapshots: %w", err), bolt.Close())
	}
	if err := c.start(n, snaps); err != nil {
		if c.raft != nil {
			err = errors.Join(err, c.raft.Shutdown().Error())
		}
		return nil, errors.Join(fmt.Errorf("start catalogue: %w", err), bolt.Close())
	}
	return c, nil
}

func (c *catalogue) start(n *Node, snaps raft.SnapshotStore) error {
	cfg := raftConfig(n)
	cfg.SnapshotInterval, cfg.SnapshotThreshold, cfg.TrailingLogs = 30*time.Second, catalogThreshold, catalogTrailing
	known, err := raft.HasExistingState(c.bolt, c.bolt, snaps)
	if err != nil {
		return err
	}
	if !known {
		members := raft.Configuration{Servers: []raft.Server{{ID: cfg.LocalID, Address: raft.ServerAddress(cfg.LocalID)}}}
		if err := raft.BootstrapCluster(cfg, c.bolt, c.bolt, snaps, c.trans, members); err != nil {
			return err
		}
	}
	if c.raft, err = raft.NewRaft(cfg, c, c.bolt, c.bolt, snaps, c.trans); err != nil {
		return err
	}
	c.trans.Campaign()
	select {
	case <-c.raft.LeaderCh():
		return c.raft.Barrier(0).Error()
	case <-n.clock.NewTimer(startTimeout).C():
		return errors.New("no leader in time")
	}
}

// change proposes a command and answers once it is applied here.
func (c *catalogue) change(ctx context.Context, cmd catalog.Command) (catalog.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return catalog.Outcome{}, err
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.down {
		return catalog.Outcome{}, errStopping
	}
	f := c.raft.Apply(catalog.Encode(cmd), changeTimeout)
	if err := f.Error(); err != nil {
		return catalog.Outcome{}, fmt.Errorf("change the catalogue: %w", err)
	}
	return f.Response().(catalog.Outcome), nil
}

// ApplyBatch applies entries and swaps the view once for all of them.
func (c *catalogue) ApplyBatch(logs []*raft.Log) []any {
	answers := make([]any, len(logs))
	auth := c.view.Load().AuthVersion()
	var gone, leased []queue.ID
	for i, l := range logs {
		if l.Type != raft.LogCommand {
			continue
		}
		o := c.machine.Apply(l.Index, l.Data)
		gone = append(gone, o.Removed...)
		if o.Queue != nil && !o.Existed && o.Queue.Config.Expires >= 0 {
			leased = append(leased, o.Queue.ID)
		}
		answers[i] = o
	}
	v := c.machine.View()
	c.view.Store(v)
	c.changed(gone, v.AuthVersion() != auth)
	for _, q := range leased {
		c.leased(q)
	}
	return answers
}

func (c *catalogue) Apply(l *raft.Log) any { return c.ApplyBatch([]*raft.Log{l})[0] }

func (c *catalogue) Snapshot() (raft.FSMSnapshot, error) {
	return catalogSnapshot{c.machine.Snapshot()}, nil
}

func (c *catalogue) Restore(r io.ReadCloser) error {
	defer r.Close()
	m, err := catalog.Restore(r)
	if err != nil {
		return fmt.Errorf("restore catalogue: %w", err)
	}
	c.machine = m
	c.view.Store(m.View())
	return nil
}

type catalogSnapshot struct{ s *catalog.Snapshot }

func (s catalogSnapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := s.s.WriteTo(sink); err != nil {
		sink.Cancel()
		return err
	}
	return sink.Close()
}

func (s catalogSnapshot) Release() {}

// stop waits for the changes in progress: see raftHost.stop.
func (c *catalogue) stop() error {
	c.mu.Lock()
	c.down = true
	c.mu.Unlock()
	return errors.Join(c.raft.Shutdown().Error(), c.bolt.Close())
}

var _ raft.BatchingFSM = (*catalogue)(nil)
