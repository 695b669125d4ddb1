package catalog

import (
	"encoding/binary"
	"iter"

	"mayfly/queue"
)

// View is the catalogue at one moment. It never changes, so any goroutine may
// read it for as long as it likes; whoever wants to see later changes asks for the
// current one again.
type View struct {
	version uint64 // index of the last entry that changed anything
	auth    uint64 // index of the last entry that changed users, permissions or vhosts

	vhosts  pmap[*Vhost]
	users   pmap[*User]
	queues  pmap[*Queue]       // by number
	owned   pmap[pmap[*Queue]] // exclusive queues, by the owner's incarnation, then by number
	nodes   pmap[*Node]
	globals pmap[[]byte]

	nextQueue   queue.ID // to give out
	incarnation uint32   // given out last
}

// Node is a broker node and its newest incarnation.
type Node struct {
	Name        string
	Incarnation uint32
	Gone        bool // that incarnation was declared dead
}

// Version changes whenever anything does: it is the log index of the last change.
func (v *View) Version() uint64 { return v.version }

// AuthVersion changes whenever users, permissions or vhosts do. A right looked up
// under one version may be kept until it changes (S24).
func (v *View) AuthVersion() uint64 { return v.auth }

// Vhost finds a vhost, or nil.
func (v *View) Vhost(name string) *Vhost { return v.vhosts.at(name) }

// Vhosts lists them by name.
func (v *View) Vhosts() []*Vhost { return v.vhosts.sorted() }

// User finds a user, or nil.
func (v *View) User(name string) *User { return v.users.at(name) }

// Users lists them by name.
func (v *View) Users() []*User { return v.users.sorted() }

// Nodes lists the nodes by name.
func (v *View) Nodes() []*Node { return v.nodes.sorted() }

// GlobalParameter is a JSON value of the cluster, not to be written to.
func (v *View) GlobalParameter(name string) ([]byte, bool) { return v.globals.get(name) }

// GlobalParameters lists the names.
func (v *View) GlobalParameters() []string { return v.globals.keys() }

// Allowed tells whether a user has a right on a queue or an exchange; of the
// default exchange "" and amq.default are the same.
func (v *View) Allowed(user, vhost string, right Right, resource string) bool {
	u := v.users.at(user)
	return u != nil && u.Permission(vhost).Allows(right, resource)
}

// TopicAllowed tells whether a user's rule for an exchange covers a routing key;
// without a rule everything is allowed. It matters for topic exchanges only.
func (v *View) TopicAllowed(user, vhost, exchange string, right Right, key []byte) bool {
	u := v.users.at(user)
	if u == nil {
		return false
	}
	t := u.topics.at(vhost).at(exchange)
	return t == nil || t.allows(right, key)
}

// QueueByID finds a queue by its number, or nil.
func (v *View) QueueByID(id queue.ID) *Queue {
	var k [8]byte
	q, _ := find(v.queues, binary.BigEndian.AppendUint64(k[:0], uint64(id)))
	return q
}

// QueueCount counts the queues of all vhosts.
func (v *View) QueueCount() int { return v.queues.len() }

// Queues walks all queues in the order of their numbers, that is of their
// declaration.
func (v *View) Queues() iter.Seq[*Queue] {
	return func(yield func(*Queue) bool) {
		for _, q := range v.queues.sorted() {
			if !yield(q) {
				return
			}
		}
	}
}

func idKey(id queue.ID) string { return string(binary.BigEndian.AppendUint64(nil, uint64(id))) }

func incarnationKey(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }
