package catalog

import (
	"strings"

	"mayfly/amqp/wire"
	"mayfly/dlx"
	"mayfly/queue"
)

const (
	dlxKey   = "x-dead-letter-exchange"
	dlrkKey  = "x-dead-letter-routing-key"
	foreignC = 1 // refused when the client names classic
	foreignQ = 2 // refused when the client names quorum
	foreignN = 4 // refused on a native queue too: belongs to a type that is not served
	foreign  = foreignC | foreignQ | foreignN
)

// queueArg is one known argument of queue.declare (queues-ttl-dlx.md 1.4). check
// gives the detail of a bad value, or "".
type queueArg struct {
	key     string
	check   func(wire.Value) string
	foreign uint8
}

// queueArgs are looked at in this order, which is RabbitMQ's: of several bad
// arguments the first here is reported, after the type.
var queueArgs = [...]queueArg{
	{"x-queue-type", checkType, 0},
	{"x-expires", checkExpires, 0},
	{"x-message-ttl", checkTTL, 0},
	{dlxKey, checkString, 0},
	{dlrkKey, checkString, 0},
	{"x-dead-letter-strategy", oneOf("invalid_dlx_strategy", "at-most-once", "at-least-once", "exactly-once"), 0},
	{"x-dead-letter-reasons", checkReasons, 0},
	{"x-dead-letter-max-pending", checkNotNegative, 0},
	{"x-max-length", checkNotNegative, 0},
	{"x-max-length-bytes", checkNotNegative, 0},
	{"x-max-in-memory-length", checkNotNegative, foreignC},
	{"x-max-in-memory-bytes", checkNotNegative, foreignC},
	{"x-max-priority", checkMaxPriority, foreignQ},
	{"x-overflow", oneOf("invalid_overflow", "drop-head", "reject-publish", "reject-publish-dlx"), 0},
	{"x-queue-mode", checkMode, foreignQ},
	{"x-queue-version", checkVersion, foreignQ},
	{"x-queue-master-locator", checkNothing, foreignQ},
	{"x-single-active-consumer", checkBool, 0},
	{"x-delivery-limit", checkInt, 0},
	{"x-delivery-limit-counts", value("all", "failures"), 0},
	{"x-consumer-timeout", checkNotNegative, 0},
	{"x-consumer-disconnected-timeout", checkNotNegative, 0},
	{"x-delayed-retry-type", oneOf("invalid_delayed_retry_type", "disabled", "all", "failed", "returned"), 0},
	{"x-delayed-retry-min", checkPositive, 0},
	{"x-delayed-retry-max", checkPositive, 0},
	{"x-quorum-initial-group-size", checkPositive, 0},
	{"x-queue-leader-locator", oneOf("invalid_queue_locator_arg", "client-local", "balanced", "random", "least-leaders"), 0},
	{"x-idle-mode", value("consumers", "activity"), 0},
	{"x-ttl-precedence", value("lower", "message"), 0},
	{"x-expiry-mode", value("prompt", "head"), 0},
	{"x-message-times", checkBool, 0},
	{"x-max-age", checkNothing, foreign},
	{"x-initial-cluster-size", checkNothing, foreign},
}

const streamPrefix = "x-stream-" // all of them belong to streams

// unbuilt are arguments whose meaning no machine has yet, with the value that asks
// for nothing. They are refused: a client that relies on one must not be told ok.
var unbuilt = [...]struct{ key, harmless string }{
	{"x-consumer-timeout", ""},
	{"x-consumer-disconnected-timeout", ""},
	{"x-delayed-retry-type", "disabled"},
	{"x-idle-mode", "consumers"},
	{"x-dead-letter-max-pending", "0"},
}

func unbuiltKey(args wire.Table) string {
	for _, u := range unbuilt {
		if v, ok := args.Get(u.key); ok && v.Text() != u.harmless {
			return u.key
		}
	}
	return ""
}

func (a *queueArg) foreignTo(named string) bool {
	switch named {
	case typeClassic:
		return a.foreign&foreignC != 0
	case typeQuorum:
		return a.foreign&foreignQ != 0
	}
	return a.foreign&foreignN != 0
}

func invalidArg(key, resource, detail string) *Refusal {
	return refuse(codePreconditionFailed, "invalid arg '"+key+"' for "+resource+": "+detail)
}

// CheckDeadLetter finds the dead-letter exchange among a new queue's arguments. It
// is the check of A-7 that comes before the permissions it calls for.
func CheckDeadLetter(vhost, name string, args wire.Table) (exchange string, has bool, r *Refusal) {
	return nameArg(QueueName(vhost, name), dlxKey, args)
}

// CheckQueueArgs validates the arguments and flags of a new queue
// and makes the configuration of its machine of them.
func CheckQueueArgs(vhost, name string, durable, autoDelete, exclusive bool, args wire.Table) (queue.Config, *Refusal) {
	res := QueueName(vhost, name)
	_, hasDLX, r := CheckDeadLetter(vhost, name, args)
	if r != nil {
		return queue.Config{}, r
	}
	for i := range queueArgs {
		a := &queueArgs[i]
		val, ok := args.Get(a.key)
		if !ok {
			continue
		}
		if detail := a.check(val); detail != "" {
			return queue.Config{}, invalidArg(a.key, res, detail)
		}
		if a.key == dlrkKey && !hasDLX {
			return queue.Config{}, invalidArg(dlrkKey, res, "routing_key_but_no_dlx_defined")
		}
	}
	if key := unbuiltKey(args); key != "" {
		return queue.Config{}, invalidArg(key, res, `"not supported by this release"`)
	}
	named := typeNamed(args)
	if key := foreignKey(named, args); key != "" {
		return queue.Config{}, refuse(codePreconditionFailed, "invalid arg '"+key+"' for "+res+" of queue type "+typeModule(named))
	}
	if named == typeQuorum {
		if bad := quorumProperty(durable && !exclusive, autoDelete, exclusive); bad != "" {
			return queue.Config{}, refuse(codePreconditionFailed, "invalid property '"+bad+"' for "+res)
		}
	}
	return newConfig(vhost, name, autoDelete, args), nil
}

// foreignKey is the first argument that is known but not for this type.
func foreignKey(named string, args wire.Table) string {
	for i := range queueArgs {
		if a := &queueArgs[i]; a.foreignTo(named) {
			if _, ok := args.Get(a.key); ok {
				return a.key
			}
		}
	}
	for key := range args.All() {
		if strings.HasPrefix(string(key), streamPrefix) {
			return string(key)
		}
	}
	return ""
}

// typeModule is a type's name in texts. Native queues are shown as quorum.
func typeModule(named string) string {
	if named == typeClassic {
		return "rabbit_classic_queue"
	}
	return "rabbit_quorum_queue"
}

func quorumProperty(durable, autoDelete, exclusive bool) string {
	switch {
	case autoDelete:
		return "auto-delete"
	case exclusive:
		return "exclusive-owner"
	case !durable:
		return "non-durable"
	}
	return ""
}

// newConfig reads arguments that were validated.
func newConfig(vhost, name string, autoDelete bool, args wire.Table) queue.Config {
	c := queue.Defaults()
	c.Vhost, c.Name, c.AutoDelete = vhost, name, autoDelete
	number := func(key string, to *int64) {
		if val, ok := args.Get(key); ok {
			*to, _ = val.Int()
		}
	}
	word := func(key string) string {
		val, _ := args.Get(key)
		b, _ := val.Bytes()
		return string(b)
	}
	number("x-max-length", &c.MaxLength)
	number("x-max-length-bytes", &c.MaxBytes)
	number("x-message-ttl", &c.TTL)
	number("x-expires", &c.Expires)
	if number("x-delivery-limit", &c.DeliveryLimit); c.DeliveryLimit < 0 {
		c.DeliveryLimit = -1
	}
	var levels int64
	number("x-max-priority", &levels)
	c.MaxPriority = uint8(levels)
	if typeNamed(args) == typeQuorum { // C-11
		c.MaxPriority, c.DefaultPriority = 31, 4
	}
	switch word("x-overflow") {
	case "reject-publish":
		c.Overflow = queue.RejectPublish
	case "reject-publish-dlx":
		c.Overflow = queue.RejectPublishDLX
	}
	if val, ok := args.Get("x-single-active-consumer"); ok {
		c.SingleActive, _ = val.Bool()
	}
	c.MessageTTLWins = word("x-ttl-precedence") == "message"
	c.ExpireAtHead = word("x-expiry-mode") == "head"
	c.CountOnlyFailure = word("x-delivery-limit-counts") == "failures"
	c.Strategy, _ = dlx.ParseStrategy(word("x-dead-letter-strategy"))
	if val, ok := args.Get("x-dead-letter-reasons"); ok {
		c.DeadLetterReasons, _ = parseReasons(val)
	}
	if _, ok := args.Get(dlxKey); ok {
		c.DeadLetter, c.DeadLetterExchange = true, word(dlxKey)
		_, c.HasDeadLetterKey = args.Get(dlrkKey)
		c.DeadLetterKey = word(dlrkKey)
	}
	return c
}
