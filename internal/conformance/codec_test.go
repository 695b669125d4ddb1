package conformance

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

// frame types and the end octet (amqp.md 1).
const (
	typeMethod    = 1
	typeHeader    = 2
	typeBody      = 3
	typeHeartbeat = 8
	typeGreeting  = 'A' // not a frame: the 8 bytes of a protocol header
	frameEnd      = 0xCE
)

// table keeps the order of its fields and may hold a key twice, as the wire may.
type table []field

type field struct {
	key string
	val any
}

type array []any

// raw is a field value given by its bytes: tag, then everything after it.
type raw struct {
	tag  byte
	data string
}

// decimal and stamp are the two field types without a Go type of their own.
type decimal struct {
	scale byte
	value uint32
}

type stamp uint64

// bits is the octet of a run of bit arguments, low bit first.
type bits uint8

// encode lays the arguments of a method out one after another; the Go type of
// each chooses its form: string is a shortstr, []byte a longstr.
func encode(b []byte, args ...any) []byte {
	for _, a := range args {
		switch v := a.(type) {
		case string:
			b = append(append(b, byte(len(v))), v...)
		case []byte:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
		case bits:
			b = append(b, byte(v))
		case uint8:
			b = append(b, v)
		case uint16:
			b = binary.BigEndian.AppendUint16(b, v)
		case uint32:
			b = binary.BigEndian.AppendUint32(b, v)
		case uint64:
			b = binary.BigEndian.AppendUint64(b, v)
		case table:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(fields(v)))), fields(v)...)
		default:
			panic(fmt.Sprintf("no method argument has type %T", a))
		}
	}
	return b
}

// fields is a table without its length.
func fields(t table) []byte {
	var b []byte
	for _, f := range t {
		b = append(append(b, byte(len(f.key))), f.key...)
		b = value(b, f.val)
	}
	return b
}

// value appends a tag and a value (amqp.md 7).
func value(b []byte, v any) []byte {
	be := binary.BigEndian
	switch v := v.(type) {
	case nil:
		return append(b, 'V')
	case bool:
		if v {
			return append(b, 't', 1)
		}
		return append(b, 't', 0)
	case int8:
		return append(b, 'b', byte(v))
	case uint8:
		return append(b, 'B', v)
	case int16:
		return be.AppendUint16(append(b, 's'), uint16(v))
	case uint16:
		return be.AppendUint16(append(b, 'u'), v)
	case int:
		return be.AppendUint32(append(b, 'I'), uint32(int32(v)))
	case int32:
		return be.AppendUint32(append(b, 'I'), uint32(v))
	case uint32:
		return be.AppendUint32(append(b, 'i'), v)
	case int64:
		return be.AppendUint64(append(b, 'l'), uint64(v))
	case float32:
		return be.AppendUint32(append(b, 'f'), math.Float32bits(v))
	case float64:
		return be.AppendUint64(append(b, 'd'), math.Float64bits(v))
	case decimal:
		return be.AppendUint32(append(b, 'D', v.scale), v.value)
	case stamp:
		return be.AppendUint64(append(b, 'T'), uint64(v))
	case string:
		return append(be.AppendUint32(append(b, 'S'), uint32(len(v))), v...)
	case []byte:
		return append(be.AppendUint32(append(b, 'x'), uint32(len(v))), v...)
	case table:
		f := fields(v)
		return append(be.AppendUint32(append(b, 'F'), uint32(len(f))), f...)
	case array:
		var in []byte
		for _, e := range v {
			in = value(in, e)
		}
		return append(be.AppendUint32(append(b, 'A'), uint32(len(in))), in...)
	case raw:
		return append(append(b, v.tag), v.data...)
	}
	panic(fmt.Sprintf("no field type for %T", v))
}

// method is the payload of a method frame.
func method(id uint32, args ...any) []byte {
	return encode(binary.BigEndian.AppendUint32(nil, id), args...)
}

// frameBytes is one frame as it goes over the wire.
func frameBytes(typ byte, ch uint16, payload []byte) []byte {
	b := append(make([]byte, 0, len(payload)+8), typ)
	b = binary.BigEndian.AppendUint16(b, ch)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return append(append(b, payload...), frameEnd)
}

// args reads the arguments of a method, or the fields of a table, in order.
type args struct {
	t testing.TB
	b []byte
}

func (a *args) take(n int) []byte {
	a.t.Helper()
	if n < 0 || n > len(a.b) {
		a.t.Fatalf("the broker sent arguments that end early: want %d octets of %q", n, a.b)
	}
	p := a.b[:n]
	a.b = a.b[n:]
	return p
}

func (a *args) u8() uint8      { a.t.Helper(); return a.take(1)[0] }
func (a *args) u16() uint16    { a.t.Helper(); return binary.BigEndian.Uint16(a.take(2)) }
func (a *args) u32() uint32    { a.t.Helper(); return binary.BigEndian.Uint32(a.take(4)) }
func (a *args) u64() uint64    { a.t.Helper(); return binary.BigEndian.Uint64(a.take(8)) }
func (a *args) short() string  { a.t.Helper(); return string(a.take(int(a.u8()))) }
func (a *args) long() []byte   { a.t.Helper(); return a.take(int(a.u32())) }
func (a *args) table() table   { a.t.Helper(); return parseTable(a.t, a.long()) }
func (a *args) end()           { a.t.Helper(); a.ended("arguments") }
func (a *args) bit(n int) bool { a.t.Helper(); return a.take(1)[0]&(1<<n) != 0 }

func (a *args) ended(what string) {
	a.t.Helper()
	if len(a.b) != 0 {
		a.t.Fatalf("%d octets too many after the %s: %q", len(a.b), what, a.b)
	}
}

// parseTable reads the fields of a table that arrived.
func parseTable(t testing.TB, b []byte) table {
	t.Helper()
	a := &args{t, b}
	out := table{}
	for len(a.b) > 0 {
		out = append(out, field{a.short(), a.value()})
	}
	return out
}

func (a *args) value() any {
	a.t.Helper()
	switch tag := a.u8(); tag {
	case 't':
		return a.u8() != 0
	case 'b':
		return int8(a.u8())
	case 'B':
		return a.u8()
	case 's':
		return int16(a.u16())
	case 'u':
		return a.u16()
	case 'I':
		return int32(a.u32())
	case 'i':
		return a.u32()
	case 'l', 'L':
		return int64(a.u64())
	case 'f':
		return math.Float32frombits(a.u32())
	case 'd':
		return math.Float64frombits(a.u64())
	case 'D':
		return decimal{a.u8(), a.u32()}
	case 'T':
		return stamp(a.u64())
	case 'S':
		return string(a.long())
	case 'x':
		return append([]byte{}, a.long()...)
	case 'F':
		return a.table()
	case 'A':
		in := &args{a.t, a.long()}
		out := array{}
		for len(in.b) > 0 {
			out = append(out, in.value())
		}
		return out
	case 'V':
		return nil
	default:
		a.t.Fatalf("the broker sent a field of unknown type %q", tag)
		return nil
	}
}

// get is the first value under key.
func (t table) get(key string) any {
	for _, f := range t {
		if f.key == key {
			return f.val
		}
	}
	return nil
}

func (t table) has(key string) bool {
	for _, f := range t {
		if f.key == key {
			return true
		}
	}
	return false
}

// props are message properties by their flag bit; raw bytes of a header frame
// are compared where the bytes matter.
type props map[int]any

const (
	pContentType     = 15
	pContentEncoding = 14
	pHeaders         = 13
	pDeliveryMode    = 12
	pPriority        = 11
	pCorrelationID   = 10
	pReplyTo         = 9
	pExpiration      = 8
	pMessageID       = 7
	pTimestamp       = 6
	pType            = 5
	pUserID          = 4
	pAppID           = 3
	pClusterID       = 2
)

// encode gives the flags word and the values.
func (p props) encode() []byte {
	var flags uint16
	var vals []byte
	for bit := pContentType; bit >= pClusterID; bit-- {
		if v, ok := p[bit]; ok {
			flags |= 1 << bit
			vals = encode(vals, v)
		}
	}
	return append(binary.BigEndian.AppendUint16(nil, flags), vals...)
}

func parseProps(t testing.TB, b []byte) props {
	t.Helper()
	a := &args{t, b}
	flags := a.u16()
	if flags&3 != 0 {
		t.Fatalf("property flags %#x: bits 0 and 1 must be 0", flags)
	}
	p := props{}
	for bit := pContentType; bit >= pClusterID; bit-- {
		if flags&(1<<bit) == 0 {
			continue
		}
		switch bit {
		case pHeaders:
			p[bit] = a.table()
		case pDeliveryMode, pPriority:
			p[bit] = a.u8()
		case pTimestamp:
			p[bit] = a.u64()
		default:
			p[bit] = a.short()
		}
	}
	a.ended("properties")
	return p
}

func (p props) headers() table {
	t, _ := p[pHeaders].(table)
	return t
}
