package wire

import "iter"

// Table is a field table as its publisher wrote it: the entries, without the
// length in front. nil is the empty table. It is read key by key; nothing here
// fails on a table that was never validated, a walk just ends where sense does.
type Table []byte

// Array is a field array in the same way.
type Array []byte

// next cuts the first entry off.
func (t Table) next() (key []byte, v Value, rest Table, ok bool) {
	if len(t) == 0 {
		return nil, Value{}, nil, false
	}
	k := 1 + int(t[0])
	if k >= len(t) {
		return nil, Value{}, nil, false
	}
	data, after, ok := cutValue(t[k], t[k+1:])
	if !ok {
		return nil, Value{}, nil, false
	}
	return t[1:k:k], Value{Tag: t[k], Data: data}, Table(after), true
}

// next cuts the first element off.
func (a Array) next() (v Value, rest Array, ok bool) {
	v, after, ok := ParseValue(a)
	return v, Array(after), ok
}

// Get returns the value of a key, of duplicates the first as RabbitMQ does.
func (t Table) Get(key string) (Value, bool) {
	for k, v, rest, ok := t.next(); ok; k, v, rest, ok = rest.next() {
		if string(k) == key {
			return v, true
		}
	}
	return Value{}, false
}

// GetBytes is Get for a key that is bytes already.
func (t Table) GetBytes(key []byte) (Value, bool) {
	for k, v, rest, ok := t.next(); ok; k, v, rest, ok = rest.next() {
		if string(k) == string(key) {
			return v, true
		}
	}
	return Value{}, false
}

// Len counts the entries, duplicates included.
func (t Table) Len() int {
	n := 0
	for _, _, rest, ok := t.next(); ok; _, _, rest, ok = rest.next() {
		n++
	}
	return n
}

// All walks the entries in wire order. Keys and values alias the table.
func (t Table) All() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		for k, v, rest, ok := t.next(); ok; k, v, rest, ok = rest.next() {
			if !yield(k, v) {
				return
			}
		}
	}
}

// Len counts the elements.
func (a Array) Len() int {
	n := 0
	for _, rest, ok := a.next(); ok; _, rest, ok = rest.next() {
		n++
	}
	return n
}

// All walks the elements. They alias the array.
func (a Array) All() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for v, rest, ok := a.next(); ok; v, rest, ok = rest.next() {
			if !yield(v) {
				return
			}
		}
	}
}

// appendText prints a table as RabbitMQ's texts would, about as much of it as a
// text can hold.
func (t Table) appendText(dst []byte, depth int) []byte {
	dst = append(dst, '[')
	first := true
	for k, v := range t.All() {
		if len(dst) > maxText || depth > maxNesting {
			break
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '{'), k...), ',')
		dst = append(v.appendText(dst, depth), '}')
	}
	return append(dst, ']')
}

func (a Array) appendText(dst []byte, depth int) []byte {
	dst = append(dst, '[')
	first := true
	for v := range a.All() {
		if len(dst) > maxText || depth > maxNesting {
			break
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = v.appendText(dst, depth)
	}
	return append(dst, ']')
}
