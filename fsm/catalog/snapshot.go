package catalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"mayfly/amqp/wire"
	"mayfly/queue/exchange"
)

// Snapshot is a state on its way to a file. It shares the machine's structures,
// which never change, so it may be written later, from another goroutine.
type Snapshot struct{ view *View }

// Snapshot captures the state as of the last entry.
func (m *Machine) Snapshot() *Snapshot { return &Snapshot{m.view} }

// The layout: version byte, header, then a count and that many records for each
// kind of object, everything sorted; CRC32C of it all at the end. What follows
// from something else (configurations, indexes, compiled patterns) is not in it.
const snapshotVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WriteTo writes the state, alike for equal states.
func (s *Snapshot) WriteTo(w io.Writer) (int64, error) {
	body := s.view.encode()
	body = binary.BigEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
	n, err := w.Write(body)
	if err != nil {
		err = fmt.Errorf("write catalogue snapshot: %w", err)
	}
	return int64(n), err
}

// Restore makes the machine whose snapshot this is.
func Restore(r io.Reader) (*Machine, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read catalogue snapshot: %w", err)
	}
	if len(b) < 5 {
		return nil, errors.New("catalogue snapshot is cut short")
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, errors.New("catalogue snapshot is damaged")
	}
	if body[0] != snapshotVersion {
		return nil, fmt.Errorf("catalogue snapshot of format %d, this release reads %d", body[0], snapshotVersion)
	}
	x := &coder{buf: body[1:], reading: true}
	c := change{}
	c.decode(x)
	if err := x.end("catalogue snapshot"); err != nil {
		return nil, err
	}
	v := c.View
	return &Machine{view: &v}, nil
}

// Digest is equal on machines of equal state. It costs a walk over all of it.
func (m *Machine) Digest() uint64 {
	h := uint64(14695981039346656037)
	for _, b := range m.view.encode() {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

func (v *View) header(x *coder) {
	x.uint(&v.version)
	x.uint(&v.auth)
	x.id(&v.nextQueue)
	x.uint32(&v.incarnation)
}

func (v *View) encode() []byte {
	x := &coder{buf: []byte{snapshotVersion}}
	v.header(x)
	nodes := v.nodes.sorted()
	x.count(len(nodes))
	for _, n := range nodes {
		r := *n
		r.code(x)
	}
	encodeParams(x, v.globals)
	vhosts := v.vhosts.sorted()
	x.count(len(vhosts))
	for _, h := range vhosts {
		h.encode(x)
	}
	users := v.users.sorted()
	x.count(len(users))
	for _, u := range users {
		u.encode(x)
	}
	return x.buf
}

// decode fills an empty change. Records go through the transitions that made them
// wherever there is one, so a snapshot cannot bring in what no command could.
func (c *change) decode(x *coder) {
	c.header(x)
	for n := x.count(0); n > 0 && x.err == nil; n-- {
		var r Node
		r.code(x)
		c.nodes = c.nodes.with(r.Name, &r)
	}
	c.globals = decodeParams(x)
	for n := x.count(0); n > 0 && x.err == nil; n-- {
		c.decodeVhost(x)
	}
	for n := x.count(0); n > 0 && x.err == nil; n-- {
		c.decodeUser(x)
	}
}

func (n *Node) code(x *coder) {
	x.str(&n.Name)
	x.uint32(&n.Incarnation)
	x.bool(&n.Gone)
}

func encodeParams(x *coder, m pmap[[]byte]) {
	keys := m.keys()
	x.count(len(keys))
	for _, k := range keys {
		val := m.at(k)
		x.str(&k)
		x.bytes(&val)
	}
}

func decodeParams(x *coder) (m pmap[[]byte]) {
	for n := x.count(0); n > 0 && x.err == nil; n-- {
		var k string
		var val []byte
		x.str(&k)
		x.bytes(&val)
		m = m.with(k, val)
	}
	return m
}

func (v *Vhost) meta(x *coder) {
	x.str(&v.Name)
	x.str(&v.Description)
	x.strs(&v.Tags)
	x.str(&v.DefaultQueueType)
	x.bool(&v.Tracing)
	x.bool(&v.Protected)
	x.limit(&v.MaxConnections)
	x.limit(&v.MaxQueues)
}

func (v *Vhost) encode(x *coder) {
	meta := *v
	meta.meta(x)
	components := v.params.keys()
	x.count(len(components))
	for _, name := range components {
		x.str(&name)
		encodeParams(x, v.params.at(name))
	}
	exchanges := v.exchanges.All()
	x.count(len(exchanges))
	for _, e := range exchanges {
		r := exchangeRecord{e.Name, e.Kind.String(), e.Durable, e.AutoDelete, e.Internal, e.Args, v.born.at(e.Name)}
		r.code(x)
	}
	queues := v.queues.sorted()
	x.count(len(queues))
	for _, q := range queues {
		r := *q
		r.code(x)
	}
	bindings := v.Bindings()
	x.count(len(bindings))
	for _, b := range bindings {
		x.binding(&b)
	}
}

func (c *change) decodeVhost(x *coder) {
	v := Vhost{exchanges: &exchange.Table{}}
	v.meta(x)
	for n := x.count(0); n > 0 && x.err == nil; n-- {
		var name string
		x.str(&name)
		v.params = v.params.with(name, decodeParams(x))
	}
	for n := x.count(0); n > 0 && x.err == nil; n-- {
		var r exchangeRecord
		r.code(x)
		r.restore(x, &v)
	}
	for n := x.count(0); n > 0 && x.err == nil; n-- {
		var q Queue
		q.code(x)
		q.Vhost, q.TypeNamed = v.Name, typeNamed(q.Args)
		q.Config = newConfig(q.Vhost, q.Name, q.AutoDelete, q.Args)
		v.queues = v.queues.with(q.Name, &q)
		c.addQueue(&q)
	}
	for n := x.count(0); n > 0 && x.err == nil; n-- {
		var b exchange.Binding
		x.binding(&b)
		e, _, missing := v.ends(&b)
		if missing != nil {
			x.fail(missing)
			return
		}
		e, _ = e.Bind(b)
		v.exchanges = v.exchanges.With(e)
		v.count(b.Dest, b.Source, 1)
	}
	c.putVhost(&v)
}

// exchangeRecord is an exchange without its bindings.
type exchangeRecord struct {
	name, kind                    string
	durable, autoDelete, internal bool
	args                          wire.Table
	born                          uint32
}

func (r *exchangeRecord) code(x *coder) {
	x.str(&r.name)
	x.str(&r.kind)
	x.bool(&r.durable)
	x.bool(&r.autoDelete)
	x.bool(&r.internal)
	x.table(&r.args)
	if !r.durable {
		x.uint32(&r.born)
	}
}

func (r *exchangeRecord) restore(x *coder, v *Vhost) {
	kind, refusal := CheckExchangeType(r.kind)
	if refusal != nil {
		x.fail(refusal)
		return
	}
	v.exchanges = v.exchanges.With(newExchange(DeclareExchange{Vhost: v.Name, Name: r.name, Durable: r.durable, AutoDelete: r.autoDelete,
		Internal: r.internal, Args: r.args}, kind))
	if !r.durable {
		v.born = v.born.with(r.name, r.born)
	}
}

func (q *Queue) code(x *coder) {
	x.id(&q.ID)
	x.str(&q.Name)
	x.bool(&q.Durable)
	x.bool(&q.AutoDelete)
	x.bool(&q.Exclusive)
	x.uint(&q.Owner)
	x.table(&q.Args)
	x.str(&q.User)
	x.uint32(&q.Born)
}

func (u *User) encode(x *coder) {
	(&PutUser{u.Name, u.Algorithm, u.Hash, u.Tags, u.MaxConnections, u.MaxChannels}).code(x)
	permissions := u.permissions.sorted()
	x.count(len(permissions))
	for _, p := range permissions {
		(&PutPermission{p.User, p.Vhost, p.configure.text, p.write.text, p.read.text}).code(x)
	}
	rules := u.TopicRules()
	x.count(len(rules))
	for _, t := range rules {
		(&PutTopicPermission{t.User, t.Vhost, t.Exchange, t.Write, t.Read}).code(x)
	}
}

func (c *change) decodeUser(x *coder) {
	run := func(cmd Command) {
		if x.err != nil {
			return
		}
		if r := cmd.apply(c); r != nil {
			x.fail(r)
		}
	}
	run(read[PutUser](x))
	for n := x.count(0); n > 0 && x.err == nil; n-- {
		run(read[PutPermission](x))
	}
	for n := x.count(0); n > 0 && x.err == nil; n-- {
		run(read[PutTopicPermission](x))
	}
}
