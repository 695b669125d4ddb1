package amqp

import (
	"errors"
	"fmt"
	"strconv"

	"mayfly/amqp/wire"
)

// The texts a connection sends, as templates of amqp.md, sections 2 to 5.
// Everything here is hard: it closes the connection.

// faultOf turns an error of the codec into what the client is told; nil for
// an error of the socket.
func faultOf(err error) *Error {
	var we *wire.Error
	if !errors.As(err, &we) {
		return nil
	}
	e := newError(we.Code, we.Text)
	e.Class, e.Method, e.Hard = we.Class, we.Method, true
	return e
}

// by names the method that caused an error; id 0 is none.
func (e *Error) by(id wire.ID) *Error {
	e.Class, e.Method = id.Class(), id.Method()
	return e
}

// hard makes an error close the connection whatever its code (403 at login).
func (e *Error) hard() *Error {
	e.Hard = true
	return e
}

// forced is 320; class and method are always 0 (section 4).
func forced(reason string) *Error { return newError(codeConnectionForced, reason) }

const reasonShutdown = "broker forced connection closure with reason 'shutdown'"

func reasonUserDeleted(user string) string   { return "user '" + user + "' is deleted" }
func reasonVhostDeleted(vhost string) string { return "vhost '" + vhost + "' is deleted" }

// reasonManagement is used when an operator closes a connection without a reason.
const reasonManagement = "Closed via management plugin"

func loginRefused(mechanism string) *Error {
	return newError(codeAccessRefused, "Login was refused using authentication mechanism "+mechanism+
		". For details see the broker logfile.").hard()
}

func mechanismRefused(mechanism string) *Error {
	return newError(codeAccessRefused, "authentication mechanism '"+mechanism+"' is not supported").hard()
}

func malformedResponse(mechanism string) *Error {
	return newError(codeSyntaxError, "malformed response for authentication mechanism "+mechanism)
}

// negotiation is the refusal of a tune-ok; bound is "lower"/"minimum" or "higher"/"maximum".
func negotiation(field string, value uint64, than, bound string, limit uint64) *Error {
	detail := ""
	if field == "channel_max" && value == 0 {
		detail = " (no limit)"
	}
	return newError(codeNotAllowed, fmt.Sprintf("negotiated %s = %d%s is %s than the %s allowed value (%d)",
		field, value, detail, than, bound, limit)).by(wire.ConnectionTuneOkID)
}

func vhostNotFound(vhost string) *Error {
	return newError(codeNotAllowed, "vhost "+vhost+" not found").by(wire.ConnectionOpenID)
}

// vhostRefused has no colon and detail when the permissions alone refuse.
func vhostRefused(vhost, user, detail string) *Error {
	text := "access to vhost '" + vhost + "' refused for user '" + user + "'"
	if detail != "" {
		text += ": " + detail
	}
	return newError(codeNotAllowed, text).by(wire.ConnectionOpenID)
}

func vhostLimit(vhost, user string, limit int64) *Error {
	return vhostRefused(vhost, user, "connection limit ("+strconv.FormatInt(limit, 10)+") is reached")
}

func userLimit(user string, limit int64) *Error {
	return newError(codeNotAllowed, fmt.Sprintf("connection refused for user '%s': user connection limit (%d) is reached",
		user, limit)).by(wire.ConnectionOpenID)
}

func nodeLimit(limit int) *Error {
	return newError(codeNotAllowed, fmt.Sprintf("connection refused: node connection limit (%d) is reached",
		limit)).by(wire.ConnectionOpenID)
}

func channelMaxReached(open int, limit uint16) *Error {
	return newError(codeNotAllowed, fmt.Sprintf("number of channels opened (%d) has reached the negotiated channel_max (%d)",
		open, limit)).by(wire.ChannelOpenID)
}

func userChannelsReached(user string, limit int64) *Error {
	return newError(codeNotAllowed, fmt.Sprintf("number of channels opened for user '%s' has reached the maximum allowed user limit of (%d)",
		user, limit)).by(wire.ChannelOpenID)
}

func expectedChannelOpen(id wire.ID) *Error {
	return newError(codeChannelError, "expected 'channel.open'").by(id)
}

func secondChannelOpen() *Error {
	return newError(codeChannelError, "second 'channel.open' seen").by(wire.ChannelOpenID)
}

// unexpectedMethod is a method that has no business on channel 0 in that state.
func unexpectedMethod(state string, id wire.ID) *Error {
	return newError(codeChannelError, "unexpected method in connection state "+state).by(id)
}

// unexpectedFrame is 505 with the frame's first octets, class and method 0.
func unexpectedFrame(f wire.Frame) *Error { return newError(codeUnexpectedFrame, f.Describe()) }
