// Code generated from methods.txt by gen; DO NOT EDIT.

package wire

// The ids of all methods.
const (
	ConnectionStartID          ID = 10<<16 | 10
	ConnectionStartOkID        ID = 10<<16 | 11
	ConnectionSecureID         ID = 10<<16 | 20
	ConnectionSecureOkID       ID = 10<<16 | 21
	ConnectionTuneID           ID = 10<<16 | 30
	ConnectionTuneOkID         ID = 10<<16 | 31
	ConnectionOpenID           ID = 10<<16 | 40
	ConnectionOpenOkID         ID = 10<<16 | 41
	ConnectionCloseID          ID = 10<<16 | 50
	ConnectionCloseOkID        ID = 10<<16 | 51
	ConnectionBlockedID        ID = 10<<16 | 60
	ConnectionUnblockedID      ID = 10<<16 | 61
	ConnectionUpdateSecretID   ID = 10<<16 | 70
	ConnectionUpdateSecretOkID ID = 10<<16 | 71
	ChannelOpenID              ID = 20<<16 | 10
	ChannelOpenOkID            ID = 20<<16 | 11
	ChannelFlowID              ID = 20<<16 | 20
	ChannelFlowOkID            ID = 20<<16 | 21
	ChannelCloseID             ID = 20<<16 | 40
	ChannelCloseOkID           ID = 20<<16 | 41
	AccessRequestID            ID = 30<<16 | 10
	AccessRequestOkID          ID = 30<<16 | 11
	ExchangeDeclareID          ID = 40<<16 | 10
	ExchangeDeclareOkID        ID = 40<<16 | 11
	ExchangeDeleteID           ID = 40<<16 | 20
	ExchangeDeleteOkID         ID = 40<<16 | 21
	ExchangeBindID             ID = 40<<16 | 30
	ExchangeBindOkID           ID = 40<<16 | 31
	ExchangeUnbindID           ID = 40<<16 | 40
	ExchangeUnbindOkID         ID = 40<<16 | 51
	QueueDeclareID             ID = 50<<16 | 10
	QueueDeclareOkID           ID = 50<<16 | 11
	QueueBindID                ID = 50<<16 | 20
	QueueBindOkID              ID = 50<<16 | 21
	QueuePurgeID               ID = 50<<16 | 30
	QueuePurgeOkID             ID = 50<<16 | 31
	QueueDeleteID              ID = 50<<16 | 40
	QueueDeleteOkID            ID = 50<<16 | 41
	QueueUnbindID              ID = 50<<16 | 50
	QueueUnbindOkID            ID = 50<<16 | 51
	BasicQosID                 ID = 60<<16 | 10
	BasicQosOkID               ID = 60<<16 | 11
	BasicConsumeID             ID = 60<<16 | 20
	BasicConsumeOkID           ID = 60<<16 | 21
	BasicCancelID              ID = 60<<16 | 30
	BasicCancelOkID            ID = 60<<16 | 31
	BasicPublishID             ID = 60<<16 | 40
	BasicReturnID              ID = 60<<16 | 50
	BasicDeliverID             ID = 60<<16 | 60
	BasicGetID                 ID = 60<<16 | 70
	BasicGetOkID               ID = 60<<16 | 71
	BasicGetEmptyID            ID = 60<<16 | 72
	BasicAckID                 ID = 60<<16 | 80
	BasicRejectID              ID = 60<<16 | 90
	BasicRecoverAsyncID        ID = 60<<16 | 100
	BasicRecoverID             ID = 60<<16 | 110
	BasicRecoverOkID           ID = 60<<16 | 111
	BasicNackID                ID = 60<<16 | 120
	ConfirmSelectID            ID = 85<<16 | 10
	ConfirmSelectOkID          ID = 85<<16 | 11
	TxSelectID                 ID = 90<<16 | 10
	TxSelectOkID               ID = 90<<16 | 11
	TxCommitID                 ID = 90<<16 | 20
	TxCommitOkID               ID = 90<<16 | 21
	TxRollbackID               ID = 90<<16 | 30
	TxRollbackOkID             ID = 90<<16 | 31
)

// methodName is the protocol's name of a method, "" for an unknown one.
func methodName(id ID) string {
	switch id {
	case ConnectionStartID:
		return "connection.start"
	case ConnectionStartOkID:
		return "connection.start-ok"
	case ConnectionSecureID:
		return "connection.secure"
	case ConnectionSecureOkID:
		return "connection.secure-ok"
	case ConnectionTuneID:
		return "connection.tune"
	case ConnectionTuneOkID:
		return "connection.tune-ok"
	case ConnectionOpenID:
		return "connection.open"
	case ConnectionOpenOkID:
		return "connection.open-ok"
	case ConnectionCloseID:
		return "connection.close"
	case ConnectionCloseOkID:
		return "connection.close-ok"
	case ConnectionBlockedID:
		return "connection.blocked"
	case ConnectionUnblockedID:
		return "connection.unblocked"
	case ConnectionUpdateSecretID:
		return "connection.update-secret"
	case ConnectionUpdateSecretOkID:
		return "connection.update-secret-ok"
	case ChannelOpenID:
		return "channel.open"
	case ChannelOpenOkID:
		return "channel.open-ok"
	case ChannelFlowID:
		return "channel.flow"
	case ChannelFlowOkID:
		return "channel.flow-ok"
	case ChannelCloseID:
		return "channel.close"
	case ChannelCloseOkID:
		return "channel.close-ok"
	case AccessRequestID:
		return "access.request"
	case AccessRequestOkID:
		return "access.request-ok"
	case ExchangeDeclareID:
		return "exchange.declare"
	case ExchangeDeclareOkID:
		return "exchange.declare-ok"
	case ExchangeDeleteID:
		return "exchange.delete"
	case ExchangeDeleteOkID:
		return "exchange.delete-ok"
	case ExchangeBindID:
		return "exchange.bind"
	case ExchangeBindOkID:
		return "exchange.bind-ok"
	case ExchangeUnbindID:
		return "exchange.unbind"
	case ExchangeUnbindOkID:
		return "exchange.unbind-ok"
	case QueueDeclareID:
		return "queue.declare"
	case QueueDeclareOkID:
		return "queue.declare-ok"
	case QueueBindID:
		return "queue.bind"
	case QueueBindOkID:
		return "queue.bind-ok"
	case QueuePurgeID:
		return "queue.purge"
	case QueuePurgeOkID:
		return "queue.purge-ok"
	case QueueDeleteID:
		return "queue.delete"
	case QueueDeleteOkID:
		return "queue.delete-ok"
	case QueueUnbindID:
		return "queue.unbind"
	case QueueUnbindOkID:
		return "queue.unbind-ok"
	case BasicQosID:
		return "basic.qos"
	case BasicQosOkID:
		return "basic.qos-ok"
	case BasicConsumeID:
		return "basic.consume"
	case BasicConsumeOkID:
		return "basic.consume-ok"
	case BasicCancelID:
		return "basic.cancel"
	case BasicCancelOkID:
		return "basic.cancel-ok"
	case BasicPublishID:
		return "basic.publish"
	case BasicReturnID:
		return "basic.return"
	case BasicDeliverID:
		return "basic.deliver"
	case BasicGetID:
		return "basic.get"
	case BasicGetOkID:
		return "basic.get-ok"
	case BasicGetEmptyID:
		return "basic.get-empty"
	case BasicAckID:
		return "basic.ack"
	case BasicRejectID:
		return "basic.reject"
	case BasicRecoverAsyncID:
		return "basic.recover-async"
	case BasicRecoverID:
		return "basic.recover"
	case BasicRecoverOkID:
		return "basic.recover-ok"
	case BasicNackID:
		return "basic.nack"
	case ConfirmSelectID:
		return "confirm.select"
	case ConfirmSelectOkID:
		return "confirm.select-ok"
	case TxSelectID:
		return "tx.select"
	case TxSelectOkID:
		return "tx.select-ok"
	case TxCommitID:
		return "tx.commit"
	case TxCommitOkID:
		return "tx.commit-ok"
	case TxRollbackID:
		return "tx.rollback"
	case TxRollbackOkID:
		return "tx.rollback-ok"
	}
	return ""
}

// FromClient tells whether a client may send the method at all; false for unknown ones.
func (id ID) FromClient() bool {
	switch id {
	case ConnectionStartOkID,
		ConnectionSecureOkID,
		ConnectionTuneOkID,
		ConnectionOpenID,
		ConnectionCloseID,
		ConnectionCloseOkID,
		ConnectionUpdateSecretID,
		ChannelOpenID,
		ChannelFlowID,
		ChannelFlowOkID,
		ChannelCloseID,
		ChannelCloseOkID,
		AccessRequestID,
		ExchangeDeclareID,
		ExchangeDeleteID,
		ExchangeBindID,
		ExchangeUnbindID,
		QueueDeclareID,
		QueueBindID,
		QueuePurgeID,
		QueueDeleteID,
		QueueUnbindID,
		BasicQosID,
		BasicConsumeID,
		BasicCancelID,
		BasicCancelOkID,
		BasicPublishID,
		BasicGetID,
		BasicAckID,
		BasicRejectID,
		BasicRecoverAsyncID,
		BasicRecoverID,
		BasicNackID,
		ConfirmSelectID,
		TxSelectID,
		TxCommitID,
		TxRollbackID:
		return true
	}
	return false
}

// newMethod makes an empty method to decode into, nil for an unknown id.
func newMethod(id ID) decodable {
	switch id {
	case ConnectionStartID:
		return new(ConnectionStart)
	case ConnectionStartOkID:
		return new(ConnectionStartOk)
	case ConnectionSecureID:
		return new(ConnectionSecure)
	case ConnectionSecureOkID:
		return new(ConnectionSecureOk)
	case ConnectionTuneID:
		return new(ConnectionTune)
	case ConnectionTuneOkID:
		return new(ConnectionTuneOk)
	case ConnectionOpenID:
		return new(ConnectionOpen)
	case ConnectionOpenOkID:
		return new(ConnectionOpenOk)
	case ConnectionCloseID:
		return new(ConnectionClose)
	case ConnectionCloseOkID:
		return new(ConnectionCloseOk)
	case ConnectionBlockedID:
		return new(ConnectionBlocked)
	case ConnectionUnblockedID:
		return new(ConnectionUnblocked)
	case ConnectionUpdateSecretID:
		return new(ConnectionUpdateSecret)
	case ConnectionUpdateSecretOkID:
		return new(ConnectionUpdateSecretOk)
	case ChannelOpenID:
		return new(ChannelOpen)
	case ChannelOpenOkID:
		return new(ChannelOpenOk)
	case ChannelFlowID:
		return new(ChannelFlow)
	case ChannelFlowOkID:
		return new(ChannelFlowOk)
	case ChannelCloseID:
		return new(ChannelClose)
	case ChannelCloseOkID:
		return new(ChannelCloseOk)
	case AccessRequestID:
		return new(AccessRequest)
	case AccessRequestOkID:
		return new(AccessRequestOk)
	case ExchangeDeclareID:
		return new(ExchangeDeclare)
	case ExchangeDeclareOkID:
		return new(ExchangeDeclareOk)
	case ExchangeDeleteID:
		return new(ExchangeDelete)
	case ExchangeDeleteOkID:
		return new(ExchangeDeleteOk)
	case ExchangeBindID:
		return new(ExchangeBind)
	case ExchangeBindOkID:
		return new(ExchangeBindOk)
	case ExchangeUnbindID:
		return new(ExchangeUnbind)
	case ExchangeUnbindOkID:
		return new(ExchangeUnbindOk)
	case QueueDeclareID:
		return new(QueueDeclare)
	case QueueDeclareOkID:
		return new(QueueDeclareOk)
	case QueueBindID:
		return new(QueueBind)
	case QueueBindOkID:
		return new(QueueBindOk)
	case QueuePurgeID:
		return new(QueuePurge)
	case QueuePurgeOkID:
		return new(QueuePurgeOk)
	case QueueDeleteID:
		return new(QueueDelete)
	case QueueDeleteOkID:
		return new(QueueDeleteOk)
	case QueueUnbindID:
		return new(QueueUnbind)
	case QueueUnbindOkID:
		return new(QueueUnbindOk)
	case BasicQosID:
		return new(BasicQos)
	case BasicQosOkID:
		return new(BasicQosOk)
	case BasicConsumeID:
		return new(BasicConsume)
	case BasicConsumeOkID:
		return new(BasicConsumeOk)
	case BasicCancelID:
		return new(BasicCancel)
	case BasicCancelOkID:
		return new(BasicCancelOk)
	case BasicPublishID:
		return new(BasicPublish)
	case BasicReturnID:
		return new(BasicReturn)
	case BasicDeliverID:
		return new(BasicDeliver)
	case BasicGetID:
		return new(BasicGet)
	case BasicGetOkID:
		return new(BasicGetOk)
	case BasicGetEmptyID:
		return new(BasicGetEmpty)
	case BasicAckID:
		return new(BasicAck)
	case BasicRejectID:
		return new(BasicReject)
	case BasicRecoverAsyncID:
		return new(BasicRecoverAsync)
	case BasicRecoverID:
		return new(BasicRecover)
	case BasicRecoverOkID:
		return new(BasicRecoverOk)
	case BasicNackID:
		return new(BasicNack)
	case ConfirmSelectID:
		return new(ConfirmSelect)
	case ConfirmSelectOkID:
		return new(ConfirmSelectOk)
	case TxSelectID:
		return new(TxSelect)
	case TxSelectOkID:
		return new(TxSelectOk)
	case TxCommitID:
		return new(TxCommit)
	case TxCommitOkID:
		return new(TxCommitOk)
	case TxRollbackID:
		return new(TxRollback)
	case TxRollbackOkID:
		return new(TxRollbackOk)
	}
	return nil
}

// ConnectionStart is connection.start (10.10).
type ConnectionStart struct {
	VersionMajor     byte
	VersionMinor     byte
	ServerProperties Table
	Mechanisms       string
	Locales          string
}

// ID returns ConnectionStartID.
func (*ConnectionStart) ID() ID { return ConnectionStartID }

// Append writes the arguments.
func (m *ConnectionStart) Append(dst []byte) []byte {
	dst = append(dst, m.VersionMajor)
	dst = append(dst, m.VersionMinor)
	dst = appendTable(dst, m.ServerProperties)
	dst = AppendLongstr(dst, m.Mechanisms)
	dst = AppendLongstr(dst, m.Locales)
	return dst
}

func (m *ConnectionStart) decode(d *decoder) {
	m.VersionMajor = d.u8()
	m.VersionMinor = d.u8()
	m.ServerProperties = d.tableValue()
	m.Mechanisms = d.long()
	m.Locales = d.long()
}

// ConnectionStartOk is connection.start-ok (10.11).
type ConnectionStartOk struct {
	ClientProperties Table
	Mechanism        string
	Response         []byte
	Locale           string
}

// ID returns ConnectionStartOkID.
func (*ConnectionStartOk) ID() ID { return ConnectionStartOkID }

// Append writes the arguments.
func (m *ConnectionStartOk) Append(dst []byte) []byte {
	dst = appendTable(dst, m.ClientProperties)
	dst = AppendShortstr(dst, m.Mechanism)
	dst = appendBlob(dst, m.Response)
	dst = AppendShortstr(dst, m.Locale)
	return dst
}

func (m *ConnectionStartOk) decode(d *decoder) {
	m.ClientProperties = d.tableValue()
	m.Mechanism = d.name()
	m.Response = d.blob()
	m.Locale = d.text()
}

// ConnectionSecure is connection.secure (10.20).
type ConnectionSecure struct {
	Challenge []byte
}

// ID returns ConnectionSecureID.
func (*ConnectionSecure) ID() ID { return ConnectionSecureID }

// Append writes the arguments.
func (m *ConnectionSecure) Append(dst []byte) []byte {
	dst = appendBlob(dst, m.Challenge)
	return dst
}

func (m *ConnectionSecure) decode(d *decoder) {
	m.Challenge = d.blob()
}

// ConnectionSecureOk is connection.secure-ok (10.21).
type ConnectionSecureOk struct {
	Response []byte
}

// ID returns ConnectionSecureOkID.
func (*ConnectionSecureOk) ID() ID { return ConnectionSecureOkID }

// Append writes the arguments.
func (m *ConnectionSecureOk) Append(dst []byte) []byte {
	dst = appendBlob(dst, m.Response)
	return dst
}

func (m *ConnectionSecureOk) decode(d *decoder) {
	m.Response = d.blob()
}

// ConnectionTune is connection.tune (10.30).
type ConnectionTune struct {
	ChannelMax uint16
	FrameMax   uint32
	Heartbeat  uint16
}

// ID returns ConnectionTuneID.
func (*ConnectionTune) ID() ID { return ConnectionTuneID }

// Append writes the arguments.
func (m *ConnectionTune) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, m.ChannelMax)
	dst = be.AppendUint32(dst, m.FrameMax)
	dst = be.AppendUint16(dst, m.Heartbeat)
	return dst
}

func (m *ConnectionTune) decode(d *decoder) {
	m.ChannelMax = d.u16()
	m.FrameMax = d.u32()
	m.Heartbeat = d.u16()
}

// ConnectionTuneOk is connection.tune-ok (10.31).
type ConnectionTuneOk struct {
	ChannelMax uint16
	FrameMax   uint32
	Heartbeat  uint16
}

// ID returns ConnectionTuneOkID.
func (*ConnectionTuneOk) ID() ID { return ConnectionTuneOkID }

// Append writes the arguments.
func (m *ConnectionTuneOk) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, m.ChannelMax)
	dst = be.AppendUint32(dst, m.FrameMax)
	dst = be.AppendUint16(dst, m.Heartbeat)
	return dst
}

func (m *ConnectionTuneOk) decode(d *decoder) {
	m.ChannelMax = d.u16()
	m.FrameMax = d.u32()
	m.Heartbeat = d.u16()
}

// ConnectionOpen is connection.open (10.40).
type ConnectionOpen struct {
	Vhost string
}

// ID returns ConnectionOpenID.
func (*ConnectionOpen) ID() ID { return ConnectionOpenID }

// Append writes the arguments.
func (m *ConnectionOpen) Append(dst []byte) []byte {
	dst = AppendShortstr(dst, m.Vhost)
	dst = AppendShortstr(dst, "")
	dst = append(dst, 0)
	return dst
}

func (m *ConnectionOpen) decode(d *decoder) {
	m.Vhost = d.name()
	d.skipText()
	d.u8()
}

// ConnectionOpenOk is connection.open-ok (10.41).
type ConnectionOpenOk struct {
	KnownHosts string
}

// ID returns ConnectionOpenOkID.
func (*ConnectionOpenOk) ID() ID { return ConnectionOpenOkID }

// Append writes the arguments.
func (m *ConnectionOpenOk) Append(dst []byte) []byte {
	dst = AppendShortstr(dst, m.KnownHosts)
	return dst
}

func (m *ConnectionOpenOk) decode(d *decoder) {
	m.KnownHosts = d.text()
}

// ConnectionClose is connection.close (10.50).
type ConnectionClose struct {
	ReplyCode uint16
	ReplyText string
	ClassID   uint16
	MethodID  uint16
}

// ID returns ConnectionCloseID.
func (*ConnectionClose) ID() ID { return ConnectionCloseID }

// Append writes the arguments.
func (m *ConnectionClose) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, m.ReplyCode)
	dst = AppendShortstr(dst, m.ReplyText)
	dst = be.AppendUint16(dst, m.ClassID)
	dst = be.AppendUint16(dst, m.MethodID)
	return dst
}

func (m *ConnectionClose) decode(d *decoder) {
	m.ReplyCode = d.u16()
	m.ReplyText = d.text()
	m.ClassID = d.u16()
	m.MethodID = d.u16()
}

// ConnectionCloseOk is connection.close-ok (10.51).
type ConnectionCloseOk struct {
}

// ID returns ConnectionCloseOkID.
func (*ConnectionCloseOk) ID() ID { return ConnectionCloseOkID }

// Append writes the arguments.
func (m *ConnectionCloseOk) Append(dst []byte) []byte {
	return dst
}

func (m *ConnectionCloseOk) decode(d *decoder) {
}

// ConnectionBlocked is connection.blocked (10.60).
type ConnectionBlocked struct {
	Reason string
}

// ID returns ConnectionBlockedID.
func (*ConnectionBlocked) ID() ID { return ConnectionBlockedID }

// Append writes the arguments.
func (m *ConnectionBlocked) Append(dst []byte) []byte {
	dst = AppendShortstr(dst, m.Reason)
	return dst
}

func (m *ConnectionBlocked) decode(d *decoder) {
	m.Reason = d.text()
}

// ConnectionUnblocked is connection.unblocked (10.61).
type ConnectionUnblocked struct {
}

// ID returns ConnectionUnblockedID.
func (*ConnectionUnblocked) ID() ID { return ConnectionUnblockedID }

// Append writes the arguments.
func (m *ConnectionUnblocked) Append(dst []byte) []byte {
	return dst
}

func (m *ConnectionUnblocked) decode(d *decoder) {
}

// ConnectionUpdateSecret is connection.update-secret (10.70).
type ConnectionUpdateSecret struct {
	NewSecret []byte
	Reason    string
}

// ID returns ConnectionUpdateSecretID.
func (*ConnectionUpdateSecret) ID() ID { return ConnectionUpdateSecretID }

// Append writes the arguments.
func (m *ConnectionUpdateSecret) Append(dst []byte) []byte {
	dst = appendBlob(dst, m.NewSecret)
	dst = AppendShortstr(dst, m.Reason)
	return dst
}

func (m *ConnectionUpdateSecret) decode(d *decoder) {
	m.NewSecret = d.blob()
	m.Reason = d.text()
}

// ConnectionUpdateSecretOk is connection.update-secret-ok (10.71).
type ConnectionUpdateSecretOk struct {
}

// ID returns ConnectionUpdateSecretOkID.
func (*ConnectionUpdateSecretOk) ID() ID { return ConnectionUpdateSecretOkID }

// Append writes the arguments.
func (m *ConnectionUpdateSecretOk) Append(dst []byte) []byte {
	return dst
}

func (m *ConnectionUpdateSecretOk) decode(d *decoder) {
}

// ChannelOpen is channel.open (20.10).
type ChannelOpen struct {
}

// ID returns ChannelOpenID.
func (*ChannelOpen) ID() ID { return ChannelOpenID }

// Append writes the arguments.
func (m *ChannelOpen) Append(dst []byte) []byte {
	dst = AppendShortstr(dst, "")
	return dst
}

func (m *ChannelOpen) decode(d *decoder) {
	d.skipText()
}

// ChannelOpenOk is channel.open-ok (20.11).
type ChannelOpenOk struct {
}

// ID returns ChannelOpenOkID.
func (*ChannelOpenOk) ID() ID { return ChannelOpenOkID }

// Append writes the arguments.
func (m *ChannelOpenOk) Append(dst []byte) []byte {
	dst = AppendLongstr(dst, "")
	return dst
}

func (m *ChannelOpenOk) decode(d *decoder) {
	d.skipLong()
}

// ChannelFlow is channel.flow (20.20).
type ChannelFlow struct {
	Active bool
}

// ID returns ChannelFlowID.
func (*ChannelFlow) ID() ID { return ChannelFlowID }

// Append writes the arguments.
func (m *ChannelFlow) Append(dst []byte) []byte {
	dst = append(dst, 0|bit(m.Active, 0))
	return dst
}

func (m *ChannelFlow) decode(d *decoder) {
	bits := d.u8()
	m.Active = bits&(1<<0) != 0
}

// ChannelFlowOk is channel.flow-ok (20.21).
type ChannelFlowOk struct {
	Active bool
}

// ID returns ChannelFlowOkID.
func (*ChannelFlowOk) ID() ID { return ChannelFlowOkID }

// Append writes the arguments.
func (m *ChannelFlowOk) Append(dst []byte) []byte {
	dst = append(dst, 0|bit(m.Active, 0))
	return dst
}

func (m *ChannelFlowOk) decode(d *decoder) {
	bits := d.u8()
	m.Active = bits&(1<<0) != 0
}

// ChannelClose is channel.close (20.40).
type ChannelClose struct {
	ReplyCode uint16
	ReplyText string
	ClassID   uint16
	MethodID  uint16
}

// ID returns ChannelCloseID.
func (*ChannelClose) ID() ID { return ChannelCloseID }

// Append writes the arguments.
func (m *ChannelClose) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, m.ReplyCode)
	dst = AppendShortstr(dst, m.ReplyText)
	dst = be.AppendUint16(dst, m.ClassID)
	dst = be.AppendUint16(dst, m.MethodID)
	return dst
}

func (m *ChannelClose) decode(d *decoder) {
	m.ReplyCode = d.u16()
	m.ReplyText = d.text()
	m.ClassID = d.u16()
	m.MethodID = d.u16()
}

// ChannelCloseOk is channel.close-ok (20.41).
type ChannelCloseOk struct {
}

// ID returns ChannelCloseOkID.
func (*ChannelCloseOk) ID() ID { return ChannelCloseOkID }

// Append writes the arguments.
func (m *ChannelCloseOk) Append(dst []byte) []byte {
	return dst
}

func (m *ChannelCloseOk) decode(d *decoder) {
}

// AccessRequest is access.request (30.10).
type AccessRequest struct {
	Realm     string
	Exclusive bool
	Passive   bool
	Active    bool
	Write     bool
	Read      bool
}

// ID returns AccessRequestID.
func (*AccessRequest) ID() ID { return AccessRequestID }

// Append writes the arguments.
func (m *AccessRequest) Append(dst []byte) []byte {
	dst = AppendShortstr(dst, m.Realm)
	dst = append(dst, 0|bit(m.Exclusive, 0)|bit(m.Passive, 1)|bit(m.Active, 2)|bit(m.Write, 3)|bit(m.Read, 4))
	return dst
}

func (m *AccessRequest) decode(d *decoder) {
	m.Realm = d.text()
	bits := d.u8()
	m.Exclusive = bits&(1<<0) != 0
	m.Passive = bits&(1<<1) != 0
	m.Active = bits&(1<<2) != 0
	m.Write = bits&(1<<3) != 0
	m.Read = bits&(1<<4) != 0
}

// AccessRequestOk is access.request-ok (30.11).
type AccessRequestOk struct {
	Ticket uint16
}

// ID returns AccessRequestOkID.
func (*AccessRequestOk) ID() ID { return AccessRequestOkID }

// Append writes the arguments.
func (m *AccessRequestOk) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, m.Ticket)
	return dst
}

func (m *AccessRequestOk) decode(d *decoder) {
	m.Ticket = d.u16()
}

// ExchangeDeclare is exchange.declare (40.10).
type ExchangeDeclare struct {
	Exchange   string
	Type       string
	Passive    bool
	Durable    bool
	AutoDelete bool
	Internal   bool
	NoWait     bool
	Arguments  Table
}

// ID returns ExchangeDeclareID.
func (*ExchangeDeclare) ID() ID { return ExchangeDeclareID }

// Append writes the arguments.
func (m *ExchangeDeclare) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, 0)
	dst = AppendShortstr(dst, m.Exchange)
	dst = AppendShortstr(dst, m.Type)
	dst = append(dst, 0|bit(m.Passive, 0)|bit(m.Durable, 1)|bit(m.AutoDelete, 2)|bit(m.Internal, 3)|bit(m.NoWait, 4))
	dst = appendTable(dst, m.Arguments)
	return dst
}

func (m *ExchangeDeclare) decode(d *decoder) {
	d.skipU16()
	m.Exchange = d.name()
	m.Type = d.name()
	bits := d.u8()
	m.Passive = bits&(1<<0) != 0
	m.Durable = bits&(1<<1) != 0
	m.AutoDelete = bits&(1<<2) != 0
	m.Internal = bits&(1<<3) != 0
	m.NoWait = bits&(1<<4) != 0
	m.Arguments = d.tableValue()
}

// ExchangeDeclareOk is exchange.declare-ok (40.11).
type ExchangeDeclareOk struct {
}

// ID returns ExchangeDeclareOkID.
func (*ExchangeDeclareOk) ID() ID { return ExchangeDeclareOkID }

// Append writes the arguments.
func (m *ExchangeDeclareOk) Append(dst []byte) []byte {
	return dst
}

func (m *ExchangeDeclareOk) decode(d *decoder) {
}

// ExchangeDelete is exchange.delete (40.20).
type ExchangeDelete struct {
	Exchange string
	IfUnused bool
	NoWait   bool
}

// ID returns ExchangeDeleteID.
func (*ExchangeDelete) ID() ID { return ExchangeDeleteID }

// Append writes the arguments.
func (m *ExchangeDelete) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, 0)
	dst = AppendShortstr(dst, m.Exchange)
	dst = append(dst, 0|bit(m.IfUnused, 0)|bit(m.NoWait, 1))
	return dst
}

func (m *ExchangeDelete) decode(d *decoder) {
	d.skipU16()
	m.Exchange = d.name()
	bits := d.u8()
	m.IfUnused = bits&(1<<0) != 0
	m.NoWait = bits&(1<<1) != 0
}

// ExchangeDeleteOk is exchange.delete-ok (40.21).
type ExchangeDeleteOk struct {
}

// ID returns ExchangeDeleteOkID.
func (*ExchangeDeleteOk) ID() ID { return ExchangeDeleteOkID }

// Append writes the arguments.
func (m *ExchangeDeleteOk) Append(dst []byte) []byte {
	return dst
}

func (m *ExchangeDeleteOk) decode(d *decoder) {
}

// ExchangeBind is exchange.bind (40.30).
type ExchangeBind struct {
	Destination string
	Source      string
	RoutingKey  string
	NoWait      bool
	Arguments   Table
}

// ID returns ExchangeBindID.
func (*ExchangeBind) ID() ID { return ExchangeBindID }

// Append writes the arguments.
func (m *ExchangeBind) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, 0)
	dst = AppendShortstr(dst, m.Destination)
	dst = AppendShortstr(dst, m.Source)
	dst = AppendShortstr(dst, m.RoutingKey)
	dst = append(dst, 0|bit(m.NoWait, 0))
	dst = appendTable(dst, m.Arguments)
	return dst
}

func (m *ExchangeBind) decode(d *decoder) {
	d.skipU16()
	m.Destination = d.name()
	m.Source = d.name()
	m.RoutingKey = d.text()
	bits := d.u8()
	m.NoWait = bits&(1<<0) != 0
	m.Arguments = d.tableValue()
}

// ExchangeBindOk is exchange.bind-ok (40.31).
type ExchangeBindOk struct {
}

// ID returns ExchangeBindOkID.
func (*ExchangeBindOk) ID() ID { return ExchangeBindOkID }

// Append writes the arguments.
func (m *ExchangeBindOk) Append(dst []byte) []byte {
	return dst
}

func (m *ExchangeBindOk) decode(d *decoder) {
}

// ExchangeUnbind is exchange.unbind (40.40).
type ExchangeUnbind struct {
	Destination string
	Source      string
	RoutingKey  string
	NoWait      bool
	Arguments   Table
}

// ID returns ExchangeUnbindID.
func (*ExchangeUnbind) ID() ID { return ExchangeUnbindID }

// Append writes the arguments.
func (m *ExchangeUnbind) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, 0)
	dst = AppendShortstr(dst, m.Destination)
	dst = AppendShortstr(dst, m.Source)
	dst = AppendShortstr(dst, m.RoutingKey)
	dst = append(dst, 0|bit(m.NoWait, 0))
	dst = appendTable(dst, m.Arguments)
	return dst
}

func (m *ExchangeUnbind) decode(d *decoder) {
	d.skipU16()
	m.Destination = d.name()
	m.Source = d.name()
	m.RoutingKey = d.text()
	bits := d.u8()
	m.NoWait = bits&(1<<0) != 0
	m.Arguments = d.tableValue()
}

// ExchangeUnbindOk is exchange.unbind-ok (40.51).
type ExchangeUnbindOk struct {
}

// ID returns ExchangeUnbindOkID.
func (*ExchangeUnbindOk) ID() ID { return ExchangeUnbindOkID }

// Append writes the arguments.
func (m *ExchangeUnbindOk) Append(dst []byte) []byte {
	return dst
}

func (m *ExchangeUnbindOk) decode(d *decoder) {
}

// QueueDeclare is queue.declare (50.10).
type QueueDeclare struct {
	Queue      string
	Passive    bool
	Durable    bool
	Exclusive  bool
	AutoDelete bool
	NoWait     bool
	Arguments  Table
}

// ID returns QueueDeclareID.
func (*QueueDeclare) ID() ID { return QueueDeclareID }

// Append writes the arguments.
func (m *QueueDeclare) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, 0)
	dst = AppendShortstr(dst, m.Queue)
	dst = append(dst, 0|bit(m.Passive, 0)|bit(m.Durable, 1)|bit(m.Exclusive, 2)|bit(m.AutoDelete, 3)|bit(m.NoWait, 4))
	dst = appendTable(dst, m.Arguments)
	return dst
}

func (m *QueueDeclare) decode(d *decoder) {
	d.skipU16()
	m.Queue = d.name()
	bits := d.u8()
	m.Passive = bits&(1<<0) != 0
	m.Durable = bits&(1<<1) != 0
	m.Exclusive = bits&(1<<2) != 0
	m.AutoDelete = bits&(1<<3) != 0
	m.NoWait = bits&(1<<4) != 0
	m.Arguments = d.tableValue()
}

// QueueDeclareOk is queue.declare-ok (50.11).
type QueueDeclareOk struct {
	Queue         string
	MessageCount  uint32
	ConsumerCount uint32
}

// ID returns QueueDeclareOkID.
func (*QueueDeclareOk) ID() ID { return QueueDeclareOkID }

// Append writes the arguments.
func (m *QueueDeclareOk) Append(dst []byte) []byte {
	dst = AppendShortstr(dst, m.Queue)
	dst = be.AppendUint32(dst, m.MessageCount)
	dst = be.AppendUint32(dst, m.ConsumerCount)
	return dst
}

func (m *QueueDeclareOk) decode(d *decoder) {
	m.Queue = d.name()
	m.MessageCount = d.u32()
	m.ConsumerCount = d.u32()
}

// QueueBind is queue.bind (50.20).
type QueueBind struct {
	Queue      string
	Exchange   string
	RoutingKey string
	NoWait     bool
	Arguments  Table
}

// ID returns QueueBindID.
func (*QueueBind) ID() ID { return QueueBindID }

// Append writes the arguments.
func (m *QueueBind) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, 0)
	dst = AppendShortstr(dst, m.Queue)
	dst = AppendShortstr(dst, m.Exchange)
	dst = AppendShortstr(dst, m.RoutingKey)
	dst = append(dst, 0|bit(m.NoWait, 0))
	dst = appendTable(dst, m.Arguments)
	return dst
}

func (m *QueueBind) decode(d *decoder) {
	d.skipU16()
	m.Queue = d.name()
	m.Exchange = d.name()
	m.RoutingKey = d.text()
	bits := d.u8()
	m.NoWait = bits&(1<<0) != 0
	m.Arguments = d.tableValue()
}

// QueueBindOk is queue.bind-ok (50.21).
type QueueBindOk struct {
}

// ID returns QueueBindOkID.
func (*QueueBindOk) ID() ID { return QueueBindOkID }

// Append writes the arguments.
func (m *QueueBindOk) Append(dst []byte) []byte {
	return dst
}

func (m *QueueBindOk) decode(d *decoder) {
}

// QueuePurge is queue.purge (50.30).
type QueuePurge struct {
	Queue  string
	NoWait bool
}

// ID returns QueuePurgeID.
func (*QueuePurge) ID() ID { return QueuePurgeID }

// Append writes the arguments.
func (m *QueuePurge) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, 0)
	dst = AppendShortstr(dst, m.Queue)
	dst = append(dst, 0|bit(m.NoWait, 0))
	return dst
}

func (m *QueuePurge) decode(d *decoder) {
	d.skipU16()
	m.Queue = d.name()
	bits := d.u8()
	m.NoWait = bits&(1<<0) != 0
}

// QueuePurgeOk is queue.purge-ok (50.31).
type QueuePurgeOk struct {
	MessageCount uint32
}

// ID returns QueuePurgeOkID.
func (*QueuePurgeOk) ID() ID { return QueuePurgeOkID }

// Append writes the arguments.
func (m *QueuePurgeOk) Append(dst []byte) []byte {
	dst = be.AppendUint32(dst, m.MessageCount)
	return dst
}

func (m *QueuePurgeOk) decode(d *decoder) {
	m.MessageCount = d.u32()
}

// QueueDelete is queue.delete (50.40).
type QueueDelete struct {
	Queue    string
	IfUnused bool
	IfEmpty  bool
	NoWait   bool
}

// ID returns QueueDeleteID.
func (*QueueDelete) ID() ID { return QueueDeleteID }

// Append writes the arguments.
func (m *QueueDelete) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, 0)
	dst = AppendShortstr(dst, m.Queue)
	dst = append(dst, 0|bit(m.IfUnused, 0)|bit(m.IfEmpty, 1)|bit(m.NoWait, 2))
	return dst
}

func (m *QueueDelete) decode(d *decoder) {
	d.skipU16()
	m.Queue = d.name()
	bits := d.u8()
	m.IfUnused = bits&(1<<0) != 0
	m.IfEmpty = bits&(1<<1) != 0
	m.NoWait = bits&(1<<2) != 0
}

// QueueDeleteOk is queue.delete-ok (50.41).
type QueueDeleteOk struct {
	MessageCount uint32
}

// ID returns QueueDeleteOkID.
func (*QueueDeleteOk) ID() ID { return QueueDeleteOkID }

// Append writes the arguments.
func (m *QueueDeleteOk) Append(dst []byte) []byte {
	dst = be.AppendUint32(dst, m.MessageCount)
	return dst
}

func (m *QueueDeleteOk) decode(d *decoder) {
	m.MessageCount = d.u32()
}

// QueueUnbind is queue.unbind (50.50).
type QueueUnbind struct {
	Queue      string
	Exchange   string
	RoutingKey string
	Arguments  Table
}

// ID returns QueueUnbindID.
func (*QueueUnbind) ID() ID { return QueueUnbindID }

// Append writes the arguments.
func (m *QueueUnbind) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, 0)
	dst = AppendShortstr(dst, m.Queue)
	dst = AppendShortstr(dst, m.Exchange)
	dst = AppendShortstr(dst, m.RoutingKey)
	dst = appendTable(dst, m.Arguments)
	return dst
}

func (m *QueueUnbind) decode(d *decoder) {
	d.skipU16()
	m.Queue = d.name()
	m.Exchange = d.name()
	m.RoutingKey = d.text()
	m.Arguments = d.tableValue()
}

// QueueUnbindOk is queue.unbind-ok (50.51).
type QueueUnbindOk struct {
}

// ID returns QueueUnbindOkID.
func (*QueueUnbindOk) ID() ID { return QueueUnbindOkID }

// Append writes the arguments.
func (m *QueueUnbindOk) Append(dst []byte) []byte {
	return dst
}

func (m *QueueUnbindOk) decode(d *decoder) {
}

// BasicQos is basic.qos (60.10).
type BasicQos struct {
	PrefetchSize  uint32
	PrefetchCount uint16
	Global        bool
}

// ID returns BasicQosID.
func (*BasicQos) ID() ID { return BasicQosID }

// Append writes the arguments.
func (m *BasicQos) Append(dst []byte) []byte {
	dst = be.AppendUint32(dst, m.PrefetchSize)
	dst = be.AppendUint16(dst, m.PrefetchCount)
	dst = append(dst, 0|bit(m.Global, 0))
	return dst
}

func (m *BasicQos) decode(d *decoder) {
	m.PrefetchSize = d.u32()
	m.PrefetchCount = d.u16()
	bits := d.u8()
	m.Global = bits&(1<<0) != 0
}

// BasicQosOk is basic.qos-ok (60.11).
type BasicQosOk struct {
}

// ID returns BasicQosOkID.
func (*BasicQosOk) ID() ID { return BasicQosOkID }

// Append writes the arguments.
func (m *BasicQosOk) Append(dst []byte) []byte {
	return dst
}

func (m *BasicQosOk) decode(d *decoder) {
}

// BasicConsume is basic.consume (60.20).
type BasicConsume struct {
	Queue       string
	ConsumerTag string
	NoLocal     bool
	NoAck       bool
	Exclusive   bool
	NoWait      bool
	Arguments   Table
}

// ID returns BasicConsumeID.
func (*BasicConsume) ID() ID { return BasicConsumeID }

// Append writes the arguments.
func (m *BasicConsume) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, 0)
	dst = AppendShortstr(dst, m.Queue)
	dst = AppendShortstr(dst, m.ConsumerTag)
	dst = append(dst, 0|bit(m.NoLocal, 0)|bit(m.NoAck, 1)|bit(m.Exclusive, 2)|bit(m.NoWait, 3))
	dst = appendTable(dst, m.Arguments)
	return dst
}

func (m *BasicConsume) decode(d *decoder) {
	d.skipU16()
	m.Queue = d.name()
	m.ConsumerTag = d.name()
	bits := d.u8()
	m.NoLocal = bits&(1<<0) != 0
	m.NoAck = bits&(1<<1) != 0
	m.Exclusive = bits&(1<<2) != 0
	m.NoWait = bits&(1<<3) != 0
	m.Arguments = d.tableValue()
}

// BasicConsumeOk is basic.consume-ok (60.21).
type BasicConsumeOk struct {
	ConsumerTag string
}

// ID returns BasicConsumeOkID.
func (*BasicConsumeOk) ID() ID { return BasicConsumeOkID }

// Append writes the arguments.
func (m *BasicConsumeOk) Append(dst []byte) []byte {
	dst = AppendShortstr(dst, m.ConsumerTag)
	return dst
}

func (m *BasicConsumeOk) decode(d *decoder) {
	m.ConsumerTag = d.name()
}

// BasicCancel is basic.cancel (60.30).
type BasicCancel struct {
	ConsumerTag string
	NoWait      bool
}

// ID returns BasicCancelID.
func (*BasicCancel) ID() ID { return BasicCancelID }

// Append writes the arguments.
func (m *BasicCancel) Append(dst []byte) []byte {
	dst = AppendShortstr(dst, m.ConsumerTag)
	dst = append(dst, 0|bit(m.NoWait, 0))
	return dst
}

func (m *BasicCancel) decode(d *decoder) {
	m.ConsumerTag = d.name()
	bits := d.u8()
	m.NoWait = bits&(1<<0) != 0
}

// BasicCancelOk is basic.cancel-ok (60.31).
type BasicCancelOk struct {
	ConsumerTag string
}

// ID returns BasicCancelOkID.
func (*BasicCancelOk) ID() ID { return BasicCancelOkID }

// Append writes the arguments.
func (m *BasicCancelOk) Append(dst []byte) []byte {
	dst = AppendShortstr(dst, m.ConsumerTag)
	return dst
}

func (m *BasicCancelOk) decode(d *decoder) {
	m.ConsumerTag = d.name()
}

// BasicPublish is basic.publish (60.40).
type BasicPublish struct {
	Exchange   string
	RoutingKey string
	Mandatory  bool
	Immediate  bool
}

// ID returns BasicPublishID.
func (*BasicPublish) ID() ID { return BasicPublishID }

// Append writes the arguments.
func (m *BasicPublish) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, 0)
	dst = AppendShortstr(dst, m.Exchange)
	dst = AppendShortstr(dst, m.RoutingKey)
	dst = append(dst, 0|bit(m.Mandatory, 0)|bit(m.Immediate, 1))
	return dst
}

func (m *BasicPublish) decode(d *decoder) {
	d.skipU16()
	m.Exchange = d.name()
	m.RoutingKey = d.text()
	bits := d.u8()
	m.Mandatory = bits&(1<<0) != 0
	m.Immediate = bits&(1<<1) != 0
}

// BasicReturn is basic.return (60.50).
type BasicReturn struct {
	ReplyCode  uint16
	ReplyText  string
	Exchange   string
	RoutingKey string
}

// ID returns BasicReturnID.
func (*BasicReturn) ID() ID { return BasicReturnID }

// Append writes the arguments.
func (m *BasicReturn) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, m.ReplyCode)
	dst = AppendShortstr(dst, m.ReplyText)
	dst = AppendShortstr(dst, m.Exchange)
	dst = AppendShortstr(dst, m.RoutingKey)
	return dst
}

func (m *BasicReturn) decode(d *decoder) {
	m.ReplyCode = d.u16()
	m.ReplyText = d.text()
	m.Exchange = d.name()
	m.RoutingKey = d.text()
}

// BasicDeliver is basic.deliver (60.60).
type BasicDeliver struct {
	ConsumerTag string
	DeliveryTag uint64
	Redelivered bool
	Exchange    string
	RoutingKey  string
}

// ID returns BasicDeliverID.
func (*BasicDeliver) ID() ID { return BasicDeliverID }

// Append writes the arguments.
func (m *BasicDeliver) Append(dst []byte) []byte {
	dst = AppendShortstr(dst, m.ConsumerTag)
	dst = be.AppendUint64(dst, m.DeliveryTag)
	dst = append(dst, 0|bit(m.Redelivered, 0))
	dst = AppendShortstr(dst, m.Exchange)
	dst = AppendShortstr(dst, m.RoutingKey)
	return dst
}

func (m *BasicDeliver) decode(d *decoder) {
	m.ConsumerTag = d.name()
	m.DeliveryTag = d.u64()
	bits := d.u8()
	m.Redelivered = bits&(1<<0) != 0
	m.Exchange = d.name()
	m.RoutingKey = d.text()
}

// BasicGet is basic.get (60.70).
type BasicGet struct {
	Queue string
	NoAck bool
}

// ID returns BasicGetID.
func (*BasicGet) ID() ID { return BasicGetID }

// Append writes the arguments.
func (m *BasicGet) Append(dst []byte) []byte {
	dst = be.AppendUint16(dst, 0)
	dst = AppendShortstr(dst, m.Queue)
	dst = append(dst, 0|bit(m.NoAck, 0))
	return dst
}

func (m *BasicGet) decode(d *decoder) {
	d.skipU16()
	m.Queue = d.name()
	bits := d.u8()
	m.NoAck = bits&(1<<0) != 0
}

// BasicGetOk is basic.get-ok (60.71).
type BasicGetOk struct {
	DeliveryTag  uint64
	Redelivered  bool
	Exchange     string
	RoutingKey   string
	MessageCount uint32
}

// ID returns BasicGetOkID.
func (*BasicGetOk) ID() ID { return BasicGetOkID }

// Append writes the arguments.
func (m *BasicGetOk) Append(dst []byte) []byte {
	dst = be.AppendUint64(dst, m.DeliveryTag)
	dst = append(dst, 0|bit(m.Redelivered, 0))
	dst = AppendShortstr(dst, m.Exchange)
	dst = AppendShortstr(dst, m.RoutingKey)
	dst = be.AppendUint32(dst, m.MessageCount)
	return dst
}

func (m *BasicGetOk) decode(d *decoder) {
	m.DeliveryTag = d.u64()
	bits := d.u8()
	m.Redelivered = bits&(1<<0) != 0
	m.Exchange = d.name()
	m.RoutingKey = d.text()
	m.MessageCount = d.u32()
}

// BasicGetEmpty is basic.get-empty (60.72).
type BasicGetEmpty struct {
}

// ID returns BasicGetEmptyID.
func (*BasicGetEmpty) ID() ID { return BasicGetEmptyID }

// Append writes the arguments.
func (m *BasicGetEmpty) Append(dst []byte) []byte {
	dst = AppendShortstr(dst, "")
	return dst
}

func (m *BasicGetEmpty) decode(d *decoder) {
	d.skipText()
}

// BasicAck is basic.ack (60.80).
type BasicAck struct {
	DeliveryTag uint64
	Multiple    bool
}

// ID returns BasicAckID.
func (*BasicAck) ID() ID { return BasicAckID }

// Append writes the arguments.
func (m *BasicAck) Append(dst []byte) []byte {
	dst = be.AppendUint64(dst, m.DeliveryTag)
	dst = append(dst, 0|bit(m.Multiple, 0))
	return dst
}

func (m *BasicAck) decode(d *decoder) {
	m.DeliveryTag = d.u64()
	bits := d.u8()
	m.Multiple = bits&(1<<0) != 0
}

// BasicReject is basic.reject (60.90).
type BasicReject struct {
	DeliveryTag uint64
	Requeue     bool
}

// ID returns BasicRejectID.
func (*BasicReject) ID() ID { return BasicRejectID }

// Append writes the arguments.
func (m *BasicReject) Append(dst []byte) []byte {
	dst = be.AppendUint64(dst, m.DeliveryTag)
	dst = append(dst, 0|bit(m.Requeue, 0))
	return dst
}

func (m *BasicReject) decode(d *decoder) {
	m.DeliveryTag = d.u64()
	bits := d.u8()
	m.Requeue = bits&(1<<0) != 0
}

// BasicRecoverAsync is basic.recover-async (60.100).
type BasicRecoverAsync struct {
	Requeue bool
}

// ID returns BasicRecoverAsyncID.
func (*BasicRecoverAsync) ID() ID { return BasicRecoverAsyncID }

// Append writes the arguments.
func (m *BasicRecoverAsync) Append(dst []byte) []byte {
	dst = append(dst, 0|bit(m.Requeue, 0))
	return dst
}

func (m *BasicRecoverAsync) decode(d *decoder) {
	bits := d.u8()
	m.Requeue = bits&(1<<0) != 0
}

// BasicRecover is basic.recover (60.110).
type BasicRecover struct {
	Requeue bool
}

// ID returns BasicRecoverID.
func (*BasicRecover) ID() ID { return BasicRecoverID }

// Append writes the arguments.
func (m *BasicRecover) Append(dst []byte) []byte {
	dst = append(dst, 0|bit(m.Requeue, 0))
	return dst
}

func (m *BasicRecover) decode(d *decoder) {
	bits := d.u8()
	m.Requeue = bits&(1<<0) != 0
}

// BasicRecoverOk is basic.recover-ok (60.111).
type BasicRecoverOk struct {
}

// ID returns BasicRecoverOkID.
func (*BasicRecoverOk) ID() ID { return BasicRecoverOkID }

// Append writes the arguments.
func (m *BasicRecoverOk) Append(dst []byte) []byte {
	return dst
}

func (m *BasicRecoverOk) decode(d *decoder) {
}

// BasicNack is basic.nack (60.120).
type BasicNack struct {
	DeliveryTag uint64
	Multiple    bool
	Requeue     bool
}

// ID returns BasicNackID.
func (*BasicNack) ID() ID { return BasicNackID }

// Append writes the arguments.
func (m *BasicNack) Append(dst []byte) []byte {
	dst = be.AppendUint64(dst, m.DeliveryTag)
	dst = append(dst, 0|bit(m.Multiple, 0)|bit(m.Requeue, 1))
	return dst
}

func (m *BasicNack) decode(d *decoder) {
	m.DeliveryTag = d.u64()
	bits := d.u8()
	m.Multiple = bits&(1<<0) != 0
	m.Requeue = bits&(1<<1) != 0
}

// ConfirmSelect is confirm.select (85.10).
type ConfirmSelect struct {
	NoWait bool
}

// ID returns ConfirmSelectID.
func (*ConfirmSelect) ID() ID { return ConfirmSelectID }

// Append writes the arguments.
func (m *ConfirmSelect) Append(dst []byte) []byte {
	dst = append(dst, 0|bit(m.NoWait, 0))
	return dst
}

func (m *ConfirmSelect) decode(d *decoder) {
	bits := d.u8()
	m.NoWait = bits&(1<<0) != 0
}

// ConfirmSelectOk is confirm.select-ok (85.11).
type ConfirmSelectOk struct {
}

// ID returns ConfirmSelectOkID.
func (*ConfirmSelectOk) ID() ID { return ConfirmSelectOkID }

// Append writes the arguments.
func (m *ConfirmSelectOk) Append(dst []byte) []byte {
	return dst
}

func (m *ConfirmSelectOk) decode(d *decoder) {
}

// TxSelect is tx.select (90.10).
type TxSelect struct {
}

// ID returns TxSelectID.
func (*TxSelect) ID() ID { return TxSelectID }

// Append writes the arguments.
func (m *TxSelect) Append(dst []byte) []byte {
	return dst
}

func (m *TxSelect) decode(d *decoder) {
}

// TxSelectOk is tx.select-ok (90.11).
type TxSelectOk struct {
}

// ID returns TxSelectOkID.
func (*TxSelectOk) ID() ID { return TxSelectOkID }

// Append writes the arguments.
func (m *TxSelectOk) Append(dst []byte) []byte {
	return dst
}

func (m *TxSelectOk) decode(d *decoder) {
}

// TxCommit is tx.commit (90.20).
type TxCommit struct {
}

// ID returns TxCommitID.
func (*TxCommit) ID() ID { return TxCommitID }

// Append writes the arguments.
func (m *TxCommit) Append(dst []byte) []byte {
	return dst
}

func (m *TxCommit) decode(d *decoder) {
}

// TxCommitOk is tx.commit-ok (90.21).
type TxCommitOk struct {
}

// ID returns TxCommitOkID.
func (*TxCommitOk) ID() ID { return TxCommitOkID }

// Append writes the arguments.
func (m *TxCommitOk) Append(dst []byte) []byte {
	return dst
}

func (m *TxCommitOk) decode(d *decoder) {
}

// TxRollback is tx.rollback (90.30).
type TxRollback struct {
}

// ID returns TxRollbackID.
func (*TxRollback) ID() ID { return TxRollbackID }

// Append writes the arguments.
func (m *TxRollback) Append(dst []byte) []byte {
	return dst
}

func (m *TxRollback) decode(d *decoder) {
}

// TxRollbackOk is tx.rollback-ok (90.31).
type TxRollbackOk struct {
}

// ID returns TxRollbackOkID.
func (*TxRollbackOk) ID() ID { return TxRollbackOkID }

// Append writes the arguments.
func (m *TxRollbackOk) Append(dst []byte) []byte {
	return dst
}

func (m *TxRollbackOk) decode(d *decoder) {
}
