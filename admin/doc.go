// Package admin is how people and tools manage a broker: the management API over
// HTTP, as RabbitMQ's clients know it, and definitions as RabbitMQ exports them. It
// turns documents into catalogue commands, and views into documents.
//
// It must never know Raft or gossip, nor touch the disk: documents are handed in as
// bytes, whoever called proposes the commands, and what the API asks of the node
// goes through the interface in broker.go.
//
// Start reading at server.go for the API, and at definitions.go for definitions;
// export.go is the way back.
package admin
