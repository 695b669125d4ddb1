package storage

import (
	"sync"

	"github.com/hashicorp/raft"
)

type reqKind uint8

const (
	reqStore  reqKind = iota + 1
	reqBodies         // entries that belong below the log, for their bodies only
	reqDelete         // DeleteRange
	reqState          // write the group's state
	reqRemove
	reqRevive // make a removed group anew
	reqSync   // answer when all that came before is durable
)

// request is one caller's wish, answered on done when it is durable. Pooled: a
// busy log stores thousands of batches a second.
type request struct {
	kind     reqKind
	g        *Group
	logs     []*raft.Log
	sums     []uint32 // of the logs' payloads, made by the caller
	next     int      // logs already in a batch
	min, max uint64
	done     chan error
}

var requests = sync.Pool{New: func() any { return &request{done: make(chan error, 1)} }}

func newRequest(kind reqKind, g *Group) *request {
	r := requests.Get().(*request)
	*r = request{kind: kind, g: g, sums: r.sums[:0], done: r.done}
	return r
}

// free gives the request back; only after submit has returned.
func (r *request) free() {
	r.g, r.logs = nil, nil
	requests.Put(r)
}

// submit hands a request to the writer and waits for the answer.
func (e *Engine) submit(r *request) error {
	e.mu.Lock()
	if e.err != nil || e.closing {
		err := e.err
		e.mu.Unlock()
		if err == nil {
			err = ErrClosed
		}
		return err
	}
	e.queue = append(e.queue, r)
	first := len(e.queue) == 1
	e.mu.Unlock()
	if first {
		e.poke()
	}
	return <-r.done
}
