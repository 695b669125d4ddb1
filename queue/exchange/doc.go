// Package exchange answers which queues a message goes to: exchanges of every
// type, their bindings, bindings between exchanges, alternate exchanges (amqp.md
// 12, 13). All its values are immutable: a change gives a new value that shares
// nearly everything with the old one, so that a view of the catalogue can be read
// by every connection while the next one is made.
//
// It must never know a queue beyond its name, a permission, a connection or the
// log; it takes no decision by chance or time. The default exchange, whose
// bindings are implied, is its caller's affair.
//
// Start with table.go, which follows a message from exchange to exchange; then
// exchange.go with the bindings, and one file for each type: direct.go, topic.go,
// headers.go, hash.go. tree.go is the map all of it is made of.
package exchange
