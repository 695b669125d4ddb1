package queue

import "mayfly/dlx"

// Overflow says what happens to a publish, or to older messages, at the limit.
type Overflow uint8

const (
	DropHead         Overflow = iota // evict the oldest ready messages (L-2)
	RejectPublish                    // refuse the newcomer (L-4)
	RejectPublishDLX                 // refuse it and dead-letter it (L-5)
)

// Rejects tells whether a full queue refuses newcomers.
func (o Overflow) Rejects() bool { return o != DropHead }

// Config is everything about a queue that its machine decides by. It is in the
// log (the Configure command), never outside it: arguments and policies are
// merged by the catalogue, and the result is proposed to the queue's group.
type Config struct {
	Vhost string
	Name  string

	MaxLength int64 // ready messages; -1 = no limit (L-1)
	MaxBytes  int64 // body bytes of ready messages; -1 = no limit
	Overflow  Overflow

	MaxPriority     uint8 // levels 0..MaxPriority; 0 = plain FIFO (C-10)
	DefaultPriority uint8 // of a message without the property (C-11: 4 when the client named quorum, else 0)

	TTL            int64 // milliseconds; -1 = none (T-1)
	MessageTTLWins bool  // x-ttl-precedence=message (T-14)
	TTLCeiling     int64 // of the operator policy, which even then nobody exceeds; -1 = none
	ExpireAtHead   bool  // x-expiry-mode=head (T-33)
	Expires        int64 // lease of the idle queue in milliseconds; -1 = none

	SingleActive     bool
	DeliveryLimit    int64 // failed deliveries allowed; -1 = no limit (C-1)
	CountOnlyFailure bool  // delivery-limit-counts=failures: nack and recover do not count (C-4)

	AutoDelete bool // gone with its last consumer

	DeadLetter         bool        // deaths become letters; without it they drop
	DeadLetterReasons  dlx.Reasons // which of them (D-12); 0 = all
	Strategy           dlx.Strategy
	DeadLetterExchange string
	DeadLetterKey      string
	HasDeadLetterKey   bool
}

// DefaultDeliveryLimit is C-1.
const DefaultDeliveryLimit = 20

// Defaults is the configuration of a queue declared without arguments.
func Defaults() Config {
	return Config{MaxLength: -1, MaxBytes: -1, TTL: -1, TTLCeiling: -1, Expires: -1, DeliveryLimit: DefaultDeliveryLimit}
}

// expiresAll tells whether every message has a deadline, whatever it says itself.
func (c *Config) expiresAll() bool {
	return c.TTL >= 0 || c.MessageTTLWins && c.TTLCeiling >= 0
}

// level is the lane a message of that priority waits in.
func (c *Config) level(priority uint8, has bool) uint8 {
	if !has {
		priority = c.DefaultPriority
	}
	return min(priority, c.MaxPriority)
}
