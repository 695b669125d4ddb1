package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/cluster/storage"
	"mayfly/cluster/storage/vfs"
	"mayfly/fsm/catalog"
	"mayfly/internal/clock"
	"mayfly/queue"
)

const startTimeout = 30 * time.Second

// Options are what a node is started with.
type Options struct {
	Name        string
	ClusterName string
	DataDir     string
	FS          vfs.FS       // nil: the operating system's
	Clock       clock.Clock  // nil: the real one
	Logger      *slog.Logger // nil: none
	Storage     storage.Options
	Seed        catalog.Command // proposed when the catalogue is empty: the default vhost and user
}

// Validate fills in defaults and names what is wrong.
func (o *Options) Validate() error {
	if o.Name == "" {
		return errors.New("node.name is empty")
	}
	if o.DataDir == "" {
		return errors.New("data directory is not set")
	}
	if o.ClusterName == "" {
		o.ClusterName = o.Name
	}
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Clock == nil {
		o.Clock = clock.Real
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Storage.Logger = o.Logger
	if o.Storage.Clock == nil {
		o.Storage.Clock = o.Clock
	}
	return nil
}

// Node is one broker node: the catalogue, the storage engine, and the groups of
// the queues. It satisfies amqp.Broker and admin.Broker.
type Node struct {
	opts   Options
	log    *slog.Logger
	clock  clock.Clock
	id     identity
	engine *storage.Engine
	cat    *catalogue

	incarnation uint32
	counter     atomic.Uint32
	snapshots   sync.Mutex // one snapshot at a time, so that they do not add up

	mu     sync.RWMutex
	groups map[queue.ID]*group

	reopened   chan struct{}   // closed by openAll
	ctx        context.Context // ends when the node stops
	cancel     context.CancelFunc
	background sync.WaitGroup
	stopping   bool // mu; nothing is begun in the background any more
	lock       io.Closer

	onView atomic.Pointer[func(auth bool)]
	joined atomic.Bool // the catalogue's log is replayed: what it says now is new
}

// Start opens the data directory, the catalogue and every queue that has a log,
// and answers when the node can serve.
func Start(o Options) (*Node, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	n := &Node{opts: o, log: o.Logger, clock: o.Clock, groups: map[queue.ID]*group{}, reopened: make(chan struct{})}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	if err := n.open(); err != nil {
		n.cancel()
		return nil, errors.Join(err, n.closeFiles())
	}
	return n, nil
}

func (n *Node) open() error {
	fsys, dir := n.opts.FS, n.opts.DataDir
	if err := fsys.MkdirAll(dir); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	var err error
	if n.lock, err = fsys.Lock(dir + "/lock"); err != nil {
		return fmt.Errorf("data directory %s is in use: %w", dir, err)
	}
	if n.id, err = loadIdentity(fsys, dir, n.opts.Name); err != nil {
		return err
	}
	if n.engine, err = storage.Open(fsys, dir+"/queues", n.opts.Storage); err != nil {
		return fmt.Errorf("open queue log: %w", err)
	}
	if n.cat, err = openCatalogue(n); err != nil {
		return err
	}
	if err := n.join(); err != nil {
		return err
	}
	n.reopen()
	n.later(n.watchStorage)
	return nil
}

// later runs f on a goroutine that Stop waits for. Once the node stops it does
// nothing, and says so: what it was for is found again at the next start.
func (n *Node) later(f func()) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.stopping {
		n.background.Go(f)
	}
	return !n.stopping
}

// watchStorage takes all queues with a log out of service when the storage engine
// breaks, so that nobody waits for an answer that cannot come (S3). The node's
// owner ends the process.
func (n *Node) watchStorage() {
	select {
	case <-n.engine.Failed():
	case <-n.ctx.Done():
		return
	}
	n.mu.RLock()
	var groups []*group
	for _, g := range n.groups {
		if !g.local {
			groups = append(groups, g)
		}
	}
	n.mu.RUnlock()
	for _, g := range groups {
		g.fail(n.engine.Err())
	}
}

// join takes a new incarnation, and clears what did not survive the stop: on the
// only node of a cluster, starting means that the whole cluster had stopped.
func (n *Node) join() error {
	ctx, cancel := context.WithTimeout(n.ctx, startTimeout)
	defer cancel()
	if n.opts.Seed != nil && len(n.View().Vhosts()) == 0 {
		if o, err := n.Change(ctx, n.opts.Seed); err != nil || o.Code != 0 {
			return fmt.Errorf("seed the catalogue: %s %w", o.Text, err)
		}
	}
	o, err := n.Change(ctx, catalog.NodeUp{Name: n.opts.Name})
	if err != nil {
		return fmt.Errorf("announce the node: %w", err)
	}
	n.incarnation = o.Incarnation
	if _, err := n.Change(ctx, catalog.DropTransient{Since: n.incarnation}); err != nil {
		return fmt.Errorf("drop transient objects: %w", err)
	}
	return nil
}

// reopen opens the groups that have a log or a lease, and removes logs that the
// catalogue no longer knows (a deletion that a crash cut short).
func (n *Node) reopen() {
	n.joined.Store(true) // before the look: a queue declared since is openLeased's
	v := n.View()
	for q := range v.Queues() {
		if q.Config.Expires >= 0 {
			n.openLeased(q.ID) // nobody may have used it: then it has no log yet
		}
	}
	var kept []*group
	for _, id := range n.engine.Groups() {
		if v.QueueByID(queue.ID(id)) != nil {
			g := n.group(queue.ID(id))
			g.mu.Lock()
			g.kept = true // before anybody can ask it
			g.mu.Unlock()
			kept = append(kept, g)
		} else if err := n.engine.Remove(id); err != nil {
			n.log.Warn("log of a deleted queue not removed", "group", id, "err", err)
		}
	}
	n.later(func() { n.openAll(kept) })
}

// reopening is how many groups are opened side by side at the start. One that is
// asked for is opened at once, out of turn.
const reopening = 64

// openAll opens groups and closes Reopened when all of them lead, or never will.
func (n *Node) openAll(groups []*group) {
	slots := make(chan struct{}, reopening)
	var wg sync.WaitGroup
	for _, g := range groups {
		slots <- struct{}{}
		g.start()
		wg.Go(func() {
			g.waitLed(n.ctx) // one that failed has said so itself
			<-slots
		})
	}
	wg.Wait()
	close(n.reopened)
}

// Reopened is closed when every queue that had a log at the start is open.
func (n *Node) Reopened() <-chan struct{} { return n.reopened }

// View is the catalogue as applied here.
func (n *Node) View() *catalog.View { return n.cat.view.Load() }

// Change proposes a catalogue command; see amqp.Broker.
func (n *Node) Change(ctx context.Context, cmd catalog.Command) (catalog.Outcome, error) {
	return n.cat.change(ctx, cmd)
}

// CatchUp waits until this node has applied what the catalogue's leader had
// committed. The only node of a cluster leads and applies before it answers, so
// what anybody was told has been applied.
func (n *Node) CatchUp(ctx context.Context) error { return ctx.Err() }

// Name is the node's name.
func (n *Node) Name() string { return n.opts.Name }

// ClusterName is what clients are shown.
func (n *Node) ClusterName() string { return n.opts.ClusterName }

// NextID is unique in the cluster for ever.
func (n *Node) NextID() uint64 { return uint64(n.incarnation)<<32 | uint64(n.counter.Add(1)) }

// Open starts a session.
func (n *Node) Open(sink queue.Sink) queue.Session {
	return n.openAs(queue.SessionID(n.NextID()), sink)
}

func (n *Node) openAs(id queue.SessionID, sink queue.Sink) *session {
	return &session{node: n, id: id, sink: sink, lanes: map[queue.ID]*lane{}}
}

// OnView has f called after each change of the catalogue; auth tells whether
// users, permissions or vhosts changed. f must not block.
func (n *Node) OnView(f func(auth bool)) { n.onView.Store(&f) }

// viewChanged ends the groups of queues that left the catalogue, then tells who
// asked for OnView: consumers hear of their queue before their vhost is closed.
func (n *Node) viewChanged(gone []queue.ID, auth bool) {
	if len(gone) == 0 {
		n.tellView(auth)
		return
	}
	n.later(func() {
		for _, id := range gone {
			if g := n.lookup(id); g != nil {
				g.vanish()
			}
		}
		n.tellView(auth)
		for _, id := range gone {
			n.destroy(id)
		}
	})
}

func (n *Node) tellView(auth bool) {
	if f := n.onView.Load(); f != nil {
		(*f)(auth)
	}
}

func (n *Node) lookup(id queue.ID) *group {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.groups[id]
}

// alive tells whether a node's incarnation still lives: with one node it is ours.
// Queues that send their dead to others are producers of no node.
func (n *Node) alive(incarnation uint32) bool {
	return incarnation == n.incarnation || incarnation&(letterSession>>32) != 0
}

// group finds the group of a queue, or makes it, dormant.
func (n *Node) group(id queue.ID) *group {
	if g := n.lookup(id); g != nil {
		return g
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if g, ok := n.groups[id]; ok {
		return g
	}
	g := newGroup(n, id)
	q := n.View().QueueByID(id)
	switch {
	case n.ctx.Err() != nil:
		g.stopped = true
	case q == nil:
		g.phase = gone // not kept: its name may come from a view that is old
		return g
	default:
		g.local = q.Exclusive
		g.letters.queue = q
	}
	n.groups[id] = g
	return g
}

// openLeased opens the group of a fresh queue with x-expires: its lease runs from
// the declare, and only an open group has a clock. Declarations that are
// replayed at the start find no node to open a group in; reopen sees to them.
func (n *Node) openLeased(id queue.ID) {
	if !n.joined.Load() {
		return
	}
	n.later(func() {
		n.group(id).start()
	})
}

// forget takes a queue out of the catalogue and waits until its group is gone.
func (n *Node) forget(ctx context.Context, id queue.ID) error {
	o, err := n.Change(ctx, catalog.DeleteQueue{ID: id})
	if err != nil {
		return err
	}
	if o.Code != 0 && o.Code != 404 {
		return fmt.Errorf("delete queue %d: %s", id, o.Text)
	}
	n.destroy(id)
	return nil
}

// destroy ends a group and removes its log. It may be called more than once.
func (n *Node) destroy(id queue.ID) {
	n.mu.Lock()
	g, ok := n.groups[id]
	delete(n.groups, id)
	n.mu.Unlock()
	if !ok {
		return
	}
	g.vanish()
	linger := func() {
		if left := g.letters.drain(n.ctx, letterLinger); left > 0 {
			n.log.Warn("dead letters dropped with their queue", "group", uint64(id), "letters", left, "cause", "deleted")
		}
		n.bury(g)
	}
	if g.letters.idle() || !n.later(linger) {
		n.bury(g)
	}
}

// bury ends a group that vanished, and removes its log.
func (n *Node) bury(g *group) {
	g.stop()
	if g.local {
		return
	}
	id := g.id
	if err := n.engine.Remove(uint64(id)); err != nil && n.ctx.Err() == nil {
		n.log.Error("log of a deleted queue not removed", "group", uint64(id), "err", err)
	}
}

// Failed is closed when the storage engine broke: the node must end (S3).
func (n *Node) Failed() <-chan struct{} { return n.engine.Failed() }

// Err is why storage failed.
func (n *Node) Err() error { return n.engine.Err() }

// StorageStats are the storage engine's counters.
func (n *Node) StorageStats() storage.Stats { return n.engine.Stats() }

// Stop ends the node in order: groups, catalogue, files. Sessions are closed
// by their owners before.
func (n *Node) Stop() error {
	n.cancel()
	n.mu.Lock()
	n.stopping = true
	n.mu.Unlock()
	n.background.Wait()
	n.mu.Lock()
	groups := make([]*group, 0, len(n.groups))
	for _, g := range n.groups {
		groups = append(groups, g)
	}
	n.mu.Unlock()
	for _, g := range groups {
		g.end() // all first: one may wait for room in another
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, 32) // groups stop side by side: each waits for Raft's goroutines
	for _, g := range groups {
		wg.Add(1)
		slots <- struct{}{}
		go func() {
			defer wg.Done()
			g.stop()
			<-slots
		}()
	}
	wg.Wait()
	return n.closeFiles()
}

func (n *Node) closeFiles() error {
	var errs []error
	if n.cat != nil {
		errs = append(errs, n.cat.stop())
	}
	if n.engine != nil {
		errs = append(errs, n.engine.Close())
	}
	if n.lock != nil {
		errs = append(errs, n.lock.Close())
	}
	return errors.Join(errs...)
}
