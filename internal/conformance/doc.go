// Package conformance shows, from outside and byte by byte, that a broker
// behaves as amqp.md says. Every line of the checklist of its section 20 that
// one node can show is a test whose name carries the number of the line
// (TestLine001..., TestLine002...). The tests speak to a socket with a client of
// their own; where Mayfly differs on purpose from RabbitMQ ([M] in amqp.md),
// both expectations stand side by side in pick(mayfly, rabbitmq), so the same
// test is right on both and RabbitMQ is the oracle for the tests themselves.
//
// It must never know how the broker is built: it imports no package of Mayfly,
// not even the codec, because a mistake shared by both ends of a wire cancels
// itself out. What is not reachable by AMQP (alarms, deleting a user, stopping
// the node) is done with settings and signals of a server that the test starts,
// with a command that takes rabbitmqctl's verbs, or with testdata/operated, a
// node that takes a few orders on its standard input.
//
// Start reading in harness_test.go (which broker is tested, and how it is
// started), then client_test.go and channel_test.go (the client), then any
// test. Environment:
//
//	MAYFLY_TEST_URL   the broker; unset: the package builds and starts `mayfly server`
//	MAYFLY_TEST_KIND  mayfly (default) or rabbitmq: which expectations hold
//	MAYFLY_TEST_CTL   a command that takes rabbitmqctl's verbs, for instance "rabbitmqctl -n rabbit@host"
//	MAYFLY_TEST_BIN   a mayfly binary to use instead of building one
//
// A broker given by MAYFLY_TEST_URL needs testdata/definitions.json imported
// first; with MAYFLY_TEST_KIND=rabbitmq and MAYFLY_TEST_CTL the package imports
// it itself. The flag -long adds the slow forms of a few lines.
//
// Lines that need more than one node, which this package does not have:
//
//	line     subject                                            shown on
//	106 (*)  reply from another node reaches the requester       three nodes (the one-node part is TestLine106)
//	114      any method through any node                         three nodes
//	115      kill -9 of a leader under load                      three nodes
//	116      the same, publisher elsewhere                       three nodes
//	117      kill -9 of the client's node                        three nodes
//	118      majority lost                                       three nodes
//	119      graceful stop moves leaders                         three nodes
//	120      partition of the client's node                      three nodes
//	121      exclusive queue redeclared within 2 s               three nodes
//	122      declare on A, publish on B                          three nodes
//
// Lines 123 to 128 name client libraries. amqp091-go is used itself; of the
// others this package plays the handshake and the calls that amqp.md section 17
// records of them, since their runtimes are no part of a Go test.
package conformance
