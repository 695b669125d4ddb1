package fsmtest

import (
	"fmt"
	"strings"

	"mayfly/queue"
	"mayfly/ttl"
)

// Name is a session as scenarios write it: n2.s7 is counter 7 on node 2, and s7
// the same on node 1.
func Name(id queue.SessionID) string {
	if id.Node() == 1 {
		return fmt.Sprintf("s%d", uint32(id))
	}
	return fmt.Sprintf("n%d.s%d", id.Node(), uint32(id))
}

// Words tells effects, a line each.
func Words(es []queue.Effect) string {
	var b strings.Builder
	for i := range es {
		b.WriteString(word(&es[i]))
		b.WriteByte('\n')
	}
	return b.String()
}

func word(e *queue.Effect) string {
	s := Name(e.Session)
	switch e.Kind {
	case queue.EffectDeliver:
		return fmt.Sprintf("deliver %s/%d: %s", s, e.Consumer, delivery(&e.Delivery))
	case queue.EffectConfirm:
		return fmt.Sprintf("confirm %s up to %d", s, e.Seq)
	case queue.EffectRefused:
		return fmt.Sprintf("refused %s %d: %v", s, e.Seq, e.Refusal)
	case queue.EffectAttached:
		return fmt.Sprintf("attached %s/%d (%d)", s, e.Consumer, e.Seq)
	case queue.EffectDetached:
		return fmt.Sprintf("detached %s/%d (%d)", s, e.Consumer, e.Seq)
	case queue.EffectGot:
		if !e.Found {
			return fmt.Sprintf("got %s (%d): nothing", s, e.Seq)
		}
		return fmt.Sprintf("got %s (%d), %d left: %s", s, e.Seq, e.N, delivery(&e.Delivery))
	case queue.EffectPurged:
		return fmt.Sprintf("purged %s (%d): %d", s, e.Seq, e.N)
	case queue.EffectClosed:
		return fmt.Sprintf("closed %s (%d): %d", s, e.Seq, e.N)
	case queue.EffectCommitted:
		return fmt.Sprintf("committed %s (%d), refused %d", s, e.Seq, e.N)
	case queue.EffectCancelled:
		return fmt.Sprintf("cancelled %s/%d", s, e.Consumer)
	case queue.EffectEnded:
		return fmt.Sprintf("ended %s", s)
	case queue.EffectForward:
		return fmt.Sprintf("forward letter %d", e.N)
	case queue.EffectGone:
		return fmt.Sprintf("gone: %v", e.Reason)
	case queue.EffectAssigned:
		return fmt.Sprintf("assigned %s/%d: %d", s, e.Consumer, e.N)
	}
	return fmt.Sprintf("effect %d", e.Kind)
}

func delivery(d *queue.Delivery) string {
	var b strings.Builder
	fmt.Fprintf(&b, "message %d", d.Pos)
	if d.Number > 0 {
		fmt.Fprintf(&b, " as its %d.", d.Number)
	}
	if d.Redelivered {
		fmt.Fprintf(&b, " redelivered acquired=%d", d.Acquired)
	}
	if d.Failed > 0 {
		fmt.Fprintf(&b, " failed=%d", d.Failed)
	}
	if d.Deadline != ttl.Never {
		fmt.Fprintf(&b, " until %d", d.Deadline)
	}
	if d.Settled {
		b.WriteString(" settled")
	}
	return b.String()
}

// String tells the entry in the words of scenarios.
func (e *Entry) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "at %d", e.Stamp)
	if e.Lead {
		b.WriteString(" lead")
	}
	for i := range e.Commands {
		b.WriteString("\n  " + e.Commands[i].String())
	}
	return b.String()
}

// String tells the command.
func (c *Command) String() string {
	s := fmt.Sprintf("%s %s", c.Op, Name(c.Session))
	switch c.Op {
	case Configure:
		return fmt.Sprintf("configure %+v", c.Config)
	case Publish:
		return fmt.Sprintf("%s seq=%d body=%d ttl=%d priority=%v,%d", s, c.Seq, len(c.Message.Body), c.Message.TTL, c.Message.HasPriority, c.Message.Priority)
	case Settle, Reject:
		return fmt.Sprintf("%s %v", s, c.Positions)
	case Return:
		return fmt.Sprintf("%s %v why=%d", s, c.Positions, c.Why)
	case Credit:
		return fmt.Sprintf("%s/%d total=%d", s, c.Spec.Number, c.Total)
	case Attach:
		return fmt.Sprintf("%s seq=%d %+v", s, c.Seq, c.Spec)
	case Detach:
		return fmt.Sprintf("%s/%d seq=%d", s, c.Spec.Number, c.Seq)
	case NodeGone, NodesBefore:
		return fmt.Sprintf("%s %d", c.Op, c.Node)
	case Forwarded:
		return fmt.Sprintf("forwarded %v cause=%v", c.IDs, c.Cause)
	case Touch:
		return "touch"
	case Tx:
		return fmt.Sprintf("%s seq=%d publishes=%d settles=%v rejects=%v returns=%v", s, c.Seq, len(c.Tx.Publishes), c.Tx.Settles, c.Tx.Rejects, c.Tx.Returns)
	}
	return fmt.Sprintf("%s seq=%d noack=%v if-unused=%v if-empty=%v", s, c.Seq, c.NoAck, c.IfUnused, c.IfEmpty)
}
