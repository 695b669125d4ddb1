package queue

import (
	"maps"
	"slices"
)

// Bounds of what is remembered of sessions. Both are reached only by clients that
// churn, and then the oldest goes.
const (
	maxRefusedSpans = 256  // runs of refused numbers a session remembers
	maxEnded        = 1024 // sessions remembered as over
	maxGoneNodes    = 256  // nodes remembered as gone
)

// session is one channel's standing with this queue: the producer whose numbers
// are known (design.md, principle 4), and the owner of consumers.
type session struct {
	id      SessionID
	last    uint64    // greatest number applied; anything up to it is a repeat
	refused []span    // which of them the queue refused, ascending
	answer  answer    // to the last numbered command that was no publish
	holders []*holder // consumers in order of attaching, and the gets; gone ones too while they hold
	touched bool      // it published: a Confirm is due at the end of this Apply
	repeat  uint64    // greatest number it published again in this Apply, if it published nothing new; else 0
	denied  []uint64  // publishes refused in this Apply, told right before the Confirm
}

// span is a run of numbers, both ends included.
type span struct{ from, to uint64 }

// answer is what a repeat of a numbered command is told again.
type answer struct {
	seq      uint64
	n        uint64
	pos      Pos // of what a get took, when it is still held
	kind     Kind
	refusal  Refusal
	consumer uint32
}

// consumer finds an attached consumer by its number.
func (s *session) consumer(number uint32) *holder {
	for _, h := range s.holders {
		if h.spec.Number == number && !h.gone {
			return h
		}
	}
	return nil
}

// refuse notes a number that was refused.
func (s *session) refuse(seq uint64) {
	if n := len(s.refused); n > 0 && s.refused[n-1].to+1 == seq {
		s.refused[n-1].to = seq
		return
	}
	if len(s.refused) == maxRefusedSpans {
		s.refused = slices.Delete(s.refused, 0, maxRefusedSpans/4)
	}
	s.refused = append(s.refused, span{seq, seq})
}

func (s *session) wasRefused(seq uint64) bool {
	for i := len(s.refused) - 1; i >= 0; i-- {
		if r := s.refused[i]; seq >= r.from {
			return seq <= r.to
		}
	}
	return false
}

// find gives a session that is known, else nil.
func (q *Queue) find(id SessionID) *session {
	if q.recent != nil && q.recent.id == id {
		return q.recent
	}
	s := q.sessions[id]
	if s != nil {
		q.recent = s
	}
	return s
}

// open gives a session, making it on its first word. nil means that the session
// is over: what comes from it now was sent before that and must change nothing,
// or a resent publish would be enqueued a second time.
func (q *Queue) open(id SessionID) *session {
	if s := q.find(id); s != nil {
		return s
	}
	if slices.Contains(q.ended, id) || slices.Contains(q.goneNodes, id.Node()) {
		e := q.effect(EffectEnded)
		e.Session = id
		return nil
	}
	s := &session{id: id}
	if q.sessions == nil {
		q.sessions = make(map[SessionID]*session)
	}
	q.sessions[id] = s
	q.recent = s
	return s
}

// number takes the numbered command seq of a session in. fresh is false for a
// repeat, which has been answered by the time number returns, and for a session
// that is over (s is nil).
func (q *Queue) number(id SessionID, seq uint64) (s *session, fresh bool) {
	if s = q.open(id); s == nil {
		return nil, false
	}
	if seq == 0 {
		return s, true // not numbered: no repeat is recognised and no answer expected
	}
	if seq > s.last {
		s.last = seq
		return s, true
	}
	q.again(s, seq)
	return s, false
}

// touch makes sure that s gets a Confirm at the end of this Apply, for the repeat
// seq at least. If there are only repeats it goes no further, though more is known:
// of those still to come some were refused, and a Confirm that covers them must
// have told so before.
func (q *Queue) touch(s *session, seq uint64, fresh bool) {
	if !s.touched {
		s.touched, s.repeat = true, seq
		q.touched = append(q.touched, s)
	}
	if fresh {
		s.repeat = 0
	} else if s.repeat != 0 {
		s.repeat = max(s.repeat, seq)
	}
}

// again answers a repeat as it was answered before. The Confirm comes at the end.
func (q *Queue) again(s *session, seq uint64) {
	if s.wasRefused(seq) {
		q.touch(s, seq, false)
		s.denied = append(s.denied, seq)
		return
	}
	a := &s.answer
	if a.seq != seq {
		return
	}
	if a.kind == EffectRefused {
		q.emitRefused(s, seq, a.refusal)
		return
	}
	e := q.effect(a.kind)
	e.Session, e.Seq, e.N, e.Consumer = s.id, seq, a.n, a.consumer
	if m := q.slab.get(a.pos); m != nil && m.state() == stateHeld && q.holders[m.holder].session == s {
		e.Found = true
		e.Delivery = q.assigned(a.pos, m)
	}
}

// reply answers the numbered command seq and remembers the answer.
func (q *Queue) reply(s *session, seq uint64, kind Kind, n uint64, consumer uint32) *Effect {
	s.answer = answer{seq: seq, kind: kind, n: n, consumer: consumer}
	e := q.effect(kind)
	e.Session, e.Seq, e.N, e.Consumer = s.id, seq, n, consumer
	return e
}

// deny answers the numbered command seq with a refusal and remembers it.
func (q *Queue) deny(s *session, seq uint64, why Refusal) {
	s.answer = answer{seq: seq, kind: EffectRefused, refusal: why}
	q.emitRefused(s, seq, why)
}

func (q *Queue) emitRefused(s *session, seq uint64, why Refusal) {
	e := q.effect(EffectRefused)
	e.Session, e.Seq, e.Refusal = s.id, seq, why
}

// confirmAll answers, once each, the sessions that sent numbered commands.
func (q *Queue) confirmAll() {
	for i, s := range q.touched {
		s.touched = false
		q.touched[i] = nil
		if q.sessions[s.id] != s {
			continue // ended in this very Apply: confirmed by forget, before its Ended
		}
		q.confirm(s)
	}
	q.touched = q.touched[:0]
}

func (q *Queue) confirm(s *session) {
	for _, seq := range s.denied {
		q.emitRefused(s, seq, RefusedFull)
	}
	s.denied = s.denied[:0]
	e := q.effect(EffectConfirm)
	e.Session, e.Seq = s.id, s.last
	if s.repeat != 0 {
		e.Seq = s.repeat
	}
}

// forget drops a session and remembers that it is over.
func (q *Queue) forget(s *session) {
	delete(q.sessions, s.id)
	if q.recent == s {
		q.recent = nil
	}
	if len(q.ended) == maxEnded {
		q.ended = slices.Delete(q.ended, 0, maxEnded/4)
	}
	q.ended = append(q.ended, s.id)
	if s.touched {
		q.confirm(s)
	}
	e := q.effect(EffectEnded)
	e.Session = s.id
}

// sessionIDs lists the known sessions in ascending order.
func (q *Queue) sessionIDs() []SessionID { return slices.Sorted(maps.Keys(q.sessions)) }
