package queue

import "mayfly/dlx"

// maxSetting bounds durations and limits in a configuration, so that no sum of a
// stamp and one of them can overflow. The catalogue's own bounds are far below.
const maxSetting = 1 << 56

// ParseConfig reads what AppendConfig wrote. Fields come in ascending order, each
// at most once; an unknown one is refused, for a newer release wrote it.
func ParseConfig(b []byte) (Config, error) {
	c := Defaults()
	s := source{b: b}
	last := byte(0)
	for len(s.b) > 0 && !s.bad {
		field := s.byte()
		if field <= last || !c.parseField(field, &s) {
			return Config{}, errDamaged
		}
		last = field
	}
	if s.bad {
		return Config{}, errDamaged
	}
	return c, nil
}

// setting reads a number that may be -1 for "none".
func (s *source) setting() int64 {
	v := s.varint()
	if v < -1 || v > maxSetting {
		s.bad, s.b = true, nil
	}
	return v
}

// small reads a number from 0 to most.
func (s *source) small(most int64) uint8 {
	v := s.varint()
	if v < 0 || v > most {
		s.bad, s.b = true, nil
	}
	return uint8(v)
}

func (c *Config) parseField(field byte, s *source) bool {
	switch field {
	case cfgVhost:
		c.Vhost = string(s.bytes())
	case cfgName:
		c.Name = string(s.bytes())
	case cfgMaxLength:
		c.MaxLength = s.setting()
	case cfgMaxBytes:
		c.MaxBytes = s.setting()
	case cfgOverflow:
		c.Overflow = Overflow(s.small(int64(RejectPublishDLX)))
	case cfgMaxPriority:
		c.MaxPriority = s.small(255)
	case cfgDefaultPriority:
		c.DefaultPriority = s.small(255)
	case cfgTTL:
		c.TTL = s.setting()
	case cfgMessageTTLWins:
		c.MessageTTLWins = true
	case cfgTTLCeiling:
		c.TTLCeiling = s.setting()
	case cfgExpireAtHead:
		c.ExpireAtHead = true
	case cfgExpires:
		c.Expires = s.setting()
	case cfgSingleActive:
		c.SingleActive = true
	case cfgDeliveryLimit:
		c.DeliveryLimit = s.setting()
	case cfgCountOnlyFailure:
		c.CountOnlyFailure = true
	case cfgAutoDelete:
		c.AutoDelete = true
	case cfgDeadLetter:
		c.DeadLetter = true
	case cfgDeadLetterReasons:
		c.DeadLetterReasons = dlx.Reasons(s.small(255))
	case cfgStrategy:
		c.Strategy = dlx.Strategy(s.small(int64(dlx.AtMostOnce)))
	case cfgDeadLetterExchange:
		c.DeadLetterExchange = string(s.bytes())
	case cfgDeadLetterKey:
		c.DeadLetterKey = string(s.bytes())
	case cfgHasDeadLetterKey:
		c.HasDeadLetterKey = true
	default:
		return false
	}
	return !s.bad
}
