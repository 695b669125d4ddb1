package dlx

import (
	"encoding/binary"
	"errors"
)

// Notes is what the broker itself remembers of a message, beside its properties:
// the annotations of an envelope. Clients never see or write them, so a history
// in here can be trusted where an x-death header cannot (D-25, D-26).
//
// All byte slices of parsed notes alias what was parsed.
type Notes struct {
	// BCC are the keys of the header that was removed at publish; the first dead
	// lettering without a key of its own still uses them (D-4).
	BCC [][]byte
	// Rerouted: a dead-letter routing key took the place of all keys, so the CC
	// header, which stays visible, is no longer one.
	Rerouted bool
	// First is where and why it died first; set when Deaths is not empty.
	First Origin
	// Deaths is the history, newest first, one for each pair of queue and reason (D-20).
	Deaths []Death

	other []byte // fields of a later release, kept as they are
}

// Origin is the first death as x-first-death-* tells it (D-23).
type Origin struct {
	Reason   Reason
	Queue    []byte
	Exchange []byte
}

// Death is one element of x-death. Everything but Count and the place in the
// list stays as it was at the first death of the pair (D-21).
type Death struct {
	Queue      []byte
	Reason     Reason
	Count      uint64
	Time       uint64 // seconds
	Exchange   []byte
	Keys       [][]byte
	Expiration []byte // nil when the message had none; present and empty cannot be
}

const notesVersion = 1

// The fields of the notes. Numbers are never reused.
const (
	fieldBCC      = 1
	fieldRerouted = 2
	fieldFirst    = 3
	fieldDeath    = 4
)

// ErrNotes is what annotations that cannot be read give. Only broken storage or
// a later format makes such.
var ErrNotes = errors.New("annotations cannot be read")

// AppendBCC writes the notes of a message that is new and has BCC keys. A
// message without them has no annotations at all.
func AppendBCC(dst []byte, keys [][]byte) []byte {
	if len(keys) == 0 {
		return dst
	}
	dst = append(dst, notesVersion)
	for _, k := range keys {
		dst = appendBlob(append(dst, fieldBCC), k)
	}
	return dst
}

// Append writes notes; empty ones as nothing.
func (n *Notes) Append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, notesVersion)
	for _, k := range n.BCC {
		dst = appendBlob(append(dst, fieldBCC), k)
	}
	if n.Rerouted {
		dst = append(dst, fieldRerouted, 0)
	}
	if len(n.Deaths) > 0 {
		dst = append(dst, fieldFirst)
		dst = binary.AppendUvarint(dst, uint64(1+blobLen(n.First.Queue)+blobLen(n.First.Exchange)))
		dst = append(dst, byte(n.First.Reason))
		dst = appendBlob(appendBlob(dst, n.First.Queue), n.First.Exchange)
	}
	for i := range n.Deaths {
		d := &n.Deaths[i]
		dst = binary.AppendUvarint(append(dst, fieldDeath), uint64(d.size()))
		dst = d.append(dst)
	}
	dst = append(dst, n.other...)
	if len(dst) == start+1 {
		return dst[:start]
	}
	return dst
}

func (d *Death) append(dst []byte) []byte {
	dst = append(dst, byte(d.Reason))
	dst = binary.AppendUvarint(dst, d.Count)
	dst = binary.AppendUvarint(dst, d.Time)
	dst = appendBlob(dst, d.Queue)
	dst = appendBlob(dst, d.Exchange)
	dst = appendBlob(dst, d.Expiration)
	for _, k := range d.Keys {
		dst = appendBlob(dst, k)
	}
	return dst
}

// size is how many bytes append writes.
func (d *Death) size() int {
	n := 1 + uvarintLen(d.Count) + uvarintLen(d.Time) + blobLen(d.Queue) + blobLen(d.Exchange) + blobLen(d.Expiration)
	for _, k := range d.Keys {
		n += blobLen(k)
	}
	return n
}

// Parse reads annotations into n, which is emptied first but keeps its memory.
// nil is the notes of a message that has none.
func (n *Notes) Parse(b []byte) error {
	*n = Notes{BCC: n.BCC[:0], Deaths: n.Deaths[:0]}
	if len(b) == 0 {
		return nil
	}
	if b[0] != notesVersion {
		return ErrNotes
	}
	for b = b[1:]; len(b) > 0; {
		field := b
		value, rest, ok := cutBlob(b[1:])
		if !ok {
			return ErrNotes
		}
		b = rest
		switch field[0] {
		case fieldBCC:
			n.BCC = append(n.BCC, value)
		case fieldRerouted:
			n.Rerouted = true
			ok = len(value) == 0
		case fieldFirst:
			ok = n.First.parse(value)
		case fieldDeath:
			ok = n.parseDeath(value)
		default:
			n.other = append(n.other, field[:len(field)-len(rest)]...)
		}
		if !ok {
			return ErrNotes
		}
	}
	if (n.First.Reason != 0) != (len(n.Deaths) > 0) {
		return ErrNotes
	}
	return nil
}

func (o *Origin) parse(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	o.Reason = Reason(b[0])
	var ok, ok2 bool
	o.Queue, b, ok = cutBlob(b[1:])
	if ok {
		o.Exchange, b, ok2 = cutBlob(b)
	}
	return ok && ok2 && len(b) == 0 && o.Reason.known()
}

func (n *Notes) parseDeath(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	d := Death{Reason: Reason(b[0]), Keys: n.keys()}
	b = b[1:]
	for _, v := range []*uint64{&d.Count, &d.Time} {
		var k int
		if *v, k = binary.Uvarint(b); k <= 0 || k != uvarintLen(*v) {
			return false
		}
		b = b[k:]
	}
	var ok bool
	for _, v := range []*[]byte{&d.Queue, &d.Exchange, &d.Expiration} {
		if *v, b, ok = cutBlob(b); !ok {
			return false
		}
	}
	if len(d.Expiration) == 0 {
		d.Expiration = nil
	}
	for len(b) > 0 {
		var key []byte
		if key, b, ok = cutBlob(b); !ok {
			return false
		}
		d.Keys = append(d.Keys, key)
	}
	n.Deaths = append(n.Deaths, d)
	return d.Reason.known()
}

// keys is the memory for the keys of the next death: what earlier notes left there.
func (n *Notes) keys() [][]byte {
	if k := len(n.Deaths); k < cap(n.Deaths) {
		return n.Deaths[:k+1][k].Keys[:0]
	}
	return nil
}

// record notes a death: a new pair goes to the front, a known one moves there
// and is counted (D-21).
func (n *Notes) record(d Death) {
	if len(n.Deaths) == 0 {
		n.First = Origin{Reason: d.Reason, Queue: d.Queue, Exchange: d.Exchange}
	}
	i := n.pair(d.Queue, d.Reason)
	if i < 0 {
		i = len(n.Deaths)
		d.Count = 1
		d.Keys = append(n.keys(), d.Keys...) // the caller's slice is not kept
		n.Deaths = append(n.Deaths, d)
	} else {
		d = n.Deaths[i]
		d.Count++
	}
	copy(n.Deaths[1:i+1], n.Deaths[:i])
	n.Deaths[0] = d
}

func (n *Notes) pair(queue []byte, r Reason) int {
	for i := range n.Deaths {
		if n.Deaths[i].Reason == r && string(n.Deaths[i].Queue) == string(queue) {
			return i
		}
	}
	return -1
}

// Cycles says whether a copy for that queue has to be dropped because it would
// go round (D-30): it was there before, and nobody rejected it since. It is asked
// after the death at hand was recorded, so a rejection never cycles (D-31).
func (n *Notes) Cycles(target string) bool {
	for i := range n.Deaths {
		switch d := &n.Deaths[i]; {
		case d.Reason == Rejected:
			return false
		case string(d.Queue) == target:
			return true
		}
	}
	return false
}

func (r Reason) known() bool { return r >= Rejected && r <= DeliveryLimit }

func appendBlob(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func blobLen(b []byte) int { return uvarintLen(uint64(len(b))) + len(b) }

func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

// cutBlob reads a length and that many bytes.
func cutBlob(b []byte) (blob, rest []byte, ok bool) {
	size, k := binary.Uvarint(b)
	if k <= 0 || k != uvarintLen(size) || size > uint64(len(b)-k) {
		return nil, nil, false
	}
	end := k + int(size)
	return b[k:end:end], b[end:], true
}
