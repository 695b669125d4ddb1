package ttl

import "strconv"

// ParseExpiration reads the `expiration` property: an optional sign, then decimal
// digits and nothing else (T-2). detail is empty when it is good, else the reason
// for "invalid expiration 'V': detail" (T-3, T-4), in the words that clients of
// other brokers know. The good path allocates nothing.
func ParseExpiration(b []byte) (ms int64, detail string) {
	digits, negative := b, false
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		digits, negative = b[1:], b[0] == '-'
	}
	n := 0
	for n < len(digits) && digits[n]-'0' <= 9 {
		n++
	}
	if n == 0 {
		return 0, "no_integer"
	}
	if n < len(digits) {
		return 0, "{leftover_string," + quote(digits[n:]) + "}"
	}
	for len(digits) > 1 && digits[0] == '0' {
		digits = digits[1:]
	}
	// Max has twelve digits: what is longer is too large, and need not be read.
	if len(digits) <= 12 {
		for _, d := range digits {
			ms = ms*10 + int64(d-'0')
		}
	} else {
		ms = Max + 1
	}
	switch {
	case ms == 0:
		return 0, ""
	case negative:
		return 0, "{value_negative,-" + string(digits) + "}"
	case ms > Max:
		return 0, "{value_too_large," + string(digits) + "}"
	}
	return ms, ""
}

// CheckTTL is the detail for an integer that is no TTL, "" when it is one.
func CheckTTL(v int64) string {
	switch {
	case v < 0:
		return "{value_negative," + strconv.FormatInt(v, 10) + "}"
	case v > Max:
		return "{value_too_large," + strconv.FormatInt(v, 10) + "}"
	}
	return ""
}

// CheckExpires is the same for a lease, which cannot be zero.
func CheckExpires(v int64) string {
	if v == 0 {
		return "{value_zero,0}"
	}
	return CheckTTL(v)
}

// quote prints bytes the way the texts of T-4 do: as a string in double quotes
// when all are printable in Latin-1, else as a list of numbers. What comes from
// the wire may be any bytes, and the text must stay valid UTF-8.
func quote(b []byte) string {
	if !printable(b) {
		return numbers(b)
	}
	out := make([]byte, 0, len(b)+8)
	out = append(out, '"')
	for _, c := range b {
		if e := escape(c); e != 0 {
			out = append(out, '\\', e)
		} else {
			out = append(out, string(rune(c))...)
		}
	}
	return string(append(out, '"'))
}

func numbers(b []byte) string {
	out := make([]byte, 0, 4*len(b)+2)
	out = append(out, '[')
	for i, c := range b {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendUint(out, uint64(c), 10)
	}
	return string(append(out, ']'))
}

func printable(b []byte) bool {
	for _, c := range b {
		if (c < 0x20 && escape(c) == 0) || (c >= 0x7f && c < 0xa0) {
			return false
		}
	}
	return true
}

// escape is the letter after the backslash, or 0 for a character shown as it is.
func escape(c byte) byte {
	switch c {
	case '"', '\\':
		return c
	case '\b':
		return 'b'
	case '\t':
		return 't'
	case '\n':
		return 'n'
	case '\v':
		return 'v'
	case '\f':
		return 'f'
	case '\r':
		return 'r'
	case 0x1b:
		return 'e'
	}
	return 0
}
