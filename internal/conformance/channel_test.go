package conformance

import (
	"encoding/binary"
	"testing"
)

// channel is one channel of a conn.
type channel struct {
	c *conn
	n uint16
}

// channel opens channel n.
func (c *conn) channel(n uint16) *channel {
	c.t.Helper()
	ch := &channel{c, n}
	ch.open()
	return ch
}

// another opens the next free channel above those the test opened itself.
func (c *conn) another() *channel {
	c.t.Helper()
	c.lastCh++
	return c.channel(100 + c.lastCh)
}

func (ch *channel) open() {
	ch.c.t.Helper()
	ch.call(channelOpenOk, channelOpen, "")
}

func (ch *channel) send(id uint32, a ...any) { ch.c.send(ch.n, method(id, a...)) }

// call sends a method and takes its reply.
func (ch *channel) call(reply, id uint32, a ...any) *args {
	ch.c.t.Helper()
	ch.send(id, a...)
	return ch.expect(reply)
}

// expect takes the next frame of the channel, which must be the method.
func (ch *channel) expect(id uint32) *args {
	ch.c.t.Helper()
	f, err := ch.c.next(ch.n, patience)
	if err != nil {
		ch.c.t.Fatalf("waiting for %s on channel %d: %v", methodName(id), ch.n, err)
	}
	if f.id() != id {
		ch.c.t.Fatalf("want %s on channel %d, got %v", methodName(id), ch.n, f)
	}
	return &args{ch.c.t, f.payload[4:]}
}

// closed demands that the broker closes the channel with this error and cause,
// and answers close-ok.
func (ch *channel) closed(code uint16, text string, id uint32) {
	ch.c.t.Helper()
	x := parseClose(ch.expect(channelClose))
	if !x.matches(code, text) {
		ch.c.t.Fatalf("channel closed with\n got %d %q\nwant %d %q", x.code, x.text, code, codeName[code]+" - "+text)
	}
	if id != anyID && x.id != id {
		ch.c.t.Fatalf("channel.close names %s as its cause, want %s", methodName(x.id), methodName(id))
	}
	ch.send(channelCloseOk)
}

// refused is send, closed and a new start under the same number, so that many
// refusals can follow one another.
func (ch *channel) refused(code uint16, text string, id uint32, a ...any) {
	ch.c.t.Helper()
	ch.send(id, a...)
	ch.closed(code, text, id)
	ch.open()
}

// hard is send and the end of the connection.
func (ch *channel) hard(code uint16, text string, id uint32, a ...any) {
	ch.c.t.Helper()
	ch.send(id, a...)
	ch.c.closed(code, text, id)
}

// close ends the channel in order.
func (ch *channel) close() {
	ch.c.t.Helper()
	ch.call(channelCloseOk, channelClose, uint16(replySuccess), "bye", uint16(0), uint16(0)).end()
}

// quiet shows that nothing has arrived on the channel: a round trip through it,
// and through every queue named, is answered with no other frame before.
func (ch *channel) quiet(queues ...string) {
	ch.c.t.Helper()
	for _, q := range queues {
		ch.count(q)
	}
	ch.call(channelFlowOk, channelFlow, bits(1))
}

// Flags of queue.declare and exchange.declare.
const (
	passive    = bits(1)
	durable    = bits(2)
	exclusive  = bits(4) // queues
	autoDelete = bits(8) // queues
	noWait     = bits(16)

	xAutoDelete = bits(4) // exchanges
	internal    = bits(8) // exchanges
)

type counts struct{ ready, consumers uint32 }

func declareArgs(name string, flags bits, a table) []any {
	return []any{uint16(0), name, flags, a}
}

func exchangeArgs(name, kind string, flags bits, a table) []any {
	return []any{uint16(0), name, kind, flags, a}
}

// declare declares a queue and returns its name and counts.
func (ch *channel) declare(name string, flags bits, a table) (string, counts) {
	ch.c.t.Helper()
	r := ch.call(queueDeclareOk, queueDeclare, declareArgs(name, flags, a)...)
	got, n := r.short(), counts{r.u32(), r.u32()}
	r.end()
	return got, n
}

// count is what a passive declare tells.
func (ch *channel) count(queue string) counts {
	ch.c.t.Helper()
	_, n := ch.declare(queue, passive, nil)
	return n
}

// counted waits until a queue's counts are as wanted: for what the broker does
// in its own time, such as noticing a lost socket.
func (ch *channel) counted(queue string, want counts) {
	ch.c.t.Helper()
	var got counts
	eventually(ch.c.t, func() bool { got = ch.count(queue); return got == want },
		func() string { return "queue " + queue + " never reached the wanted counts" })
}

// queue declares a queue of this connection alone, which goes with it.
func (ch *channel) queue(a ...field) string {
	ch.c.t.Helper()
	q, _ := ch.declare(unique("q"), exclusive, a)
	return q
}

// shared declares a durable queue that any connection may use.
func (ch *channel) shared(a ...field) string {
	ch.c.t.Helper()
	q, _ := ch.declare(unique("q"), durable, a)
	janitor.queue(ch.c.t, q)
	return q
}

// exchange declares an exchange; it is deleted with the test.
func (ch *channel) exchange(kind string, flags bits, a ...field) string {
	ch.c.t.Helper()
	x := unique("x")
	ch.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(x, kind, flags, a)...).end()
	janitor.exchange(ch.c.t, x)
	return x
}

func (ch *channel) bind(queue, exchange, key string, a ...field) {
	ch.c.t.Helper()
	ch.call(queueBindOk, queueBind, uint16(0), queue, exchange, key, bits(0), table(a)).end()
}

func (ch *channel) unbind(queue, exchange, key string, a ...field) {
	ch.c.t.Helper()
	ch.call(queueUnbindOk, queueUnbind, uint16(0), queue, exchange, key, table(a)).end()
}

func (ch *channel) bindExchange(dest, source, key string, a ...field) {
	ch.c.t.Helper()
	ch.call(exchangeBindOk, exchangeBind, uint16(0), dest, source, key, bits(0), table(a)).end()
}

func (ch *channel) purge(queue string) uint32 {
	ch.c.t.Helper()
	r := ch.call(queuePurgeOk, queuePurge, uint16(0), queue, bits(0))
	n := r.u32()
	r.end()
	return n
}

const (
	ifUnused = bits(1)
	ifEmpty  = bits(2)
)

func (ch *channel) deleteQueue(queue string, flags bits) uint32 {
	ch.c.t.Helper()
	r := ch.call(queueDeleteOk, queueDelete, uint16(0), queue, flags)
	n := r.u32()
	r.end()
	return n
}

func (ch *channel) qos(count uint16, global bool) {
	ch.c.t.Helper()
	var g bits
	if global {
		g = 1
	}
	ch.call(basicQosOk, basicQos, uint32(0), count, g).end()
}

// Flags of basic.consume.
const (
	noLocal          = bits(1)
	noAck            = bits(2)
	consumeExclusive = bits(4)
	consumeNoWait    = bits(8)
)

func consumeArgs(queue, tag string, flags bits, a table) []any {
	return []any{uint16(0), queue, tag, flags, a}
}

// consume starts a consumer and returns its tag.
func (ch *channel) consume(queue, tag string, flags bits, a ...field) string {
	ch.c.t.Helper()
	r := ch.call(basicConsumeOk, basicConsume, consumeArgs(queue, tag, flags, a)...)
	got := r.short()
	r.end()
	return got
}

func (ch *channel) cancel(tag string) {
	ch.c.t.Helper()
	r := ch.call(basicCancelOk, basicCancel, tag, bits(0))
	if got := r.short(); got != tag {
		ch.c.t.Fatalf("cancel-ok for %q, want %q", got, tag)
	}
	r.end()
}

func (ch *channel) ack(tag uint64, multiple bool) {
	var m bits
	if multiple {
		m = 1
	}
	ch.send(basicAck, tag, m)
}

// nack flags: bit 0 multiple, bit 1 requeue.
func (ch *channel) nack(tag uint64, flags bits) { ch.send(basicNack, tag, flags) }

func (ch *channel) reject(tag uint64, requeue bool) {
	var r bits
	if requeue {
		r = 1
	}
	ch.send(basicReject, tag, r)
}

func (ch *channel) confirms() {
	ch.c.t.Helper()
	ch.call(confirmSelectOk, confirmSelect, bits(0)).end()
}

// Flags of basic.publish.
const (
	mandatory = bits(1)
	immediate = bits(2)
)

// publication is a publish as bytes: method, header, bodies split for frameMax.
func publication(ch uint16, frameMax int, exchange, key string, flags bits, properties, body []byte) []byte {
	b := frameBytes(typeMethod, ch, method(basicPublish, uint16(0), exchange, key, flags))
	b = append(b, frameBytes(typeHeader, ch, header(uint64(len(body)), properties))...)
	for len(body) > 0 {
		n := min(len(body), frameMax-8)
		b = append(b, frameBytes(typeBody, ch, body[:n])...)
		body = body[n:]
	}
	return b
}

// header is the payload of a content header frame.
func header(size uint64, properties []byte) []byte {
	b := binary.BigEndian.AppendUint64([]byte{0, 60, 0, 0}, size)
	return append(b, properties...)
}

func (ch *channel) publish(exchange, key string, p props, body string) {
	ch.publishWith(exchange, key, 0, p, body)
}

func (ch *channel) publishWith(exchange, key string, flags bits, p props, body string) {
	ch.c.write(publication(ch.n, ch.c.frameMax, exchange, key, flags, p.encode(), []byte(body)))
}

// message is content that arrived, by deliver, get-ok or return.
type message struct {
	tag         string // consumer
	delivery    uint64
	redelivered bool
	code        uint16
	text        string
	exchange    string
	key         string
	left        uint32 // get-ok: messages that remain
	properties  []byte // flags and values as they came
	body        string
	frames      int // body frames
}

func (m *message) props(t testing.TB) props { t.Helper(); return parseProps(t, m.properties) }

// message takes content with the given method.
func (ch *channel) message(id uint32) *message {
	ch.c.t.Helper()
	a, m := ch.expect(id), &message{}
	switch id {
	case basicDeliver:
		m.tag, m.delivery, m.redelivered = a.short(), a.u64(), a.bit(0)
	case basicGetOk:
		m.delivery, m.redelivered = a.u64(), a.bit(0)
	case basicReturn:
		m.code, m.text = a.u16(), a.short()
	}
	m.exchange, m.key = a.short(), a.short()
	if id == basicGetOk {
		m.left = a.u32()
	}
	a.end()
	ch.content(m)
	return m
}

// content takes the header and the bodies of a message.
func (ch *channel) content(m *message) {
	t := ch.c.t
	t.Helper()
	f, err := ch.c.next(ch.n, patience)
	if err != nil || f.typ != typeHeader {
		t.Fatalf("want a content header, got %v, %v", f, err)
	}
	a := &args{t, f.payload}
	if class, weight := a.u16(), a.u16(); class != 60 || weight != 0 {
		t.Fatalf("content header of class %d, weight %d", class, weight)
	}
	size := a.u64()
	m.properties = a.b
	body := make([]byte, 0, min(size, 1<<26))
	for uint64(len(body)) < size {
		f, err := ch.c.next(ch.n, patience)
		if err != nil || f.typ != typeBody {
			t.Fatalf("want a body frame after %d of %d octets, got %v, %v", len(body), size, f, err)
		}
		if len(f.payload) == 0 {
			t.Fatal("the broker sent an empty body frame (amqp.md 6.1)")
		}
		body = append(body, f.payload...)
		m.frames++
	}
	if uint64(len(body)) != size {
		t.Fatalf("body of %d octets, announced were %d", len(body), size)
	}
	m.body = string(body)
}

// deliver takes the next delivery.
func (ch *channel) deliver() *message { ch.c.t.Helper(); return ch.message(basicDeliver) }

// returned takes the next basic.return.
func (ch *channel) returned() *message { ch.c.t.Helper(); return ch.message(basicReturn) }

// delivers takes deliveries with these bodies, in this order.
func (ch *channel) delivers(bodies ...string) []*message {
	ch.c.t.Helper()
	var out []*message
	for _, want := range bodies {
		m := ch.deliver()
		if m.body != want {
			ch.c.t.Fatalf("delivered %q, want %q (of %q)", m.body, want, bodies)
		}
		out = append(out, m)
	}
	return out
}

// get takes one message, which must be there.
func (ch *channel) get(queue string, flags bits) *message {
	ch.c.t.Helper()
	ch.send(basicGet, uint16(0), queue, flags)
	return ch.message(basicGetOk)
}

// getEmpty shows that a queue has nothing ready.
func (ch *channel) getEmpty(queue string) {
	ch.c.t.Helper()
	ch.call(basicGetEmpty, basicGet, uint16(0), queue, bits(1))
}

// gets empties a queue and returns the bodies. It asks until the queue says
// empty: a count may overtake this channel's own publishes in RabbitMQ.
func (ch *channel) gets(queue string) []string {
	t := ch.c.t
	t.Helper()
	for out := []string{}; ; {
		ch.send(basicGet, uint16(0), queue, bits(1))
		f, err := ch.c.next(ch.n, patience)
		switch {
		case err != nil:
			t.Fatalf("get from %s: %v", queue, err)
		case f.id() == basicGetEmpty:
			return out
		case f.id() != basicGetOk:
			t.Fatalf("get from %s: %v", queue, f)
		}
		m := &message{}
		ch.content(m)
		out = append(out, m.body)
	}
}

// answer is one confirm as it came.
type answer struct {
	seq      uint64
	multiple bool
	nack     bool
}

// confirm takes the next basic.ack or basic.nack of the broker.
func (ch *channel) confirm() answer {
	t := ch.c.t
	t.Helper()
	f, err := ch.c.next(ch.n, patience)
	if err != nil {
		t.Fatalf("waiting for a confirm: %v", err)
	}
	switch a := (&args{t, f.payload[4:]}); f.id() {
	case basicAck:
		return answer{seq: a.u64(), multiple: a.bit(0)}
	case basicNack:
		r := answer{seq: a.u64(), nack: true}
		o := a.u8()
		if o != 2 && o != 3 {
			t.Fatalf("the broker's basic.nack has flags %#x, want requeue set and perhaps multiple (amqp.md 1.1)", o)
		}
		r.multiple = o == 3
		a.end()
		return r
	}
	t.Fatalf("want a confirm, got %v", f)
	return answer{}
}

// confirmed waits until the publishes first..last are answered, exactly once
// each, and reports which of them were refused.
func (ch *channel) confirmed(first, last uint64) (nacked []uint64) {
	t := ch.c.t
	t.Helper()
	open := map[uint64]bool{}
	for s := first; s <= last; s++ {
		open[s] = true
	}
	low := first
	for len(open) > 0 {
		a := ch.confirm()
		if !open[a.seq] {
			t.Fatalf("confirm %+v for a number that is not open", a)
		}
		from := a.seq
		if a.multiple {
			from = low
		}
		for s := from; s <= a.seq; s++ {
			if open[s] && a.nack {
				nacked = append(nacked, s)
			}
			delete(open, s)
		}
		for low <= last && !open[low] {
			low++
		}
	}
	return nacked
}
