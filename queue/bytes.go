package queue

import (
	"encoding/binary"
	"errors"
)

// errDamaged says that bytes of a snapshot or a configuration make no sense.
var errDamaged = errors.New("damaged encoding")

// source reads what append functions wrote. After the first thing that does not
// fit, it is bad and yields zeros, so that decoders check once at the end.
type source struct {
	b   []byte
	bad bool
}

func (s *source) uvarint() uint64 {
	v, n := binary.Uvarint(s.b)
	if n <= 0 {
		s.bad, s.b = true, nil
		return 0
	}
	s.b = s.b[n:]
	return v
}

func (s *source) varint() int64 {
	v, n := binary.Varint(s.b)
	if n <= 0 {
		s.bad, s.b = true, nil
		return 0
	}
	s.b = s.b[n:]
	return v
}

// limited reads a number that must not exceed most.
func (s *source) limited(most uint64) uint64 {
	v := s.uvarint()
	if v > most {
		s.bad, s.b = true, nil
		return 0
	}
	return v
}

func (s *source) u32() uint32 { return uint32(s.limited(1<<32 - 1)) }

func (s *source) byte() byte {
	if len(s.b) == 0 {
		s.bad = true
		return 0
	}
	v := s.b[0]
	s.b = s.b[1:]
	return v
}

func (s *source) bytes() []byte {
	n := s.count()
	v := s.b[:n]
	s.b = s.b[n:]
	return v
}

// count reads how many items follow, each of at least one byte: a claimed number
// beyond the bytes that are there is damage, not an allocation.
func (s *source) count() int {
	v := s.uvarint()
	if v > uint64(len(s.b)) {
		s.bad, s.b = true, nil
		return 0
	}
	return int(v)
}

func appendString(dst []byte, v string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(v))), v...)
}

// Fields of an encoded Config. Numbers are never reused; one that is absent has
// the value of Defaults.
const (
	cfgVhost = iota + 1
	cfgName
	cfgMaxLength
	cfgMaxBytes
	cfgOverflow
	cfgMaxPriority
	cfgDefaultPriority
	cfgTTL
	cfgMessageTTLWins
	cfgTTLCeiling
	cfgExpireAtHead
	cfgExpires
	cfgSingleActive
	cfgDeliveryLimit
	cfgCountOnlyFailure
	cfgAutoDelete
	cfgDeadLetter
	cfgDeadLetterReasons
	cfgStrategy
	cfgDeadLetterExchange
	cfgDeadLetterKey
	cfgHasDeadLetterKey
)

// AppendConfig writes c: the fields that differ from Defaults, by number.
func AppendConfig(dst []byte, c *Config) []byte {
	d := Defaults()
	text := func(field byte, v, def string) {
		if v != def {
			dst = appendString(append(dst, field), v)
		}
	}
	number := func(field byte, v, def int64) {
		if v != def {
			dst = binary.AppendVarint(append(dst, field), v)
		}
	}
	flag := func(field byte, v bool) {
		if v {
			dst = append(dst, field)
		}
	}
	text(cfgVhost, c.Vhost, d.Vhost)
	text(cfgName, c.Name, d.Name)
	number(cfgMaxLength, c.MaxLength, d.MaxLength)
	number(cfgMaxBytes, c.MaxBytes, d.MaxBytes)
	number(cfgOverflow, int64(c.Overflow), int64(d.Overflow))
	number(cfgMaxPriority, int64(c.MaxPriority), int64(d.MaxPriority))
	number(cfgDefaultPriority, int64(c.DefaultPriority), int64(d.DefaultPriority))
	number(cfgTTL, c.TTL, d.TTL)
	flag(cfgMessageTTLWins, c.MessageTTLWins)
	number(cfgTTLCeiling, c.TTLCeiling, d.TTLCeiling)
	flag(cfgExpireAtHead, c.ExpireAtHead)
	number(cfgExpires, c.Expires, d.Expires)
	flag(cfgSingleActive, c.SingleActive)
	number(cfgDeliveryLimit, c.DeliveryLimit, d.DeliveryLimit)
	flag(cfgCountOnlyFailure, c.CountOnlyFailure)
	flag(cfgAutoDelete, c.AutoDelete)
	flag(cfgDeadLetter, c.DeadLetter)
	number(cfgDeadLetterReasons, int64(c.DeadLetterReasons), int64(d.DeadLetterReasons))
	number(cfgStrategy, int64(c.Strategy), int64(d.Strategy))
	text(cfgDeadLetterExchange, c.DeadLetterExchange, d.DeadLetterExchange)
	text(cfgDeadLetterKey, c.DeadLetterKey, d.DeadLetterKey)
	flag(cfgHasDeadLetterKey, c.HasDeadLetterKey)
	return dst
}
