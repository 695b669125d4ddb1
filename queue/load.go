package queue

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"mayfly/dlx"
	"mayfly/ttl"
)

const maxField = 64 << 20 // bytes of one field of an image; a session with a million consumers stays below

// loader rebuilds a queue from an image.
type loader struct {
	q       *Queue
	holders []*holder // by ordinal
	active  bool
	lastID  SessionID
	any     bool // a session was read
	last    Pos
	next    Pos // of the scalars; the slab's own runs along while messages are put
	seen    [8]bool

	lastLetter uint64 // greatest letter ID ever used
}

// Load reads an image. It refuses what does not fit together, and takes memory
// only for bytes that are really there.
func Load(r io.Reader) (*Queue, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	l := &loader{q: New()}
	for {
		field, body, err := readField(in)
		if err != nil {
			return nil, fmt.Errorf("read queue image: %w", err)
		}
		s := source{b: body}
		done, err := l.field(field, &s)
		if err == nil && (s.bad || len(s.b) > 0) {
			err = errDamaged
		}
		if err != nil {
			return nil, fmt.Errorf("read queue image, field %d: %w", field, err)
		}
		if done {
			return l.q, nil
		}
	}
}

func readField(in *bufio.Reader) (byte, []byte, error) {
	field, err := in.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return 0, nil, err
	}
	if n > maxField {
		return 0, nil, errDamaged
	}
	body, err := io.ReadAll(io.LimitReader(in, int64(n)))
	if err == nil && uint64(len(body)) < n {
		err = io.ErrUnexpectedEOF
	}
	return field, body, err
}

func (l *loader) field(field byte, s *source) (done bool, err error) {
	if int(field) >= len(l.seen) {
		return false, errDamaged
	}
	repeats := field == imgSession || field == imgMessages || field == imgLetters
	if l.seen[field] && !repeats || field != imgConfig && !l.seen[imgConfig] || field > imgScalars && !l.seen[imgScalars] {
		return false, errDamaged
	}
	l.seen[field] = true
	switch field {
	case imgConfig:
		l.q.cfg, err = ParseConfig(s.b)
		s.b = nil
		l.q.lanes = make([]lane, int(l.q.cfg.MaxPriority)+1)
	case imgScalars:
		l.scalars(s)
	case imgCounters:
		for _, v := range l.q.counters.list() {
			if len(s.b) > 0 { // an older image has fewer
				*v = s.uvarint()
			}
		}
	case imgSession:
		l.session(s)
	case imgEnded:
		for n := s.count(); n > 0 && !s.bad; n-- {
			l.q.ended = append(l.q.ended, SessionID(s.uvarint()))
		}
		for n := s.count(); n > 0 && !s.bad; n-- {
			l.q.goneNodes = append(l.q.goneNodes, s.u32())
		}
		s.bad = s.bad || len(l.q.ended) > maxEnded || len(l.q.goneNodes) > maxGoneNodes
	case imgMessages:
		l.messages(s)
	case imgLetters:
		l.box(s)
	case imgEnd:
		return true, l.finish(s)
	}
	return false, err
}

func (l *loader) scalars(s *source) {
	q := l.q
	q.now = ttl.Stamp(s.limited(maxSetting * 2))
	q.lease.Term = int64(s.limited(maxSetting))
	q.lease.Used = ttl.Stamp(s.limited(maxSetting * 2))
	q.gone = GoneReason(s.limited(uint64(GoneExpired)))
	l.next = Pos(s.limited(maxPos))
	q.births, q.turns, q.epoch, q.digest, q.entries = s.uvarint(), s.uvarint(), s.uvarint(), s.uvarint(), s.uvarint()
	l.lastLetter = s.uvarint()
	s.bad = s.bad || q.now < 1 || l.next < 1
}

// maxPos leaves room for the marks that fold puts above positions.
const maxPos = 1 << 48

func (l *loader) session(s *source) {
	q := l.q
	se := &session{id: SessionID(s.uvarint()), last: s.uvarint()}
	if l.any && se.id <= l.lastID {
		s.bad = true
		return
	}
	l.any, l.lastID = true, se.id
	for n := s.count(); n > 0 && !s.bad; n-- {
		from := s.uvarint()
		se.refused = append(se.refused, span{from, from + s.uvarint()})
	}
	a := &se.answer
	a.kind, a.refusal = Kind(s.byte()), Refusal(s.byte())
	a.seq, a.n, a.pos, a.consumer = s.uvarint(), s.uvarint(), Pos(s.uvarint()), s.u32()
	for n := s.count(); n > 0 && !s.bad; n-- {
		l.holder(se, s)
	}
	if q.sessions == nil {
		q.sessions = make(map[SessionID]*session)
	}
	q.sessions[se.id] = se
}

func (l *loader) holder(se *session, s *source) {
	flags := s.byte()
	spec := ConsumerSpec{Tag: string(s.bytes())}
	priority := s.varint()
	spec.Number, spec.Prefetch, spec.Window = s.u32(), s.u32(), s.u32()
	spec.Priority = int32(priority)
	spec.NoAck, spec.Exclusive = flags&holderNoAck != 0, flags&holderExclusive != 0
	h := l.q.newHolder(se, spec)
	h.born, h.delivered, h.credited, h.turn = s.uvarint(), s.uvarint(), s.uvarint(), s.uvarint()
	h.gone = flags&holderGone != 0
	h.inRing = flags&holderInRing != 0 // linked by finish
	getter := spec.Number == 0
	s.bad = s.bad || int64(spec.Priority) != priority || flags >= 1<<5 || h.credited > h.delivered ||
		getter && flags&^holderNoAck != 0 || h.gone && flags&(holderActive|holderInRing) != 0 || h.inRing != (h.turn > 0)
	se.holders = append(se.holders, h)
	l.holders = append(l.holders, h)
	if getter || h.gone {
		return
	}
	l.q.consumers = append(l.q.consumers, h)
	if spec.Exclusive {
		l.q.exclusive = h
	}
	if flags&holderActive != 0 {
		s.bad = s.bad || l.active
		l.active, l.q.active = true, h
	}
}

func (l *loader) messages(s *source) {
	last := message{}
	p := Pos(0)
	for len(s.b) > 0 && !s.bad {
		p += Pos(s.limited(maxPos))
		m := message{flags: stateReady, ttl: NoTTL}
		holder := m.load(s, &last)
		if s.bad || p <= l.last || p >= l.next || m.flags&stateMask == stateHeld && holder >= uint64(len(l.holders)) {
			s.bad = true
			return
		}
		last, l.last = m, p
		last.holder = 0
		l.put(p, m, holder)
	}
}

func (m *message) load(s *source, last *message) (holder uint64) {
	flags := s.byte()
	m.index = last.index + uint64(s.varint())
	m.off = s.u32()
	if m.index == last.index {
		m.off += last.off
	}
	m.size, m.body = s.u32(), s.u32()
	m.enqueued = last.enqueued + ttl.Stamp(s.varint())
	if flags&imgPersistent != 0 {
		m.flags |= flagPersistent
	}
	if flags&imgPriority != 0 {
		m.flags |= flagPriority
		m.priority = s.byte()
	}
	if flags&imgTTL != 0 {
		m.ttl = int64(s.limited(maxSetting))
	}
	if flags&imgTried != 0 {
		m.acquired, m.failed = s.u32(), uint16(s.limited(maxFailed))
	}
	if flags&imgHeld != 0 {
		m.setState(stateHeld)
		holder = s.uvarint()
	}
	s.bad = s.bad || flags >= 1<<5 || m.enqueued < 1 || m.enqueued > maxSetting*2
	return holder
}

func (l *loader) put(p Pos, m message, holder uint64) {
	q := l.q
	q.slab.put(p, m)
	at := q.slab.mut(p)
	if m.state() == stateHeld {
		q.hold(l.holders[holder], p, at)
		return
	}
	q.join(p, at)
	if q.index.Add(q.indexKey(at), uint64(p)) {
		at.flags |= flagIndexed
	}
}

func (l *loader) box(s *source) {
	for len(s.b) > 0 && !s.bad {
		x := dlx.Letter{
			ID: s.uvarint(), Pos: s.uvarint(), At: ttl.Stamp(s.uvarint()), Index: s.uvarint(),
			Off: s.u32(), Size: s.u32(), Body: s.u32(), Reason: dlx.Reason(s.limited(uint64(dlx.DeliveryLimit))),
		}
		if s.bad || !l.keep(x) {
			s.bad = true
			return
		}
	}
}

// keep puts a letter into the box. The greatest ID ever used is known already and
// must not be exceeded; the box learns it at the end.
func (l *loader) keep(x dlx.Letter) bool {
	return x.ID <= l.lastLetter && l.q.letters.Put(x)
}

func (l *loader) finish(s *source) error {
	q := l.q
	if !l.seen[imgConfig] || !l.seen[imgScalars] || !l.seen[imgCounters] || !l.seen[imgEnded] {
		return errDamaged
	}
	if s.uvarint() != q.slab.count || s.uvarint() != uint64(q.letters.Len()) || s.bad {
		return errDamaged
	}
	q.slab.next = l.next
	q.letters.SetLast(l.lastLetter)
	slices.SortFunc(q.consumers, byRank)
	rows := slices.DeleteFunc(slices.Clone(q.consumers), func(h *holder) bool { return !h.inRing })
	slices.SortFunc(rows, func(a, b *holder) int { return cmp.Compare(a.turn, b.turn) })
	turns := q.turns
	for _, h := range rows {
		turn := h.turn
		q.lineUp(h)
		h.turn = turn
	}
	q.turns = turns
	return q.Check()
}
