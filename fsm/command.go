package fsm

// command is the first byte of a command in an entry. Numbers are never reused or
// moved; new ones go to the end, and a leader proposes one only when every replica
// knows the version that brought it (style.md, sections 8 and 9).
type command byte

const (
	cmdConfigure command = iota + 1
	cmdEnqueue
	cmdSettle
	cmdReject
	cmdReturn
	cmdCredit
	cmdAttach
	cmdDetach
	cmdGet
	cmdPurge
	cmdClose
	cmdSessionClosed
	cmdNodeGone
	cmdNodesBefore
	cmdTouch
	cmdForwarded
	cmdTx
)

// Version is the newest version of the log's format and of the machine's
// behaviour that this build knows.
const Version = 1

// Flags of a publish.
const (
	pubPriority = 1 << iota
	pubTTL
	pubPersistent
)

// Flags of Attach, Get and Close.
const (
	attachNoAck     = 1
	attachExclusive = 2
	getNoAck        = 1
	closeIfUnused   = 1
	closeIfEmpty    = 2
)
