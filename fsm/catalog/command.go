package catalog

import (
	"mayfly/amqp/wire"
	"mayfly/queue"
	"mayfly/queue/exchange"
)

// Command is one change of the catalogue, as it stands in the log. Commands are
// plain values; only the types of this package are commands.
type Command interface {
	// Append writes the command's kind and fields.
	Append(dst []byte) []byte
	// apply makes the change on c, or says why not; after a refusal c is thrown away.
	apply(c *change) *Refusal
}

// The kinds of the log. Numbers are never reused or moved (style.md, section 8).
const (
	kindBatch uint64 = iota + 1
	kindSeed
	kindPutVhost
	kindDeleteVhost
	kindPutVhostLimits
	kindPutUser
	kindDeleteUser
	kindPutUserLimits
	kindPutPermission
	kindDeletePermission
	kindPutTopicPermission
	kindDeleteTopicPermission
	kindPutParameter
	kindDeleteParameter
	kindPutGlobalParameter
	kindDeleteGlobalParameter
	kindDeclareExchange
	kindDeleteExchange
	kindDeclareQueue
	kindDeleteQueue
	kindBind
	kindUnbind
	kindNodeUp
	kindNodeGone
	kindDropTransient
)

// Limit is an upper bound; the zero value is none.
type Limit struct {
	Set bool
	Max int64
}

// NewLimit reads a limit the way the management API writes it: negative is none.
func NewLimit(n int64) Limit {
	if n < 0 {
		return Limit{}
	}
	return Limit{Set: true, Max: n}
}

// Allows tells whether one more fits beside n.
func (l Limit) Allows(n int64) bool { return !l.Set || n < l.Max }

// Number is the limit as the management API writes it: -1 is none.
func (l Limit) Number() int64 {
	if !l.Set {
		return -1
	}
	return l.Max
}

// Batch is several commands as one change: all of them, or none. It holds no
// batches itself.
type Batch struct{ Commands []Command }

// Seed fills an empty catalogue with its first vhost and, unless its name is empty,
// the first user, who may do everything there. In a catalogue that has a vhost or a
// user it does nothing.
type Seed struct {
	Vhost     string
	User      string
	Algorithm string
	Hash      []byte
	Tags      []string
}

// PutVhost makes a vhost with its predeclared exchanges, or replaces the metadata
// of one that is there.
type PutVhost struct {
	Name             string
	Description      string
	Tags             []string
	DefaultQueueType string
	Tracing          bool
	Protected        bool // refuses DeleteVhost
}

// DeleteVhost removes a vhost with all that is in it.
type DeleteVhost struct{ Name string }

// PutVhostLimits replaces a vhost's limits (queues-ttl-dlx.md 7.4).
type PutVhostLimits struct {
	Vhost          string
	MaxConnections Limit
	MaxQueues      Limit
}

// PutUser makes or replaces a user; permissions stay. An empty Hash is a user who
// cannot log in with a password.
type PutUser struct {
	Name           string
	Algorithm      string // as internal/password names it
	Hash           []byte
	Tags           []string
	MaxConnections Limit
	MaxChannels    Limit
}

// DeleteUser removes a user with all permissions.
type DeleteUser struct{ Name string }

// PutUserLimits replaces a user's limits alone.
type PutUserLimits struct {
	Name           string
	MaxConnections Limit
	MaxChannels    Limit
}

// PutPermission replaces a user's three patterns in a vhost (amqp.md 16).
type PutPermission struct{ User, Vhost, Configure, Write, Read string }

// DeletePermission shuts a user out of a vhost.
type DeletePermission struct{ User, Vhost string }

// PutTopicPermission replaces a user's patterns for routing keys of an exchange.
type PutTopicPermission struct{ User, Vhost, Exchange, Write, Read string }

// DeleteTopicPermission removes one of them, or all of a user in a vhost.
type DeleteTopicPermission struct {
	User, Vhost, Exchange string
	All                   bool
}

// PutParameter stores a JSON value under a component's name. What a component's
// values may be is known to whoever reads them.
type PutParameter struct {
	Vhost, Component, Name string
	Value                  []byte
}

// DeleteParameter removes one.
type DeleteParameter struct{ Vhost, Component, Name string }

// PutGlobalParameter stores a JSON value for the whole cluster.
type PutGlobalParameter struct {
	Name  string
	Value []byte
}

// DeleteGlobalParameter removes one.
type DeleteGlobalParameter struct{ Name string }

// DeclareExchange is exchange.declare (amqp.md 12).
type DeclareExchange struct {
	Vhost, Name, Type             string
	Durable, AutoDelete, Internal bool
	Args                          wire.Table
	IfAbsent                      bool // imports: one that is there stays, whatever it is like
}

// DeleteExchange is exchange.delete.
type DeleteExchange struct {
	Vhost, Name string
	IfUnused    bool
}

// DeclareQueue is queue.declare (amqp.md 11.1, queues-ttl-dlx.md 1). The name is
// final: stripped of CR and LF, never empty, reserved prefixes looked at before.
type DeclareQueue struct {
	Vhost, Name                    string
	Durable, AutoDelete, Exclusive bool
	Owner                          uint64 // the declaring connection, also when the queue is not exclusive; 0 for none
	Args                           wire.Table
	User                           string
	RelaxedType                    bool // queue.relaxed_type_check
	IfAbsent                       bool // imports: one that is there stays, whatever it is like
}

// DeleteQueue removes a queue's entry, bindings included. The queue's own group
// has ended by then, or ends because of it.
type DeleteQueue struct{ ID queue.ID }

// Bind is queue.bind and exchange.bind.
type Bind struct {
	Vhost   string
	Binding exchange.Binding
	Owner   uint64 // the asking connection: exclusive queues obey theirs alone
}

// Unbind is queue.unbind and exchange.unbind.
type Unbind struct {
	Vhost   string
	Binding exchange.Binding
	Owner   uint64
}

// NodeUp gives a node that starts a new incarnation (Outcome.Incarnation). What
// its previous one owned is gone.
type NodeUp struct{ Name string }

// NodeGone drops the exclusive queues of an incarnation that is dead.
type NodeGone struct{ Incarnation uint32 }

// DropTransient follows a stop of the whole cluster: non-durable exchanges
// and queues, and every exclusive queue, go if they were declared before the
// incarnation Since was given out. 0 is the newest incarnation, so that what was
// declared after the first node came back stays.
type DropTransient struct{ Since uint32 }
