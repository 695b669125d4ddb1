// Package bench loads an AMQP 0-9-1 broker, any broker, through the stock Go
// client, and measures what it does and what it costs: rates, latencies, the
// broker processes' CPU time, memory and bytes written (design.md, section 8).
//
// It must never know Mayfly: what it cannot learn by AMQP or from /proc it does
// not report.
//
// Start reading at scenario.go, the list of scenarios; usage.go reads /proc.
package bench
