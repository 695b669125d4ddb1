// Package admin is how people and tools manage a broker: definitions as RabbitMQ
// exports them, and what goes with them. It turns documents into catalogue commands
// and views into documents.
//
// It must never know Raft or gossip, nor touch the disk: documents are handed in as
// bytes, and whoever called proposes the commands.
//
// Start reading at definitions.go; export.go is the way back.
package admin
