package wire

// Everything here appends whole frames to dst, which the caller owns, and keeps
// nothing. Strings that cannot be longer than a short string, because they came
// in as one, are cut at 255 bytes all the same: the stream must not break.

// openFrame writes a frame's header with room for its size; closeFrame fills it in.
func openFrame(dst []byte, typ byte, ch uint16) []byte {
	return append(dst, typ, byte(ch>>8), byte(ch), 0, 0, 0, 0)
}

// closeFrame ends the frame whose payload begins at start.
func closeFrame(dst []byte, start int) []byte {
	be.PutUint32(dst[start-4:], uint32(len(dst)-start))
	return append(dst, FrameEnd)
}

func openMethod(dst []byte, ch uint16, id ID) []byte {
	return be.AppendUint32(openFrame(dst, FrameMethod, ch), uint32(id))
}

// AppendMethod writes a method frame.
func AppendMethod(dst []byte, ch uint16, m Method) []byte {
	start := len(dst) + frameHeaderSize
	return closeFrame(m.Append(openMethod(dst, ch, m.ID())), start)
}

// AppendDeliver writes basic.deliver; the content follows by AppendContent.
func AppendDeliver(dst []byte, ch uint16, tag string, deliveryTag uint64, redelivered bool, exchange, key []byte) []byte {
	start := len(dst) + frameHeaderSize
	dst = AppendShortstr(openMethod(dst, ch, BasicDeliverID), tag)
	dst = append(be.AppendUint64(dst, deliveryTag), bit(redelivered, 0))
	return closeFrame(appendShortBytes(appendShortBytes(dst, exchange), key), start)
}

// AppendGetOk writes basic.get-ok; the content follows by AppendContent.
func AppendGetOk(dst []byte, ch uint16, deliveryTag uint64, redelivered bool, exchange, key []byte, count uint32) []byte {
	start := len(dst) + frameHeaderSize
	dst = be.AppendUint64(openMethod(dst, ch, BasicGetOkID), deliveryTag)
	dst = appendShortBytes(append(dst, bit(redelivered, 0)), exchange)
	return closeFrame(be.AppendUint32(appendShortBytes(dst, key), count), start)
}

// AppendReturn writes basic.return; the content follows by AppendContent.
func AppendReturn(dst []byte, ch uint16, code uint16, text string, exchange, key []byte) []byte {
	start := len(dst) + frameHeaderSize
	dst = AppendShortstr(be.AppendUint16(openMethod(dst, ch, BasicReturnID), code), text)
	return closeFrame(appendShortBytes(appendShortBytes(dst, exchange), key), start)
}

// AppendAck writes basic.ack.
func AppendAck(dst []byte, ch uint16, tag uint64, multiple bool) []byte {
	return appendTag(dst, ch, BasicAckID, tag, bit(multiple, 0))
}

// AppendNack writes basic.nack.
func AppendNack(dst []byte, ch uint16, tag uint64, multiple, requeue bool) []byte {
	return appendTag(dst, ch, BasicNackID, tag, bit(multiple, 0)|bit(requeue, 1))
}

func appendTag(dst []byte, ch uint16, id ID, tag uint64, bits byte) []byte {
	const size = 4 + 8 + 1
	dst = append(dst, FrameMethod, byte(ch>>8), byte(ch), 0, 0, 0, size)
	dst = be.AppendUint64(be.AppendUint32(dst, uint32(id)), tag)
	return append(dst, bits, FrameEnd)
}

// AppendContent writes a message's header frame and its body in frames of at
// most frameMax bytes, 0 for no limit; an empty body has none. The header is one
// frame however large: it cannot be split (amqp.md 6.1).
func AppendContent(dst []byte, ch uint16, props, body []byte, frameMax uint32) []byte {
	return AppendBody(AppendContentHeader(dst, ch, props, uint64(len(body))), ch, body, frameMax)
}

// AppendContentHeader writes the header frame alone, for a body that goes out
// by another way.
func AppendContentHeader(dst []byte, ch uint16, props []byte, bodySize uint64) []byte {
	const basic = uint64(BasicPublishID>>16) << 48 // class, weight 0
	start := len(dst) + frameHeaderSize
	dst = openFrame(dst, FrameHeader, ch)
	dst = append(dst, byte(basic>>56), byte(basic>>48), 0, 0)
	dst = be.AppendUint64(dst, bodySize)
	return closeFrame(append(dst, props...), start)
}

// AppendBody writes the body frames alone.
func AppendBody(dst []byte, ch uint16, body []byte, frameMax uint32) []byte {
	piece := maxPayload
	if frameMax > FrameOverhead && frameMax-FrameOverhead < maxPayload {
		piece = int(frameMax - FrameOverhead)
	}
	for len(body) > 0 {
		n := min(piece, len(body))
		dst = append(openFrame(dst, FrameBody, ch), body[:n]...)
		dst = closeFrame(dst, len(dst)-n)
		body = body[n:]
	}
	return dst
}

// AppendHeartbeat writes a heartbeat frame.
func AppendHeartbeat(dst []byte) []byte {
	return append(dst, FrameHeartbeat, 0, 0, 0, 0, 0, 0, FrameEnd)
}
