package wire

// PropEdit sets or removes one property.
type PropEdit struct {
	Flag   uint16
	Remove bool
	Value  []byte // wire form, e.g. of AppendShortstr
}

// HeaderEdit sets or removes one key of the headers.
type HeaderEdit struct {
	Key    string
	Remove bool
	Value  []byte // tag and value, as of AppendValue
}

// AppendProperties writes p with the edits made. Every byte that no edit names
// is the publisher's, order, tags and duplicates included (amqp.md 7). No two
// edits name the same property, no two the same key.
//
// A key is replaced where it first stands, its duplicates vanish; a new one goes
// to the end. Headers that lose their last key stay, empty; absent headers come
// into being only to hold a key.
func AppendProperties(dst []byte, p *Properties, edits []PropEdit, headerEdits []HeaderEdit) []byte {
	start := len(dst)
	dst = append(dst, 0, 0)
	var flags uint16
	for i := range propCount {
		flag := uint16(1) << 15 >> i
		value, present := p.value(i), p.flags&flag != 0
		for j := range edits {
			if edits[j].Flag == flag {
				value, present = edits[j].Value, !edits[j].Remove
			}
		}
		if flag == PropHeaders && (present || sets(headerEdits)) && len(headerEdits) > 0 {
			var t Table
			if present && len(value) > 4 {
				t = Table(value[4:])
			}
			dst = appendHeaders(dst, t, headerEdits)
			flags |= flag
			continue
		}
		if present {
			dst = append(dst, value...)
			flags |= flag
		}
	}
	be.PutUint16(dst[start:], flags)
	return dst
}

// sets tells whether any edit leaves a key behind.
func sets(edits []HeaderEdit) bool {
	for i := range edits {
		if !edits[i].Remove {
			return true
		}
	}
	return false
}

// appendHeaders writes a table, length included, with the edits made.
func appendHeaders(dst []byte, t Table, edits []HeaderEdit) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	var met places
	for k, _, rest, ok := t.next(); ok; k, _, rest, ok = t.next() {
		entry := t[:len(t)-len(rest)]
		t = rest
		i := editOf(edits, k)
		if i < 0 {
			dst = append(dst, entry...)
			continue
		}
		if e := &edits[i]; met.first(i) && !e.Remove {
			dst = append(AppendShortstr(dst, e.Key), e.Value...)
		}
	}
	for i := range edits {
		if e := &edits[i]; met.first(i) && !e.Remove {
			dst = append(AppendShortstr(dst, e.Key), e.Value...)
		}
	}
	be.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func editOf(edits []HeaderEdit, key []byte) int {
	for i := range edits {
		if edits[i].Key == string(key) {
			return i
		}
	}
	return -1
}

// places notes which edits have been met, so that a table full of duplicates of
// an edited key costs one pass. It is on the stack for the dozen edits that a
// message gets.
type places struct {
	low  uint64
	high []bool
}

// first tells whether i was not met before, and notes it.
func (p *places) first(i int) bool {
	if i < 64 {
		was := p.low&(1<<i) != 0
		p.low |= 1 << i
		return !was
	}
	for len(p.high) <= i-64 {
		p.high = append(p.high, false)
	}
	was := p.high[i-64]
	p.high[i-64] = true
	return !was
}
