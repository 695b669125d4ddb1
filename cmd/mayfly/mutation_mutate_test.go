package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
)

// ending is how a client leaves after its last octet.
type ending uint8

const (
	endHalf  ending = iota // it says that nothing follows, and reads to the end
	endReset               // it is gone, with a reset
)

// mutant is a session changed at random, ready to be replayed.
type mutant struct {
	what  string // for messages: session and what was done to it
	parts []part
	paced bool // waits for the server as the recorded client did
	end   ending
}

// mutate makes mutant n of a run: the same seed and number give the same octets.
func mutate(takes []take, seed, n uint64) mutant {
	m := &mutation{rand.New(rand.NewPCG(seed, n)), takes}
	from := takes[m.rng.IntN(len(takes))]
	out := mutant{what: from.name, parts: slices.Clone(from.parts), paced: m.rng.IntN(3) > 0}
	if m.rng.IntN(5) == 0 {
		out.end = endReset
	}
	for range 1 + m.rng.IntN(3) {
		k := kinds[m.rng.IntN(len(kinds))]
		out.parts = k.change(m, out.parts)
		out.what += " " + k.name
	}
	return out
}

// named puts the replayer's number in place of the token. Lengths stay as they are.
func (m mutant) named(number int) mutant {
	own := fmt.Appendf(nil, "%0*d", len(token), number)
	m.parts = slices.Clone(m.parts)
	for i := range m.parts {
		m.parts[i].data = bytes.ReplaceAll(m.parts[i].data, []byte(token), own)
	}
	return m
}

func (m mutant) octets() []byte {
	var b []byte
	for _, p := range m.parts {
		b = append(b, p.data...)
	}
	return b
}

// mutation is one run of changes. Parts are shared with the recording: who
// changes octets clones them first.
type mutation struct {
	rng   *rand.Rand
	takes []take
}

// kinds are what can happen to a session.
var kinds = []struct {
	name   string
	change func(m *mutation, ps []part) []part
}{
	{"flip", (*mutation).flip}, {"flip", (*mutation).flip}, {"byte", (*mutation).replace}, {"byte", (*mutation).replace},
	{"delete", (*mutation).remove}, {"insert", (*mutation).insert}, {"repeat", (*mutation).repeat},
	{"frame-size", (*mutation).frameSize}, {"length", (*mutation).length}, {"length", (*mutation).length},
	{"truncate", (*mutation).truncate}, {"swap", (*mutation).swap}, {"drop-frame", (*mutation).dropFrame},
	{"double-frame", (*mutation).doubleFrame}, {"move-channel", (*mutation).moveChannel},
	{"frame-type", (*mutation).frameType}, {"splice", (*mutation).splice}, {"foreign", (*mutation).foreign},
}

// pick chooses a part, mostly behind the handshake: what comes after a broken
// handshake tests nothing.
func (m *mutation) pick(ps []part) int {
	if len(ps) > firstFree && m.rng.IntN(8) > 0 {
		return firstFree + m.rng.IntN(len(ps)-firstFree)
	}
	return m.rng.IntN(len(ps))
}

// at chooses an octet of a part, mostly near its start: that is where methods and
// headers have their fields, and bodies are long.
func (m *mutation) at(data []byte) int {
	if m.rng.IntN(4) > 0 {
		return m.rng.IntN(min(len(data), 64))
	}
	return m.rng.IntN(len(data))
}

// edit gives the chosen part's own copy of its octets to change.
func (m *mutation) edit(ps []part, change func(data []byte) []byte) []part {
	i := m.pick(ps)
	if len(ps[i].data) == 0 {
		return ps
	}
	ps[i].data = change(slices.Clone(ps[i].data))
	return ps
}

func (m *mutation) flip(ps []part) []part {
	return m.edit(ps, func(data []byte) []byte {
		data[m.at(data)] ^= 1 << m.rng.IntN(8)
		return data
	})
}

func (m *mutation) replace(ps []part) []part {
	return m.edit(ps, func(data []byte) []byte {
		data[m.at(data)] = m.octet()
		return data
	})
}

// octet is one that parsers care about, or any.
func (m *mutation) octet() byte {
	known := []byte{0, 1, 0x7F, 0x80, 0xFF, 0xCE, 'F', 'A', 'S', 'V', 'l', 't'}
	if i := m.rng.IntN(2 * len(known)); i < len(known) {
		return known[i]
	}
	return byte(m.rng.Uint32())
}

// span is a short piece of data.
func (m *mutation) span(data []byte) (from, to int) {
	from = m.at(data)
	return from, min(from+1+m.rng.IntN(16), len(data))
}

func (m *mutation) remove(ps []part) []part {
	return m.edit(ps, func(data []byte) []byte {
		from, to := m.span(data)
		return slices.Delete(data, from, to)
	})
}

func (m *mutation) insert(ps []part) []part {
	return m.edit(ps, func(data []byte) []byte {
		piece := make([]byte, 1+m.rng.IntN(32))
		for i := range piece {
			piece[i] = m.octet()
		}
		return slices.Insert(data, m.at(data), piece...)
	})
}

func (m *mutation) repeat(ps []part) []part {
	return m.edit(ps, func(data []byte) []byte {
		from, to := m.span(data)
		return slices.Insert(data, to, bytes.Repeat(data[from:to], 1+m.rng.IntN(8))...)
	})
}

// size is a length that may hurt.
func (m *mutation) size() uint32 {
	known := []uint32{0, 1, 7, 8, 255, 256, 4095, 4096, 65535, 131064, 131072, 131073, 1 << 24, 1<<31 - 1, 1 << 31, 1<<32 - 1}
	if i := m.rng.IntN(2 * len(known)); i < len(known) {
		return known[i]
	}
	return m.rng.Uint32N(1 << 18)
}

func (m *mutation) frameSize(ps []part) []part {
	return m.edit(ps, func(data []byte) []byte {
		if len(data) >= 7 {
			size := m.size()
			if m.rng.IntN(2) == 0 {
				size = binary.BigEndian.Uint32(data[3:]) + uint32(m.rng.IntN(9)) - 4
			}
			binary.BigEndian.PutUint32(data[3:], size)
		}
		return data
	})
}

// length changes what may be a length, a number or a tag within the arguments,
// and sometimes all eight octets of what may be a body size or a delivery tag.
func (m *mutation) length(ps []part) []part {
	return m.edit(ps, func(data []byte) []byte {
		for range m.rng.IntN(2) + 1 {
			if at := m.at(data); at+4 <= len(data) {
				binary.BigEndian.PutUint32(data[at:], m.size())
			}
		}
		return data
	})
}

func (m *mutation) truncate(ps []part) []part {
	i := m.pick(ps)
	if len(ps[i].data) > 0 {
		ps[i].data = ps[i].data[:m.rng.IntN(len(ps[i].data))]
	}
	return ps[:i+1]
}

func (m *mutation) swap(ps []part) []part {
	i, j := m.pick(ps), m.pick(ps)
	if m.rng.IntN(2) == 0 {
		j = min(i+1, len(ps)-1)
	}
	ps[i], ps[j] = ps[j], ps[i]
	return ps
}

func (m *mutation) dropFrame(ps []part) []part {
	i := m.pick(ps)
	if len(ps) == 1 {
		return ps
	}
	return slices.Delete(ps, i, min(i+1, len(ps)))
}

func (m *mutation) doubleFrame(ps []part) []part {
	i := m.pick(ps)
	return slices.Insert(ps, i, slices.Repeat(ps[i:i+1], 1+m.rng.IntN(50))...)
}

// moveChannel gives a frame, or all from there on, to another channel.
func (m *mutation) moveChannel(ps []part) []part {
	i := m.pick(ps)
	n := 1
	if m.rng.IntN(2) == 0 {
		n = len(ps) - i
	}
	to := []uint16{0, 1, 2, 3, 7, 2047, 2048, 65535}[m.rng.IntN(8)]
	for k := i; k < i+n; k++ {
		if len(ps[k].data) >= 3 && k > 0 {
			ps[k].data = slices.Clone(ps[k].data)
			binary.BigEndian.PutUint16(ps[k].data[1:], to)
		}
	}
	return ps
}

func (m *mutation) frameType(ps []part) []part {
	return m.edit(ps, func(data []byte) []byte {
		data[0] = byte(m.rng.IntN(10))
		return data
	})
}

// splice goes on with another session, from any frame of it.
func (m *mutation) splice(ps []part) []part {
	other := m.takes[m.rng.IntN(len(m.takes))].parts
	return append(ps[:m.pick(ps)+1], other[m.rng.IntN(len(other)):]...)
}

// foreign puts a frame of another session in between.
func (m *mutation) foreign(ps []part) []part {
	other := m.takes[m.rng.IntN(len(m.takes))].parts
	return slices.Insert(ps, m.pick(ps), other[m.rng.IntN(len(other))])
}
