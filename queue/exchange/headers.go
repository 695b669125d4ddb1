package exchange

import (
	"bytes"
	"slices"
	"strings"

	"mayfly/amqp/wire"
)

// headersBinding is a binding of a headers exchange, made ready for matching.
type headersBinding struct {
	hit
	any   bool // one argument is enough
	args  []headersArg
	bound *bound
}

type headersArg struct {
	key string
	val wire.Value // a void asks only for the header's presence
}

// parseMatch reads a value of x-match: whether one argument is enough, and
// whether those count whose names start with x-.
func parseMatch(v []byte) (one, withX, ok bool) {
	switch string(v) {
	case "all":
		return false, false, true
	case "any":
		return true, false, true
	case "all-with-x":
		return false, true, true
	case "any-with-x":
		return true, true, true
	}
	return false, false, false
}

func newHeadersBinding(x *bound) *headersBinding {
	match, _ := x.Args.Get("x-match")
	one, withX, _ := parseMatch(match.Data)
	h := &headersBinding{hit: single(x.Dest), any: one, bound: x}
	for k, v := range x.Args.All() {
		key := string(k)
		if key == "x-match" || (!withX && strings.HasPrefix(key, "x-")) {
			continue
		}
		if slices.ContainsFunc(h.args, func(a headersArg) bool { return a.key == key }) {
			continue // of duplicates the first counts
		}
		h.args = append(h.args, headersArg{key, v})
	}
	return h
}

// header is one header of the message at hand.
type header struct {
	key []byte
	val wire.Value
}

// matchHeaders adds the destinations of all bindings that match. The table is
// read once and sorted, however many bindings there are.
func (r *Router) matchHeaders(list []*headersBinding, t wire.Table) {
	if len(list) == 0 {
		return
	}
	r.headers = r.headers[:0]
	for k, v := range t.All() {
		r.headers = append(r.headers, header{k, v})
	}
	slices.SortStableFunc(r.headers, func(a, b header) int { return bytes.Compare(a.key, b.key) })
	for _, h := range list {
		if h.matches(r.headers) {
			r.hits = append(r.hits, h.hit)
		}
	}
}

// matches says whether sorted headers satisfy a binding: with all, those without
// an argument match everything; with any, nothing (amqp.md 13).
func (h *headersBinding) matches(headers []header) bool {
	for i := range h.args {
		if h.args[i].matches(headers) == h.any {
			return h.any
		}
	}
	return !h.any
}

func (a *headersArg) matches(headers []header) bool {
	lo, hi := 0, len(headers)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); string(headers[mid].key) < a.key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(headers) || string(headers[lo].key) != a.key {
		return false
	}
	return a.val.Tag == 'V' || wire.ValueEqual(a.val, headers[lo].val)
}
