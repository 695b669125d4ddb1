package wire

import (
	"math"
	"strconv"
)

// Value is one value of a table or an array, still as bytes (amqp.md 7). The
// zero Value is none at all.
type Value struct {
	Tag  byte
	Data []byte // of S, x, F and A without the length in front
}

// layout tells for each tag how its value lies on the wire: 1 + its size,
// prefixed for one with a length in front, 0 for a tag that does not exist.
var layout = [256]uint8{
	't': 1 + 1, 'b': 1 + 1, 'B': 1 + 1, 's': 1 + 2, 'u': 1 + 2, 'I': 1 + 4, 'i': 1 + 4, 'l': 1 + 8, 'L': 1 + 8,
	'f': 1 + 4, 'd': 1 + 8, 'D': 1 + 5, 'T': 1 + 8, 'V': 1,
	'S': prefixed, 'x': prefixed, 'A': prefixed, 'F': prefixed,
}

const prefixed = 255

// cutValue splits what follows a tag into the value's data and the rest.
func cutValue(tag byte, b []byte) (data, rest []byte, ok bool) {
	n := uint64(layout[tag])
	if n == 0 {
		return nil, nil, false
	}
	n--
	if n == prefixed-1 {
		if len(b) < 4 {
			return nil, nil, false
		}
		n = uint64(be.Uint32(b))
		b = b[4:]
	}
	if n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}

// ParseValue reads a tag and its value from the start of b and returns what
// follows. What is inside a table or an array is not looked at.
func ParseValue(b []byte) (v Value, rest []byte, ok bool) {
	if len(b) == 0 {
		return Value{}, nil, false
	}
	data, rest, ok := cutValue(b[0], b[1:])
	if !ok {
		return Value{}, nil, false
	}
	return Value{Tag: b[0], Data: data}, rest, true
}

// sized tells that a fixed-size value has the bytes its tag asks for; a Value
// made by hand may not.
func (v Value) sized() bool { return int(layout[v.Tag]) == 1+len(v.Data) }

// Int is the value of any of the eight integer types.
func (v Value) Int() (int64, bool) {
	if !v.sized() {
		return 0, false
	}
	switch v.Tag {
	case 'b':
		return int64(int8(v.Data[0])), true
	case 'B':
		return int64(v.Data[0]), true
	case 's':
		return int64(int16(be.Uint16(v.Data))), true
	case 'u':
		return int64(be.Uint16(v.Data)), true
	case 'I':
		return int64(int32(be.Uint32(v.Data))), true
	case 'i':
		return int64(be.Uint32(v.Data)), true
	case 'l', 'L':
		return int64(be.Uint64(v.Data)), true
	}
	return 0, false
}

// Bytes is the content of a long string or a byte array, aliasing.
func (v Value) Bytes() ([]byte, bool) { return v.Data, v.Tag == 'S' || v.Tag == 'x' }

// Bool is the value of a boolean; any octet but 0 is true.
func (v Value) Bool() (value, ok bool) {
	if v.Tag != 't' || !v.sized() {
		return false, false
	}
	return v.Data[0] != 0, true
}

// Table is a nested table, aliasing.
func (v Value) Table() (Table, bool) {
	if v.Tag != 'F' {
		return nil, false
	}
	return Table(v.Data), true
}

// Array is a nested array, aliasing.
func (v Value) Array() (Array, bool) {
	if v.Tag != 'A' {
		return nil, false
	}
	return Array(v.Data), true
}

// Timestamp is seconds since the epoch.
func (v Value) Timestamp() (uint64, bool) {
	if v.Tag != 'T' || !v.sized() {
		return 0, false
	}
	return be.Uint64(v.Data), true
}

// Decimal is unscaled / 10^scale.
func (v Value) Decimal() (scale uint8, unscaled uint32, ok bool) {
	if v.Tag != 'D' || !v.sized() {
		return 0, 0, false
	}
	return v.Data[0], be.Uint32(v.Data[1:]), true
}

// Float is the value of a float or a double.
func (v Value) Float() (float64, bool) {
	bits, ok := v.floatBits()
	return math.Float64frombits(bits), ok
}

// floatBits is the value as the bits of a double. A float is widened by integer
// arithmetic: conversion by the processor may alter a NaN, and the comparison
// of two values must come out alike on every node.
func (v Value) floatBits() (uint64, bool) {
	if !v.sized() {
		return 0, false
	}
	switch v.Tag {
	case 'd':
		return be.Uint64(v.Data), true
	case 'f':
		return widen(be.Uint32(v.Data)), true
	}
	return 0, false
}

func widen(f uint32) uint64 {
	sign := uint64(f>>31) << 63
	exp := uint64(f >> 23 & 0xff)
	frac := uint64(f & 0x7fffff)
	switch {
	case exp == 0xff: // infinity and NaN keep their payload
		return sign | 0x7ff<<52 | frac<<29
	case exp == 0 && frac == 0:
		return sign
	case exp == 0: // subnormal: becomes normal in the wider format
		exp = 1
		for frac&0x800000 == 0 {
			frac <<= 1
			exp--
		}
		frac &= 0x7fffff
	}
	return sign | (exp+1023-127)<<52 | frac<<29
}

// TypeName is the type as reply texts name it (queues-ttl-dlx.md, notation).
func (v Value) TypeName() string {
	switch v.Tag {
	case 't':
		return "bool"
	case 'b':
		return "byte"
	case 'B':
		return "unsignedbyte"
	case 's':
		return "short"
	case 'u':
		return "unsignedshort"
	case 'I':
		return "signedint"
	case 'i':
		return "unsignedint"
	case 'l', 'L':
		return "long"
	case 'f':
		return "float"
	case 'd':
		return "double"
	case 'D':
		return "decimal"
	case 'S':
		return "longstr"
	case 'x':
		return "binary"
	case 'A':
		return "array"
	case 'T':
		return "timestamp"
	case 'F':
		return "table"
	case 'V':
		return "void"
	}
	return "unknown"
}

// Text is the value as it prints inside reply texts.
func (v Value) Text() string { return string(v.appendText(nil, 0)) }

func (v Value) appendText(dst []byte, depth int) []byte {
	if n, ok := v.Int(); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	if b, ok := v.Bytes(); ok {
		return append(dst, b...)
	}
	if b, ok := v.Bool(); ok {
		return strconv.AppendBool(dst, b)
	}
	if s, ok := v.Timestamp(); ok {
		return strconv.AppendUint(dst, s, 10)
	}
	if f, ok := v.Float(); ok {
		return strconv.AppendFloat(dst, f, 'g', -1, 64)
	}
	if scale, n, ok := v.Decimal(); ok {
		dst = strconv.AppendUint(append(dst, '{'), uint64(scale), 10)
		return append(strconv.AppendUint(append(dst, ','), uint64(n), 10), '}')
	}
	if t, ok := v.Table(); ok {
		return t.appendText(dst, depth+1)
	}
	if a, ok := v.Array(); ok {
		return a.appendText(dst, depth+1)
	}
	return append(dst, "undefined"...)
}
