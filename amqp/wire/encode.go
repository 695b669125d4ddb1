package wire

import "unicode/utf8"

// AppendShortstr writes a short string. What exceeds 255 bytes is cut on a UTF-8
// boundary: a longer one cannot be written, and a wrong length octet would
// break the stream.
func AppendShortstr(dst []byte, s string) []byte {
	if len(s) > 255 {
		s = cut(s)
	}
	return append(append(dst, byte(len(s))), s...)
}

func appendShortBytes(dst, b []byte) []byte {
	b = b[:min(len(b), 255)]
	return append(append(dst, byte(len(b))), b...)
}

func cut(s string) string {
	n := 255
	for n > 252 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// AppendLongstr writes a long string.
func AppendLongstr(dst []byte, s string) []byte {
	return append(be.AppendUint32(dst, uint32(len(s))), s...)
}

func appendBlob(dst, b []byte) []byte {
	return append(be.AppendUint32(dst, uint32(len(b))), b...)
}

func appendTable(dst []byte, t Table) []byte { return appendBlob(dst, t) }

// bit is one boolean in its place of a bit field.
func bit(set bool, shift uint) byte {
	if set {
		return 1 << shift
	}
	return 0
}
