package wire

import (
	"math"
	"testing"
)

func value(tag byte, data string) Value { return Value{Tag: tag, Data: []byte(data)} }

// amqp.md 13, headers exchange; checklist 71.
func TestValueEqual(t *testing.T) {
	ab := AppendInt(AppendString(nil, "a", "x"), "b", 2)
	ba := AppendString(AppendLong(nil, "b", 2), "a", "x")
	for _, row := range []struct {
		name string
		a, b Value
		want bool
	}{
		{"int widths", IntValue(5), LongValue(5), true},
		{"negative across widths", value('b', "\xFF"), LongValue(-1), true},
		{"unsigned and signed bits", value('B', "\xFF"), value('b', "\xFF"), false},
		{"l and L", LongValue(9), value('L', "\x00\x00\x00\x00\x00\x00\x00\x09"), true},
		{"1 and 1.0", IntValue(1), value('d', "\x3F\xF0\x00\x00\x00\x00\x00\x00"), false},
		{"1.0 and 1", value('d', "\x3F\xF0\x00\x00\x00\x00\x00\x00"), IntValue(1), false},
		{"float and double", value('f', "\x3F\xC0\x00\x00"), value('d', "\x3F\xF8\x00\x00\x00\x00\x00\x00"), true},
		{"0.1 as float and double", value('f', "\x3D\xCC\xCC\xCD"), value('d', "\x3F\xB9\x99\x99\x99\x99\x99\x9A"), false},
		{"NaN", value('f', "\x7F\xC0\x00\x00"), value('f', "\x7F\xC0\x00\x00"), true},
		{"string and number", StringValue("1"), IntValue(1), false},
		{"true and 1", BoolValue(true), IntValue(1), false},
		{"true and 7 as true", BoolValue(true), value('t', "\x07"), true},
		{"true and false", BoolValue(true), BoolValue(false), false},
		{"string and bytes", StringValue("a"), value('x', "a"), true},
		{"strings", StringValue("a"), StringValue("b"), false},
		{"timestamps", TimestampValue(5), TimestampValue(5), true},
		{"timestamp and number", TimestampValue(5), LongValue(5), false},
		{"decimals", value('D', "\x01\x00\x00\x00\x05"), value('D', "\x01\x00\x00\x00\x05"), true},
		{"decimals of other scale", value('D', "\x01\x00\x00\x00\x05"), value('D', "\x02\x00\x00\x00\x32"), false},
		{"voids", value('V', ""), value('V', ""), true},
		{"arrays across widths", ArrayValue(AppendValue(nil, IntValue(1))), ArrayValue(AppendValue(nil, LongValue(1))), true},
		{"arrays of other length", ArrayValue(voids(2)), ArrayValue(voids(3)), false},
		{"arrays in other order", ArrayValue(Array("t\x01V")), ArrayValue(Array("Vt\x01")), false},
		{"tables in other order", TableValue(ab), TableValue(ba), true},
		{"tables, one key more", TableValue(AppendVoid(ab, "c")), TableValue(ba), false},
		{"tables, other key", TableValue(AppendVoid(nil, "c")), TableValue(AppendVoid(nil, "d")), false},
		{"tables, other value", TableValue(AppendInt(nil, "c", 1)), TableValue(AppendInt(nil, "c", 2)), false},
		{"table and array", TableValue(nil), ArrayValue(nil), false},
		{"too deep to tell", TableValue(nest("\x01kF", 100)), TableValue(nest("\x01kF", 100)), false},
	} {
		if got := ValueEqual(row.a, row.b); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
		if got := ValueEqual(row.b, row.a); got != row.want {
			t.Errorf("%s, the other way: %v", row.name, got)
		}
	}
}

// widen is what the processor does, NaNs apart.
func TestWiden(t *testing.T) {
	check := func(f uint32) {
		want := float64(math.Float32frombits(f))
		got := math.Float64frombits(widen(f))
		if math.IsNaN(want) != math.IsNaN(got) || !math.IsNaN(want) && math.Float64bits(want) != math.Float64bits(got) {
			t.Fatalf("%#x: got %g, want %g", f, got, want)
		}
	}
	for _, f := range []uint32{0, 1, 2, 0x7fffff, 0x800000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x80000000, 0x80000001, 0xff800000} {
		check(f)
	}
	for f := uint64(0); f < 1<<32; f += 65521 {
		check(uint32(f))
	}
}
