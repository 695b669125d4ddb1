package amqp

import (
	"bytes"
	"encoding/binary"
	"strings"
	"sync"

	"mayfly/amqp/wire"
	"mayfly/dlx"
	"mayfly/fsm/catalog"
	"mayfly/queue"
	"mayfly/queue/exchange"
	"mayfly/ttl"
)

// keepBody is how large a gathering buffer may be to be used again for another
// message that comes in several frames, of whatever channel.
const keepBody = 1 << 20

var bodyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// publishing is the message a channel is receiving, and the memory that serves
// for the next one. The owner of the input's.
type publishing struct {
	exchange  []byte // copies: the reader's buffer goes on under them
	key       []byte
	props     []byte // as published
	mandatory bool
	oversize  bool   // the body is passed over; then 406
	size      uint64 // announced
	received  uint64
	body      *[]byte // of a message in several frames, nil between them

	parsed  wire.Properties
	msg     queue.Message
	extra   [][]byte // CC and BCC keys, aliasing props
	bcc     [][]byte // of those, the ones nobody may see
	edited  []byte   // properties after the server's edits
	notes   []byte
	edits   []wire.PropEdit
	headers []wire.HeaderEdit
	short   []byte // wire form of the rewritten reply-to
	route   exchange.Message
	router  exchange.Router
	queues  []*catalog.Queue
	lanes   []*laneState
	seqs    []uint64
	cache   routeCache
}

// routeCache is where the last publish went. It holds for messages without
// headers, and at the default exchange for all without CC and BCC; nothing else
// about a message decides its way. A right, a name or a binding that changes
// makes another view, so none of them is looked at again.
type routeCache struct {
	valid    bool
	version  uint64 // of the view
	exchange []byte
	key      []byte
	lanes    []*laneState
}

func (r *routeCache) holds(version uint64, exchange, key []byte) bool {
	return r.valid && r.version == version && bytes.Equal(r.key, key) && bytes.Equal(r.exchange, exchange)
}

func (r *routeCache) set(version uint64, exchange, key []byte, lanes []*laneState) {
	r.valid, r.version = true, version
	r.exchange, r.key = append(r.exchange[:0], exchange...), append(r.key[:0], key...)
	r.lanes = append(r.lanes[:0], lanes...)
}

func (r *routeCache) clear() {
	clear(r.lanes)
	r.valid, r.lanes = false, r.lanes[:0]
}

// basicPublish takes the method frame; header and body follow (6.1).
func (ch *channel) basicPublish(payload []byte) *Error {
	var m wire.Publish
	if err := wire.DecodePublish(payload, &m); err != nil {
		return faultOf(err)
	}
	if m.Immediate {
		return errImmediate()
	}
	p := &ch.pub
	p.exchange, p.key = append(p.exchange[:0], m.Exchange...), append(p.key[:0], m.RoutingKey...)
	p.mandatory = m.Mandatory
	return nil
}

// contentHeader takes the header frame. A size over the hard cap is refused at
// once; below it the body is passed over first, because clients send a message
// to its end before they look at what the server says.
func (ch *channel) contentHeader(payload []byte) *Error {
	h, err := wire.DecodeHeader(payload)
	if err != nil {
		return faultOf(err)
	}
	p := &ch.pub
	p.props = append(p.props[:0], h.Props...)
	p.size, p.received = h.BodySize, 0
	p.oversize = h.BodySize > uint64(ch.c.opts.MaxMessageSize)
	if h.BodySize > MaxMessageSizeCap {
		return ch.errOversize()
	}
	if h.BodySize == 0 {
		return ch.finishPublish(nil)
	}
	return nil
}

// contentBody takes a body frame. A body in one frame goes straight from the
// reader's buffer to the queues; others are gathered as they arrive, never by
// the size they claim (X2).
func (ch *channel) contentBody(payload []byte) *Error {
	p := &ch.pub
	p.received += uint64(len(payload))
	complete := p.received == p.size
	switch {
	case p.oversize && complete:
		return ch.errOversize()
	case p.oversize:
		return nil
	case complete && p.body == nil:
		return ch.finishPublish(payload)
	}
	p.gather(payload)
	if !complete {
		return nil
	}
	return ch.finishPublish(*p.body)
}

func (p *publishing) gather(b []byte) {
	if p.body == nil {
		p.body = bodyBuffers.Get().(*[]byte)
	}
	*p.body = append(*p.body, b...)
}

// release gives the gathering buffer back when its message is on its way.
func (p *publishing) release() {
	if p.body != nil && cap(*p.body) <= keepBody {
		*p.body = (*p.body)[:0]
		bodyBuffers.Put(p.body)
	}
	p.body = nil
}

func (ch *channel) errOversize() *Error {
	limit := ch.c.opts.MaxMessageSize
	return errMessageSize(ch.pub.size, int(limit), limit >= MaxMessageSizeCap).by(wire.BasicPublishID)
}

// finishPublish is hop 2 of a publish (ARCHITECTURE.md): the message is complete.
// When this node's catalogue lacks the exchange or a route, its leader must be
// asked first; that is the worker's part.
func (ch *channel) finishPublish(body []byte) *Error {
	p := &ch.pub
	again, e := ch.tryPublish(body, false)
	if !again {
		p.release()
		return named(e, wire.BasicPublishID)
	}
	if !ch.onWorker && p.body == nil {
		p.gather(body) // the reader's buffer goes on
		body = *p.body
	}
	return ch.startWork(func() *Error {
		e := ch.freshen()
		if e == nil {
			_, e = ch.tryPublish(body, true)
		}
		p.release()
		return named(e, wire.BasicPublishID)
	})
}

// tryPublish makes the checks of section 9.7 in their order and sends the message
// on its way. With again it has done nothing: the view may be behind.
func (ch *channel) tryPublish(body []byte, fresh bool) (again bool, e *Error) {
	p := &ch.pub
	view := ch.c.view()
	hit := (len(p.exchange) == 0 || !p.hasHeaders()) && p.cache.holds(view.Version(), p.exchange, p.key)
	var x *exchange.Exchange
	if !hit {
		if x, again, e = ch.publishTarget(view, fresh); again || e != nil {
			return again, e
		}
	}
	if e = ch.readMessage(); e != nil { // 6, 7, 8
		return false, e
	}
	hit = hit && len(p.extra) == 0
	if x != nil && x.Kind == exchange.Topic {
		if e = ch.publishTopics(view, x.Name); e != nil { // 9
			return false, e
		}
	}
	if id, ok := p.parsed.UserID(); ok && string(id) != ch.c.user && !ch.c.impersonator() { // 10
		return false, errUserID(id, ch.c.user)
	}
	if len(p.exchange) == 0 && isReplyTarget(p.key) {
		return false, ch.publishReply(body)
	}
	lanes := p.cache.lanes
	if !hit { // 11
		if lanes = ch.routeMessage(view, x); len(lanes) == 0 && !fresh {
			return true, nil
		}
	}
	return false, ch.accept(lanes, body)
}

// publishTarget checks the right to write, the exchange and whether it takes
// publishes (3, 4, 5). The default exchange has no entry: nil.
func (ch *channel) publishTarget(view *catalog.View, fresh bool) (x *exchange.Exchange, again bool, e *Error) {
	p := &ch.pub
	name := p.exchange
	if len(name) == 0 {
		name = defaultExchange
	}
	if !ch.rights.has(view, ch.c, catalog.Write, name) {
		return nil, false, errRights(catalog.Write.String(), catalog.ExchangeName(ch.c.vhost, string(name)), ch.c.user)
	}
	if len(p.exchange) == 0 {
		return nil, false, nil
	}
	if v := view.Vhost(ch.c.vhost); v != nil {
		x = v.ExchangeBytes(p.exchange)
	}
	switch {
	case x == nil && !fresh:
		return nil, true, nil
	case x == nil:
		return nil, false, refused(catalog.NoExchange(ch.c.vhost, string(p.exchange)))
	case x.Internal:
		return nil, false, errInternalExchange(ch.c.vhost, x.Name)
	}
	return x, false, nil
}

var defaultExchange = []byte(catalog.DefaultExchange)

// hasHeaders looks at the flags alone: the properties are not validated yet.
func (p *publishing) hasHeaders() bool {
	return len(p.props) >= 2 && binary.BigEndian.Uint16(p.props)&wire.PropHeaders != 0
}

// readMessage validates the properties and makes msg of them. All bytes stay the
// publisher's own but for BCC, which nobody may see, and a direct reply-to.
func (ch *channel) readMessage() *Error {
	p := &ch.pub
	if err := wire.ParseProperties(p.props, &p.parsed); err != nil {
		return faultOf(err)
	}
	m := &p.msg
	*m = queue.Message{Exchange: p.exchange, Key: p.key, Props: p.props, TTL: queue.NoTTL}
	p.edits, p.headers, p.extra = p.edits[:0], p.headers[:0], p.extra[:0]
	if to, ok := p.parsed.ReplyTo(); ok && string(to) == replyQueue {
		name := ch.directName()
		if name == "" {
			return errNoReplyTarget()
		}
		p.short = wire.AppendShortstr(p.short[:0], name)
		p.edits = append(p.edits, wire.PropEdit{Flag: wire.PropReplyTo, Value: p.short})
	}
	if text, ok := p.parsed.Expiration(); ok {
		ms, detail := ttl.ParseExpiration(text)
		if detail != "" {
			return errExpiration(text, detail)
		}
		m.TTL = ms
	}
	if p.parsed.Has(wire.PropHeaders) {
		if e := p.readCopies(); e != nil {
			return e
		}
	}
	m.Priority, m.HasPriority = p.parsed.Priority()
	m.Persistent = p.parsed.DeliveryMode() == 2
	if len(p.edits)+len(p.headers) > 0 {
		p.edited = wire.AppendProperties(p.edited[:0], &p.parsed, p.edits, p.headers)
		m.Props = p.edited
	}
	return nil
}

// readCopies collects the CC and BCC keys. BCC leaves the headers; its keys stay
// in the annotations, for dead-lettering (D-4).
func (p *publishing) readCopies() *Error {
	headers := p.parsed.Headers()
	var detail string
	p.extra, p.bcc, detail = exchange.SplitCC(headers, p.extra[:0], p.bcc[:0])
	if detail != "" {
		return errPrecondition("invalid message: " + detail)
	}
	if _, ok := headers.Get("BCC"); ok {
		p.headers = append(p.headers, wire.HeaderEdit{Key: "BCC", Remove: true})
		p.notes = dlx.AppendBCC(p.notes[:0], p.bcc)
		p.msg.Annotations = p.notes
		p.extra = append(p.extra, p.bcc...)
	}
	return nil
}

// publishTopics checks the right on the key and on every CC and BCC key.
func (ch *channel) publishTopics(view *catalog.View, name string) *Error {
	p := &ch.pub
	if !view.TopicAllowed(ch.c.user, ch.c.vhost, name, catalog.Write, p.key) {
		return errTopicRights("write", string(p.key), ch.c.vhost, name, ch.c.user)
	}
	for _, key := range p.extra {
		if !view.TopicAllowed(ch.c.user, ch.c.vhost, name, catalog.Write, key) {
			return errTopicRights("write", string(key), ch.c.vhost, name, ch.c.user)
		}
	}
	return nil
}

// routeMessage finds the lanes of all target queues and remembers them when the
// way depends on exchange and key alone.
func (ch *channel) routeMessage(view *catalog.View, x *exchange.Exchange) []*laneState {
	p := &ch.pub
	ch.forgetLanes()
	v := view.Vhost(ch.c.vhost)
	if v == nil {
		return nil
	}
	p.queues = p.queues[:0]
	seed := p.router.Seed
	if x == nil {
		p.queues = v.RouteDefault(p.key, p.queues)
		for _, key := range p.extra {
			p.queues = v.RouteDefault(key, p.queues)
		}
	} else {
		p.route = exchange.Message{Key: p.key, Extra: p.extra, Headers: p.parsed.Headers()}
		p.queues = v.Route(x, &p.route, &p.router, p.queues)
	}
	p.lanes = p.lanes[:0]
	for _, q := range p.queues {
		p.lanes = append(p.lanes, ch.laneOf(q))
	}
	clear(p.queues)
	// Seed moves when an exchange on the way chose at random.
	// A way to nowhere is not remembered: it must be asked for again (read your writes).
	if len(p.lanes) > 0 && seed == p.router.Seed && (x == nil && len(p.extra) == 0 || !p.hasHeaders()) {
		p.cache.set(view.Version(), p.exchange, p.key, p.lanes)
	}
	return p.lanes
}

// accept sends a message that passed all checks to its queues. With none it is
// returned or dropped, and confirmed in both cases.
func (ch *channel) accept(lanes []*laneState, body []byte) *Error {
	p := &ch.pub
	p.msg.Body = body
	if ch.mode == modeTx {
		return ch.tx.publish(ch, lanes)
	}
	if len(lanes) == 0 && p.mandatory {
		ch.returnMessage(&p.msg)
	}
	p.seqs = p.seqs[:0]
	for _, ls := range lanes {
		p.seqs = append(p.seqs, ls.Publish(&p.msg))
	}
	if ch.mode == modeConfirm {
		ch.expectConfirm(lanes, p.seqs)
	}
	p.msg.Body = nil
	return nil
}

// expectConfirm takes the publish's number and notes which lanes must answer.
func (ch *channel) expectConfirm(lanes []*laneState, seqs []uint64) {
	ch.mu.Lock()
	num, open, refused := ch.confirms.next(), 0, false
	for i, ls := range lanes {
		due, no := ls.confirms.expect(seqs[i], num)
		if due {
			open++
		}
		refused = refused || no
	}
	ch.confirms.add(open, refused)
	ch.noteCrowd()
	ready := ch.confirms.ready()
	ch.mu.Unlock()
	if ready {
		ch.wake()
	}
}

// returnMessage is section 9.8: the client gets its message back, before the ack.
func (ch *channel) returnMessage(m *queue.Message) {
	ch.mu.Lock()
	ch.returned = wire.AppendReturn(ch.returned, ch.id, codeNoRoute, "NO_ROUTE", m.Exchange, m.Key)
	ch.returned = wire.AppendContent(ch.returned, ch.id, m.Props, m.Body, ch.c.frameMax)
	ch.noteCrowd()
	ch.mu.Unlock()
	ch.wake()
}

// isReplyTarget tells the keys that name a reply consumer.
func isReplyTarget(key []byte) bool { return strings.HasPrefix(string(key), replyPrefix) }
