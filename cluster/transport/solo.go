package transport

import (
	"errors"
	"io"

	"github.com/hashicorp/raft"
)

// ErrNoPeer answers every call to another node: a group of one has none.
var ErrNoPeer = errors.New("group has no other member")

// Solo is the transport of a group whose only member is here. Nothing is ever
// sent; what it is for is Campaign, which makes the member lead at once instead
// of after the long group timeout (raft.md, fact 10).
type Solo struct {
	name raft.ServerAddress
	rpcs chan raft.RPC
}

// NewSolo makes the transport of one group's member called name.
func NewSolo(name raft.ServerAddress) *Solo {
	return &Solo{name: name, rpcs: make(chan raft.RPC, 1)}
}

// Campaign asks the member to stand for election now. It does not wait.
func (t *Solo) Campaign() {
	// Raft refuses a call that does not tell its protocol version.
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(t.name), Addr: []byte(t.name)}
	rpc := raft.RPC{Command: &raft.TimeoutNowRequest{RPCHeader: header}, RespChan: make(chan raft.RPCResponse, 1)}
	select {
	case t.rpcs <- rpc:
	default: // one is waiting already
	}
}

func (t *Solo) Consumer() <-chan raft.RPC     { return t.rpcs }
func (t *Solo) LocalAddr() raft.ServerAddress { return t.name }

func (t *Solo) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, ErrNoPeer
}

func (t *Solo) AppendEntries(raft.ServerID, raft.ServerAddress, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse) error {
	return ErrNoPeer
}

func (t *Solo) RequestVote(raft.ServerID, raft.ServerAddress, *raft.RequestVoteRequest, *raft.RequestVoteResponse) error {
	return ErrNoPeer
}

func (t *Solo) RequestPreVote(raft.ServerID, raft.ServerAddress, *raft.RequestPreVoteRequest, *raft.RequestPreVoteResponse) error {
	return ErrNoPeer
}

func (t *Solo) InstallSnapshot(raft.ServerID, raft.ServerAddress, *raft.InstallSnapshotRequest, *raft.InstallSnapshotResponse, io.Reader) error {
	return ErrNoPeer
}

func (t *Solo) TimeoutNow(raft.ServerID, raft.ServerAddress, *raft.TimeoutNowRequest, *raft.TimeoutNowResponse) error {
	return ErrNoPeer
}

func (t *Solo) EncodePeer(_ raft.ServerID, a raft.ServerAddress) []byte { return []byte(a) }
func (t *Solo) DecodePeer(b []byte) raft.ServerAddress                  { return raft.ServerAddress(b) }

// SetHeartbeatHandler ignores the handler, as every transport of ours does: it
// would change terms beside Raft's main loop (raft.md, fact 7).
func (t *Solo) SetHeartbeatHandler(func(raft.RPC)) {}
