package fsmtest

import (
	"cmp"
	"maps"
	"slices"

	"mayfly/dlx"
	"mayfly/queue"
)

func (m *Model) command(c *Command) {
	switch c.Op {
	case Configure:
		m.configure(c.Config)
	case Touch:
		m.leaseUsed = max(m.leaseUsed, m.now)
	case Settle, Reject, Return:
		m.end(c.Op, c.Session, c.Positions, c.Why)
	case Credit:
		m.credit(c)
	case SessionClosed:
		m.sessionClosed(c.Session)
	case NodeGone:
		m.nodes[c.Node] = true
		m.endNodes(func(n uint32) bool { return n == c.Node })
	case NodesBefore:
		m.endNodes(func(n uint32) bool { return n > 0 && n < c.Node })
	case Forwarded:
		m.letters = slices.DeleteFunc(m.letters, func(l dlx.Letter) bool { return slices.Contains(c.IDs, l.ID) })
	default:
		m.numbered(c)
	}
	m.line()
}

func (m *Model) numbered(c *Command) {
	s := m.sessions[c.Session]
	if s == nil {
		if m.over[c.Session] || m.nodes[c.Session.Node()] {
			m.emit(queue.Effect{Kind: queue.EffectEnded, Session: c.Session})
			return
		}
		s = &sess{id: c.Session, refused: map[uint64]bool{}}
		m.sessions[c.Session] = s
	}
	if c.Op == Publish || c.Seq <= s.last && s.refused[c.Seq] {
		first := !slices.Contains(m.touched, s)
		if first {
			m.touched = append(m.touched, s)
			s.repeat = c.Seq
		}
		if c.Seq > s.last {
			s.repeat = 0
		} else if s.repeat != 0 {
			s.repeat = max(s.repeat, c.Seq)
		}
	}
	if c.Seq <= s.last {
		m.repeat(s, c.Seq)
		return
	}
	s.last = c.Seq
	switch c.Op {
	case Publish:
		m.publish(s, c)
	case Attach:
		m.attach(s, c)
	case Detach:
		m.detach(s, c)
	case Get:
		m.get(s, c)
	case Purge:
		m.purge(s, c)
	case Close:
		m.close(s, c)
	case Tx:
		m.tx(s, c)
	}
}

func (m *Model) repeat(s *sess, seq uint64) {
	if s.refused[seq] {
		s.denied = append(s.denied, seq)
		return
	}
	if s.answer == nil || s.answer.Seq != seq {
		return
	}
	e := *s.answer
	if e.Found {
		x := m.held(s.id, e.Delivery.Pos)
		e.Found, e.Delivery = false, queue.Delivery{}
		if x != nil {
			e.Found, e.Delivery = true, m.delivery(x.holder, x)
		}
	}
	m.emit(e)
}

func (m *Model) answer(s *sess, e queue.Effect) {
	e.Session = s.id
	s.answer = &e
	m.emit(e)
}

func (m *Model) deny(s *sess, c *Command, why queue.Refusal) {
	m.answer(s, queue.Effect{Kind: queue.EffectRefused, Seq: c.Seq, Refusal: why})
}

func (m *Model) configure(c queue.Config) {
	if m.gone != 0 {
		return
	}
	old := m.cfg
	m.cfg = c
	if c.Expires > 0 && c.Expires != old.Expires {
		m.leaseUsed = max(m.leaseUsed, m.now.Add(1000-max(c.Expires, 0)))
	}
	if old.SingleActive != c.SingleActive {
		m.active = nil
		m.activate()
	}
}

// fits counts what would be ready if n more came.
func (m *Model) fits(n int, bytes int64) bool {
	length, size := int64(len(m.ready())+len(m.letters)+n), m.bytes()+bytes
	for _, l := range m.letters {
		size += int64(l.Body)
	}
	return (m.cfg.MaxLength < 0 || length <= m.cfg.MaxLength) && (m.cfg.MaxBytes < 0 || size <= m.cfg.MaxBytes)
}

func (m *Model) publish(s *sess, c *Command) {
	if m.gone != 0 {
		return
	}
	if m.cfg.Overflow != queue.DropHead && !m.fits(1, int64(len(c.Message.Body))) {
		m.handOut()
		if !m.fits(1, int64(len(c.Message.Body))) {
			s.refused[c.Seq] = true
			s.denied = append(s.denied, c.Seq)
			if m.cfg.Overflow == queue.RejectPublishDLX {
				m.bury(m.message(&c.Message, 0), dlx.MaxLen)
			}
			return
		}
	}
	m.accept(&c.Message)
}

func (m *Model) message(x *queue.Message, p queue.Pos) *msg {
	return &msg{pos: p, index: m.index, body: uint32(len(x.Body)), enqueued: m.now, ttl: x.TTL, priority: x.Priority, hasPrio: x.HasPriority}
}

func (m *Model) accept(x *queue.Message) {
	m.messages = append(m.messages, m.message(x, m.next))
	m.next++
}

func (m *Model) end(op Op, id queue.SessionID, ps []queue.Pos, why queue.Why) {
	for _, p := range ps {
		x := m.held(id, p)
		if x == nil {
			continue
		}
		switch op {
		case Settle:
			m.remove(x)
		case Reject:
			m.kill(x, dlx.Rejected)
		case Return:
			m.takeBack(x, why)
		}
		m.activate()
		m.line()
	}
}

func (m *Model) takeBack(x *msg, why queue.Why) {
	x.holder = nil
	switch why {
	case queue.WhyReject, queue.WhyClosed:
		x.failed++
	case queue.WhyNack, queue.WhyRecover:
		if !m.cfg.CountOnlyFailure {
			x.failed++
		}
	}
	if m.due(x) {
		m.kill(x, dlx.Expired)
	} else if m.cfg.DeliveryLimit >= 0 && int64(x.failed) > m.cfg.DeliveryLimit {
		m.kill(x, dlx.DeliveryLimit)
	}
}

func (m *Model) consumer(s *sess, number uint32) *cons {
	for _, c := range m.consumers {
		if c.s == s && c.spec.Number == number {
			return c
		}
	}
	return nil
}

func (m *Model) credit(c *Command) {
	if s := m.sessions[c.Session]; s != nil {
		if h := m.consumer(s, c.Spec.Number); h != nil && c.Total > h.credited {
			h.credited = min(c.Total, h.delivered)
		}
	}
}

func (m *Model) attach(s *sess, c *Command) {
	if m.gone != 0 {
		m.deny(s, c, queue.RefusedGone)
		return
	}
	if m.consumer(s, c.Spec.Number) == nil {
		exclusive := slices.ContainsFunc(m.consumers, func(o *cons) bool { return o.spec.Exclusive })
		if exclusive || c.Spec.Exclusive && (len(m.consumers) > 0 || m.cfg.SingleActive) {
			m.deny(s, c, queue.RefusedExclusive)
			return
		}
		m.consumers = append(m.consumers, &cons{s: s, spec: c.Spec})
		m.had = true
		m.activate()
	}
	m.answer(s, queue.Effect{Kind: queue.EffectAttached, Seq: c.Seq, Consumer: c.Spec.Number})
}

// activate chooses the single active consumer.
func (m *Model) activate() {
	if !m.cfg.SingleActive || len(m.consumers) == 0 {
		return
	}
	if m.active != nil && (!m.outranked() || m.holds(m.active) > 0) {
		return
	}
	m.active = m.consumers[0]
	for _, c := range m.consumers {
		if c.spec.Priority > m.active.spec.Priority {
			m.active = c
		}
	}
}

func (m *Model) dismiss(h *cons) {
	h.gone = true
	m.consumers = slices.DeleteFunc(m.consumers, func(c *cons) bool { return c == h })
	if m.active == h {
		m.active = nil
	}
}

func (m *Model) detach(s *sess, c *Command) {
	h := m.consumer(s, c.Spec.Number)
	if h != nil {
		m.dismiss(h)
		m.activate()
	}
	m.answer(s, queue.Effect{Kind: queue.EffectDetached, Seq: c.Seq, Consumer: c.Spec.Number})
	m.alone(h != nil)
}

func (m *Model) alone(had bool) {
	if had && m.cfg.AutoDelete && len(m.consumers) == 0 && m.gone == 0 {
		m.finish(queue.GoneAutoDelete)
	}
}

func (m *Model) sessionClosed(id queue.SessionID) {
	if m.sessions[id] == nil {
		m.emit(queue.Effect{Kind: queue.EffectEnded, Session: id})
		return
	}
	m.alone(m.endSession(id, queue.WhyClosed))
}

func (m *Model) endSession(id queue.SessionID, why queue.Why) (had bool) {
	s := m.sessions[id]
	for _, c := range slices.Clone(m.consumers) {
		if c.s == s {
			m.dismiss(c)
			had = true
		}
	}
	for _, x := range slices.Clone(m.messages) {
		if x.holder != nil && x.holder.s == s {
			m.takeBack(x, why)
		}
	}
	delete(m.sessions, id)
	m.over[id] = true
	if slices.Contains(m.touched, s) {
		m.confirm(s)
	}
	m.emit(queue.Effect{Kind: queue.EffectEnded, Session: id})
	m.activate()
	return had
}

func (m *Model) endNodes(match func(uint32) bool) {
	had := false
	for _, id := range slices.Sorted(maps.Keys(m.sessions)) {
		if match(id.Node()) && m.endSession(id, queue.WhyNodeGone) {
			had = true
		}
	}
	m.alone(had)
}

func (m *Model) get(s *sess, c *Command) {
	switch {
	case m.gone != 0:
		m.deny(s, c, queue.RefusedGone)
		return
	case m.cfg.SingleActive:
		m.deny(s, c, queue.RefusedSingleActive)
		return
	}
	m.leaseUsed = max(m.leaseUsed, m.now)
	m.settleDown()
	x := m.front()
	for ; x != nil && m.due(x); x = m.front() {
		m.kill(x, dlx.Expired)
	}
	e := queue.Effect{Kind: queue.EffectGot, Seq: c.Seq}
	if x != nil {
		if s.getter == nil {
			s.getter = &cons{s: s}
		}
		s.getter.spec.NoAck = c.NoAck
		e.Found, e.Delivery = true, m.assign(s.getter, x)
		e.N = uint64(len(m.ready()))
	}
	m.answer(s, e)
}

func (m *Model) purge(s *sess, c *Command) {
	if m.gone != 0 {
		m.deny(s, c, queue.RefusedGone)
		return
	}
	m.settleDown()
	l := m.ready()
	for _, x := range l {
		m.remove(x)
	}
	m.answer(s, queue.Effect{Kind: queue.EffectPurged, Seq: c.Seq, N: uint64(len(l))})
}

func (m *Model) close(s *sess, c *Command) {
	m.settleDown()
	n := len(m.ready())
	switch {
	case m.gone != 0:
		m.deny(s, c, queue.RefusedGone)
	case c.IfUnused && len(m.consumers) > 0:
		m.deny(s, c, queue.RefusedInUse)
	case c.IfEmpty && n > 0:
		m.deny(s, c, queue.RefusedNotEmpty)
	default:
		m.finish(queue.GoneDeleted)
		m.answer(s, queue.Effect{Kind: queue.EffectClosed, Seq: c.Seq, N: uint64(n)})
	}
}

func (m *Model) finish(why queue.GoneReason) {
	m.gone = why
	slices.SortStableFunc(m.consumers, func(a, b *cons) int { return cmp.Compare(b.spec.Priority, a.spec.Priority) })
	for _, c := range m.consumers {
		m.emit(queue.Effect{Kind: queue.EffectCancelled, Session: c.s.id, Consumer: c.spec.Number})
	}
	m.messages, m.consumers, m.active = nil, nil, nil
}

func (m *Model) tx(s *sess, c *Command) {
	if m.gone != 0 {
		m.deny(s, c, queue.RefusedGone)
		return
	}
	if n := m.misfits(c.Tx.Publishes); n > 0 {
		m.answer(s, queue.Effect{Kind: queue.EffectCommitted, Seq: c.Seq, N: uint64(n)})
		return
	}
	for _, x := range c.Tx.Publishes {
		m.accept(x)
	}
	m.end(Settle, s.id, c.Tx.Settles, 0)
	m.end(Reject, s.id, c.Tx.Rejects, 0)
	m.end(Return, s.id, c.Tx.Returns, queue.WhyNack)
	m.answer(s, queue.Effect{Kind: queue.EffectCommitted, Seq: c.Seq})
}

func (m *Model) misfits(xs []*queue.Message) int {
	if m.cfg.Overflow == queue.DropHead || len(xs) == 0 {
		return 0
	}
	var sum int64
	for _, x := range xs {
		sum += int64(len(x.Body))
	}
	if m.fits(len(xs), sum) {
		return 0
	}
	m.handOut()
	if m.fits(len(xs), sum) {
		return 0
	}
	fit, taken := 0, int64(0)
	for _, x := range xs {
		if b := taken + int64(len(x.Body)); m.fits(fit+1, b) {
			fit, taken = fit+1, b
		}
	}
	return len(xs) - fit
}
