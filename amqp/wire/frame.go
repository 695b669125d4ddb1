package wire

import "encoding/binary"

// Frame types and the layout around a payload (amqp.md 1).
const (
	FrameMethod    = 1
	FrameHeader    = 2
	FrameBody      = 3
	FrameHeartbeat = 8

	FrameEnd      = 0xCE
	FrameOverhead = 8 // type, channel, size before the payload and the end octet after it
)

// ProtocolHeader opens a connection of this protocol.
const ProtocolHeader = "AMQP\x00\x00\x09\x01"

const frameHeaderSize = 7

var be = binary.BigEndian

// Frame is one frame of input.
type Frame struct {
	Type    byte
	Channel uint16
	Payload []byte // aliases the reader's buffer until the next Next
}

// Describe is the frame as RabbitMQ's texts name it: `type 1, all octets = <<...>>`,
// of a long payload the first 16 octets. It is the whole explanation of the 505
// for a frame that has no place on its channel.
func (f Frame) Describe() string { return string(f.describe()) }

func (f Frame) describe() []byte {
	text := append(appendOctets([]byte("type "), []byte{f.Type}), ", "...)
	if len(f.Payload) <= 16 {
		return appendBinary(append(text, "all octets = "...), f.Payload)
	}
	return appendBinary(append(text, "first 16 octets = "...), f.Payload[:16])
}

// fault is the 501 of a frame that is wrong as a frame.
func (f Frame) fault(reason string) *Error {
	text := append(append(f.describe(), ": "...), reason...)
	return &Error{Code: codeFrameError, Text: string(text)}
}
