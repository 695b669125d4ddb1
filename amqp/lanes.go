package amqp

import (
	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// maxLanes is how many lanes a channel remembers before it forgets unused ones:
// a server that answers to thousands of short-lived queues must not keep all of them.
const maxLanes = 1024

// returned is a position that goes back to its queue, and on whose account.
type returned struct {
	pos queue.Pos
	why queue.Why
}

// laneState is a channel's road to a queue and what the channel keeps for it.
type laneState struct {
	queue.Lane
	name  string // of the queue
	times bool   // deliveries carry x-enqueued-at and x-expires-at (T-15)

	// Settlements gathered for the next push; the owner of the input's.
	settles []queue.Pos
	rejects []queue.Pos
	nacks   []queue.Pos
	returns []returned
	dirty   bool
	inTx    bool // in the open transaction

	// Guarded by the channel's mu.
	confirms  laneConfirms
	unacked   int // outstanding deliveries that came by it
	consumers int // attached or attaching
}

// laneOf gives the lane to a queue. Only the owner of the input calls it, and
// adds lanes; so it may read the map without mu.
func (ch *channel) laneOf(q *catalog.Queue) *laneState {
	if ls := ch.lanes[q.ID]; ls != nil {
		return ls
	}
	ls := &laneState{Lane: ch.session.Lane(q.ID), name: q.Name}
	if v, ok := q.Args.Get("x-message-times"); ok {
		ls.times, _ = v.Bool()
	}
	ch.mu.Lock()
	ch.lanes[q.ID] = ls
	ch.mu.Unlock()
	return ls
}

// forgetLanes drops the lanes without anything outstanding, if there are many; the
// session opens the same lane again when it is asked. It must not come between
// choosing the lanes of a publish and noting what it waits for.
func (ch *channel) forgetLanes() {
	if len(ch.lanes) < ch.laneLimit {
		return
	}
	ch.pub.cache.clear()
	ch.mu.Lock()
	for id, ls := range ch.lanes {
		if ls.consumers == 0 && ls.unacked == 0 && ls.confirms.open.len() == 0 && !ls.dirty && !ls.inTx {
			delete(ch.lanes, id)
		}
	}
	ch.laneLimit = max(maxLanes, 2*len(ch.lanes))
	ch.mu.Unlock()
}
