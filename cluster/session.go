package cluster

import (
	"context"
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
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	lanes := make([]*lane, 0, len(s.lanes))
	for _, l := range s.lanes {
		lanes = append(lanes, l)
	}
	s.mu.Unlock()
	last := make([]uint64, len(lanes))
	for i, l := range lanes {
		last[i] = l.close()
	}
	for i, l := range lanes {
		if last[i] == 0 {
			continue
		}
		if err := l.g.waitApplied(ctx, last[i]); err != nil {
			return err
		}
		if l.g.ended.Load() {
			if err := l.g.waitGone(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave says goodbye on every lane and waits for nothing.
func (s *session) leave() {
	s.mu.Lock()
	s.closed = true
	lanes := make([]*lane, 0, len(s.lanes))
	for _, l := range s.lanes {
		lanes = append(lanes, l)
	}
	s.mu.Unlock()
	for _, l := range lanes {
		l.close()
	}
}
