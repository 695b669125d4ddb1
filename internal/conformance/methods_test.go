package conformance

import "fmt"

// Method ids: class<<16 | method (amqp.md 1.1).
const (
	connectionStart          = 10<<16 | 10
	connectionStartOk        = 10<<16 | 11
	connectionSecureOk       = 10<<16 | 21
	connectionTune           = 10<<16 | 30
	connectionTuneOk         = 10<<16 | 31
	connectionOpen           = 10<<16 | 40
	connectionOpenOk         = 10<<16 | 41
	connectionClose          = 10<<16 | 50
	connectionCloseOk        = 10<<16 | 51
	connectionBlocked        = 10<<16 | 60
	connectionUnblocked      = 10<<16 | 61
	connectionUpdateSecret   = 10<<16 | 70
	connectionUpdateSecretOk = 10<<16 | 71

	channelOpen    = 20<<16 | 10
	channelOpenOk  = 20<<16 | 11
	channelFlow    = 20<<16 | 20
	channelFlowOk  = 20<<16 | 21
	channelClose   = 20<<16 | 40
	channelCloseOk = 20<<16 | 41

	accessRequest   = 30<<16 | 10
	accessRequestOk = 30<<16 | 11

	exchangeDeclare   = 40<<16 | 10
	exchangeDeclareOk = 40<<16 | 11
	exchangeDelete    = 40<<16 | 20
	exchangeDeleteOk  = 40<<16 | 21
	exchangeBind      = 40<<16 | 30
	exchangeBindOk    = 40<<16 | 31
	exchangeUnbind    = 40<<16 | 40
	exchangeUnbindOk  = 40<<16 | 51

	queueDeclare   = 50<<16 | 10
	queueDeclareOk = 50<<16 | 11
	queueBind      = 50<<16 | 20
	queueBindOk    = 50<<16 | 21
	queuePurge     = 50<<16 | 30
	queuePurgeOk   = 50<<16 | 31
	queueDelete    = 50<<16 | 40
	queueDeleteOk  = 50<<16 | 41
	queueUnbind    = 50<<16 | 50
	queueUnbindOk  = 50<<16 | 51

	basicQos          = 60<<16 | 10
	basicQosOk        = 60<<16 | 11
	basicConsume      = 60<<16 | 20
	basicConsumeOk    = 60<<16 | 21
	basicCancel       = 60<<16 | 30
	basicCancelOk     = 60<<16 | 31
	basicPublish      = 60<<16 | 40
	basicReturn       = 60<<16 | 50
	basicDeliver      = 60<<16 | 60
	basicGet          = 60<<16 | 70
	basicGetOk        = 60<<16 | 71
	basicGetEmpty     = 60<<16 | 72
	basicAck          = 60<<16 | 80
	basicReject       = 60<<16 | 90
	basicRecoverAsync = 60<<16 | 100
	basicRecover      = 60<<16 | 110
	basicRecoverOk    = 60<<16 | 111
	basicNack         = 60<<16 | 120

	confirmSelect   = 85<<16 | 10
	confirmSelectOk = 85<<16 | 11

	txSelect     = 90<<16 | 10
	txSelectOk   = 90<<16 | 11
	txCommit     = 90<<16 | 20
	txCommitOk   = 90<<16 | 21
	txRollback   = 90<<16 | 30
	txRollbackOk = 90<<16 | 31
)

var className = map[uint32]string{10: "connection", 20: "channel", 30: "access", 40: "exchange", 50: "queue", 60: "basic", 85: "confirm", 90: "tx"}

// methodName is for failures only: class by name, method by number.
func methodName(id uint32) string {
	return fmt.Sprintf("%s.%d (%d.%d)", className[id>>16], id&0xffff, id>>16, id&0xffff)
}

// Reply codes (amqp.md 8).
const (
	replySuccess       = 200
	noRoute            = 312
	connectionForced   = 320
	accessRefused      = 403
	notFound           = 404
	resourceLocked     = 405
	preconditionFailed = 406
	frameError         = 501
	syntaxError        = 502
	commandInvalid     = 503
	channelError       = 504
	unexpectedFrame    = 505
	notAllowed         = 530
	notImplemented     = 540
	internalError      = 541
)

var codeName = map[uint16]string{
	connectionForced: "CONNECTION_FORCED", accessRefused: "ACCESS_REFUSED", notFound: "NOT_FOUND",
	resourceLocked: "RESOURCE_LOCKED", preconditionFailed: "PRECONDITION_FAILED", frameError: "FRAME_ERROR",
	syntaxError: "SYNTAX_ERROR", commandInvalid: "COMMAND_INVALID", channelError: "CHANNEL_ERROR",
	unexpectedFrame: "UNEXPECTED_FRAME", notAllowed: "NOT_ALLOWED", notImplemented: "NOT_IMPLEMENTED",
	internalError: "INTERNAL_ERROR",
}
