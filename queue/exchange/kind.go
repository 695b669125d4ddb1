package exchange

import (
	"strconv"

	"mayfly/amqp/wire"
)

// Kind is the type of an exchange. The numbers are in logs and never change.
type Kind uint8

const (
	Direct         Kind = 1
	Fanout         Kind = 2
	Topic          Kind = 3
	Headers        Kind = 4
	LocalRandom    Kind = 5
	ConsistentHash Kind = 6
)

// String is the type's name in exchange.declare.
func (k Kind) String() string {
	switch k {
	case Direct:
		return "direct"
	case Fanout:
		return "fanout"
	case Topic:
		return "topic"
	case Headers:
		return "headers"
	case LocalRandom:
		return "x-local-random"
	case ConsistentHash:
		return "x-consistent-hash"
	}
	return "unknown"
}

// ParseKind is the reverse of String.
func ParseKind(s string) (Kind, bool) {
	for k := Direct; k <= ConsistentHash; k++ {
		if k.String() == s {
			return k, true
		}
	}
	return 0, false
}

// CheckDeclare is what is wrong with an exchange's arguments as far as its type
// is concerned, "" for nothing.
func CheckDeclare(kind Kind, args wire.Table) string {
	if kind != ConsistentHash {
		return ""
	}
	if v, ok := args.Get("hash-property"); ok {
		return "Unsupported property: " + v.Text()
	}
	if v, ok := args.Get("hash-header"); ok && v.Tag != 'S' {
		return "Unsupported type of hash-header: " + v.TypeName()
	}
	return ""
}

// CheckArgs is the explanation for a binding's arguments that its source cannot
// use (amqp.md 11.2), "" when they are fine.
func CheckArgs(kind Kind, args wire.Table) string {
	if kind != Headers {
		return ""
	}
	v, ok := args.Get("x-match")
	if !ok {
		return ""
	}
	if v.Tag != 'S' {
		return "Invalid x-match field type " + v.TypeName() + " (value " + v.Text() + "); expected longstr"
	}
	if _, _, ok := parseMatch(v.Data); !ok {
		return "Invalid x-match field value <<\"" + string(v.Data) + "\">>; expected all, any, all-with-x, or any-with-x"
	}
	return ""
}

// CheckKey is the same for a binding's key: a weight for a consistent hash,
// nothing for a random choice, anything elsewhere.
func CheckKey(kind Kind, key string) string {
	switch kind {
	case ConsistentHash:
		if _, err := strconv.ParseUint(key, 10, 32); err != nil {
			return "The binding key must be an integer: <<\"" + key + "\">>"
		}
	case LocalRandom:
		if key != "" {
			return "Non-empty binding '" + key + "' key not permitted"
		}
	}
	return ""
}
