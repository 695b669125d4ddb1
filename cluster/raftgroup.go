package cluster

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"mayfly/cluster/storage"
	"mayfly/cluster/transport"
)

// Raft's own timeouts are long: failure is detected per node, and a member is
// told to campaign (design.md, section 5). CommitTimeout is the heartbeat of the
// commit index, which an idle group must not have.
const (
	groupTimeout  = 10 * time.Second
	commitTimeout = time.Hour
	trailingLogs  = 128 // entries kept behind a snapshot for followers that lag a little

	// A snapshot is taken when it would free this much, or a multiple of what the
	// snapshot itself takes, or when a restart would replay this much.
	freeBytes          = 64 << 20
	replayBytes        = 256 << 20
	replayEntries      = 128 << 10
	snapshotRatio      = 4
	snapshotPerMessage = 24 // bytes, about
)

// raftHost runs a group on hashicorp/raft.
type raftHost struct {
	raft  *raft.Raft
	trans *transport.Solo
	store *storage.Group
	wall  time.Time // this node's wall clock when an earlier run of it stored the last entry
	quit  chan struct{}
	once  sync.Once
	calls sync.WaitGroup // the loops that wait for Raft's answers

	mu   sync.RWMutex // held for reading while Raft is asked something
	down bool
}

func raftConfig(n *Node) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(n.id.String())
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = groupTimeout, groupTimeout, groupTimeout
	c.CommitTimeout = commitTimeout
	c.MaxAppendEntries = 64
	c.BatchApplyCh = true
	c.TrailingLogs = trailingLogs
	c.SnapshotInterval = 24 * time.Hour
	c.SnapshotThreshold = math.MaxUint64
	c.NoLegacyTelemetry = true
	c.PreVoteDisabled = false
	c.Logger = newRaftLogger(n.log)
	return c
}

// open starts the group's Raft instance and campaigns. It runs on the group's
// own goroutine; until it is done, commands gather in the pending batches.
func (g *group) open() {
	store, err := g.node.engine.Group(uint64(g.id))
	if err != nil {
		g.fail(err)
		return
	}
	g.bodies = store
	h := &raftHost{store: store, quit: make(chan struct{}), trans: transport.NewSolo(raft.ServerAddress(g.node.id.String()))}
	// Both before the instance starts, which stores entries of its own.
	if h.wall, err = store.LastAppended(); err == nil {
		g.machine.replayed, err = store.LastIndex()
	}
	if err != nil {
		g.fail(fmt.Errorf("open group: %w", err))
		return
	}
	if err := h.start(g); err != nil {
		g.fail(fmt.Errorf("open group: %w", err))
		return
	}
	g.mu.Lock()
	g.host = h
	stopped := g.stopped
	if !stopped {
		g.done.Add(1)
		h.calls.Go(g.proposeLoop)
		h.calls.Go(g.landLoop)
		h.calls.Go(func() { h.watch(g) })
	}
	g.mu.Unlock()
	if stopped {
		h.stop()
		return
	}
	go g.outbox.run()
	h.trans.Campaign()
}

// start makes the instance. While NewRaft scans the log for configurations the
// store leaves the bodies out: reading a gigabyte of them twice would be the
// whole of a restart.
func (h *raftHost) start(g *group) error {
	cfg := raftConfig(g.node)
	snaps := h.store.Snapshots()
	known, err := raft.HasExistingState(h.store, h.store, snaps)
	if err != nil {
		return err
	}
	if !known {
		members := raft.Configuration{Servers: []raft.Server{{ID: cfg.LocalID, Address: raft.ServerAddress(cfg.LocalID)}}}
		if err := raft.BootstrapCluster(cfg, h.store, h.store, snaps, h.trans, members); err != nil {
			return err
		}
	}
	h.store.HeadersOnly(true)
	h.raft, err = raft.NewRaft(cfg, g.machine, h.store, h.store, snaps, h.trans)
	h.store.HeadersOnly(false)
	return err
}

// watch follows leadership. One goroutine per open group; ends with the host.
func (h *raftHost) watch(g *group) {
	for {
		select {
		case leads := <-h.raft.LeaderCh():
			if !leads {
				g.follow()
				continue
			}
			g.quiet()
			term := h.raft.CurrentTerm()
			// Everything of earlier terms is applied before this one begins.
			if err := h.raft.Barrier(0).Error(); err != nil || h.raft.CurrentTerm() != term {
				continue // the channel has more to say
			}
			h.store.LiveKnown()
			g.machine.leadTerm.Store(term)
			g.lead(h.wall)
		case <-g.compact:
			h.snapshot(g)
		case <-h.quit:
			return
		}
	}
}

func (h *raftHost) propose(data []byte) func() error {
	f := h.raft.Apply(data, 0)
	return f.Error
}

func (h *raftHost) verify() error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.down {
		return errStopping
	}
	return h.raft.VerifyLeader().Error()
}

// stop shuts the instance down when all its callers have their answers: what still
// waits in Raft's channels at its shutdown is never answered. As long as it runs
// it answers everything, as a follower too. The group takes nothing in any more.
func (h *raftHost) stop() {
	h.once.Do(func() { // a second caller waits until it is down
		close(h.quit)
		h.calls.Wait()
		h.mu.Lock()
		h.down = true
		h.mu.Unlock()
		h.raft.Shutdown().Error() // nil: nobody else shuts it down
	})
}

// snapshot writes the group's state, so that the log before it need not be
// replayed. One at a time per node.
func (h *raftHost) snapshot(g *group) {
	g.node.snapshots.Lock()
	defer g.node.snapshots.Unlock()
	if err := h.raft.Snapshot().Error(); err != nil && err != raft.ErrNothingNewToSnapshot && err != raft.ErrRaftShutdown {
		g.log.Warn("snapshot not taken", "err", err)
	}
}

// replayable asks for a snapshot when a restart would have much to replay.
func (g *group) replayable() {
	store, ok := g.bodies.(*storage.Group)
	if !ok {
		return
	}
	entries, bytes := store.Replay()
	st := g.stat.Load()
	state := int64(st.Ready+st.Unacked) * snapshotPerMessage
	if store.Reclaimable() > max(freeBytes, snapshotRatio*state) || bytes > replayBytes || entries > replayEntries {
		select {
		case g.compact <- struct{}{}:
		default: // one is asked for already
		}
	}
}
