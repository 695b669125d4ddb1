// Package amqp speaks AMQP 0-9-1 on sockets: the server and its listeners, the
// handshake, one reader and one writer goroutine for each connection, and the
// channels with their publishes, consumers, confirms and transactions.
//
// It must never know how the broker agrees or stores: no Raft, no log, no disk.
// What it needs of the node is the interface Broker (broker.go), in values of
// the packages below; what it is told comes through queue.Sink. It makes every
// protocol reply of the product and decides nothing about messages but their
// routing. Time comes from internal/clock alone.
//
// Start reading with server.go, then conn.go (the reader), writer.go (the order
// of what goes out) and seam.go (what a connection and a channel owe each
// other); then publish.go. The rules, with numbers, are those of the AMQP part
// of the reference; errors.go and errors_conn.go hold every text a client sees.
package amqp
