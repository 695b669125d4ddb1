package wire

const headerSize = 12 // class, weight and body size, before the properties

// Header is the payload of a content header frame.
type Header struct {
	Class    uint16
	Weight   uint16
	BodySize uint64
	Props    []byte // flags word and values, aliasing; ParseProperties validates them
}

// DecodeHeader reads a content header as far as its layout is fixed. Whether the
// class fits, the weight is 0 and the size is wanted is the channel's business.
func DecodeHeader(payload []byte) (Header, error) {
	if len(payload) < headerSize {
		return Header{}, Frame{Type: FrameHeader, Payload: payload}.fault("unknown_frame")
	}
	return Header{
		Class:    be.Uint16(payload),
		Weight:   be.Uint16(payload[2:]),
		BodySize: be.Uint64(payload[4:]),
		Props:    payload[headerSize:],
	}, nil
}
