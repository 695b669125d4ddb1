package wire

import "strconv"

// Limits of field tables (X3). Without them a frame of void array elements, one
// byte each, would make anything that walks it work out of proportion.
const (
	maxNesting      = 64   // tables and arrays within each other, the outermost included
	maxTableEntries = 1024 // of one table
	maxFrameValues  = 8192 // of all tables and arrays of one frame together
)

// checker validates tables in place; one checker sees all tables of a frame.
type checker struct {
	left int // values that the frame may still hold
}

func newChecker() checker { return checker{left: maxFrameValues} }

// Validate tells whether the table can be walked to its end, nested ones
// included, within the limits of X3. The error is an *Error of code 502.
func (t Table) Validate() error {
	c := newChecker()
	if reason := c.table(t, 1); reason != "" {
		return &Error{Code: codeSyntaxError, Text: reason}
	}
	return nil
}

// table returns what is wrong with a table's entries, "" for nothing.
func (c *checker) table(b []byte, depth int) string {
	if depth > maxNesting {
		return "field table nested deeper than 64 levels"
	}
	for n := 1; len(b) > 0; n++ {
		if n > maxTableEntries {
			return "more than 1024 entries in a field table"
		}
		k := 1 + int(b[0])
		if k >= len(b) {
			return "field table ends within an entry"
		}
		rest, reason := c.value(b[k], b[k+1:], depth)
		if reason != "" {
			return reason
		}
		b = rest
	}
	return ""
}

func (c *checker) array(b []byte, depth int) string {
	if depth > maxNesting {
		return "field array nested deeper than 64 levels"
	}
	for len(b) > 0 {
		rest, reason := c.value(b[0], b[1:], depth)
		if reason != "" {
			return reason
		}
		b = rest
	}
	return ""
}

// value checks one value and returns what follows it.
func (c *checker) value(tag byte, b []byte, depth int) (rest []byte, reason string) {
	if c.left--; c.left < 0 {
		return nil, "more than 8192 field values in a frame"
	}
	data, rest, ok := cutValue(tag, b)
	if !ok {
		if layout[tag] == 0 {
			return nil, "unknown field type " + strconv.Itoa(int(tag))
		}
		return nil, "field value longer than its table"
	}
	switch tag {
	case 'F':
		reason = c.table(data, depth+1)
	case 'A':
		reason = c.array(data, depth+1)
	}
	return rest, reason
}
