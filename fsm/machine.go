package fsm

import (
	"errors"
	"fmt"

	"mayfly/dlx"
	"mayfly/internal/invariant"
	"mayfly/queue"
	"mayfly/ttl"
)

// The vocabulary of what Apply answers, kept where the transitions are.
type (
	Outcome = queue.Outcome
	Effect  = queue.Effect
	Release = queue.Release
)

// Machine is the replicated machine of one queue. Apply is the only place where
// its state changes. It belongs to one goroutine; a Snapshot may be written by
// another.
type Machine struct {
	q       *queue.Queue
	applied uint64 // index of the last entry
	broken  error  // an entry could not be decoded: nothing is applied any more

	positions [3][]queue.Pos // scratch of decoding
	ids       []uint64
	publishes []queue.Incoming
}

// New is a machine before its first entry, which should hold a Configure.
func New() *Machine { return &Machine{q: queue.New()} }

// ErrUndecodable says that an entry makes no sense to this build: newer, or
// damaged. The replica must stop; better absent than different.
var ErrUndecodable = errors.New("undecodable log entry")

// Apply takes one entry in, in the firm order of style.md section 4:
//
//	1 now = max(now, stamp)         4 hand ready messages to consumers with room
//	2 kill what is due              5 kill what had no time at all and found nobody
//	3 the commands of the entry     6 kill what is over the limit
//	                                7 the outcome
//
// data is not kept. out is overwritten. An error means that the replica must stop.
func (m *Machine) Apply(index uint64, data []byte, out *Outcome) error {
	out.Reset()
	if m.broken != nil {
		return m.broken
	}
	if err := m.checkHeader(index, data); err != nil {
		m.broken = err
		return err
	}
	m.applied = index
	m.q.Begin(index, StampOf(data), data[flagsAt]&flagLead != 0, out) // 1, 2
	d := decoder{data: data, at: HeaderSize}
	for d.at < len(d.data) { // 3
		start := d.at
		c := command(d.byte())
		m.command(c, &d)
		if d.bad {
			m.broken = fmt.Errorf("%w: entry %d, command %d at byte %d", ErrUndecodable, index, c, start)
			out.Reset()
			return m.broken
		}
	}
	m.q.End() // 4, 5, 6, 7
	if err := m.q.Quick(); err != nil {
		panic(err)
	}
	if invariant.Enabled {
		if err := m.q.Check(); err != nil {
			panic(err)
		}
	}
	return nil
}

func (m *Machine) checkHeader(index uint64, data []byte) error {
	switch {
	case len(data) < HeaderSize:
		return fmt.Errorf("%w: entry %d has %d bytes", ErrUndecodable, index, len(data))
	case data[0] == 0 || data[0] > Version:
		return fmt.Errorf("%w: entry %d has version %d, known are 1 to %d", ErrUndecodable, index, data[0], Version)
	case data[flagsAt]&^flagLead != 0:
		return fmt.Errorf("%w: entry %d has flags %#x", ErrUndecodable, index, data[flagsAt])
	case StampOf(data) < 0 || StampOf(data) > MaxStamp:
		return fmt.Errorf("%w: entry %d has stamp %d", ErrUndecodable, index, StampOf(data))
	case index <= m.applied:
		return fmt.Errorf("%w: entry %d comes after entry %d", ErrUndecodable, index, m.applied)
	case len(data) > 1<<31:
		return fmt.Errorf("%w: entry %d has %d bytes", ErrUndecodable, index, len(data))
	}
	return nil
}

// command decodes one command completely, and then applies it.
func (m *Machine) command(c command, d *decoder) {
	switch c {
	case cmdEnqueue:
		var in queue.Incoming
		s, seq := d.session(), d.uvarint()
		d.publish(&in)
		if !d.bad {
			m.q.Enqueue(s, seq, &in)
		}
	case cmdSettle:
		s := d.session()
		m.positions[0] = d.positions(m.positions[0][:0])
		if !d.bad {
			m.q.Settle(s, m.positions[0])
		}
	case cmdReject:
		s := d.session()
		m.positions[0] = d.positions(m.positions[0][:0])
		if !d.bad {
			m.q.Reject(s, m.positions[0])
		}
	case cmdReturn:
		s, why := d.session(), queue.Why(d.byte())
		m.positions[0] = d.positions(m.positions[0][:0])
		if why < queue.WhyNack || why > queue.WhyNodeGone {
			d.fail()
		}
		if !d.bad {
			m.q.Return(s, m.positions[0], why)
		}
	case cmdCredit:
		if s, n, total := d.session(), d.u32(), d.uvarint(); !d.bad {
			m.q.Credit(s, n, total)
		}
	case cmdConfigure:
		m.configure(d)
	case cmdForwarded:
		m.forwarded(d)
	case cmdTx:
		m.tx(d)
	case cmdNodeGone:
		if n := d.u32(); !d.bad {
			m.q.NodeGone(n)
		}
	case cmdNodesBefore:
		if n := d.u32(); !d.bad {
			m.q.NodesBefore(n)
		}
	case cmdSessionClosed:
		if s := d.session(); !d.bad {
			m.q.SessionClosed(s)
		}
	case cmdTouch:
		m.q.Touch()
	default:
		m.request(c, d)
	}
}

// request applies the commands that somebody waits for.
func (m *Machine) request(c command, d *decoder) {
	s, seq := d.session(), d.uvarint()
	switch c {
	case cmdAttach:
		if spec := d.consumer(); !d.bad {
			m.q.Attach(s, seq, spec)
		}
	case cmdDetach:
		if n := d.u32(); !d.bad {
			m.q.Detach(s, seq, n)
		}
	case cmdGet:
		if f := d.flags(getNoAck); !d.bad {
			m.q.Get(s, seq, f != 0)
		}
	case cmdPurge:
		if !d.bad {
			m.q.Purge(s, seq)
		}
	case cmdClose:
		if f := d.flags(closeIfUnused | closeIfEmpty); !d.bad {
			m.q.Close(s, seq, f&closeIfUnused != 0, f&closeIfEmpty != 0)
		}
	default:
		d.fail()
	}
}

func (m *Machine) configure(d *decoder) {
	c, err := queue.ParseConfig(d.bytes())
	if err != nil {
		d.fail()
	}
	if !d.bad {
		m.q.Configure(c)
	}
}

func (m *Machine) forwarded(d *decoder) {
	cause := dlx.Cause(d.byte())
	m.ids = d.ids(m.ids[:0])
	if int(cause) >= dlx.Causes {
		d.fail()
	}
	if !d.bad {
		m.q.Forwarded(m.ids, cause)
	}
}

func (m *Machine) tx(d *decoder) {
	s, seq := d.session(), d.uvarint()
	m.publishes = m.publishes[:0]
	for n := d.count(); n > 0 && !d.bad; n-- {
		var in queue.Incoming
		d.publish(&in)
		m.publishes = append(m.publishes, in)
	}
	for i := range m.positions {
		m.positions[i] = d.positions(m.positions[i][:0])
	}
	if !d.bad {
		m.q.Commit(s, seq, m.publishes, m.positions[0], m.positions[1], m.positions[2])
	}
}

// Resume says again all that is outstanding, for a new leader. It changes nothing.
func (m *Machine) Resume(out *Outcome) { m.q.Resume(out) }

// Applied is the index of the last entry.
func (m *Machine) Applied() uint64 { return m.applied }

// Stamp is the machine's time: the greatest stamp applied.
func (m *Machine) Stamp() ttl.Stamp { return m.q.Now() }

// Stat is the counts as a client sees them.
func (m *Machine) Stat() queue.Stat { return m.q.Stat() }

// Config is the configuration in force.
func (m *Machine) Config() queue.Config { return m.q.Config() }

// Counters are the totals since the declare.
func (m *Machine) Counters() queue.Counters { return m.q.Counters() }

// Consumers lists the consumers.
func (m *Machine) Consumers() []queue.ConsumerInfo { return m.q.Consumers() }

// Closed tells whether the queue is no more: deleted, expired, or auto-deleted.
func (m *Machine) Closed() bool { return m.q.Gone() != queue.GoneNot }

// Gone tells why the queue is no more.
func (m *Machine) Gone() queue.GoneReason { return m.q.Gone() }

// Letter is a dead letter that waits to be forwarded.
func (m *Machine) Letter(id uint64) (dlx.Letter, bool) { return m.q.Letter(id) }

// Letters is how many dead letters wait, and the bytes of their bodies.
func (m *Machine) Letters() (n int, bytes uint64) { return m.q.Letters() }

// EachRef calls fn with the log entry of every body that is still needed, once
// for each such body.
func (m *Machine) EachRef(fn func(index uint64)) { m.q.EachRef(fn) }

// Incarnations lists the nodes that have sessions here, ascending, so that a new
// leader can end those of nodes that are no more. Queues that dead-letter into
// this one are no nodes.
func (m *Machine) Incarnations() []uint32 { return m.q.Incarnations() }

// Queue gives the state itself, for looking only: listings and tests.
func (m *Machine) Queue() *queue.Queue { return m.q }

// Trim gives back memory that an idle queue does not need. No state changes.
func (m *Machine) Trim() {
	m.q.Trim()
	m.positions, m.ids, m.publishes = [3][]queue.Pos{}, nil, nil
}

// Digest is a rolling digest over all entries and what they brought about. Equal
// digests at equal indexes mean equal machines (invariant 4).
func (m *Machine) Digest() uint64 { return m.q.Digest() }

// Check tests the invariants in full.
func (m *Machine) Check() error { return m.q.Check() }
