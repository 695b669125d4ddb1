package catalog

import (
	"mayfly/queue"
	"mayfly/queue/exchange"
)

// Refusal is a "no" as a client sees it: the reply code, and the explanation
// without the NAME in front. Refusals of commands that only the management API
// sends carry an HTTP status (400, 404, 412).
type Refusal struct {
	Code uint16
	Text string
}

// Error makes a refusal an error value.
func (r *Refusal) Error() string { return r.Text }

// Outcome is what one command came to, alike on every replica.
type Outcome struct {
	Code        uint16 // 0 when the command was obeyed
	Text        string // explanation without the NAME in front
	Failed      int    // of a refused batch: which command, from 0
	Existed     bool   // what was declared or put was there already; what was removed was there
	Queue       *Queue
	Exchange    *exchange.Exchange
	Removed     []queue.ID // queues that left the catalogue by this command
	Incarnation uint32     // of NodeUp
}

// Refusal is the outcome's "no", or nil.
func (o *Outcome) Refusal() *Refusal {
	if o.Code == 0 {
		return nil
	}
	return &Refusal{o.Code, o.Text}
}

// Reply codes of refusals.
const (
	codeBadRequest         = 400
	codeAccessRefused      = 403
	codeNotFound           = 404
	codeResourceLocked     = 405
	codePreconditionFailed = 406
	codeProtected          = 412
)

func refuse(code uint16, text string) *Refusal { return &Refusal{code, text} }

// QueueName is how texts name a queue: RS(q) of queues-ttl-dlx.md.
func QueueName(vhost, name string) string { return "queue '" + name + "' in vhost '" + vhost + "'" }

// ExchangeName is how texts name an exchange.
func ExchangeName(vhost, name string) string {
	if name == "" {
		name = DefaultExchange
	}
	return "exchange '" + name + "' in vhost '" + vhost + "'"
}

// DefaultExchange is the name by which texts and permissions know the exchange
// named "".
const DefaultExchange = "amq.default"

// NoQueue and NoExchange are the 404s of amqp.md 11.2 and 12.
func NoQueue(vhost, name string) *Refusal {
	return refuse(codeNotFound, "no "+QueueName(vhost, name))
}

func NoExchange(vhost, name string) *Refusal {
	return refuse(codeNotFound, "no "+ExchangeName(vhost, name))
}

func noVhost(name string) *Refusal { return refuse(codeNotFound, "vhost '"+name+"' does not exist") }
