package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"

	"mayfly/queue"
)

// session is one channel's standing: its lanes, by queue.
type session struct {
	node *Node
	id   queue.SessionID
	sink queue.Sink

	mu     sync.Mutex
	lanes  map[queue.ID]*lane
	closed bool
}

func (s *session) ID() queue.SessionID { return s.id }

func (s *session) Lane(q queue.ID) queue.Lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.lanes[q]; ok {
		return l
	}
	g := s.node.group(q)
	l := &lane{g: g, s: s}
	g.mu.Lock()
	if g.phase != gone && g.phase != failed {
		g.lanes[s.id] = l
	}
	l.closed = s.closed
	g.mu.Unlock()
	s.lanes[q] = l
	return l
}

// Close says goodbye on every lane first, then waits for all of them.
func (s *session) Close(ctx context.Context) error {
	for _, f := range s.leave() {
		if err := f.lane.g.waitApplied(ctx, f.last); err != nil {
			return err
		}
		if f.lane.g.ended.Load() {
			if err := f.lane.g.waitGone(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// farewell is a lane that was left, and its last batch.
type farewell struct {
	lane *lane
	last uint64
}

// leave says goodbye on every lane, once, and waits for nothing. It answers what
// there is to wait for.
func (s *session) leave() []farewell {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	lanes := slices.Collect(maps.Values(s.lanes))
	s.mu.Unlock()
	var left []farewell
	for _, l := range lanes {
		if last := l.close(); last != 0 {
			left = append(left, farewell{l, last})
		}
	}
	return left
}
