package fsm

import (
	"encoding/binary"

	"mayfly/dlx"
	"mayfly/queue"
)

// All append functions write one command behind what dst holds, which must begin
// with AppendHeader. Commands with a number (seq) take it from one ascending
// sequence per session, shared by all of them: 1, 2, 3, … A number that was
// applied is not applied again, only answered again. Seq 0 is not numbered. The
// other commands may be repeated without harm.

func begin(dst []byte, c command, s queue.SessionID) []byte {
	return binary.BigEndian.AppendUint64(append(dst, byte(c)), uint64(s))
}

func numbered(dst []byte, c command, s queue.SessionID, seq uint64) []byte {
	return binary.AppendUvarint(begin(dst, c, s), seq)
}

// AppendConfigure writes the queue's configuration; the first command of a group.
func AppendConfigure(dst []byte, c queue.Config) []byte {
	body := queue.AppendConfig(nil, &c)
	dst = binary.AppendUvarint(append(dst, byte(cmdConfigure)), uint64(len(body)))
	return append(dst, body...)
}

// AppendEnqueue writes a publish. The body is copied once, into dst.
func AppendEnqueue(dst []byte, s queue.SessionID, seq uint64, m *queue.Message) []byte {
	return appendPublish(numbered(dst, cmdEnqueue, s, seq), m)
}

// EnqueueSize is how many bytes AppendEnqueue adds at most.
func EnqueueSize(m *queue.Message) int {
	const command = 1 + 8 + binary.MaxVarintLen64 + 2 + 2*binary.MaxVarintLen64
	return command + envelopeSize(m)
}

func appendPublish(dst []byte, m *queue.Message) []byte {
	flags := byte(0)
	if m.HasPriority {
		flags |= pubPriority
	}
	if m.TTL >= 0 {
		flags |= pubTTL
	}
	if m.Persistent {
		flags |= pubPersistent
	}
	dst = append(dst, flags)
	if m.HasPriority {
		dst = append(dst, m.Priority)
	}
	if m.TTL >= 0 {
		dst = binary.AppendUvarint(dst, uint64(m.TTL))
	}
	dst = binary.AppendUvarint(dst, uint64(envelopeSize(m)))
	return appendEnvelope(dst, m)
}

func appendPositions(dst []byte, ps []queue.Pos) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(ps)))
	last := queue.Pos(0)
	for _, p := range ps {
		dst = binary.AppendVarint(dst, int64(p-last))
		last = p
	}
	return dst
}

// AppendSettle ends assignments of a session: consumed.
func AppendSettle(dst []byte, s queue.SessionID, ps []queue.Pos) []byte {
	return appendPositions(begin(dst, cmdSettle, s), ps)
}

// AppendReject ends assignments by death.
func AppendReject(dst []byte, s queue.SessionID, ps []queue.Pos) []byte {
	return appendPositions(begin(dst, cmdReject, s), ps)
}

// AppendReturn gives assigned messages back.
func AppendReturn(dst []byte, s queue.SessionID, ps []queue.Pos, why queue.Why) []byte {
	return appendPositions(append(begin(dst, cmdReturn, s), byte(why)), ps)
}

// AppendCredit reports that the first total deliveries of a consumer (by
// Delivery.Number) are written to its socket. It is the total since the consumer
// was attached, not an increment: so it may be repeated, overtaken, or skipped.
func AppendCredit(dst []byte, s queue.SessionID, consumer uint32, total uint64) []byte {
	dst = binary.AppendUvarint(begin(dst, cmdCredit, s), uint64(consumer))
	return binary.AppendUvarint(dst, total)
}

// AppendAttach registers a consumer.
func AppendAttach(dst []byte, s queue.SessionID, seq uint64, c queue.ConsumerSpec) []byte {
	dst = numbered(dst, cmdAttach, s, seq)
	flags := byte(0)
	if c.NoAck {
		flags |= attachNoAck
	}
	if c.Exclusive {
		flags |= attachExclusive
	}
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(c.Number))
	dst = binary.AppendUvarint(dst, uint64(c.Prefetch))
	dst = binary.AppendUvarint(dst, uint64(c.Window))
	dst = binary.AppendVarint(dst, int64(c.Priority))
	dst = binary.AppendUvarint(dst, uint64(len(c.Tag)))
	return append(dst, c.Tag...)
}

// AppendDetach ends a consumer.
func AppendDetach(dst []byte, s queue.SessionID, seq uint64, consumer uint32) []byte {
	return binary.AppendUvarint(numbered(dst, cmdDetach, s, seq), uint64(consumer))
}

// AppendGet takes one message.
func AppendGet(dst []byte, s queue.SessionID, seq uint64, noAck bool) []byte {
	return append(numbered(dst, cmdGet, s, seq), flag(noAck, getNoAck))
}

// AppendPurge removes what is ready.
func AppendPurge(dst []byte, s queue.SessionID, seq uint64) []byte {
	return numbered(dst, cmdPurge, s, seq)
}

// AppendClose deletes the queue.
func AppendClose(dst []byte, s queue.SessionID, seq uint64, ifUnused, ifEmpty bool) []byte {
	return append(numbered(dst, cmdClose, s, seq), flag(ifUnused, closeIfUnused)|flag(ifEmpty, closeIfEmpty))
}

// AppendSessionClosed ends a session. It comes after all that the session sent.
func AppendSessionClosed(dst []byte, s queue.SessionID) []byte {
	return begin(dst, cmdSessionClosed, s)
}

// AppendNodeGone ends all sessions of a node's incarnation, and lets none begin.
func AppendNodeGone(dst []byte, incarnation uint32) []byte {
	return binary.AppendUvarint(append(dst, byte(cmdNodeGone)), uint64(incarnation))
}

// AppendNodesBefore ends all sessions of smaller incarnations: what a node that
// was alone proposes after its restart.
func AppendNodesBefore(dst []byte, incarnation uint32) []byte {
	return binary.AppendUvarint(append(dst, byte(cmdNodesBefore)), uint64(incarnation))
}

// AppendTouch renews the idle lease, for a redeclare.
func AppendTouch(dst []byte) []byte { return append(dst, byte(cmdTouch)) }

// AppendForwarded takes letters out of the box: all their targets have them
// (dlx.NotDropped), or they go nowhere for a cause.
func AppendForwarded(dst []byte, ids []uint64, cause dlx.Cause) []byte {
	dst = append(dst, byte(cmdForwarded), byte(cause))
	dst = binary.AppendUvarint(dst, uint64(len(ids)))
	last := uint64(0)
	for _, id := range ids {
		dst = binary.AppendVarint(dst, int64(id-last))
		last = id
	}
	return dst
}

// AppendTx writes what one transaction does to this queue.
func AppendTx(dst []byte, s queue.SessionID, seq uint64, tx *queue.Tx) []byte {
	dst = numbered(dst, cmdTx, s, seq)
	dst = binary.AppendUvarint(dst, uint64(len(tx.Publishes)))
	for _, m := range tx.Publishes {
		dst = appendPublish(dst, m)
	}
	dst = appendPositions(dst, tx.Settles)
	dst = appendPositions(dst, tx.Rejects)
	return appendPositions(dst, tx.Returns)
}

// TxSize is how many bytes AppendTx adds at most.
func TxSize(tx *queue.Tx) int {
	n := 1 + 8 + 5*binary.MaxVarintLen64
	for _, m := range tx.Publishes {
		n += EnqueueSize(m)
	}
	return n + binary.MaxVarintLen64*(len(tx.Settles)+len(tx.Rejects)+len(tx.Returns))
}

func flag(on bool, bit byte) byte {
	if on {
		return bit
	}
	return 0
}
