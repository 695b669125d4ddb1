package storage

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/raft"

	"mayfly/cluster/storage/vfs"
)

const (
	snapDir    = "snap"
	snapSuffix = ".snap"
)

// snapshots is a group's raft.SnapshotStore: one file per snapshot, named by
// numbers, put in place whole. Only the newest is kept. An older one to fall
// back on would do harm: the log between the two is gone, and a state without
// it must not be served. mu is held over the few file operations that change
// which snapshots there are.
type snapshots struct {
	g    *Group
	mu   sync.Mutex
	list []snapName // newest first
	gone bool       // the group was removed
}

type snapName struct{ index, term uint64 }

func (a snapName) compare(b snapName) int {
	return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.term, b.term))
}

// Snapshots returns the group's snapshot store.
func (g *Group) Snapshots() raft.SnapshotStore { return &g.snaps }

func (s *snapshots) id(n snapName) string {
	return fmt.Sprintf("%016x-%016x-%016x", s.g.id, n.index, n.term)
}

func parseSnapID(id string) (group uint64, n snapName, ok bool) {
	parts := strings.Split(id, "-")
	if len(parts) != 3 {
		return 0, n, false
	}
	var v [3]uint64
	for i, p := range parts {
		var err error
		if v[i], err = strconv.ParseUint(p, 16, 64); err != nil || len(p) != 16 {
			return 0, n, false
		}
	}
	return v[0], snapName{v[1], v[2]}, true
}

func snapPath(id string) string { return snapDir + "/" + id + snapSuffix }

// Create implements raft.SnapshotStore.
func (s *snapshots) Create(version raft.SnapshotVersion, index, term uint64, config raft.Configuration, configIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	if err := s.g.check(); err != nil {
		return nil, err
	}
	e := s.g.e
	k := &snapSink{
		s: s, name: snapName{index, term},
		tmp: e.path(fmt.Sprintf("%s/%d%s", snapDir, e.snapSeq.Add(1), tmpSuffix)),
		header: snapHeader{
			version: version, group: s.g.id, index: index, term: term,
			configIndex: configIndex, config: raft.EncodeConfiguration(config),
		},
	}
	if len(k.header.config) > maxSnapConfig {
		return nil, fmt.Errorf("snapshot of group %d: configuration of %d bytes", s.g.id, len(k.header.config))
	}
	k.seed = k.header.seed(e.logID)
	k.at = k.header.length()
	f, err := e.fs.Create(k.tmp)
	if err != nil {
		return nil, e.fail(err)
	}
	k.f = f
	k.buf = make([]byte, chunkHeader, chunkHeader+snapChunk)
	return k, nil
}

// List implements raft.SnapshotStore. A damaged snapshot, or one older than what
// the log was cut for, is an error: there is nothing else to start from (S5).
func (s *snapshots) List() ([]*raft.SnapshotMeta, error) {
	if err := s.g.check(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	names := slices.Clone(s.list)
	s.mu.Unlock()
	s.g.mu.RLock()
	compacted := s.g.compacted
	s.g.mu.RUnlock()
	if compacted > 0 && (len(names) == 0 || names[0].index < compacted) {
		return nil, damaged(snapDir, 0, fmt.Sprintf("the snapshot of group %d up to %d is missing", s.g.id, compacted))
	}
	metas := make([]*raft.SnapshotMeta, 0, len(names))
	for _, n := range names {
		m, f, err := s.open(n)
		if errors.Is(err, fs.ErrNotExist) && s.replaced(n) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f.Close()
		metas = append(metas, m)
	}
	return metas, nil
}

// replaced reports whether a newer snapshot has taken n's place meanwhile.
func (s *snapshots) replaced(n snapName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.Contains(s.list, n)
}

// Open implements raft.SnapshotStore. The reader stays good when the snapshot
// is replaced meanwhile.
func (s *snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	if err := s.g.check(); err != nil {
		return nil, nil, err
	}
	group, n, ok := parseSnapID(id)
	if !ok || group != s.g.id {
		return nil, nil, fmt.Errorf("snapshot %q is not one of group %d", id, s.g.id)
	}
	m, r, err := s.open(n)
	if err != nil {
		return nil, nil, err
	}
	return m, r, nil
}

func (s *snapshots) open(n snapName) (*raft.SnapshotMeta, *snapReader, error) {
	e, id := s.g.e, s.id(n)
	f, err := e.fs.Open(e.path(snapPath(id)))
	if err != nil {
		return nil, nil, fmt.Errorf("open snapshot %s: %w", id, err)
	}
	h, err := readSnapHeader(f, snapPath(id), e.logID, snapHeader{group: s.g.id, index: n.index, term: n.term})
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("open snapshot %s: %w", id, err)
	}
	return h.meta(id), &snapReader{f: f, name: snapPath(id), seed: h.seed(e.logID), at: h.length(), left: h.size}, nil
}

// removeAll deletes the snapshots of a removed group. The tombstone in the log
// is durable already: should this be cut short, opening the log finishes it.
func (s *snapshots) removeAll() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	if len(s.list) == 0 {
		return nil
	}
	e := s.g.e
	for _, n := range s.list {
		if err := e.fs.Remove(e.path(snapPath(s.id(n)))); err != nil {
			return e.fail(err)
		}
	}
	s.list = nil
	if err := e.fs.SyncDir(e.path(snapDir)); err != nil {
		return e.fail(err)
	}
	return nil
}

// place puts a finished file under its name and removes what it replaces.
func (s *snapshots) place(k *snapSink) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return ErrRemoved
	}
	e := s.g.e
	if err := e.fs.Rename(k.tmp, e.path(snapPath(k.ID()))); err != nil {
		return err
	}
	if err := e.fs.SyncDir(e.path(snapDir)); err != nil {
		return err
	}
	older := func(n snapName) bool { return n.compare(k.name) < 0 }
	for _, n := range s.list {
		if older(n) {
			if err := e.fs.Remove(e.path(snapPath(s.id(n)))); err != nil {
				return err
			}
		}
	}
	s.list = slices.DeleteFunc(s.list, func(n snapName) bool { return older(n) || n == k.name })
	s.list = append(s.list, k.name)
	s.g.setSnapshot(s.list[0].index)
	return nil
}

// snapSink writes one snapshot.
type snapSink struct {
	s      *snapshots
	f      vfs.File
	tmp    string
	name   snapName
	header snapHeader
	seed   uint32
	at     int64
	number uint32
	buf    []byte // chunk header and the bytes so far
	err    error
	done   bool
}

// ID implements raft.SnapshotSink.
func (k *snapSink) ID() string { return k.s.id(k.name) }

func (k *snapSink) Write(p []byte) (int, error) {
	if k.done {
		return 0, ErrClosed
	}
	n := 0
	for len(p) > 0 {
		if k.err != nil {
			return n, k.err
		}
		c := min(len(p), cap(k.buf)-len(k.buf))
		k.buf = append(k.buf, p[:c]...)
		p = p[c:]
		n += c
		if len(k.buf) == cap(k.buf) {
			k.flush()
		}
	}
	return n, k.err
}

func (k *snapSink) flush() {
	data := k.buf[chunkHeader:]
	if len(data) == 0 || k.err != nil {
		return
	}
	le := binary.LittleEndian
	le.PutUint32(k.buf, uint32(len(data)))
	le.PutUint32(k.buf[4:], chunkSum(k.seed, k.number, data))
	if _, err := k.f.WriteAt(k.buf, k.at); err != nil {
		k.err = k.s.g.e.fail(err)
		return
	}
	k.at += int64(len(k.buf))
	k.header.size += int64(len(data))
	k.number++
	k.buf = k.buf[:chunkHeader]
}

// Close makes the snapshot durable and the group's newest.
func (k *snapSink) Close() error {
	if k.done {
		return k.err
	}
	k.flush()
	k.done = true
	e := k.s.g.e
	if k.err == nil {
		k.err = k.s.g.check()
	}
	if k.err != nil {
		k.f.Close()
		return k.err
	}
	_, err := k.f.WriteAt(k.header.encode(e.logID), 0)
	if err == nil {
		err = k.f.Sync()
	}
	if cerr := k.f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = k.s.place(k)
	}
	switch {
	case err == ErrRemoved:
		k.err = err
		return errors.Join(err, e.fs.Remove(k.tmp))
	case err != nil:
		k.err = e.fail(err)
	}
	return k.err
}

// Cancel implements raft.SnapshotSink.
func (k *snapSink) Cancel() error {
	if k.done {
		return nil
	}
	k.done, k.err = true, errors.New("snapshot was cancelled")
	return errors.Join(k.f.Close(), k.s.g.e.fs.Remove(k.tmp))
}

// loadSnapshots notes which snapshots there are; they are read when asked for.
func (e *Engine) loadSnapshots() error {
	infos, err := e.fs.List(e.path(snapDir))
	if err != nil {
		return err
	}
	for _, i := range infos {
		path := e.path(snapDir + "/" + i.Name)
		if strings.HasSuffix(i.Name, tmpSuffix) {
			if err := e.fs.Remove(path); err != nil {
				return err
			}
			continue
		}
		id, isSnap := strings.CutSuffix(i.Name, snapSuffix)
		group, n, ok := parseSnapID(id)
		if !isSnap || !ok {
			return fmt.Errorf("file %s/%s does not belong here", snapDir, i.Name)
		}
		g := e.groups[group]
		if g == nil {
			g = newGroup(e, group)
			e.groups[group] = g
		}
		if g.isRemoved() {
			if err := e.fs.Remove(path); err != nil {
				return err
			}
			continue
		}
		g.snaps.list = append(g.snaps.list, n)
	}
	for _, g := range e.groups {
		if l := g.snaps.list; len(l) > 0 {
			slices.SortFunc(l, func(a, b snapName) int { return b.compare(a) })
			// A crash came between the newest and the removal of what it replaced.
			for _, n := range l[1:] {
				if err := e.fs.Remove(e.path(snapPath(g.snaps.id(n)))); err != nil {
					return err
				}
			}
			g.snaps.list = l[:1]
			g.setSnapshot(l[0].index)
		}
	}
	return nil
}
