package fsm

import (
	"encoding/binary"

	"mayfly/queue"
)

// decoder reads the commands of an entry. After the first thing that does not fit
// it is bad and yields zeros; Apply looks once per command, before it changes
// anything.
type decoder struct {
	data []byte
	at   int
	bad  bool
}

func (d *decoder) fail() { d.bad, d.at = true, len(d.data) }

func (d *decoder) byte() byte {
	if d.at >= len(d.data) {
		d.bad = true
		return 0
	}
	v := d.data[d.at]
	d.at++
	return v
}

// flags reads a byte of which only the bits of known may be set.
func (d *decoder) flags(known byte) byte {
	v := d.byte()
	if v&^known != 0 {
		d.fail()
	}
	return v
}

func (d *decoder) uvarint() uint64 {
	if d.at < len(d.data) && d.data[d.at] < 0x80 {
		d.at++
		return uint64(d.data[d.at-1])
	}
	v, n := binary.Uvarint(d.data[d.at:])
	if n <= 0 {
		d.fail()
		return 0
	}
	d.at += n
	return v
}

func (d *decoder) varint() int64 {
	u := d.uvarint()
	v := int64(u >> 1)
	if u&1 != 0 {
		v = ^v
	}
	return v
}

func (d *decoder) limited(most uint64) uint64 {
	v := d.uvarint()
	if v > most {
		d.fail()
		return 0
	}
	return v
}

func (d *decoder) u32() uint32 { return uint32(d.limited(1<<32 - 1)) }

func (d *decoder) session() queue.SessionID {
	if len(d.data)-d.at < 8 {
		d.fail()
		return 0
	}
	v := binary.BigEndian.Uint64(d.data[d.at:])
	d.at += 8
	return queue.SessionID(v)
}

// count reads how many items follow; each takes at least a byte, so a claim
// beyond what is there is damage and never an allocation.
func (d *decoder) count() int {
	v := d.uvarint()
	if v > uint64(len(d.data)-d.at) {
		d.fail()
		return 0
	}
	return int(v)
}

func (d *decoder) bytes() []byte {
	n := d.count()
	v := d.data[d.at : d.at+n]
	d.at += n
	return v
}

// positions reads a list into dst.
func (d *decoder) positions(dst []queue.Pos) []queue.Pos {
	last := queue.Pos(0)
	for n := d.count(); n > 0 && !d.bad; n-- {
		last += queue.Pos(d.varint())
		dst = append(dst, last)
	}
	return dst
}

// ids reads a list of letter ids into dst.
func (d *decoder) ids(dst []uint64) []uint64 {
	last := uint64(0)
	for n := d.count(); n > 0 && !d.bad; n-- {
		last += uint64(d.varint())
		dst = append(dst, last)
	}
	return dst
}

// publish reads what appendPublish wrote, but for the envelope's own parts, of
// which only the body's length matters here.
func (d *decoder) publish(in *queue.Incoming) {
	flags := d.flags(pubPriority | pubTTL | pubPersistent)
	*in = queue.Incoming{TTL: queue.NoTTL, Persistent: flags&pubPersistent != 0}
	if flags&pubPriority != 0 {
		in.HasPriority = true
		in.Priority = d.byte()
	}
	if flags&pubTTL != 0 {
		in.TTL = int64(d.limited(uint64(MaxStamp)))
	}
	size := d.count()
	start := d.at
	in.Off, in.Size = uint32(start), uint32(size)
	most := uint64(size)
	used := d.limited(most) + d.limited(most) + d.limited(most) + d.limited(most)
	used += uint64(d.at - start)
	if d.bad || used > most {
		d.fail()
		return
	}
	in.Body = uint32(most - used)
	d.at = start + size
}

// consumer reads what AppendAttach wrote behind the number.
func (d *decoder) consumer() queue.ConsumerSpec {
	flags := d.flags(attachNoAck | attachExclusive)
	c := queue.ConsumerSpec{NoAck: flags&attachNoAck != 0, Exclusive: flags&attachExclusive != 0}
	c.Number, c.Prefetch, c.Window = d.u32(), d.u32(), d.u32()
	priority := d.varint()
	c.Priority = int32(priority)
	if int64(c.Priority) != priority {
		d.fail()
	}
	c.Tag = string(d.bytes())
	return c
}
