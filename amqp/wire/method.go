package wire

import "strconv"

// ID names a method: its class in the upper half, its number in the lower.
type ID uint32

// Class is the class's number.
func (id ID) Class() uint16 { return uint16(id >> 16) }

// Method is the method's number in its class.
func (id ID) Method() uint16 { return uint16(id) }

// String is "basic.publish", or the numbers of an unknown method.
func (id ID) String() string {
	if name := methodName(id); name != "" {
		return name
	}
	return strconv.Itoa(int(id.Class())) + "." + strconv.Itoa(int(id.Method()))
}

// Method is one method's arguments. Pointers to the generated structs satisfy it.
type Method interface {
	ID() ID
	Append(dst []byte) []byte // writes the arguments, without the ids
}

// decodable is a Method that can be read, too.
type decodable interface {
	Method
	decode(d *decoder)
}

// MethodID returns the ids at the start of a method frame's payload, known or not.
func MethodID(payload []byte) (ID, error) {
	if len(payload) < 4 {
		return 0, Frame{Type: FrameMethod, Payload: payload}.fault("unknown_frame")
	}
	return ID(be.Uint32(payload)), nil
}

// Decode reads a whole method frame's payload and validates all of it. The
// result shares nothing with payload. The methods of the hot path have decoders
// of their own, which do not allocate: DecodePublish, DecodeAck and so on.
func Decode(payload []byte) (Method, error) {
	id, err := MethodID(payload)
	if err != nil {
		return nil, err
	}
	m := newMethod(id)
	if m == nil {
		return nil, unknownMethod(id)
	}
	d := decoder{rest: payload[4:], check: newChecker()}
	m.decode(&d)
	if e := d.finish(id, payload[4:]); e != nil {
		return nil, e
	}
	return m, nil
}
