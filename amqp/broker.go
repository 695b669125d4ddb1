package amqp

import (
	"context"

	"mayfly/fsm/catalog"
	"mayfly/queue"
)

// Broker is what a connection needs of the cluster behind it. cluster.Node
// satisfies it; cmd joins the two.
type Broker interface {
	// View is the catalogue as this node has applied it: immutable, swapped whole.
	View() *catalog.View
	// Change proposes a catalogue command and answers once it is committed and
	// applied on this node. err is trouble with the catalogue (no majority in
	// time); a refusal is in the outcome.
	Change(ctx context.Context, cmd catalog.Command) (catalog.Outcome, error)
	// CatchUp waits until this node has applied what the catalogue's leader had
	// committed when asked (design.md, "Read your writes"). Called before a 404.
	CatchUp(ctx context.Context) error
	// Open starts a session for a channel.
	Open(sink queue.Sink) queue.Session
	// NextID gives an id that is unique in the cluster for ever (connections use
	// them as owner of exclusive queues).
	NextID() uint64
	// Name is this node's name.
	Name() string
	// ClusterName is shown in server-properties.
	ClusterName() string
}
