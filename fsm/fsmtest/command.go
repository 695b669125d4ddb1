package fsmtest

import (
	"mayfly/dlx"
	"mayfly/fsm"
	"mayfly/queue"
	"mayfly/ttl"
)

// Op is a command of the log by name.
type Op string

const (
	Configure     Op = "configure"
	Publish       Op = "publish"
	Settle        Op = "settle"
	Reject        Op = "reject"
	Return        Op = "return"
	Credit        Op = "credit"
	Attach        Op = "attach"
	Detach        Op = "detach"
	Get           Op = "get"
	Purge         Op = "purge"
	Close         Op = "close"
	SessionClosed Op = "session-closed"
	NodeGone      Op = "node-gone"
	NodesBefore   Op = "nodes-before"
	Touch         Op = "touch"
	Forwarded     Op = "forwarded"
	Tx            Op = "tx"
)

// Ops are all of them: a walk that never made one has not tested it.
var Ops = []Op{Configure, Publish, Settle, Reject, Return, Credit, Attach, Detach, Get, Purge, Close, SessionClosed, NodeGone, NodesBefore, Touch, Forwarded, Tx}

// Command is one command of the log as a value. Each Op reads the fields it needs.
type Command struct {
	Op        Op
	Session   queue.SessionID
	Seq       uint64
	Message   queue.Message
	Positions []queue.Pos
	Why       queue.Why
	Spec      queue.ConsumerSpec // Attach; Number alone for Detach and Credit
	Total     uint64
	NoAck     bool
	IfUnused  bool
	IfEmpty   bool
	Node      uint32
	IDs       []uint64
	Cause     dlx.Cause
	Config    queue.Config
	Tx        queue.Tx
}

// Entry is one log entry as a value.
type Entry struct {
	Stamp    ttl.Stamp
	Lead     bool
	Commands []Command
}

// Bytes is the entry as it stands in the log.
func (e *Entry) Bytes() []byte {
	b := fsm.AppendHeader(nil)
	fsm.PutStamp(b, e.Stamp)
	if e.Lead {
		fsm.MarkLead(b)
	}
	for i := range e.Commands {
		b = e.Commands[i].Append(b)
	}
	return b
}

// Append encodes the command.
func (c *Command) Append(b []byte) []byte {
	switch c.Op {
	case Configure:
		return fsm.AppendConfigure(b, c.Config)
	case Publish:
		return fsm.AppendEnqueue(b, c.Session, c.Seq, &c.Message)
	case Settle:
		return fsm.AppendSettle(b, c.Session, c.Positions)
	case Reject:
		return fsm.AppendReject(b, c.Session, c.Positions)
	case Return:
		return fsm.AppendReturn(b, c.Session, c.Positions, c.Why)
	case Credit:
		return fsm.AppendCredit(b, c.Session, c.Spec.Number, c.Total)
	case Attach:
		return fsm.AppendAttach(b, c.Session, c.Seq, c.Spec)
	case Detach:
		return fsm.AppendDetach(b, c.Session, c.Seq, c.Spec.Number)
	case Get:
		return fsm.AppendGet(b, c.Session, c.Seq, c.NoAck)
	case Purge:
		return fsm.AppendPurge(b, c.Session, c.Seq)
	case Close:
		return fsm.AppendClose(b, c.Session, c.Seq, c.IfUnused, c.IfEmpty)
	case SessionClosed:
		return fsm.AppendSessionClosed(b, c.Session)
	case NodeGone:
		return fsm.AppendNodeGone(b, c.Node)
	case NodesBefore:
		return fsm.AppendNodesBefore(b, c.Node)
	case Touch:
		return fsm.AppendTouch(b)
	case Forwarded:
		return fsm.AppendForwarded(b, c.IDs, c.Cause)
	case Tx:
		return fsm.AppendTx(b, c.Session, c.Seq, &c.Tx)
	}
	panic("fsmtest: no such command: " + string(c.Op))
}
