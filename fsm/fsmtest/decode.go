package fsmtest

import (
	"encoding/binary"
	"errors"

	"mayfly/dlx"
	"mayfly/fsm"
	"mayfly/queue"
	"mayfly/ttl"
)

var errEntry = errors.New("no entry")

// Decode reads an entry back into values: the format told a second time, slowly
// and apart from the machine, so that fuzzing can hold the two against each other.
func Decode(data []byte) (Entry, error) {
	if len(data) < fsm.HeaderSize || data[0] != 1 || data[1] > 1 {
		return Entry{}, errEntry
	}
	r := reader{b: data[fsm.HeaderSize:], ok: true}
	e := Entry{Stamp: ttl.Stamp(binary.BigEndian.Uint64(data[2:])), Lead: data[1] == 1}
	if e.Stamp < 0 || e.Stamp > fsm.MaxStamp {
		return Entry{}, errEntry
	}
	for len(r.b) > 0 && r.ok {
		e.Commands = append(e.Commands, r.command())
	}
	if !r.ok {
		return Entry{}, errEntry
	}
	return e, nil
}

type reader struct {
	b  []byte
	ok bool
}

func (r *reader) need(ok bool) {
	if !ok {
		r.ok, r.b = false, nil
	}
}

func (r *reader) take(n uint64) []byte {
	if r.need(n <= uint64(len(r.b))); !r.ok {
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) octet(most byte) byte {
	v := r.take(1)
	if !r.ok {
		return 0
	}
	r.need(v[0] <= most)
	return v[0]
}

func (r *reader) number(most uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if r.need(n > 0 && v <= most); !r.ok {
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) signed() int64 {
	v, n := binary.Varint(r.b)
	if r.need(n > 0); !r.ok {
		return 0
	}
	r.b = r.b[n:]
	return v
}

const (
	any64 = 1<<64 - 1
	any32 = 1<<32 - 1
)

func (r *reader) session() queue.SessionID {
	v := r.take(8)
	if !r.ok {
		return 0
	}
	return queue.SessionID(binary.BigEndian.Uint64(v))
}

func (r *reader) list() (l []uint64) {
	last := uint64(0)
	for n := r.number(uint64(len(r.b))); n > 0 && r.ok; n-- {
		last += uint64(r.signed())
		l = append(l, last)
	}
	return l
}

func (r *reader) positions() (ps []queue.Pos) {
	for _, v := range r.list() {
		ps = append(ps, queue.Pos(v))
	}
	return ps
}

func (r *reader) message() queue.Message {
	m := queue.Message{TTL: queue.NoTTL}
	flags := r.octet(7)
	if m.HasPriority = flags&1 != 0; m.HasPriority {
		m.Priority = r.octet(255)
	}
	if flags&2 != 0 {
		m.TTL = int64(r.number(uint64(fsm.MaxStamp)))
	}
	m.Persistent = flags&4 != 0
	b := r.take(r.number(any64))
	e, err := fsm.ParseEnvelope(b)
	r.need(err == nil)
	m.Exchange, m.Key, m.Annotations, m.Props, m.Body = e.Exchange, e.Key, e.Annotations, e.Props, e.Body
	return m
}

func (r *reader) command() Command {
	ops := [...]Op{Configure, Publish, Settle, Reject, Return, Credit, Attach, Detach, Get, Purge, Close, SessionClosed, NodeGone, NodesBefore, Touch, Forwarded, Tx}
	kind := r.octet(byte(len(ops)))
	if r.need(kind > 0); !r.ok {
		return Command{}
	}
	c := Command{Op: ops[kind-1]}
	switch c.Op {
	case Configure:
		var err error
		c.Config, err = queue.ParseConfig(r.take(r.number(any64)))
		r.need(err == nil)
		return c
	case NodeGone, NodesBefore:
		c.Node = uint32(r.number(any32))
		return c
	case Touch:
		return c
	case Forwarded:
		c.Cause = dlx.Cause(r.octet(byte(dlx.Causes - 1)))
		c.IDs = r.list()
		return c
	}
	c.Session = r.session()
	if c.numbered() {
		c.Seq = r.number(any64)
	}
	r.rest(&c)
	return c
}

// rest reads what stands behind session and number.
func (r *reader) rest(c *Command) {
	switch c.Op {
	case Publish:
		c.Message = r.message()
	case Settle, Reject:
		c.Positions = r.positions()
	case Return:
		c.Why = queue.Why(r.octet(byte(queue.WhyNodeGone)))
		r.need(c.Why > 0)
		c.Positions = r.positions()
	case Credit:
		c.Spec.Number = uint32(r.number(any32))
		c.Total = r.number(any64)
	case Attach:
		flags := r.octet(3)
		c.Spec.NoAck, c.Spec.Exclusive = flags&1 != 0, flags&2 != 0
		c.Spec.Number, c.Spec.Prefetch, c.Spec.Window = uint32(r.number(any32)), uint32(r.number(any32)), uint32(r.number(any32))
		priority := r.signed()
		c.Spec.Priority = int32(priority)
		r.need(int64(c.Spec.Priority) == priority)
		c.Spec.Tag = string(r.take(r.number(any64)))
	case Detach:
		c.Spec.Number = uint32(r.number(any32))
	case Get:
		c.NoAck = r.octet(1) == 1
	case Close:
		flags := r.octet(3)
		c.IfUnused, c.IfEmpty = flags&1 != 0, flags&2 != 0
	case Tx:
		for n := r.number(uint64(len(r.b))); n > 0 && r.ok; n-- {
			m := r.message()
			c.Tx.Publishes = append(c.Tx.Publishes, &m)
		}
		c.Tx.Settles, c.Tx.Rejects, c.Tx.Returns = r.positions(), r.positions(), r.positions()
	}
}
