package wire

import "strconv"

// The reply codes that the codec itself can find (amqp.md 5).
const (
	codeFrameError     = 501
	codeSyntaxError    = 502
	codeCommandInvalid = 503
)

// Error is malformed input: the connection cannot go on. Text is the
// explanation without the code's name; whoever sends it puts that in front and
// cuts the whole to 255 bytes. Class and Method are those of the method at
// fault, 0 and 0 when there is none.
type Error struct {
	Code   uint16
	Text   string
	Class  uint16
	Method uint16
}

func (e *Error) Error() string {
	return "amqp " + strconv.Itoa(int(e.Code)) + ": " + e.Text
}

// maxText bounds the octets printed into a text: no reply text is longer, and a
// client must not make us print a whole frame.
const maxText = 255

// cannotDecode is 501 for arguments that are too short or too long.
func cannotDecode(id ID, args []byte) *Error {
	text := append([]byte("cannot decode "), "<<"...)
	text = append(appendOctets(text, args), ">>"...)
	return &Error{Code: codeFrameError, Text: string(text), Class: id.Class(), Method: id.Method()}
}

// malformedUTF8 is 501 for a name that is not UTF-8.
func malformedUTF8(id ID) *Error {
	return &Error{Code: codeFrameError, Text: "Malformed UTF-8 in shortstr", Class: id.Class(), Method: id.Method()}
}

// unknownMethod is 503: RabbitMQ drops the connection without a word, Mayfly
// says which ids it did not know.
func unknownMethod(id ID) *Error {
	return &Error{Code: codeCommandInvalid, Text: "unknown method " + id.String(), Class: id.Class(), Method: id.Method()}
}

// appendOctets prints bytes as Erlang lists them: 1,2,255.
func appendOctets(dst, b []byte) []byte {
	for i, c := range b {
		if len(dst) > maxText {
			return append(dst, "..."...)
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(c), 10)
	}
	return dst
}

// appendBinary prints bytes as RabbitMQ's texts have them: <<"text">> when they
// are printable, <<1,2,3>> otherwise.
func appendBinary(dst, b []byte) []byte {
	if len(b) == 0 {
		return append(dst, "<<>>"...)
	}
	for _, c := range b {
		if c < 0x20 || c > 0x7e {
			return append(appendOctets(append(dst, "<<"...), b), ">>"...)
		}
	}
	dst = append(dst, `<<"`...)
	for _, c := range b {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, `">>`...)
}
