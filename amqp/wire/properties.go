package wire

// The properties' bits in the flags word (amqp.md 15). The values follow the
// word in this order.
const (
	PropContentType     uint16 = 1 << 15
	PropContentEncoding uint16 = 1 << 14
	PropHeaders         uint16 = 1 << 13
	PropDeliveryMode    uint16 = 1 << 12
	PropPriority        uint16 = 1 << 11
	PropCorrelationID   uint16 = 1 << 10
	PropReplyTo         uint16 = 1 << 9
	PropExpiration      uint16 = 1 << 8
	PropMessageID       uint16 = 1 << 7
	PropTimestamp       uint16 = 1 << 6
	PropType            uint16 = 1 << 5
	PropUserID          uint16 = 1 << 4
	PropAppID           uint16 = 1 << 3
	PropClusterID       uint16 = 1 << 2

	unknownProps uint16 = 1<<1 | 1<<0
)

const propCount = 14

// The places of the properties in wire order: bit 15 is place 0.
const (
	placeContentType = iota
	placeContentEncoding
	placeHeaders
	placeDeliveryMode
	placePriority
	placeCorrelationID
	placeReplyTo
	placeExpiration
	placeMessageID
	placeTimestamp
	placeType
	placeUserID
	placeAppID
	placeClusterID
)

// Properties is a view of a message's properties: where each value lies in Raw,
// which it aliases. It is reused from message to message. The zero Properties
// is a message without any.
type Properties struct {
	Raw   []byte // flags word and values, as on the wire
	flags uint16
	// at[i] is where the value of place i begins in Raw, present or not; it ends
	// where the next one begins, so an absent one has no bytes.
	at [propCount + 1]uint32
}

// ParseProperties makes p the view of raw and validates all of it, the headers
// included (X3). The error is an *Error of code 501; p is then empty.
func ParseProperties(raw []byte, p *Properties) error {
	if reason := p.parse(raw); reason != "" {
		*p = Properties{}
		return &Error{Code: codeFrameError, Text: "malformed content header: " + reason}
	}
	return nil
}

func (p *Properties) parse(raw []byte) string {
	if len(raw) < 2 {
		return "no property flags"
	}
	p.Raw = raw
	p.flags = be.Uint16(raw)
	if p.flags&unknownProps != 0 {
		return "unknown property flags"
	}
	at := 2
	for i := range propCount {
		p.at[i] = uint32(at)
		if p.flags&(1<<15>>i) == 0 {
			continue
		}
		n := valueLen(i, raw[at:])
		if n < 0 {
			return "a property is longer than the header"
		}
		at += n
	}
	p.at[propCount] = uint32(at)
	if at != len(raw) {
		return "octets after the last property"
	}
	if p.flags&PropHeaders != 0 {
		c := newChecker()
		return c.table(p.Headers(), 1)
	}
	return ""
}

// valueLen is the size of a value at the start of b, -1 if b is too short.
func valueLen(place int, b []byte) int {
	n := 0
	switch place {
	case placeHeaders:
		if len(b) < 4 {
			return -1
		}
		if size := be.Uint32(b); uint64(size) <= uint64(len(b)-4) {
			return 4 + int(size)
		}
		return -1
	case placeDeliveryMode, placePriority:
		n = 1
	case placeTimestamp:
		n = 8
	default:
		if len(b) == 0 {
			return -1
		}
		n = 1 + int(b[0])
	}
	if n > len(b) {
		return -1
	}
	return n
}

// value is the wire form of a property, empty when it is absent.
func (p *Properties) value(place int) []byte { return p.Raw[p.at[place]:p.at[place+1]] }

// short is the content of a short string property.
func (p *Properties) short(place int) ([]byte, bool) {
	v := p.value(place)
	if len(v) == 0 {
		return nil, false
	}
	return v[1:len(v):len(v)], true
}

// Flags is the flags word.
func (p *Properties) Flags() uint16 { return p.flags }

// Has tells whether the property of a flag bit is present, empty or not.
func (p *Properties) Has(flag uint16) bool { return p.flags&flag != 0 }

// Headers is the headers table, nil when absent or empty.
func (p *Properties) Headers() Table {
	v := p.value(placeHeaders)
	if len(v) <= 4 {
		return nil
	}
	return Table(v[4:len(v):len(v)])
}

// DeliveryMode is 0 when absent; 2 is persistent.
func (p *Properties) DeliveryMode() uint8 {
	if v := p.value(placeDeliveryMode); len(v) == 1 {
		return v[0]
	}
	return 0
}

// Priority is as published, whatever the queue's maximum.
func (p *Properties) Priority() (uint8, bool) {
	if v := p.value(placePriority); len(v) == 1 {
		return v[0], true
	}
	return 0, false
}

// Timestamp is seconds since the epoch, as the publisher has it.
func (p *Properties) Timestamp() (uint64, bool) {
	if v := p.value(placeTimestamp); len(v) == 8 {
		return be.Uint64(v), true
	}
	return 0, false
}

// The short strings alias Raw; present and empty is not absent.

func (p *Properties) ContentType() ([]byte, bool)     { return p.short(placeContentType) }
func (p *Properties) ContentEncoding() ([]byte, bool) { return p.short(placeContentEncoding) }
func (p *Properties) CorrelationID() ([]byte, bool)   { return p.short(placeCorrelationID) }
func (p *Properties) ReplyTo() ([]byte, bool)         { return p.short(placeReplyTo) }
func (p *Properties) Expiration() ([]byte, bool)      { return p.short(placeExpiration) }
func (p *Properties) MessageID() ([]byte, bool)       { return p.short(placeMessageID) }
func (p *Properties) Type() ([]byte, bool)            { return p.short(placeType) }
func (p *Properties) UserID() ([]byte, bool)          { return p.short(placeUserID) }
func (p *Properties) AppID() ([]byte, bool)           { return p.short(placeAppID) }
func (p *Properties) ClusterID() ([]byte, bool)       { return p.short(placeClusterID) }
