package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// oneOfEach is a table with every tag of amqp.md 7, its values independent of
// the builders.
var oneOfEach = Table("\x01tt\x01" + "\x01bb\xFF" + "\x01BB\xFF" + "\x01ss\xFF\xFE" + "\x01uu\xFF\xFE" +
	"\x01II\xFF\xFF\xFF\xFE" + "\x01ii\xFF\xFF\xFF\xFE" + "\x01ll\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE" +
	"\x01LL\x00\x00\x00\x00\x00\x00\x00\x07" + "\x01ff\x3F\xC0\x00\x00" + "\x01dd\x3F\xF8\x00\x00\x00\x00\x00\x00" +
	"\x01DD\x02\x00\x00\x01\x3A" + "\x01SS\x00\x00\x00\x02hi" + "\x01xx\x00\x00\x00\x02\x00\xFF" +
	"\x01AA\x00\x00\x00\x03t\x01V" + "\x01TT\x00\x00\x00\x00\x00\x00\x00\x09" + "\x01FF\x00\x00\x00\x04\x01kB\x05" + "\x01VV")

func TestEveryTag(t *testing.T) {
	if err := oneOfEach.Validate(); err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		tag        byte
		name, text string
	}{
		{'t', "bool", "true"}, {'b', "byte", "-1"}, {'B', "unsignedbyte", "255"}, {'s', "short", "-2"},
		{'u', "unsignedshort", "65534"}, {'I', "signedint", "-2"}, {'i', "unsignedint", "4294967294"},
		{'l', "long", "-2"}, {'L', "long", "7"}, {'f', "float", "1.5"}, {'d', "double", "1.5"}, {'D', "decimal", "{2,314}"},
		{'S', "longstr", "hi"}, {'x', "binary", "\x00\xFF"}, {'A', "array", "[true,undefined]"}, {'T', "timestamp", "9"},
		{'F', "table", "[{k,5}]"}, {'V', "void", "undefined"},
	}
	if oneOfEach.Len() != len(rows) {
		t.Fatalf("%d entries", oneOfEach.Len())
	}
	i := 0
	for k, v := range oneOfEach.All() {
		row := rows[i]
		i++
		if v.Tag != row.tag || string(k) != string(row.tag) {
			t.Errorf("entry %d is %q %c, want %c", i, k, v.Tag, row.tag)
		}
		if v.TypeName() != row.name || v.Text() != row.text {
			t.Errorf("%c: %s %q, want %s %q", row.tag, v.TypeName(), v.Text(), row.name, row.text)
		}
	}
	if (Value{}).TypeName() != "unknown" || (Value{}).Text() != "undefined" {
		t.Error("the zero value has a type")
	}
}

// Each accessor takes its own types and no other, also from values made by hand
// with too few bytes.
func TestAccessors(t *testing.T) {
	ints, strs := "bBsuIilL", "Sx"
	for _, v := range oneOfEach.All() {
		tag := string(v.Tag)
		_, isInt := v.Int()
		_, isBytes := v.Bytes()
		_, isBool := v.Bool()
		_, isTable := v.Table()
		_, isArray := v.Array()
		_, isTime := v.Timestamp()
		_, isFloat := v.Float()
		_, _, isDecimal := v.Decimal()
		got := []bool{isInt, isBytes, isBool, isTable, isArray, isTime, isFloat, isDecimal}
		want := []bool{strings.Contains(ints, tag), strings.Contains(strs, tag), tag == "t", tag == "F", tag == "A", tag == "T",
			strings.Contains("fd", tag), tag == "D"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", tag, got, want)
		}
		short := Value{Tag: v.Tag}
		_ = short.Text()
		if _, ok := short.Int(); ok {
			t.Errorf("%s without bytes is an integer", tag)
		}
		if !ValueEqual(v, v) {
			t.Errorf("%s does not equal itself", tag)
		}
		_ = ValueEqual(v, short) || ValueEqual(short, v)
	}
	v, _ := oneOfEach.Get("F")
	sub, _ := v.Table()
	if n, ok := sub.Get("k"); !ok || n.Tag != 'B' {
		t.Errorf("nested: %v", n)
	}
	v, _ = oneOfEach.Get("A")
	if a, _ := v.Array(); a.Len() != 2 {
		t.Errorf("array of %d", a.Len())
	}
}

// amqp.md 7: duplicates are legal, the first counts. Checklist 40.
func TestDuplicateKeys(t *testing.T) {
	tab := AppendString(AppendInt(AppendInt(nil, "k", 1), "a", 2), "k", "second")
	if v, ok := tab.Get("k"); !ok || v.Text() != "1" {
		t.Errorf("Get gives %v", v)
	}
	if v, ok := tab.GetBytes([]byte("a")); !ok || v.Text() != "2" {
		t.Errorf("GetBytes gives %v", v)
	}
	if _, ok := tab.Get("K"); ok {
		t.Error("keys are case-sensitive")
	}
	if _, ok := tab.GetBytes(nil); ok {
		t.Error("there is no empty key")
	}
	if tab.Len() != 3 || tab.Validate() != nil {
		t.Error(tab.Len(), tab.Validate())
	}
}

func nest(open string, levels int) Table {
	inner := ""
	for range levels - 1 {
		n := len(inner)
		head := string([]byte{open[len(open)-1], byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		inner = open[:len(open)-1] + head + inner
	}
	return Table(inner)
}

func voids(n int) Array { return Array(strings.Repeat("V", n)) }

// X3.
func TestLimits(t *testing.T) {
	var wide Table
	for i := range 1025 {
		wide = AppendVoid(wide, fmt.Sprint(i))
	}
	last := bytes.LastIndexByte(wide[:len(wide)-1], 'V') + 1
	deepArray := func(levels int) Table {
		var a Array
		for range levels - 2 {
			a = AppendValue(nil, ArrayValue(a))
		}
		return AppendArrayEntry(nil, "a", a)
	}
	var spread Table // 8 arrays of 1023 and their own entries make 8192
	for i := range 8 {
		spread = AppendArrayEntry(spread, fmt.Sprint(i), voids(1023))
	}
	for _, row := range []struct {
		name string
		t    Table
		want string
	}{
		{"64 tables", nest("\x01kF", 64), ""},
		{"65 tables", nest("\x01kF", 65), "field table nested deeper than 64 levels"},
		{"10000 tables", nest("\x01kF", 10000), "field table nested deeper than 64 levels"},
		{"64 arrays", deepArray(64), ""},
		{"65 arrays", deepArray(65), "field array nested deeper than 64 levels"},
		{"1024 entries", wide[:last], ""},
		{"1025 entries", wide, "more than 1024 entries in a field table"},
		{"8192 values", spread, ""},
		{"8193 values", AppendVoid(spread, "v"), "more than 8192 field values in a frame"},
		{"a frame of voids", AppendArrayEntry(nil, "a", voids(100_000)), "more than 8192 field values in a frame"},
		{"key without value", Table("\x01k"), "field table ends within an entry"},
		{"key longer than the table", Table("\x09k"), "field table ends within an entry"},
		{"unknown tag", Table("\x01kn"), "unknown field type 110"},
		{"short integer", Table("\x01kI\x00\x00"), "field value longer than its table"},
		{"no length", Table("\x01kS\x00\x00"), "field value longer than its table"},
		{"4 GiB string", Table("\x01kS\xFF\xFF\xFF\xFFabc"), "field value longer than its table"},
		{"4 GiB table", Table("\x01kF\xFF\xFF\xFF\xFFabc"), "field value longer than its table"},
		{"bad tag in an array", AppendArrayEntry(nil, "a", Array("t\x01q")), "unknown field type 113"},
		{"bad entry two levels down", AppendTableEntry(nil, "a", AppendTableEntry(nil, "b", Table("\x01"))), "field table ends within an entry"},
		{"empty key", AppendVoid(nil, ""), ""},
	} {
		err := row.t.Validate()
		if row.want == "" {
			if err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
			continue
		}
		wantWireError(t, row.name, err, 502, row.want)
	}
}

// All tables of one frame share one budget.
func TestBudgetIsPerFrame(t *testing.T) {
	c := newChecker()
	half := AppendArrayEntry(nil, "a", voids(5000))
	if reason := c.table(half, 1); reason != "" {
		t.Fatal(reason)
	}
	if reason := c.table(half, 1); reason == "" {
		t.Error("the second table was judged on its own")
	}
}

// A walk over bytes that make no sense ends.
func TestWalkOfNonsense(t *testing.T) {
	good := AppendInt(nil, "k", 1)
	for _, tail := range []string{"\x05ab", "\x01x", "\x01xn", "\x01xS\xFF\xFF\xFF\xFF", "\xFF"} {
		tab := append(slices.Clone(good), tail...)
		if tab.Len() != 1 {
			t.Errorf("%q: %d entries", tail, tab.Len())
		}
		if _, ok := tab.Get("x"); ok {
			t.Errorf("%q: found", tail)
		}
		for range tab.All() {
		}
	}
	if (Array("\x00\x00")).Len() != 0 {
		t.Error("an array of nothing known has elements")
	}
	for range (Array("t\x01t\x00")).All() {
		break
	}
	for range oneOfEach.All() {
		break
	}
}

func TestBuilders(t *testing.T) {
	tab := AppendString(nil, "S", "str")
	tab = AppendLong(tab, "l", -5)
	tab = AppendInt(tab, "I", -6)
	tab = AppendBool(tab, "t", true)
	tab = AppendTimestamp(tab, "T", 7)
	tab = AppendVoid(tab, "V")
	tab = AppendTableEntry(tab, "F", AppendInt(nil, "x", 1))
	tab = AppendArrayEntry(tab, "A", AppendValue(AppendValue(nil, StringValue("e")), IntValue(3)))
	tab = AppendRaw(tab, "D", Value{Tag: 'D', Data: []byte{1, 0, 0, 0, 9}})
	want := map[string]Value{
		"S": StringValue("str"), "l": LongValue(-5), "I": IntValue(-6), "t": BoolValue(true), "T": TimestampValue(7),
		"V": {Tag: 'V'}, "F": TableValue(Table("\x01xI\x00\x00\x00\x01")), "A": ArrayValue(Array("S\x00\x00\x00\x01eI\x00\x00\x00\x03")),
		"D": {Tag: 'D', Data: []byte{1, 0, 0, 0, 9}},
	}
	if err := tab.Validate(); err != nil || tab.Len() != len(want) {
		t.Fatal(err, tab.Len())
	}
	for k, v := range tab.All() {
		w := want[string(k)]
		if v.Tag != w.Tag || !bytes.Equal(v.Data, w.Data) {
			t.Errorf("%s: got %v, want %v", k, v, w)
		}
		parsed, rest, ok := ParseValue(AppendValue(nil, v))
		if !ok || len(rest) != 0 || parsed.Tag != v.Tag || !bytes.Equal(parsed.Data, v.Data) {
			t.Errorf("%s: ParseValue of AppendValue gives %v", k, parsed)
		}
	}
	if _, _, ok := ParseValue(nil); ok {
		t.Error("a value from nothing")
	}
}

// A string that is no short string is cut, on a UTF-8 boundary.
func TestAppendShortstrCuts(t *testing.T) {
	for _, row := range []struct {
		name, in string
		want     int
	}{
		{"255", strings.Repeat("a", 255), 255},
		{"256", strings.Repeat("a", 256), 255},
		{"rune across the edge", strings.Repeat("a", 254) + "é", 254},
		{"long rune across the edge", strings.Repeat("a", 252) + "\U0001F600", 252},
		{"not UTF-8", strings.Repeat("\x80", 300), 252},
	} {
		got := AppendShortstr(nil, row.in)
		if int(got[0]) != row.want || len(got) != row.want+1 {
			t.Errorf("%s: %d of %d bytes", row.name, got[0], len(got)-1)
		}
	}
}

// A text stays short however large the value.
func TestTextOfLargeValues(t *testing.T) {
	if got := ArrayValue(voids(8000)).Text(); len(got) > 300 {
		t.Errorf("%d bytes", len(got))
	}
	v, _ := nest("\x01kF", 64).Get("k")
	if got := v.Text(); !strings.HasPrefix(got, "[{k,[{k,") {
		t.Errorf("got %q", got)
	}
	if got := TableValue(nest("\x01kF", 5000)).Text(); len(got) > 2000 {
		t.Errorf("%d bytes", len(got))
	}
}
