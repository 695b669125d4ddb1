package amqp

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// Direct reply-to (amqp.md 14).
const (
	replyQueue  = "amq.rabbitmq.reply-to"
	replyPrefix = replyQueue + "."
)

// maxReplies bounds the replies that wait for a requester that does not read;
// beyond it they are dropped, as "at most once" allows.
const maxReplies = 32 << 20

// replyRegistry finds the reply consumers of this node by the name that requests
// carry. The name is a secret of 128 bits, and names the node after it, so that
// every node can tell whom to ask.
type replyRegistry struct {
	node string // the end of this node's names

	mu      sync.RWMutex
	waiting map[string]*channel
}

func newReplyRegistry(s *Server) *replyRegistry {
	// A hash, since a node's name may be longer than what is left of 255 bytes.
	sum := sha256.Sum256([]byte(s.broker.Name()))
	return &replyRegistry{node: "." + base64.RawURLEncoding.EncodeToString(sum[:]), waiting: map[string]*channel{}}
}

// add gives a channel a new name.
func (r *replyRegistry) add(ch *channel) string {
	name := randomName(replyPrefix) + r.node
	r.mu.Lock()
	r.waiting[name] = ch
	r.mu.Unlock()
	return name
}

func (r *replyRegistry) remove(name string) {
	r.mu.Lock()
	delete(r.waiting, name)
	r.mu.Unlock()
}

// find gives nil for a requester that is gone.
func (r *replyRegistry) find(name []byte) *channel {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.waiting[string(name)]
}

// directReply is a channel's reply consumer.
type directReply struct {
	name string
	cons *consumer
}

// isReplyName tells the names that only direct reply-to answers for.
func isReplyName(name string) bool {
	return name == replyQueue || strings.HasPrefix(name, replyPrefix)
}

// directName is the name this channel's requests carry, "" without a consumer.
func (ch *channel) directName() string {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.direct == nil {
		return ""
	}
	return ch.direct.name
}

// consumeReplies sets the reply consumer. No queue is created and no right asked
// for.
func (ch *channel) consumeReplies(m *wire.BasicConsume) *Error {
	if !m.NoAck {
		return errReplyAck()
	}
	if ch.directName() != "" {
		return errReplyTwice()
	}
	c := &consumer{tag: m.ConsumerTag, noAck: true, attached: true}
	if c.tag == "" {
		c.tag = randomName("amq.ctag-")
	}
	name := ch.c.server.replies.add(ch)
	ch.mu.Lock()
	ch.consumers.add(c)
	ch.direct = &directReply{name: name, cons: c}
	ch.mu.Unlock()
	if !m.NoWait {
		ch.answer(&wire.BasicConsumeOk{ConsumerTag: c.tag})
	}
	return nil
}

// cancelReplies ends the reply consumer; the next one gets another name.
func (ch *channel) cancelReplies(c *consumer) {
	ch.mu.Lock()
	direct := ch.direct
	ch.direct = nil
	ch.consumers.remove(c)
	ch.mu.Unlock()
	if direct != nil {
		ch.c.server.replies.remove(direct.name)
	}
}

// publishReply is a publish whose key names a reply consumer: delivered at once
// or dropped, never stored. It is confirmed in any case, and returned only when
// the requester is gone.
func (ch *channel) publishReply(body []byte) *Error {
	p := &ch.pub
	p.msg.Body = body
	if ch.mode == modeTx {
		return ch.tx.publish(ch, nil)
	}
	if !ch.sendReply(&p.msg) && p.mandatory {
		ch.returnMessage(&p.msg)
	}
	if ch.mode == modeConfirm {
		ch.expectConfirm(nil, nil)
	}
	p.msg.Body = nil
	return nil
}

// sendReply hands a reply to its requester; false when that is gone.
func (ch *channel) sendReply(m *queue.Message) bool {
	to := ch.c.server.replies.find(m.Key)
	return to != nil && to.takeReply(m)
}

// takeReply queues a reply for the writer, on the replying channel's goroutine.
func (ch *channel) takeReply(m *queue.Message) bool {
	ch.mu.Lock()
	if ch.direct == nil || ch.closing || ch.failed || ch.direct.name != string(m.Key) {
		ch.mu.Unlock()
		return false
	}
	if ch.replies < maxReplies {
		bytes := make([]byte, 0, len(m.Key)+len(m.Props)+len(m.Body))
		bytes = append(append(append(bytes, m.Key...), m.Props...), m.Body...)
		it := ch.out.push()
		it.kind, it.cons = outReply, ch.direct.cons
		it.raw = &rawOut{bytes: bytes, key: len(m.Key), props: len(m.Props)}
		ch.replies += len(bytes)
	}
	ch.mu.Unlock()
	ch.wake()
	return true
}

// declareReply answers queue.declare of a reply name: a live one looks like a
// queue with one consumer; the bare name always does.
func (ch *channel) declareReply(name string, noWait bool) *Error {
	stat := queue.Stat{}
	if name != replyQueue {
		if ch.c.server.replies.find([]byte(name)) == nil {
			return refused(catalog.NoQueue(ch.c.vhost, name))
		}
	}
	stat.Consumers = 1
	return ch.declareOk(name, stat, noWait)
}
