package catalog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"mayfly/amqp/wire"
)

// coder reads or writes fields in turn, so that one description of a record
// serves both directions and they cannot drift apart. Numbers are varints, and
// everything has one encoding only. Reading never allocates by a claimed length
// (X2): it is compared with what is there first.
type coder struct {
	buf     []byte // writing: what was written; reading: what is left
	reading bool
	err     error // reading: the first failure; everything after yields zero values
}

var (
	errShort = errors.New("record is cut short")
	errForm  = errors.New("record is not in its one form")
)

func (x *coder) fail(err error) {
	if x.err == nil {
		x.err = err
	}
	x.buf = nil
}

func (x *coder) uint(p *uint64) {
	if !x.reading {
		x.buf = binary.AppendUvarint(x.buf, *p)
		return
	}
	v, n := binary.Uvarint(x.buf)
	if n <= 0 {
		x.fail(errShort)
		*p = 0
		return
	}
	if n > 1 && x.buf[n-1] == 0 { // a shorter form exists
		x.fail(errForm)
		*p = 0
		return
	}
	*p = v
	x.buf = x.buf[n:]
}

func (x *coder) uint32(p *uint32) {
	v := uint64(*p)
	x.uint(&v)
	if v > 1<<32-1 {
		x.fail(errForm)
		v = 0
	}
	*p = uint32(v)
}

func (x *coder) int(p *int64) {
	u := uint64(*p)<<1 ^ uint64(*p>>63)
	x.uint(&u)
	*p = int64(u>>1) ^ -int64(u&1)
}

func (x *coder) bool(p *bool) {
	var u uint64
	if *p {
		u = 1
	}
	x.uint(&u)
	if u > 1 {
		x.fail(errForm)
	}
	*p = u == 1
}

// span writes or cuts off a length and that many bytes. What it returns when
// reading aliases the input.
func (x *coder) span(b []byte) []byte {
	n := uint64(len(b))
	x.uint(&n)
	if !x.reading {
		x.buf = append(x.buf, b...)
		return b
	}
	if n > uint64(len(x.buf)) {
		x.fail(errShort)
		return nil
	}
	b = x.buf[:n]
	x.buf = x.buf[n:]
	return b
}

func (x *coder) str(p *string) {
	if x.reading {
		*p = string(x.span(nil))
		return
	}
	n := uint64(len(*p))
	x.uint(&n)
	x.buf = append(x.buf, *p...)
}

func (x *coder) bytes(p *[]byte) {
	b := x.span(*p)
	if x.reading {
		*p = append([]byte(nil), b...)
	}
}

func (x *coder) table(p *wire.Table) { x.bytes((*[]byte)(p)) }

// count starts a list. Each element takes at least a byte, so a list longer than
// what is left is a lie.
func (x *coder) count(n int) int {
	u := uint64(n)
	x.uint(&u)
	if x.reading && u > uint64(len(x.buf)) {
		x.fail(errShort)
		return 0
	}
	return int(u)
}

func (x *coder) strs(p *[]string) {
	n := x.count(len(*p))
	if x.reading {
		*p = nil
	}
	for i := 0; i < n && x.err == nil; i++ {
		if x.reading {
			*p = append(*p, "")
		}
		x.str(&(*p)[i])
	}
}

func (x *coder) limit(p *Limit) {
	x.bool(&p.Set)
	if p.Set {
		x.int(&p.Max)
	}
}

// end checks that a record was read to its last byte.
func (x *coder) end(what string) error {
	if x.err == nil && len(x.buf) > 0 {
		x.err = errors.New("bytes follow the record")
	}
	if x.err != nil {
		return fmt.Errorf("decode %s: %w", what, x.err)
	}
	return nil
}
