package storage

import (
	"bytes"
	"encoding/binary"
)

// The names that raft uses. They have fields of their own: there are as many
// groups as queues.
const (
	keyTerm     = "CurrentTerm"
	keyVoteTerm = "LastVoteTerm"
	keyVoteFor  = "LastVoteCand"
)

// Set implements raft.StableStore. It returns when the value is durable; a value
// that is set already costs nothing.
func (g *Group) Set(key, val []byte) error {
	if err := g.check(); err != nil {
		return err
	}
	g.mu.Lock()
	if string(key) == keyVoteFor {
		if bytes.Equal(g.st.voteFor, val) && !g.dirty.Load() {
			g.mu.Unlock()
			return nil
		}
		g.st.voteFor = bytes.Clone(val)
	} else {
		if old := g.st.get(key); old != nil && bytes.Equal(old, val) {
			g.mu.Unlock()
			return nil
		}
		g.st.set(key, val)
	}
	g.headers = false
	g.mu.Unlock()
	return g.submitState()
}

// Get implements raft.StableStore; nil when the key was never set.
func (g *Group) Get(key []byte) ([]byte, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	val := g.st.voteFor
	if string(key) != keyVoteFor {
		val = g.st.get(key)
	}
	if len(val) == 0 {
		return nil, nil // raft tells "no vote" by nil
	}
	return bytes.Clone(val), nil
}

// SetUint64 implements raft.StableStore. Two values travel with the next record
// of the group instead of being written at once (raft.md, fact 9): LastVoteTerm,
// because raft sets LastVoteCand right after and votes only then; and the term
// that begins an empty group, which means nothing before a vote or an entry.
func (g *Group) SetUint64(key []byte, val uint64) error {
	if err := g.check(); err != nil {
		return err
	}
	var field *uint64
	switch string(key) {
	case keyTerm:
		field = &g.st.term
	case keyVoteTerm:
		field = &g.st.voteTerm
	default:
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], val)
		return g.Set(key, b[:])
	}
	g.mu.Lock()
	if *field == val {
		g.mu.Unlock()
		return nil
	}
	begins := field == &g.st.term && val == 1 && g.st.term == 0 && g.st.voteTerm == 0 && g.bounds.first == 0 && g.snapIndex == 0
	*field = val
	g.headers = false
	if begins || field == &g.st.voteTerm {
		g.dirty.Store(true)
		g.mu.Unlock()
		return nil
	}
	g.mu.Unlock()
	return g.submitState()
}

// GetUint64 implements raft.StableStore; 0 when the key was never set.
func (g *Group) GetUint64(key []byte) (uint64, error) {
	if err := g.check(); err != nil {
		return 0, err
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	switch string(key) {
	case keyTerm:
		return g.st.term, nil
	case keyVoteTerm:
		return g.st.voteTerm, nil
	}
	if b := g.st.get(key); len(b) == 8 {
		return binary.BigEndian.Uint64(b), nil
	}
	return 0, nil
}

func (g *Group) submitState() error {
	r := newRequest(reqState, g)
	defer r.free()
	return g.e.submit(r)
}

// encodeState completes st with the stable values as they are now; what waited
// to travel along travels in it.
func (g *Group) encodeState(st *groupState) []byte {
	g.mu.RLock()
	defer g.mu.RUnlock()
	g.dirty.Store(false)
	if !st.removed {
		st.term, st.voteTerm, st.voteFor, st.more = g.st.term, g.st.voteTerm, g.st.voteFor, g.st.more
	}
	payload := st.append(nil)
	st.voteFor, st.more = nil, nil
	return payload
}
