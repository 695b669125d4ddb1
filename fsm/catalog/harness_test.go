package catalog

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"mayfly/amqp/wire"
	"mayfly/queue/exchange"
)

// rig is a machine with a log index, a vhost "/" and the user "u".
type rig struct {
	*testing.T
	m     *Machine
	index uint64
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, m: New()}
	r.must(PutVhost{Name: "/"}, PutUser{Name: "u"}, NodeUp{Name: "n1"})
	return r
}

// apply runs a command through the codec and the machine, and checks that a
// refusal changed nothing (invariant 6).
func (r *rig) apply(c Command) Outcome {
	r.Helper()
	r.index++
	before, version := r.m.Digest(), r.m.View()
	o := r.m.Apply(r.index, Encode(c))
	if o.Code != 0 && (r.m.Digest() != before || r.m.View() != version) {
		r.Fatalf("%#v was refused (%s) and changed the state", c, o.Text)
	}
	if err := r.m.Check(); err != nil {
		r.Fatalf("after %#v: %v", c, err)
	}
	return o
}

func (r *rig) must(cs ...Command) Outcome {
	r.Helper()
	var o Outcome
	for _, c := range cs {
		if o = r.apply(c); o.Code != 0 {
			r.Fatalf("%#v refused: %d %s", c, o.Code, o.Text)
		}
	}
	return o
}

func (r *rig) refused(c Command, code uint16, text string) {
	r.Helper()
	if o := r.apply(c); o.Code != code || o.Text != text {
		r.Errorf("%#v\n got %d %s\nwant %d %s", c, o.Code, o.Text, code, text)
	}
}

func (r *rig) vhost() *Vhost { return r.m.View().Vhost("/") }

// Values of every type.
func be(tag byte, size int, n uint64) wire.Value {
	b := binary.BigEndian.AppendUint64(nil, n)
	return wire.Value{Tag: tag, Data: b[8-size:]}
}

func integer(tag byte, n int64) wire.Value {
	size := map[byte]int{'b': 1, 'B': 1, 's': 2, 'u': 2, 'I': 4, 'i': 4, 'l': 8, 'L': 8}[tag]
	return be(tag, size, uint64(n))
}

func str(s string) wire.Value { return wire.StringValue(s) }

func double(f float64) wire.Value { return be('d', 8, math.Float64bits(f)) }

func float(f float32) wire.Value { return be('f', 4, uint64(math.Float32bits(f))) }

var (
	yes     = wire.BoolValue(true)
	void    = wire.Value{Tag: 'V'}
	stamp   = wire.TimestampValue(5)
	decimal = wire.Value{Tag: 'D', Data: []byte{0, 0, 0, 0, 5}}
	binary5 = wire.Value{Tag: 'x', Data: []byte("5")}
	array   = wire.ArrayValue(wire.AppendValue(nil, str("a")))
	table   = wire.TableValue(wire.AppendString(nil, "a", "b"))
)

var integers = []byte("bBsuIilL")

// args builds a table of keys and values in turn.
func args(kv ...any) wire.Table {
	var t wire.Table
	for i := 0; i < len(kv); i += 2 {
		v, ok := kv[i+1].(wire.Value)
		if !ok {
			switch x := kv[i+1].(type) {
			case string:
				v = str(x)
			case int:
				v = integer('I', int64(x))
			case bool:
				v = wire.BoolValue(x)
			}
		}
		t = wire.AppendRaw(t, kv[i].(string), v)
	}
	return t
}

func bindQueue(source, dest, key string) Bind {
	return Bind{Vhost: "/", Binding: exchange.Binding{Source: source, Dest: queueDest(dest), Key: key}}
}

func bindExchange(source, dest, key string) Bind {
	return Bind{Vhost: "/", Binding: exchange.Binding{Source: source, Dest: exchangeDest(dest), Key: key}}
}

func (r *rig) restored() *Machine {
	r.Helper()
	var b bytes.Buffer
	if _, err := r.m.Snapshot().WriteTo(&b); err != nil {
		r.Fatal(err)
	}
	m, err := Restore(&b)
	if err != nil {
		r.Fatal(err)
	}
	return m
}
