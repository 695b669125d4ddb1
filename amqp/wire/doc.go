// Package wire is the codec of AMQP 0-9-1: frames, methods, content headers,
// message properties and field tables, from bytes to values and back, exactly
// as amqp.md sections 1, 5, 6, 7 and 15 have them. What publishers send in
// properties and tables is kept as their bytes, validated in place and read key
// by key, so that it comes out as it went in.
//
// It must never know a connection, a channel or a queue: no state machine, no
// negotiation, no socket. It starts no goroutine, reads no clock and writes no
// log; the only thing it is ever given besides bytes is an io.Reader.
//
// Start with Reader in reader.go, then Decode in method.go for what frames
// carry; publish.go and properties.go are the hot path in, output.go the hot
// path out. The methods are generated from methods.txt by gen/.
package wire

//go:generate go run ./gen
