package wire

import "bytes"

// ValueEqual is the equality of the headers exchange (amqp.md 13): integers by
// value across widths, a float as the double of the same value, long strings
// and byte arrays by content, arrays element by element, tables key by key. An
// integer never equals a float, a boolean or a string.
func ValueEqual(a, b Value) bool { return valueEqual(a, b, 0) }

func valueEqual(a, b Value, depth int) bool {
	if depth > maxNesting {
		return false
	}
	if x, ok := a.Int(); ok {
		y, ok := b.Int()
		return ok && x == y
	}
	if x, ok := a.Bytes(); ok {
		y, ok := b.Bytes()
		return ok && bytes.Equal(x, y)
	}
	if x, ok := a.Bool(); ok {
		y, ok := b.Bool()
		return ok && x == y
	}
	if x, ok := a.floatBits(); ok {
		y, ok := b.floatBits()
		return ok && x == y
	}
	if a.Tag != b.Tag {
		return false
	}
	switch a.Tag {
	case 'A':
		return arrayEqual(Array(a.Data), Array(b.Data), depth+1)
	case 'F':
		return tableEqual(Table(a.Data), Table(b.Data), depth+1)
	}
	return bytes.Equal(a.Data, b.Data)
}

func arrayEqual(a, b Array, depth int) bool {
	for {
		x, moreA, okA := a.next()
		y, moreB, okB := b.next()
		if !okA || !okB {
			return okA == okB
		}
		if !valueEqual(x, y, depth) {
			return false
		}
		a, b = moreA, moreB
	}
}

// tableEqual wants the same number of entries and each entry of a in b. The
// search goes on where the last one ended, so tables in the same order, which
// is what one client writes, are compared in one pass.
func tableEqual(a, b Table, depth int) bool {
	if a.Len() != b.Len() {
		return false
	}
	from := b
	for k, x, rest, ok := a.next(); ok; k, x, rest, ok = rest.next() {
		y, after, found := from.find(k)
		if !found {
			if y, after, found = b.find(k); !found {
				return false
			}
		}
		if !valueEqual(x, y, depth) {
			return false
		}
		from = after
	}
	return true
}

// find returns the first value of key and what follows its entry.
func (t Table) find(key []byte) (Value, Table, bool) {
	for k, v, rest, ok := t.next(); ok; k, v, rest, ok = rest.next() {
		if string(k) == string(key) {
			return v, rest, true
		}
	}
	return Value{}, nil, false
}
