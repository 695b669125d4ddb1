package wire

import (
	"errors"
	"testing"
)

// The hot decoders agree with Decode, on every cut of every input.
func TestHotDecodersAgree(t *testing.T) {
	for _, m := range []Method{
		&BasicPublish{}, &BasicPublish{Exchange: "x", RoutingKey: "a.b", Mandatory: true},
		&BasicPublish{Exchange: "ex", RoutingKey: "\xFF", Immediate: true},
		&BasicPublish{Exchange: "\xFF"},
		&BasicAck{DeliveryTag: 1 << 60, Multiple: true}, &BasicAck{DeliveryTag: 7},
		&BasicNack{DeliveryTag: 3, Multiple: true}, &BasicNack{DeliveryTag: 3, Requeue: true},
		&BasicReject{DeliveryTag: 9, Requeue: true}, &BasicReject{},
	} {
		whole := append(payloadOf(m), 0)
		for n := 4; n <= len(whole); n++ {
			payload := whole[:n:n]
			hot, hotErr := decodeHot(payload)
			slow, slowErr := Decode(payload)
			if !sameFault(hotErr, slowErr) {
				t.Errorf("%s, %d octets: %v, Decode says %v", m.ID(), n, hotErr, slowErr)
			}
			if hotErr == nil && string(payloadOf(hot)) != string(payloadOf(slow)) {
				t.Errorf("%s, %d octets: %+v, Decode says %+v", m.ID(), n, hot, slow)
			}
		}
	}
}

// decodeHot uses the decoder of the hot path and gives the result Decode's form.
func decodeHot(payload []byte) (Method, error) {
	switch ID(be.Uint32(payload)) {
	case BasicPublishID:
		var p Publish
		err := DecodePublish(payload, &p)
		return &BasicPublish{Exchange: string(p.Exchange), RoutingKey: string(p.RoutingKey), Mandatory: p.Mandatory, Immediate: p.Immediate}, err
	case BasicAckID:
		tag, multiple, err := DecodeAck(payload)
		return &BasicAck{DeliveryTag: tag, Multiple: multiple}, err
	case BasicNackID:
		tag, multiple, requeue, err := DecodeNack(payload)
		return &BasicNack{DeliveryTag: tag, Multiple: multiple, Requeue: requeue}, err
	case BasicRejectID:
		tag, requeue, err := DecodeReject(payload)
		return &BasicReject{DeliveryTag: tag, Requeue: requeue}, err
	}
	return nil, nil
}

func sameFault(a, b error) bool {
	var x, y *Error
	if !errors.As(a, &x) || !errors.As(b, &y) {
		return a == nil && b == nil
	}
	return *x == *y
}

// Without their ids the hot decoders refuse as well.
func TestHotDecodersWithoutIDs(t *testing.T) {
	for n := range 4 {
		payload := make([]byte, n)
		_, _, ack := DecodeAck(payload)
		_, _, _, nack := DecodeNack(payload)
		_, _, reject := DecodeReject(payload)
		for _, err := range []error{DecodePublish(payload, new(Publish)), ack, nack, reject} {
			wantWireError(t, "no ids", err, 501, "cannot decode <<>>")
		}
	}
}
