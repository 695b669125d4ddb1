package catalog

import (
	"errors"
	"fmt"

	"mayfly/queue"
	"mayfly/queue/exchange"
)

// formatVersion is the first byte of an entry.
const formatVersion = 1

// Encode makes a log entry of a command.
func Encode(c Command) []byte { return c.Append([]byte{formatVersion}) }

// Decode reads a log entry. Nothing of the result aliases data.
func Decode(data []byte) (Command, error) {
	if len(data) == 0 {
		return nil, errors.New("catalogue entry is empty")
	}
	if data[0] != formatVersion {
		return nil, fmt.Errorf("catalogue entry of format %d, this release reads %d", data[0], formatVersion)
	}
	x := &coder{buf: data[1:], reading: true}
	c := x.command(true)
	if err := x.end("catalogue entry"); err != nil {
		return nil, err
	}
	return c, nil
}

// record is what the fields of each command look like to the coder.
type record[T any] interface {
	*T
	code(x *coder)
}

func appendCommand(dst []byte, kind uint64, c interface{ code(x *coder) }) []byte {
	x := &coder{buf: dst}
	x.uint(&kind)
	c.code(x)
	return x.buf
}

func read[T Command, P record[T]](x *coder) Command {
	var c T
	P(&c).code(x)
	return c
}

func (x *coder) command(outer bool) Command {
	var kind uint64
	x.uint(&kind)
	switch kind {
	case kindBatch:
		if !outer {
			x.fail(errors.New("batch inside a batch"))
			return nil
		}
		return x.batch()
	case kindSeed:
		return read[Seed](x)
	case kindPutVhost:
		return read[PutVhost](x)
	case kindDeleteVhost:
		return read[DeleteVhost](x)
	case kindPutVhostLimits:
		return read[PutVhostLimits](x)
	case kindPutUser:
		return read[PutUser](x)
	case kindDeleteUser:
		return read[DeleteUser](x)
	case kindPutUserLimits:
		return read[PutUserLimits](x)
	case kindPutPermission:
		return read[PutPermission](x)
	case kindDeletePermission:
		return read[DeletePermission](x)
	case kindPutTopicPermission:
		return read[PutTopicPermission](x)
	case kindDeleteTopicPermission:
		return read[DeleteTopicPermission](x)
	case kindPutParameter:
		return read[PutParameter](x)
	case kindDeleteParameter:
		return read[DeleteParameter](x)
	case kindPutGlobalParameter:
		return read[PutGlobalParameter](x)
	case kindDeleteGlobalParameter:
		return read[DeleteGlobalParameter](x)
	case kindDeclareExchange:
		return read[DeclareExchange](x)
	case kindDeleteExchange:
		return read[DeleteExchange](x)
	case kindDeclareQueue:
		return read[DeclareQueue](x)
	case kindDeleteQueue:
		return read[DeleteQueue](x)
	case kindBind:
		return read[Bind](x)
	case kindUnbind:
		return read[Unbind](x)
	case kindNodeUp:
		return read[NodeUp](x)
	case kindNodeGone:
		return read[NodeGone](x)
	case kindDropTransient:
		return read[DropTransient](x)
	}
	x.fail(fmt.Errorf("unknown kind %d", kind))
	return nil
}

// Append writes the commands one after another. A batch inside a batch is spliced
// in: it would be all or nothing together with the rest anyway.
func (c Batch) Append(dst []byte) []byte {
	flat := c.flat(nil)
	x := &coder{buf: dst}
	kind := kindBatch
	x.uint(&kind)
	x.count(len(flat))
	for _, sub := range flat {
		x.buf = sub.Append(x.buf)
	}
	return x.buf
}

func (c Batch) flat(dst []Command) []Command {
	for _, sub := range c.Commands {
		switch b := sub.(type) {
		case Batch:
			dst = b.flat(dst)
		case *Batch:
			dst = b.flat(dst)
		default:
			dst = append(dst, sub)
		}
	}
	return dst
}

func (x *coder) batch() Command {
	var b Batch
	for n := x.count(0); n > 0 && x.err == nil; n-- {
		b.Commands = append(b.Commands, x.command(false))
	}
	return b
}

func (c Seed) Append(dst []byte) []byte           { return appendCommand(dst, kindSeed, &c) }
func (c PutVhost) Append(dst []byte) []byte       { return appendCommand(dst, kindPutVhost, &c) }
func (c DeleteVhost) Append(dst []byte) []byte    { return appendCommand(dst, kindDeleteVhost, &c) }
func (c PutVhostLimits) Append(dst []byte) []byte { return appendCommand(dst, kindPutVhostLimits, &c) }
func (c PutUser) Append(dst []byte) []byte        { return appendCommand(dst, kindPutUser, &c) }
func (c DeleteUser) Append(dst []byte) []byte     { return appendCommand(dst, kindDeleteUser, &c) }
func (c PutUserLimits) Append(dst []byte) []byte  { return appendCommand(dst, kindPutUserLimits, &c) }
func (c PutPermission) Append(dst []byte) []byte  { return appendCommand(dst, kindPutPermission, &c) }
func (c DeletePermission) Append(dst []byte) []byte {
	return appendCommand(dst, kindDeletePermission, &c)
}
func (c PutTopicPermission) Append(dst []byte) []byte {
	return appendCommand(dst, kindPutTopicPermission, &c)
}
func (c DeleteTopicPermission) Append(dst []byte) []byte {
	return appendCommand(dst, kindDeleteTopicPermission, &c)
}
func (c PutParameter) Append(dst []byte) []byte { return appendCommand(dst, kindPutParameter, &c) }
func (c DeleteParameter) Append(dst []byte) []byte {
	return appendCommand(dst, kindDeleteParameter, &c)
}
func (c PutGlobalParameter) Append(dst []byte) []byte {
	return appendCommand(dst, kindPutGlobalParameter, &c)
}
func (c DeleteGlobalParameter) Append(dst []byte) []byte {
	return appendCommand(dst, kindDeleteGlobalParameter, &c)
}
func (c DeclareExchange) Append(dst []byte) []byte {
	return appendCommand(dst, kindDeclareExchange, &c)
}
func (c DeleteExchange) Append(dst []byte) []byte { return appendCommand(dst, kindDeleteExchange, &c) }
func (c DeclareQueue) Append(dst []byte) []byte   { return appendCommand(dst, kindDeclareQueue, &c) }
func (c DeleteQueue) Append(dst []byte) []byte    { return appendCommand(dst, kindDeleteQueue, &c) }
func (c Bind) Append(dst []byte) []byte           { return appendCommand(dst, kindBind, &c) }
func (c Unbind) Append(dst []byte) []byte         { return appendCommand(dst, kindUnbind, &c) }
func (c NodeUp) Append(dst []byte) []byte         { return appendCommand(dst, kindNodeUp, &c) }
func (c NodeGone) Append(dst []byte) []byte       { return appendCommand(dst, kindNodeGone, &c) }
func (c DropTransient) Append(dst []byte) []byte  { return appendCommand(dst, kindDropTransient, &c) }

func (c *Seed) code(x *coder) {
	x.str(&c.Vhost)
	x.str(&c.User)
	x.str(&c.Algorithm)
	x.bytes(&c.Hash)
	x.strs(&c.Tags)
}

func (c *PutVhost) code(x *coder) {
	x.str(&c.Name)
	x.str(&c.Description)
	x.strs(&c.Tags)
	x.str(&c.DefaultQueueType)
	x.bool(&c.Tracing)
	x.bool(&c.Protected)
}

func (c *DeleteVhost) code(x *coder) { x.str(&c.Name) }

func (c *PutVhostLimits) code(x *coder) {
	x.str(&c.Vhost)
	x.limit(&c.MaxConnections)
	x.limit(&c.MaxQueues)
}

func (c *PutUser) code(x *coder) {
	x.str(&c.Name)
	x.str(&c.Algorithm)
	x.bytes(&c.Hash)
	x.strs(&c.Tags)
	x.limit(&c.MaxConnections)
	x.limit(&c.MaxChannels)
}

func (c *DeleteUser) code(x *coder) { x.str(&c.Name) }

func (c *PutUserLimits) code(x *coder) {
	x.str(&c.Name)
	x.limit(&c.MaxConnections)
	x.limit(&c.MaxChannels)
}

func (c *PutPermission) code(x *coder) {
	x.str(&c.User)
	x.str(&c.Vhost)
	x.str(&c.Configure)
	x.str(&c.Write)
	x.str(&c.Read)
}

func (c *DeletePermission) code(x *coder) {
	x.str(&c.User)
	x.str(&c.Vhost)
}

func (c *PutTopicPermission) code(x *coder) {
	x.str(&c.User)
	x.str(&c.Vhost)
	x.str(&c.Exchange)
	x.str(&c.Write)
	x.str(&c.Read)
}

func (c *DeleteTopicPermission) code(x *coder) {
	x.str(&c.User)
	x.str(&c.Vhost)
	x.str(&c.Exchange)
	x.bool(&c.All)
}

func (c *PutParameter) code(x *coder) {
	x.str(&c.Vhost)
	x.str(&c.Component)
	x.str(&c.Name)
	x.bytes(&c.Value)
}

func (c *DeleteParameter) code(x *coder) {
	x.str(&c.Vhost)
	x.str(&c.Component)
	x.str(&c.Name)
}

func (c *PutGlobalParameter) code(x *coder) {
	x.str(&c.Name)
	x.bytes(&c.Value)
}

func (c *DeleteGlobalParameter) code(x *coder) { x.str(&c.Name) }

func (c *DeclareExchange) code(x *coder) {
	x.str(&c.Vhost)
	x.str(&c.Name)
	x.str(&c.Type)
	x.bool(&c.Durable)
	x.bool(&c.AutoDelete)
	x.bool(&c.Internal)
	x.table(&c.Args)
	x.bool(&c.IfAbsent)
}

func (c *DeleteExchange) code(x *coder) {
	x.str(&c.Vhost)
	x.str(&c.Name)
	x.bool(&c.IfUnused)
}

func (c *DeclareQueue) code(x *coder) {
	x.str(&c.Vhost)
	x.str(&c.Name)
	x.bool(&c.Durable)
	x.bool(&c.AutoDelete)
	x.bool(&c.Exclusive)
	x.uint(&c.Owner)
	x.table(&c.Args)
	x.str(&c.User)
	x.bool(&c.RelaxedType)
	x.bool(&c.IfAbsent)
}

func (c *DeleteQueue) code(x *coder) { x.id(&c.ID) }

func (c *Bind) code(x *coder) {
	x.str(&c.Vhost)
	x.binding(&c.Binding)
	x.uint(&c.Owner)
}

func (c *Unbind) code(x *coder) {
	x.str(&c.Vhost)
	x.binding(&c.Binding)
	x.uint(&c.Owner)
}

func (c *NodeUp) code(x *coder)        { x.str(&c.Name) }
func (c *NodeGone) code(x *coder)      { x.uint32(&c.Incarnation) }
func (c *DropTransient) code(x *coder) { x.uint32(&c.Since) }

func (x *coder) id(p *queue.ID) { x.uint((*uint64)(p)) }

func (x *coder) binding(b *exchange.Binding) {
	x.str(&b.Source)
	x.bool(&b.Dest.Queue)
	x.str(&b.Dest.Name)
	x.str(&b.Key)
	x.table(&b.Args)
}
