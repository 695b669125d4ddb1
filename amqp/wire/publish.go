package wire

import "unicode/utf8"

// The decoders of the hot path take a method frame's payload, ids included,
// whose ids the caller has looked at. They allocate only to refuse.

// Publish is basic.publish, its strings aliasing the payload.
type Publish struct {
	Exchange   []byte
	RoutingKey []byte
	Mandatory  bool
	Immediate  bool
}

// DecodePublish reads basic.publish.
func DecodePublish(payload []byte, p *Publish) error {
	const head = 4 + 2 // ids and the reserved ticket
	if len(payload) <= head {
		return tooShort(payload, BasicPublishID)
	}
	keyLen := head + 1 + int(payload[head]) // where the key's length stands
	if keyLen >= len(payload) {
		return tooShort(payload, BasicPublishID)
	}
	bits := keyLen + 1 + int(payload[keyLen])
	if bits != len(payload)-1 {
		return tooShort(payload, BasicPublishID)
	}
	exchange := payload[head+1 : keyLen : keyLen]
	if !utf8.Valid(exchange) {
		return malformedUTF8(BasicPublishID)
	}
	p.Exchange = exchange
	p.RoutingKey = payload[keyLen+1 : bits : bits]
	p.Mandatory = payload[bits]&1 != 0
	p.Immediate = payload[bits]&2 != 0
	return nil
}

// DecodeAck reads basic.ack.
func DecodeAck(payload []byte) (tag uint64, multiple bool, err error) {
	tag, bits, err := decodeTag(payload, BasicAckID)
	return tag, bits&1 != 0, err
}

// DecodeNack reads basic.nack.
func DecodeNack(payload []byte) (tag uint64, multiple, requeue bool, err error) {
	tag, bits, err := decodeTag(payload, BasicNackID)
	return tag, bits&1 != 0, bits&2 != 0, err
}

// DecodeReject reads basic.reject.
func DecodeReject(payload []byte) (tag uint64, requeue bool, err error) {
	tag, bits, err := decodeTag(payload, BasicRejectID)
	return tag, bits&1 != 0, err
}

func decodeTag(payload []byte, id ID) (tag uint64, bits byte, err error) {
	if len(payload) != 4+8+1 {
		return 0, 0, tooShort(payload, id)
	}
	return be.Uint64(payload[4:]), payload[12], nil
}

// tooShort is the 501 for a payload that is not as long as it says, or even
// shorter than its ids.
func tooShort(payload []byte, id ID) error {
	return cannotDecode(id, payload[min(4, len(payload)):])
}
