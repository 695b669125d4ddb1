package amqp

import "unicode/utf8"

// Error is a refusal that a client sees: the reply code, the text, the method
// that caused it, and whether the channel or the whole connection ends
// (amqp.md, section 8). All texts of the package are made in this file.
type Error struct {
	Code   uint16
	Text   string // "NAME - explanation", at most 255 bytes
	Class  uint16
	Method uint16
	Hard   bool // closes the connection
}

func (e *Error) Error() string { return e.Text }

// Reply codes of the protocol (amqp.md, section 8).
const (
	codeSuccess            = 200
	codeNoRoute            = 312
	codeConnectionForced   = 320
	codeAccessRefused      = 403
	codeNotFound           = 404
	codeResourceLocked     = 405
	codePreconditionFailed = 406
	codeFrameError         = 501
	codeSyntaxError        = 502
	codeCommandInvalid     = 503
	codeChannelError       = 504
	codeUnexpectedFrame    = 505
	codeResourceError      = 506
	codeNotAllowed         = 530
	codeNotImplemented     = 540
	codeInternalError      = 541
)

var codeNames = map[uint16]string{
	codeConnectionForced: "CONNECTION_FORCED", codeAccessRefused: "ACCESS_REFUSED", codeNotFound: "NOT_FOUND",
	codeResourceLocked: "RESOURCE_LOCKED", codePreconditionFailed: "PRECONDITION_FAILED", codeFrameError: "FRAME_ERROR",
	codeSyntaxError: "SYNTAX_ERROR", codeCommandInvalid: "COMMAND_INVALID", codeChannelError: "CHANNEL_ERROR",
	codeUnexpectedFrame: "UNEXPECTED_FRAME", codeResourceError: "RESOURCE_ERROR", codeNotAllowed: "NOT_ALLOWED",
	codeNotImplemented: "NOT_IMPLEMENTED", codeInternalError: "INTERNAL_ERROR",
}

// hardCode tells which codes end the connection; the others end the channel.
// 403 is soft here: during login it is sent on channel 0 by the handshake itself.
func hardCode(code uint16) bool { return code == codeConnectionForced || code >= 500 }

// newError makes an error of the class its code belongs to. The method ids are
// filled in by the dispatcher, which knows what it was executing.
func newError(code uint16, explanation string) *Error {
	return &Error{Code: code, Text: cutText(codeNames[code] + " - " + explanation), Hard: hardCode(code)}
}

// cutText keeps a reply text within a shortstr, on a UTF-8 boundary.
func cutText(s string) string {
	if len(s) <= 255 {
		return s
	}
	n := 255
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
