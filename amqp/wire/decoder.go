package wire

import "unicode/utf8"

// decoder reads a method's arguments one after another. After the first lack of
// bytes it gives zero values; finish tells.
type decoder struct {
	rest    []byte
	short   bool   // bytes were missing
	badName bool   // a name was not UTF-8
	table   string // what is wrong inside a table
	check   checker
}

// finish gives the fault of the whole: first the layout, then what is in it, in
// the order in which RabbitMQ finds out.
func (d *decoder) finish(id ID, args []byte) *Error {
	switch {
	case d.short || len(d.rest) > 0:
		return cannotDecode(id, args)
	case d.badName:
		return malformedUTF8(id)
	case d.table != "":
		return &Error{Code: codeSyntaxError, Text: d.table, Class: id.Class(), Method: id.Method()}
	}
	return nil
}

// take consumes n bytes, or everything and notes the lack.
func (d *decoder) take(n int) []byte {
	if d.short || n > len(d.rest) {
		d.short, d.rest = true, nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) u8() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) u16() uint16 {
	if b := d.take(2); b != nil {
		return be.Uint16(b)
	}
	return 0
}

func (d *decoder) u32() uint32 {
	if b := d.take(4); b != nil {
		return be.Uint32(b)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if b := d.take(8); b != nil {
		return be.Uint64(b)
	}
	return 0
}

// shortstr is the bytes of a short string, aliasing.
func (d *decoder) shortstr() []byte { return d.take(int(d.u8())) }

// longstr is the bytes of a long string, aliasing. The claimed length is
// compared with what is there before it becomes an int or a size (X2).
func (d *decoder) longstr() []byte {
	n := d.u32()
	if uint64(n) > uint64(len(d.rest)) {
		d.short, d.rest = true, nil
		return nil
	}
	return d.take(int(n))
}

func (d *decoder) text() string { return string(d.shortstr()) }
func (d *decoder) long() string { return string(d.longstr()) }

// blob copies a long string's bytes; an empty one is nil.
func (d *decoder) blob() []byte { return append([]byte(nil), d.longstr()...) }

func (d *decoder) name() string {
	b := d.shortstr()
	d.badName = d.badName || !utf8.Valid(b)
	return string(b)
}

func (d *decoder) tableValue() Table {
	b := d.longstr()
	if len(b) == 0 {
		return nil
	}
	if reason := d.check.table(b, 1); reason != "" {
		if d.table == "" {
			d.table = reason
		}
		return nil
	}
	return append(Table(nil), b...)
}

// Reserved arguments are read and ignored, whatever they hold.

func (d *decoder) skipU16()  { d.take(2) }
func (d *decoder) skipText() { d.shortstr() }
func (d *decoder) skipLong() { d.longstr() }
