package queue

import (
	"encoding/binary"
	"io"

	"mayfly/dlx"
)

// Fields of an image. Numbers are never reused; one that is absent has the value
// of an empty queue. Each is written as number, length, content.
const (
	imgEnd      = 0 // totals; the last field, by which a cut image is recognised
	imgConfig   = 1
	imgScalars  = 2
	imgCounters = 3
	imgSession  = 4 // one each, by ascending id
	imgEnded    = 5
	imgMessages = 6 // blocks, by ascending position
	imgLetters  = 7 // blocks, by ascending id
)

const blockMessages = 1024 // messages or letters in one field

// Image is a queue's whole state at one moment, to be written at leisure: it
// shares chunks with the queue, which copies one before it next changes it, so an
// image may be written by another goroutine while the queue goes on.
type Image struct {
	head     []byte // all fields but messages and letters
	slab     *slab
	ordinals []uint32 // by slot: the holder's ordinal in the image, which does not depend on slots
	letters  dlx.Pending
}

// Image takes the state. It must not be called between Begin and End.
func (q *Queue) Image() *Image {
	im := &Image{slab: q.slab.freeze(), ordinals: make([]uint32, len(q.holders)), letters: q.letters.Clone()}
	b := appendField(nil, imgConfig, AppendConfig(nil, &q.cfg))
	b = appendField(b, imgScalars, q.appendScalars(nil))
	b = appendField(b, imgCounters, q.counters.append(nil))
	var body []byte
	ordinal := uint32(0)
	for _, id := range q.sessionIDs() {
		s := q.sessions[id]
		for _, h := range s.holders {
			im.ordinals[h.slot] = ordinal
			ordinal++
		}
		body = q.appendSession(body[:0], s)
		b = appendField(b, imgSession, body)
	}
	im.head = appendField(b, imgEnded, q.appendEnded(nil))
	return im
}

func appendField(dst []byte, field byte, content []byte) []byte {
	dst = binary.AppendUvarint(append(dst, field), uint64(len(content)))
	return append(dst, content...)
}

func (q *Queue) appendScalars(b []byte) []byte {
	for _, v := range [...]uint64{
		uint64(q.now), uint64(q.lease.Term), uint64(q.lease.Used), uint64(q.gone), uint64(q.slab.next),
		q.births, q.turns, q.epoch, q.digest, q.entries, q.letters.Last(),
	} {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// list names the counters in the order of the image; new ones go to the end.
func (c *Counters) list() []*uint64 {
	l := []*uint64{&c.Enqueued, &c.Refused, &c.Assigned, &c.Returned, &c.Settled, &c.Purged, &c.Deleted, &c.Letters, &c.Forwarded}
	for i := range c.Deaths {
		l = append(l, &c.Deaths[i])
	}
	for i := range c.Dropped {
		l = append(l, &c.Dropped[i])
	}
	return l
}

func (c *Counters) append(b []byte) []byte {
	for _, v := range c.list() {
		b = binary.AppendUvarint(b, *v)
	}
	return b
}

func (q *Queue) appendSession(b []byte, s *session) []byte {
	b = binary.AppendUvarint(b, uint64(s.id))
	b = binary.AppendUvarint(b, s.last)
	b = binary.AppendUvarint(b, uint64(len(s.refused)))
	for _, r := range s.refused {
		b = binary.AppendUvarint(b, r.from)
		b = binary.AppendUvarint(b, r.to-r.from)
	}
	a := &s.answer
	b = append(b, byte(a.kind), byte(a.refusal))
	b = binary.AppendUvarint(b, a.seq)
	b = binary.AppendUvarint(b, a.n)
	b = binary.AppendUvarint(b, uint64(a.pos))
	b = binary.AppendUvarint(b, uint64(a.consumer))
	b = binary.AppendUvarint(b, uint64(len(s.holders)))
	for _, h := range s.holders {
		b = h.append(b, h == q.active)
	}
	return b
}

const (
	holderNoAck = 1 << iota
	holderExclusive
	holderGone
	holderActive
	holderInRing
)

func (h *holder) append(b []byte, active bool) []byte {
	flags := byte(0)
	for i, on := range [...]bool{h.spec.NoAck, h.spec.Exclusive, h.gone, active, h.inRing} {
		if on {
			flags |= 1 << i
		}
	}
	b = append(b, flags)
	b = appendString(b, h.spec.Tag)
	b = binary.AppendVarint(b, int64(h.spec.Priority))
	turn := uint64(0)
	if h.inRing {
		turn = h.turn
	}
	for _, v := range [...]uint64{uint64(h.spec.Number), uint64(h.spec.Prefetch), uint64(h.spec.Window), h.born, h.delivered, h.credited, turn} {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

func (q *Queue) appendEnded(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(q.ended)))
	for _, id := range q.ended {
		b = binary.AppendUvarint(b, uint64(id))
	}
	b = binary.AppendUvarint(b, uint64(len(q.goneNodes)))
	for _, n := range q.goneNodes {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// WriteTo writes the image. Equal states give equal bytes.
func (im *Image) WriteTo(w io.Writer) (int64, error) {
	out := imageWriter{w: w}
	out.write(im.head)
	im.writeMessages(&out)
	im.writeLetters(&out)
	totals := binary.AppendUvarint(nil, im.slab.count)
	totals = binary.AppendUvarint(totals, uint64(im.letters.Len()))
	out.write(appendField(nil, imgEnd, totals))
	return out.n, out.err
}

type imageWriter struct {
	w   io.Writer
	n   int64
	err error
}

func (o *imageWriter) write(b []byte) {
	if o.err == nil {
		var n int
		n, o.err = o.w.Write(b)
		o.n += int64(n)
	}
}

func (im *Image) writeMessages(out *imageWriter) {
	var block, frame []byte
	n := 0
	last := message{}
	lastPos := Pos(0)
	flush := func() {
		if n > 0 {
			frame = appendField(frame[:0], imgMessages, block)
			out.write(frame)
		}
		block, n, last, lastPos = block[:0], 0, message{}, 0
	}
	im.slab.each(func(p Pos, m *message) bool {
		block = binary.AppendUvarint(block, uint64(p-lastPos))
		block = m.append(block, &last, im.ordinals)
		last, lastPos = *m, p
		if n++; n == blockMessages {
			flush()
		}
		return out.err == nil
	})
	flush()
}

// What stands in the flags byte of a message in an image.
const (
	imgHeld       = 1 << 0
	imgPersistent = 1 << 1
	imgPriority   = 1 << 2
	imgTTL        = 1 << 3
	imgTried      = 1 << 4 // has counts
)

// append writes m as the difference to its predecessor in the block.
func (m *message) append(b []byte, last *message, ordinals []uint32) []byte {
	flags := byte(0)
	for i, on := range [...]bool{m.state() == stateHeld, m.has(flagPersistent), m.has(flagPriority), m.ttl >= 0, m.acquired > 0} {
		if on {
			flags |= 1 << i
		}
	}
	b = append(b, flags)
	b = binary.AppendVarint(b, int64(m.index-last.index))
	off := m.off
	if m.index == last.index {
		off -= last.off // messages of one entry follow each other
	}
	b = binary.AppendUvarint(b, uint64(off))
	b = binary.AppendUvarint(b, uint64(m.size))
	b = binary.AppendUvarint(b, uint64(m.body))
	b = binary.AppendVarint(b, int64(m.enqueued-last.enqueued))
	if flags&imgPriority != 0 {
		b = append(b, m.priority)
	}
	if flags&imgTTL != 0 {
		b = binary.AppendUvarint(b, uint64(m.ttl))
	}
	if flags&imgTried != 0 {
		b = binary.AppendUvarint(b, uint64(m.acquired))
		b = binary.AppendUvarint(b, uint64(m.failed))
	}
	if flags&imgHeld != 0 {
		b = binary.AppendUvarint(b, uint64(ordinals[m.holder]))
	}
	return b
}

func (im *Image) writeLetters(out *imageWriter) {
	var block, frame []byte
	n := 0
	for l := range im.letters.All() {
		for _, v := range [...]uint64{l.ID, l.Pos, uint64(l.At), l.Index, uint64(l.Off), uint64(l.Size), uint64(l.Body), uint64(l.Reason)} {
			block = binary.AppendUvarint(block, v)
		}
		if n++; n == blockMessages {
			frame = appendField(frame[:0], imgLetters, block)
			out.write(frame)
			block, n = block[:0], 0
		}
	}
	if n > 0 {
		out.write(appendField(frame[:0], imgLetters, block))
	}
}
