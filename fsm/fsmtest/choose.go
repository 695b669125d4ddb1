package fsmtest

import (
	"maps"
	"slices"

	"mayfly/dlx"
	"mayfly/queue"
	"mayfly/ttl"
)

func dlxReason(i int) dlx.Reason { return dlx.Reason(i) }

// entry makes up the next log entry.
func (w *Walk) entry() Entry {
	switch w.rng.IntN(20) {
	case 0:
		w.stamp += int64(w.rng.IntN(5000))
	case 1, 2, 3, 4, 5, 6:
		w.stamp += int64(w.rng.IntN(60))
	case 7:
		w.stamp -= int64(w.rng.IntN(100)) // a leader that lags: state's time must not follow
	}
	e := Entry{Stamp: ttl.Stamp(w.stamp), Lead: w.rng.IntN(50) == 0}
	if w.model.entries == 0 {
		e.Commands = append(e.Commands, Command{Op: Configure, Config: w.cfg})
	}
	for n := w.rng.IntN(7); n > 0; n-- {
		c := w.choose()
		w.Done[c.Op]++
		e.Commands = append(e.Commands, c)
	}
	return e
}

// maxReady keeps walks small: the model is quadratic.
const maxReady = 150

// choose makes up a command.
func (w *Walk) choose() Command {
	if w.rng.IntN(40) == 0 {
		w.join()
	}
	s := w.sessions[w.rng.IntN(len(w.sessions))]
	if s := w.a.Stat(); s.Ready > maxReady {
		return w.number(w.sessions[0], Command{Op: Purge})
	}
	switch n := w.rng.IntN(1000); {
	case n < 380:
		return w.number(s, Command{Op: Publish, Message: w.message()})
	case n < 600:
		return Command{Op: Settle, Session: s.id, Positions: w.positions(s)}
	case n < 650:
		return Command{Op: Reject, Session: s.id, Positions: w.positions(s)}
	case n < 730:
		return Command{Op: Return, Session: s.id, Positions: w.positions(s), Why: queue.Why(1 + w.rng.IntN(6))}
	case n < 800:
		return w.attach(s)
	case n < 830:
		return w.detach(s)
	case n < 880:
		return w.number(s, Command{Op: Get, NoAck: w.rng.IntN(2) == 0})
	case n < 920:
		number := w.anyConsumer(s)
		return Command{Op: Credit, Session: s.id, Spec: queue.ConsumerSpec{Number: number}, Total: uint64(w.rng.IntN(int(s.got[number]) + 2))}
	case n < 930:
		w.cfg = w.config(w.cfg)
		return Command{Op: Configure, Config: w.cfg}
	case n < 945:
		return w.number(s, Command{Op: Tx, Tx: w.tx(s)})
	case n < 955 && len(w.letters) > 0:
		return w.forwarded()
	case n < 970 && len(s.sent) > 0:
		return s.sent[w.rng.IntN(len(s.sent))] // a repeat, of anything
	}
	return w.rare(s)
}

func (w *Walk) rare(s *walkSession) Command {
	switch w.rng.IntN(14) {
	case 0:
		return w.number(s, Command{Op: Purge})
	case 1:
		return w.number(s, Command{Op: Close, IfUnused: w.rng.IntN(3) > 0, IfEmpty: w.rng.IntN(3) > 0})
	case 2, 3, 4, 5:
		if len(w.sessions) > 3 && w.rng.IntN(3) > 0 {
			w.sessions = slices.DeleteFunc(w.sessions, func(o *walkSession) bool { return o == s })
		}
		return Command{Op: SessionClosed, Session: s.id} // its later words come too late
	case 6:
		return Command{Op: NodesBefore, Node: uint32(w.rng.IntN(4))}
	case 7:
		if w.rng.IntN(20) == 0 {
			return Command{Op: NodeGone, Node: uint32(3)}
		}
	}
	return Command{Op: Touch}
}

// number gives a command the session's next number, and remembers it for repeats.
func (w *Walk) number(s *walkSession, c Command) Command {
	s.seq++
	if w.rng.IntN(10) == 0 {
		s.seq += uint64(w.rng.IntN(3))
	}
	c.Session, c.Seq = s.id, s.seq
	if s.sent = append(s.sent, c); len(s.sent) > 30 {
		s.sent = s.sent[10:]
	}
	return c
}

func (w *Walk) message() queue.Message {
	m := queue.Message{Exchange: []byte("x"), Key: []byte("k"), Body: make([]byte, w.rng.IntN(20)), TTL: queue.NoTTL}
	if w.rng.IntN(30) == 0 {
		m.Body = make([]byte, 200)
	}
	switch w.rng.IntN(6) {
	case 0:
		m.TTL = int64(w.rng.IntN(300))
	case 1:
		m.TTL = []int64{0, 1, 10, 5000}[w.rng.IntN(4)]
	}
	if w.rng.IntN(2) == 0 {
		m.HasPriority, m.Priority = true, uint8(w.rng.IntN(6))
	}
	m.Persistent = w.rng.IntN(2) == 0
	return m
}

// positions picks some of what s holds, and now and then what it does not.
func (w *Walk) positions(s *walkSession) []queue.Pos {
	var mine []queue.Pos
	for _, p := range slices.Sorted(maps.Keys(w.granted)) {
		if w.granted[p] == s.id {
			mine = append(mine, p)
		}
	}
	w.rng.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
	mine = mine[:w.rng.IntN(len(mine)+1)]
	for _, p := range mine {
		if w.rng.IntN(4) > 0 {
			delete(w.granted, p)
		}
	}
	if w.rng.IntN(10) == 0 {
		mine = append(mine, queue.Pos(w.rng.IntN(2000)))
	}
	if len(mine) > 0 && w.rng.IntN(10) == 0 {
		mine = append(mine, mine[0])
	}
	return mine
}

func (w *Walk) attach(s *walkSession) Command {
	s.number++
	spec := queue.ConsumerSpec{
		Number: s.number, Tag: "t", Prefetch: uint32(w.rng.IntN(5)), Window: uint32(w.rng.IntN(6)), Priority: int32(w.rng.IntN(3) - 1),
		NoAck: w.rng.IntN(4) == 0, Exclusive: w.rng.IntN(15) == 0,
	}
	if w.rng.IntN(3) == 0 {
		spec.Priority = 0
	}
	s.consumers[s.number] = spec
	return w.number(s, Command{Op: Attach, Spec: spec})
}

func (w *Walk) anyConsumer(s *walkSession) uint32 {
	if l := slices.Sorted(maps.Keys(s.consumers)); len(l) > 0 {
		return l[w.rng.IntN(len(l))]
	}
	return 1
}

func (w *Walk) detach(s *walkSession) Command {
	number := w.anyConsumer(s)
	delete(s.consumers, number)
	return w.number(s, Command{Op: Detach, Spec: queue.ConsumerSpec{Number: number}})
}

func (w *Walk) tx(s *walkSession) queue.Tx {
	var tx queue.Tx
	for n := w.rng.IntN(4); n > 0; n-- {
		m := w.message()
		tx.Publishes = append(tx.Publishes, &m)
	}
	tx.Settles, tx.Rejects, tx.Returns = w.positions(s), w.positions(s), w.positions(s)
	return tx
}

func (w *Walk) forwarded() Command {
	n := 1 + w.rng.IntN(len(w.letters))
	c := Command{Op: Forwarded, IDs: slices.Clone(w.letters[:n]), Cause: dlx.Cause(w.rng.IntN(dlx.Causes))}
	w.letters = w.letters[n:]
	return c
}

// config changes some settings.
func (w *Walk) config(c queue.Config) queue.Config {
	r := w.rng
	c.Name = "q"
	maybe := func(n int, fn func()) {
		if r.IntN(n) == 0 {
			fn()
		}
	}
	pick := func(v ...int64) int64 { return v[r.IntN(len(v))] }
	maybe(2, func() { c.MaxLength = pick(-1, -1, 0, 2, 5, 20) })
	maybe(4, func() { c.MaxBytes = pick(-1, -1, 0, 15, 100, 500) })
	maybe(3, func() { c.Overflow = queue.Overflow(r.IntN(3)) })
	maybe(3, func() { c.MaxPriority = uint8(pick(0, 0, 1, 3, 200)) })
	maybe(8, func() { c.DefaultPriority = uint8(pick(0, 4)) })
	maybe(3, func() { c.TTL = pick(-1, -1, 0, 10, 50, 200, 3000) })
	maybe(6, func() { c.MessageTTLWins = r.IntN(2) == 0 })
	maybe(6, func() { c.TTLCeiling = pick(-1, -1, 40, 400) })
	maybe(6, func() { c.ExpireAtHead = r.IntN(3) == 0 })
	maybe(6, func() { c.Expires = pick(-1, -1, -1, 500, 8000) })
	maybe(5, func() { c.SingleActive = r.IntN(2) == 0 })
	maybe(3, func() { c.DeliveryLimit = pick(-1, 0, 1, 2, 20) })
	maybe(6, func() { c.CountOnlyFailure = r.IntN(2) == 0 })
	maybe(8, func() { c.AutoDelete = r.IntN(3) == 0 })
	maybe(2, func() { c.DeadLetter = r.IntN(2) == 0 })
	maybe(6, func() {
		c.DeadLetterReasons = dlx.Reasons(pick(0, int64(dlx.AllReasons), int64(dlx.Reasons(0).With(dlx.Rejected))))
	})
	return c
}
