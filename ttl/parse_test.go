package ttl

import (
	"math/big"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestParseExpiration is T-2 and T-4, cell by cell.
func TestParseExpiration(t *testing.T) {
	tests := []struct {
		in     string
		ms     int64
		detail string
	}{
		{"0", 0, ""},
		{"1", 1, ""},
		{"60000", 60000, ""},
		{"00010", 10, ""},
		{"+10", 10, ""},
		{"-0", 0, ""},
		{"+0", 0, ""},
		{"315360000000", Max, ""},
		{"000000000000000000000000315360000000", Max, ""},
		{"", 0, "no_integer"},
		{"abc", 0, "no_integer"},
		{" 10", 0, "no_integer"},
		{"+", 0, "no_integer"},
		{"-", 0, "no_integer"},
		{"+-1", 0, "no_integer"},
		{".5", 0, "no_integer"},
		{"\x00", 0, "no_integer"},
		{"10abc", 0, `{leftover_string,"abc"}`},
		{"10 ", 0, `{leftover_string," "}`},
		{"10s", 0, `{leftover_string,"s"}`},
		{"1.5", 0, `{leftover_string,".5"}`},
		{"1e3", 0, `{leftover_string,"e3"}`},
		{"-1abc", 0, `{leftover_string,"abc"}`},
		{"1\"\\", 0, `{leftover_string,"\"\\"}`},
		{"1\n\t\b\v\f\r\x1b", 0, `{leftover_string,"\n\t\b\v\f\r\e"}`},
		{"1\x00a", 0, `{leftover_string,[0,97]}`},
		{"1\xe9", 0, `{leftover_string,"é"}`},
		{"1\x80", 0, `{leftover_string,[128]}`},
		{"-1", 0, "{value_negative,-1}"},
		{"-007", 0, "{value_negative,-7}"},
		{"-315360000001", 0, "{value_negative,-315360000001}"},
		{"315360000001", 0, "{value_too_large,315360000001}"},
		{"1099511627776", 0, "{value_too_large,1099511627776}"}, // 2^40 (amqp.md 20, 87)
		{strings.Repeat("9", 40), 0, "{value_too_large," + strings.Repeat("9", 40) + "}"},
		{"-" + strings.Repeat("9", 40), 0, "{value_negative,-" + strings.Repeat("9", 40) + "}"},
	}
	for _, tt := range tests {
		ms, detail := ParseExpiration([]byte(tt.in))
		if ms != tt.ms || detail != tt.detail {
			t.Errorf("ParseExpiration(%q) = %d, %q, want %d, %q", tt.in, ms, detail, tt.ms, tt.detail)
		}
	}
}

func TestCheckTTL(t *testing.T) {
	tests := []struct {
		v            int64
		ttl, expires string
	}{
		{0, "", "{value_zero,0}"},
		{1, "", ""},
		{Max, "", ""},
		{Max + 1, "{value_too_large,315360000001}", "{value_too_large,315360000001}"},
		{-1, "{value_negative,-1}", "{value_negative,-1}"},
		{-1 << 63, "{value_negative,-9223372036854775808}", "{value_negative,-9223372036854775808}"},
	}
	for _, tt := range tests {
		if got := CheckTTL(tt.v); got != tt.ttl {
			t.Errorf("CheckTTL(%d) = %q, want %q (A-41)", tt.v, got, tt.ttl)
		}
		if got := CheckExpires(tt.v); got != tt.expires {
			t.Errorf("CheckExpires(%d) = %q, want %q (A-42)", tt.v, got, tt.expires)
		}
	}
}

// FuzzParseExpiration is F14: the set of accepted strings and their values equal
// what the standard library makes of the grammar.
func FuzzParseExpiration(f *testing.F) {
	for _, s := range []string{"", "0", "-0", "+10", "00010", "1e3", "1_000", "0x10", "10 ", "abc", "315360000000",
		"315360000001", "-1", "99999999999999999999999", "1\xff", "1\x00", "+-1", "\u0661"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ms, detail := ParseExpiration(b)
		if !utf8.ValidString(detail) {
			t.Fatalf("ParseExpiration(%q): detail %q is not UTF-8", b, detail)
		}
		if detail != "" && ms != 0 {
			t.Fatalf("ParseExpiration(%q) = %d with detail %q", b, ms, detail)
		}
		want, kind := expiration(string(b))
		if kind == "" {
			if detail != "" || ms != want {
				t.Fatalf("ParseExpiration(%q) = %d, %q, want %d", b, ms, detail, want)
			}
			return
		}
		if !strings.HasPrefix(strings.TrimPrefix(detail, "{"), kind) {
			t.Fatalf("ParseExpiration(%q): %q, want %s", b, detail, kind)
		}
	})
}

// expiration is the slow twin: split off the number, then read it with math/big.
func expiration(s string) (int64, string) {
	n := len(s) - len(strings.TrimLeft(s, "+-"))
	if n > 1 {
		return 0, "no_integer"
	}
	rest := strings.TrimLeft(s[n:], "0123456789")
	number := s[:len(s)-len(rest)]
	v, ok := new(big.Int).SetString(strings.TrimPrefix(number, "+"), 10)
	switch {
	case !ok:
		return 0, "no_integer"
	case rest != "":
		return 0, "leftover_string"
	case v.Sign() < 0:
		return 0, "value_negative," + v.String() + "}"
	case v.Cmp(big.NewInt(Max)) > 0:
		return 0, "value_too_large," + v.String() + "}"
	}
	return v.Int64(), ""
}

// FuzzCheckTTL is the integer half of F14.
func FuzzCheckTTL(f *testing.F) {
	for _, v := range []int64{0, 1, -1, Max, Max + 1} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v int64) {
		ms, detail := ParseExpiration([]byte(strconv.FormatInt(v, 10)))
		if got := CheckTTL(v); got != detail {
			t.Fatalf("CheckTTL(%d) = %q, as text %q", v, got, detail)
		}
		if detail == "" && ms != v {
			t.Fatalf("ParseExpiration(%d) = %d", v, ms)
		}
	})
}

func TestParseExpirationAllocates(t *testing.T) {
	b := []byte("60000")
	if got := testing.AllocsPerRun(100, func() { ParseExpiration(b) }); got != 0 {
		t.Errorf("%.0f allocations for a good expiration, want 0", got)
	}
}
