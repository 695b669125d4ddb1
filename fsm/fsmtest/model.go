package fsmtest

import (
	"cmp"
	"slices"

	"mayfly/dlx"
	"mayfly/queue"
	"mayfly/ttl"
)

// Model is a queue as one would write it with a slice and loops, straight from the
// rules of queues-ttl-dlx.md. It knows no bounds on work, so walks keep queues
// small. Effects are queue.Effect with the place inside the entry left out.
type Model struct {
	cfg       queue.Config
	now       ttl.Stamp
	entries   int
	leaseUsed ttl.Stamp
	gone      queue.GoneReason

	messages  []*msg // by position
	next      queue.Pos
	sessions  map[queue.SessionID]*sess
	over      map[queue.SessionID]bool
	nodes     map[uint32]bool
	consumers []*cons // attached, in order of attaching
	turn      int
	active    *cons
	had       bool
	letters   []dlx.Letter
	deaths    uint64
	dead      map[dlx.Reason]uint64

	index   uint64
	first   queue.Pos
	effects []queue.Effect
	touched []*sess
}

type msg struct {
	pos      queue.Pos
	index    uint64
	body     uint32
	enqueued ttl.Stamp
	ttl      int64
	priority uint8
	hasPrio  bool
	failed   uint32
	acquired uint32
	holder   *cons // nil: ready
}

type sess struct {
	repeat  uint64 // greatest number published again in this entry, if nothing new was
	id      queue.SessionID
	last    uint64
	refused map[uint64]bool
	denied  []uint64
	answer  *queue.Effect
	getter  *cons
}

type cons struct {
	s         *sess
	spec      queue.ConsumerSpec
	delivered uint64
	credited  uint64
	turn      int // last time it went to the end of the line
	waiting   bool
	gone      bool
}

// NewModel is an empty queue.
func NewModel() *Model {
	return &Model{
		cfg: queue.Defaults(), now: 1, next: 1,
		sessions: map[queue.SessionID]*sess{}, over: map[queue.SessionID]bool{}, nodes: map[uint32]bool{}, dead: map[dlx.Reason]uint64{},
	}
}

// Apply takes one entry in and gives the effects it should have.
func (m *Model) Apply(index uint64, e *Entry) []queue.Effect {
	m.index, m.first, m.effects, m.touched = index, m.next, nil, nil
	m.entries++
	before := m.gone
	m.now = max(m.now, e.Stamp)
	if e.Lead || m.inUse() || m.entries == 1 {
		m.leaseUsed = max(m.leaseUsed, m.now)
	}
	m.expire()
	if m.gone == 0 && m.cfg.Expires > 0 && !m.inUse() && !m.detained() && m.leaseUsed.Add(m.cfg.Expires) <= m.now {
		m.finish(queue.GoneExpired)
	}
	for i := range e.Commands {
		m.command(&e.Commands[i])
	}
	m.settleDown()
	for _, s := range m.touched {
		if m.sessions[s.id] == s {
			m.confirm(s)
		}
	}
	if m.gone != before {
		m.emit(queue.Effect{Kind: queue.EffectGone, Reason: m.gone})
	}
	return m.effects
}

func (m *Model) emit(e queue.Effect) { m.effects = append(m.effects, e) }

func (m *Model) confirm(s *sess) {
	for _, seq := range s.denied {
		m.emit(queue.Effect{Kind: queue.EffectRefused, Session: s.id, Seq: seq, Refusal: queue.RefusedFull})
	}
	s.denied = nil
	upTo := s.last
	if s.repeat != 0 { // nothing new came: no further than what came again
		upTo = s.repeat
	}
	m.emit(queue.Effect{Kind: queue.EffectConfirm, Session: s.id, Seq: upTo})
}

func (m *Model) inUse() bool {
	return len(m.consumers) > 0 || slices.ContainsFunc(m.messages, func(x *msg) bool { return x.holder != nil })
}

func (m *Model) detained() bool {
	if !m.cfg.DeadLetter {
		return false
	}
	return len(m.letters) > 0 || slices.ContainsFunc(m.ready(), func(x *msg) bool { return m.deadline(x) != ttl.Never })
}

func (m *Model) deadline(x *msg) ttl.Stamp {
	life := x.ttl
	if life < 0 || !m.cfg.MessageTTLWins && m.cfg.TTL >= 0 && m.cfg.TTL < life {
		life = m.cfg.TTL
	}
	if m.cfg.MessageTTLWins && m.cfg.TTLCeiling >= 0 && (life < 0 || m.cfg.TTLCeiling < life) {
		life = m.cfg.TTLCeiling
	}
	if life < 0 {
		return ttl.Never
	}
	return x.enqueued.Add(life)
}

func (m *Model) due(x *msg) bool { d := m.deadline(x); return d != ttl.Never && d <= m.now }

func (m *Model) level(x *msg) uint8 {
	p := m.cfg.DefaultPriority
	if x.hasPrio {
		p = x.priority
	}
	return min(p, m.cfg.MaxPriority)
}

// ready lists what can be delivered, in the order of delivery.
func (m *Model) ready() []*msg {
	var l []*msg
	for _, x := range m.messages {
		if x.holder == nil {
			l = append(l, x)
		}
	}
	slices.SortStableFunc(l, func(a, b *msg) int { return cmp.Compare(m.level(b), m.level(a)) })
	return l
}

func (m *Model) front() *msg {
	if l := m.ready(); len(l) > 0 {
		return l[0]
	}
	return nil
}

func (m *Model) bytes() (n int64) {
	for _, x := range m.ready() {
		n += int64(x.body)
	}
	return n
}

func (m *Model) remove(x *msg) {
	m.messages = slices.DeleteFunc(m.messages, func(y *msg) bool { return y == x })
}

func (m *Model) find(p queue.Pos) *msg {
	for _, x := range m.messages {
		if x.pos == p {
			return x
		}
	}
	return nil
}

func (m *Model) held(s queue.SessionID, p queue.Pos) *msg {
	if x := m.find(p); x != nil && x.holder != nil && x.holder.s.id == s {
		return x
	}
	return nil
}

func (m *Model) kill(x *msg, why dlx.Reason) {
	m.remove(x)
	m.bury(x, why)
}

func (m *Model) bury(x *msg, why dlx.Reason) {
	m.dead[why]++
	if !m.cfg.DeadLetter || m.cfg.DeadLetterReasons != 0 && !m.cfg.DeadLetterReasons.Has(why) {
		return
	}
	m.deaths++
	m.letters = append(m.letters, dlx.Letter{ID: m.deaths, Pos: uint64(x.pos), At: m.now, Index: x.index, Body: x.body, Reason: why})
	m.emit(queue.Effect{Kind: queue.EffectForward, N: m.deaths})
}

// expire kills what is due: everywhere in order of deadline and position, or at
// the head alone.
func (m *Model) expire() {
	if m.cfg.ExpireAtHead {
		for x := m.front(); x != nil && m.due(x); x = m.front() {
			m.kill(x, dlx.Expired)
		}
		return
	}
	l := slices.DeleteFunc(slices.Clone(m.messages), func(x *msg) bool { return x.holder != nil || !m.due(x) })
	slices.SortStableFunc(l, func(a, b *msg) int { return cmp.Compare(m.deadline(a), m.deadline(b)) })
	for _, x := range l {
		m.kill(x, dlx.Expired)
	}
}

func (m *Model) settleDown() {
	m.handOut()
	for _, x := range slices.Clone(m.messages) {
		if x.holder == nil && x.pos >= m.first && m.due(x) {
			m.kill(x, dlx.Expired)
		}
	}
	m.evict()
}

func (m *Model) handOut() {
	for {
		x, c := m.front(), m.turnOf()
		if x == nil || c == nil {
			return
		}
		if x.pos < m.first && m.due(x) {
			m.kill(x, dlx.Expired)
			continue
		}
		m.emit(queue.Effect{Kind: queue.EffectDeliver, Session: c.s.id, Consumer: c.spec.Number, Delivery: m.assign(c, x)})
		m.turn++
		c.turn = m.turn
		m.line()
	}
}

func (m *Model) assign(c *cons, x *msg) queue.Delivery {
	x.acquired++
	c.delivered++
	d := m.delivery(c, x)
	d.Number = c.delivered
	if c.spec.NoAck {
		d.Settled = true
		m.remove(x)
	} else {
		x.holder = c
	}
	return d
}

func (m *Model) delivery(c *cons, x *msg) queue.Delivery {
	return queue.Delivery{
		Ref: queue.Ref{Index: x.index}, Pos: x.pos, Enqueued: x.enqueued, Deadline: m.deadline(x), Consumer: c.spec.Number,
		Failed: x.failed, Acquired: x.acquired - 1, Redelivered: x.acquired > 1,
	}
}

func (m *Model) holds(c *cons) (n uint32) {
	for _, x := range m.messages {
		if x.holder == c {
			n++
		}
	}
	return n
}

func (m *Model) roomy(c *cons) bool {
	if m.cfg.SingleActive && (c != m.active || m.outranked()) {
		return false
	}
	if c.spec.Prefetch > 0 && !c.spec.NoAck && m.holds(c) >= c.spec.Prefetch {
		return false
	}
	return c.spec.Window == 0 || c.delivered-c.credited < uint64(c.spec.Window)
}

func (m *Model) outranked() bool {
	return slices.ContainsFunc(m.consumers, func(c *cons) bool { return m.active != nil && c.spec.Priority > m.active.spec.Priority })
}

// line notes which consumers have got room since it was last called: they go to
// the end of the line in the order of attaching.
func (m *Model) line() {
	for _, c := range m.consumers {
		room := m.roomy(c)
		if room && !c.waiting {
			m.turn++
			c.turn = m.turn
		}
		c.waiting = room
	}
}

// turnOf is the consumer to serve: highest priority with room, longest in line.
func (m *Model) turnOf() *cons {
	var best *cons
	for _, c := range m.consumers {
		if !m.roomy(c) {
			continue
		}
		if best == nil || c.spec.Priority > best.spec.Priority || c.spec.Priority == best.spec.Priority && c.turn < best.turn {
			best = c
		}
	}
	return best
}

func (m *Model) evict() {
	if m.cfg.Overflow != queue.DropHead {
		return
	}
	for _, x := range slices.Clone(m.messages) {
		if x.holder == nil && m.cfg.MaxBytes >= 0 && int64(x.body) > m.cfg.MaxBytes {
			m.kill(x, dlx.MaxLen)
		}
	}
	for l := m.ready(); len(l) > 0; l = m.ready() {
		if !(m.cfg.MaxLength >= 0 && int64(len(l)) > m.cfg.MaxLength || m.cfg.MaxBytes >= 0 && m.bytes() > m.cfg.MaxBytes) {
			return
		}
		lowest := l[0]
		for _, x := range l {
			if m.level(x) < m.level(lowest) {
				lowest = x
			}
		}
		m.kill(lowest, dlx.MaxLen)
	}
}
