package fsm

import (
	"encoding/binary"
	"errors"

	"mayfly/queue"
)

// An envelope is what a message carries to its consumer, in one piece inside the
// entry, so that a queue.Ref can point at it:
//
//	four lengths (exchange, key, annotations, props), uvarint | the four | body

var errEnvelope = errors.New("damaged envelope")

func uvarintLen(v uint64) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}

func envelopeSize(m *queue.Message) int {
	n := len(m.Exchange) + len(m.Key) + len(m.Annotations) + len(m.Props) + len(m.Body)
	return n + uvarintLen(uint64(len(m.Exchange))) + uvarintLen(uint64(len(m.Key))) +
		uvarintLen(uint64(len(m.Annotations))) + uvarintLen(uint64(len(m.Props)))
}

func appendEnvelope(dst []byte, m *queue.Message) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(m.Exchange)))
	dst = binary.AppendUvarint(dst, uint64(len(m.Key)))
	dst = binary.AppendUvarint(dst, uint64(len(m.Annotations)))
	dst = binary.AppendUvarint(dst, uint64(len(m.Props)))
	dst = append(dst, m.Exchange...)
	dst = append(dst, m.Key...)
	dst = append(dst, m.Annotations...)
	dst = append(dst, m.Props...)
	return append(dst, m.Body...)
}

// ParseEnvelope takes an envelope apart; the parts alias b.
func ParseEnvelope(b []byte) (queue.Envelope, error) {
	var n [4]int
	at := 0
	for i := range n {
		v, used := binary.Uvarint(b[at:])
		if used <= 0 || v > uint64(len(b)) {
			return queue.Envelope{}, errEnvelope
		}
		n[i] = int(v)
		at += used
	}
	if n[0]+n[1]+n[2]+n[3] > len(b)-at {
		return queue.Envelope{}, errEnvelope
	}
	var e queue.Envelope
	cut := func(n int) []byte {
		part := b[at : at+n : at+n]
		at += n
		return part
	}
	e.Exchange, e.Key, e.Annotations, e.Props = cut(n[0]), cut(n[1]), cut(n[2]), cut(n[3])
	e.Body = cut(len(b) - at)
	return e, nil
}
