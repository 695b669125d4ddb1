package wire

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"
)

// A server just large enough for the stock Go client to talk to, made of this
// package alone: what the client encodes must decode here and come out of
// Append as the same bytes, and what is encoded here the client must decode.

// stock is one client connection and the server's end of it.
type stock struct {
	client *amqp091.Connection
	conn   net.Conn
	got    chan received
	answer map[ID]Method // replies to methods that have one
	done   chan error
}

// received is one frame that the client sent, copied.
type received struct {
	Frame
	method Method
}

// newStock connects the client. Heartbeats and reconnecting are off.
func newStock(t testing.TB, answer map[ID]Method) *stock {
	t.Helper()
	near, far := net.Pipe()
	s := &stock{conn: near, got: make(chan received, 1000), answer: answer, done: make(chan error, 1)}
	go func() { s.done <- s.serve() }()
	client, err := amqp091.Open(far, amqp091.Config{
		Vhost: "/", Locale: "en_US", FrameSize: 131072, SASL: []amqp091.Authentication{&amqp091.PlainAuth{Username: "u", Password: "p"}},
		Properties: amqp091.Table{"connection_name": "wire"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.client = client
	t.Cleanup(func() {
		client.CloseDeadline(time.Now().Add(2 * time.Second))
		near.Close()
		if err := <-s.done; err != nil {
			t.Error(err)
		}
	})
	return s
}

var stockServer = AppendTableEntry(AppendString(nil, "product", "Mayfly"), "capabilities",
	AppendBool(AppendBool(nil, "basic.nack", true), "publisher_confirms", true))

func (s *stock) serve() error {
	r := NewReader(s.conn, 4096)
	h, err := r.ReadHeader()
	if err != nil || string(h[:]) != ProtocolHeader {
		return fmt.Errorf("protocol header %q: %v", h, err)
	}
	if err := s.send(0, &ConnectionStart{VersionMinor: 9, ServerProperties: stockServer, Mechanisms: "PLAIN AMQPLAIN", Locales: "en_US"}); err != nil {
		return err
	}
	for {
		f, err := r.Next()
		if err != nil {
			return nil // the client has gone
		}
		f.Payload = bytes.Clone(f.Payload)
		in := received{Frame: f}
		if f.Type == FrameMethod {
			if in.method, err = Decode(f.Payload); err != nil {
				return err
			}
			if again := payloadOf(in.method); !bytes.Equal(again, f.Payload) {
				return fmt.Errorf("%s: client wrote %q, Append writes %q", in.method.ID(), f.Payload, again)
			}
		}
		s.got <- in
		if err := s.reply(r, in); err != nil {
			return err
		}
	}
}

func (s *stock) reply(r *Reader, in received) error {
	if in.method == nil {
		return nil
	}
	switch m := in.method.(type) {
	case *ConnectionStartOk:
		return s.send(0, &ConnectionTune{ChannelMax: 2047, FrameMax: 131072})
	case *ConnectionTuneOk:
		r.SetMax(m.FrameMax)
	case *ConnectionOpen:
		return s.send(0, &ConnectionOpenOk{})
	case *ChannelOpen:
		return s.send(in.Channel, &ChannelOpenOk{})
	case *ConnectionClose:
		return s.send(0, &ConnectionCloseOk{})
	case *ChannelClose:
		return s.send(in.Channel, &ChannelCloseOk{})
	default:
		if a := s.answer[m.ID()]; a != nil && !noWait(m) {
			return s.send(in.Channel, a)
		}
	}
	return nil
}

// noWait tells whether the client asked for no reply.
func noWait(m Method) bool {
	f := reflect.ValueOf(m).Elem().FieldByName("NoWait")
	return f.IsValid() && f.Bool()
}

func (s *stock) send(ch uint16, m Method) error { return s.write(AppendMethod(nil, ch, m)) }

func (s *stock) write(b []byte) error {
	_, err := s.conn.Write(b)
	return err
}

// next waits for a method frame and compares it.
func (s *stock) next(t testing.TB, want Method) {
	t.Helper()
	if got := <-s.got; !reflect.DeepEqual(got.method, want) {
		t.Errorf("the client sent\n  %T %+v\nwant\n  %T %+v", got.method, got.method, want, want)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (s *stock) channel(t testing.TB) *amqp091.Channel {
	t.Helper()
	ch := must[*amqp091.Channel](t)(s.client.Channel())
	for in := range s.got {
		if _, ok := in.method.(*ChannelOpen); ok {
			return ch
		}
	}
	return nil
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stockAnswers is a reply for each method that has one.
var stockAnswers = map[ID]Method{
	QueueDeclareID: &QueueDeclareOk{Queue: "amq.gen-1", MessageCount: math.MaxUint32 >> 1, ConsumerCount: 7}, QueueBindID: &QueueBindOk{}, QueueUnbindID: &QueueUnbindOk{},
	QueuePurgeID: &QueuePurgeOk{MessageCount: 5}, QueueDeleteID: &QueueDeleteOk{MessageCount: 6},
	ExchangeDeclareID: &ExchangeDeclareOk{}, ExchangeDeleteID: &ExchangeDeleteOk{}, ExchangeBindID: &ExchangeBindOk{}, ExchangeUnbindID: &ExchangeUnbindOk{},
	BasicQosID: &BasicQosOk{}, BasicConsumeID: &BasicConsumeOk{ConsumerTag: "tag"}, BasicCancelID: &BasicCancelOk{ConsumerTag: "tag"}, BasicGetID: &BasicGetEmpty{},
	BasicRecoverID: &BasicRecoverOk{}, ConfirmSelectID: &ConfirmSelectOk{}, ChannelFlowID: &ChannelFlowOk{Active: true},
	TxSelectID: &TxSelectOk{}, TxCommitID: &TxCommitOk{}, TxRollbackID: &TxRollbackOk{}, ConnectionUpdateSecretID: &ConnectionUpdateSecretOk{},
}

var (
	stockArgs = amqp091.Table{"x-message-ttl": int32(5)}
	wantArgs  = AppendInt(nil, "x-message-ttl", 5)
)

// Every method that the stock client sends, and the replies it reads.
func TestStockClientQueues(t *testing.T) {
	s := newStock(t, stockAnswers)
	ch := s.channel(t)
	q := must[amqp091.Queue](t)(ch.QueueDeclare("q", true, true, false, false, stockArgs))
	s.next(t, &QueueDeclare{Queue: "q", Durable: true, AutoDelete: true, Arguments: wantArgs})
	if q.Name != "amq.gen-1" || q.Messages != math.MaxUint32>>1 || q.Consumers != 7 {
		t.Errorf("the client read %+v", q)
	}
	must[amqp091.Queue](t)(ch.QueueDeclarePassive("", false, false, true, false, nil))
	s.next(t, &QueueDeclare{Passive: true, Exclusive: true})
	must[amqp091.Queue](t)(ch.QueueDeclare("q", false, false, false, true, nil))
	s.next(t, &QueueDeclare{Queue: "q", NoWait: true})
	ok(t, ch.QueueBind("q", "key", "x", false, stockArgs))
	s.next(t, &QueueBind{Queue: "q", RoutingKey: "key", Exchange: "x", Arguments: wantArgs})
	ok(t, ch.QueueUnbind("q", "key", "x", stockArgs))
	s.next(t, &QueueUnbind{Queue: "q", RoutingKey: "key", Exchange: "x", Arguments: wantArgs})
	if n := must[int](t)(ch.QueuePurge("q", false)); n != 5 {
		t.Errorf("purged %d", n)
	}
	s.next(t, &QueuePurge{Queue: "q"})
	if n := must[int](t)(ch.QueueDelete("q", true, false, false)); n != 6 {
		t.Errorf("deleted %d", n)
	}
	s.next(t, &QueueDelete{Queue: "q", IfUnused: true})
	must[int](t)(ch.QueueDelete("q", false, true, true))
	s.next(t, &QueueDelete{Queue: "q", IfEmpty: true, NoWait: true})
}

func TestStockClientExchanges(t *testing.T) {
	s := newStock(t, stockAnswers)
	ch := s.channel(t)
	ok(t, ch.ExchangeDeclare("x", "topic", true, false, true, false, stockArgs))
	s.next(t, &ExchangeDeclare{Exchange: "x", Type: "topic", Durable: true, Internal: true, Arguments: wantArgs})
	ok(t, ch.ExchangeDeclarePassive("x", "topic", false, true, false, true, nil))
	s.next(t, &ExchangeDeclare{Exchange: "x", Type: "topic", Passive: true, AutoDelete: true, NoWait: true})
	ok(t, ch.ExchangeBind("d", "k", "s", false, stockArgs))
	s.next(t, &ExchangeBind{Destination: "d", Source: "s", RoutingKey: "k", Arguments: wantArgs})
	ok(t, ch.ExchangeUnbind("d", "k", "s", true, stockArgs))
	s.next(t, &ExchangeUnbind{Destination: "d", Source: "s", RoutingKey: "k", NoWait: true, Arguments: wantArgs})
	ok(t, ch.ExchangeUnbind("d", "k", "s", false, nil))
	s.next(t, &ExchangeUnbind{Destination: "d", Source: "s", RoutingKey: "k"})
	ok(t, ch.ExchangeDelete("x", true, false))
	s.next(t, &ExchangeDelete{Exchange: "x", IfUnused: true})
}

func TestStockClientMessages(t *testing.T) {
	s := newStock(t, stockAnswers)
	ch := s.channel(t)
	ok(t, ch.Qos(11, 0, true))
	s.next(t, &BasicQos{PrefetchCount: 11, Global: true})
	must[<-chan amqp091.Delivery](t)(ch.Consume("q", "tag", true, true, true, false, stockArgs))
	s.next(t, &BasicConsume{Queue: "q", ConsumerTag: "tag", NoAck: true, Exclusive: true, NoLocal: true, Arguments: wantArgs})
	ok(t, ch.Cancel("tag", false))
	s.next(t, &BasicCancel{ConsumerTag: "tag"})
	if _, got, err := ch.Get("q", true); err != nil || got {
		t.Errorf("get: %v, %v", got, err)
	}
	s.next(t, &BasicGet{Queue: "q", NoAck: true})
	ok(t, ch.Ack(1<<40, true))
	s.next(t, &BasicAck{DeliveryTag: 1 << 40, Multiple: true})
	ok(t, ch.Nack(2, false, true))
	s.next(t, &BasicNack{DeliveryTag: 2, Requeue: true})
	ok(t, ch.Nack(2, true, false))
	s.next(t, &BasicNack{DeliveryTag: 2, Multiple: true})
	ok(t, ch.Reject(3, true))
	s.next(t, &BasicReject{DeliveryTag: 3, Requeue: true})
	ok(t, ch.Recover(true))
	s.next(t, &BasicRecover{Requeue: true})
	ok(t, ch.Flow(true))
	s.next(t, &ChannelFlow{Active: true})
	ok(t, ch.Tx())
	s.next(t, &TxSelect{})
	ok(t, ch.TxCommit())
	s.next(t, &TxCommit{})
	ok(t, ch.TxRollback())
	s.next(t, &TxRollback{})
	ok(t, ch.Confirm(false))
	s.next(t, &ConfirmSelect{})
	ok(t, s.client.UpdateSecret("new", "expired"))
	s.next(t, &ConnectionUpdateSecret{NewSecret: []byte("new"), Reason: "expired"})
	ok(t, ch.Close())
	s.next(t, &ChannelClose{ReplyCode: 200})
}

// What only the server says, read by the client.
func TestStockClientReadsServer(t *testing.T) {
	s := newStock(t, map[ID]Method{BasicConsumeID: &BasicConsumeOk{ConsumerTag: "tag"}, ConfirmSelectID: &ConfirmSelectOk{}})
	ch := s.channel(t)
	cancels := ch.NotifyCancel(make(chan string, 1))
	blocked := s.client.NotifyBlocked(make(chan amqp091.Blocking, 2))
	flows := ch.NotifyFlow(make(chan bool, 1))
	acks, nacks := ch.NotifyConfirm(make(chan uint64, 8), make(chan uint64, 8))
	closed := ch.NotifyClose(make(chan *amqp091.Error, 1))
	gone := s.client.NotifyClose(make(chan *amqp091.Error, 1))

	ok(t, ch.Confirm(false))
	s.next(t, &ConfirmSelect{})
	for range 2 {
		ok(t, ch.PublishWithContext(context.Background(), "", "q", false, false, amqp091.Publishing{}))
		s.next(t, &BasicPublish{RoutingKey: "q"})
		<-s.got
	}
	ok(t, s.write(AppendNack(AppendAck(nil, 1, 1, false), 1, 2, false, true)))
	if a, n := <-acks, <-nacks; a != 1 || n != 2 {
		t.Errorf("ack %d, nack %d", a, n)
	}
	ok(t, s.send(0, &ConnectionBlocked{Reason: "low on memory"}))
	ok(t, s.send(0, &ConnectionUnblocked{}))
	if a, b := <-blocked, <-blocked; !a.Active || a.Reason != "low on memory" || b.Active {
		t.Errorf("%+v %+v", a, b)
	}
	ok(t, s.send(1, &ChannelFlow{Active: false}))
	if active := <-flows; active {
		t.Error("flow(false) read as true")
	}
	s.next(t, &ChannelFlowOk{Active: false})
	must[<-chan amqp091.Delivery](t)(ch.Consume("q", "tag", false, false, false, false, nil))
	<-s.got
	ok(t, s.send(1, &BasicCancel{ConsumerTag: "tag", NoWait: true}))
	if tag := <-cancels; tag != "tag" {
		t.Errorf("cancelled %q", tag)
	}
	text := "NOT_FOUND - no queue 'q' in vhost '/'"
	ok(t, s.send(1, &ChannelClose{ReplyCode: 404, ReplyText: text, ClassID: 50, MethodID: 10}))
	if e := <-closed; e.Code != 404 || e.Reason != text {
		t.Errorf("channel closed with %+v", e)
	}
	s.next(t, &ChannelCloseOk{})
	ok(t, s.write(AppendHeartbeat(nil)))
	ok(t, s.send(0, &ConnectionClose{ReplyCode: 320, ReplyText: "CONNECTION_FORCED - bye"}))
	if e := <-gone; e.Code != 320 || e.Reason != "CONNECTION_FORCED - bye" {
		t.Errorf("connection closed with %+v", e)
	}
	s.next(t, &ConnectionCloseOk{})
}

// The login as the client does it.
func TestStockClientLogin(t *testing.T) {
	s := newStock(t, nil)
	m := (<-s.got).method.(*ConnectionStartOk)
	if m.Mechanism != "PLAIN" || string(m.Response) != "\x00u\x00p" || m.Locale != "en_US" {
		t.Errorf("start-ok %+v", m)
	}
	if v, _ := m.ClientProperties.Get("connection_name"); v.Text() != "wire" || v.Tag != 'S' {
		t.Errorf("connection_name %q", v.Text())
	}
	s.next(t, &ConnectionTuneOk{ChannelMax: 2047, FrameMax: 131072})
	s.next(t, &ConnectionOpen{Vhost: "/"})
	if v, _ := s.client.Properties["capabilities"].(amqp091.Table); v["basic.nack"] != true {
		t.Errorf("the client read server properties %v", s.client.Properties)
	}
}

// stockHeaders is every type the client can write, nested three deep (checklist 38).
func stockHeaders() amqp091.Table {
	flat := amqp091.Table{
		"t": true, "b": int8(-1), "B": byte(255), "s": int16(-2), "u": uint16(65535), "I": int32(-3), "i": uint32(1 << 31), "l": int64(-4),
		"f": float32(1.5), "d": math.Inf(-1), "D": amqp091.Decimal{Scale: 2, Value: 314}, "S": "string", "x": []byte{0, 255}, "T": time.Unix(1<<33, 0), "V": nil,
	}
	array := []any{true, int32(1), "s", nil, flat}
	return amqp091.Table{"flat": flat, "array": array, "deep": amqp091.Table{"er": amqp091.Table{"est": []any{array, amqp091.Table{}}}}}
}

// publishAndEcho publishes through the client, returns what came in, and sends
// it back as a return, which is the shortest way into the client's decoder.
func (s *stock) publishAndEcho(t testing.TB, ch *amqp091.Channel, returns chan amqp091.Return, msg amqp091.Publishing) (Header, []byte, amqp091.Return) {
	t.Helper()
	ok(t, ch.PublishWithContext(context.Background(), "x", "key", true, false, msg))
	s.next(t, &BasicPublish{Exchange: "x", RoutingKey: "key", Mandatory: true})
	in := <-s.got
	h, err := DecodeHeader(in.Payload)
	if err != nil || in.Type != FrameHeader {
		t.Fatalf("frame type %d: %v", in.Type, err)
	}
	var body []byte
	for uint64(len(body)) < h.BodySize {
		body = append(body, (<-s.got).Payload...)
	}
	out := AppendReturn(nil, in.Channel, 312, "NO_ROUTE", []byte("x"), []byte("key"))
	ok(t, s.write(AppendContent(out, in.Channel, h.Props, body, 131072)))
	return h, body, <-returns
}

func TestStockClientContent(t *testing.T) {
	s := newStock(t, nil)
	ch := s.channel(t)
	returns := ch.NotifyReturn(make(chan amqp091.Return, 1))
	full := amqp091.Publishing{
		Headers: stockHeaders(), ContentType: "text/plain", ContentEncoding: "gzip", DeliveryMode: 2, Priority: 9, CorrelationId: "corr", ReplyTo: "reply",
		Expiration: "60000", MessageId: "id", Timestamp: time.Unix(1<<33, 0), Type: "type", UserId: "guest", AppId: "app", Body: []byte("body"),
	}
	large := amqp091.Publishing{Body: bytes.Repeat([]byte("0123456789"), 30_000)}
	for _, msg := range []amqp091.Publishing{full, large, {}, {Headers: amqp091.Table{"k": "v"}}, {Expiration: "5"}} {
		h, body, back := s.publishAndEcho(t, ch, returns, msg)
		var p Properties
		ok(t, ParseProperties(h.Props, &p))
		checkStockProperties(t, &p, msg)
		if !bytes.Equal(body, msg.Body) || !bytes.Equal(back.Body, msg.Body) {
			t.Errorf("a body of %d bytes came as %d, went as %d", len(msg.Body), len(body), len(back.Body))
		}
		if fmt.Sprint(back.Headers) != fmt.Sprint(msg.Headers) || back.ContentType != msg.ContentType || back.Expiration != msg.Expiration ||
			back.Priority != msg.Priority || back.AppId != msg.AppId || back.Timestamp.Unix() != msg.Timestamp.Unix() ||
			back.ReplyText != "NO_ROUTE" || back.ReplyCode != 312 {
			t.Errorf("sent %+v, the client read back %+v", msg, back)
		}
	}
}

func checkStockProperties(t *testing.T, p *Properties, msg amqp091.Publishing) {
	t.Helper()
	for _, row := range []struct {
		get  func() ([]byte, bool)
		want string
	}{
		{p.ContentType, msg.ContentType}, {p.ContentEncoding, msg.ContentEncoding}, {p.CorrelationID, msg.CorrelationId}, {p.ReplyTo, msg.ReplyTo},
		{p.Expiration, msg.Expiration}, {p.MessageID, msg.MessageId}, {p.Type, msg.Type}, {p.UserID, msg.UserId}, {p.AppID, msg.AppId}, {p.ClusterID, ""},
	} {
		if got, ok := row.get(); string(got) != row.want || ok != (row.want != "") {
			t.Errorf("got %q %v, want %q", got, ok, row.want)
		}
	}
	prio, _ := p.Priority()
	ts, hasTS := p.Timestamp()
	if prio != msg.Priority || p.DeliveryMode() != msg.DeliveryMode || hasTS == msg.Timestamp.IsZero() || hasTS && int64(ts) != msg.Timestamp.Unix() {
		t.Errorf("priority %d, mode %d, timestamp %d", prio, p.DeliveryMode(), ts)
	}
	if got := toStock(p.Headers()); len(got)+len(msg.Headers) > 0 && !reflect.DeepEqual(got, msg.Headers) {
		t.Errorf("headers\n got %v\nwant %v", got, msg.Headers)
	}
}

// toStock decodes a table into the client's types by this package's accessors.
func toStock(t Table) amqp091.Table {
	out := amqp091.Table{}
	for k, v := range t.All() {
		out[string(k)] = stockValue(v)
	}
	return out
}

func stockValue(v Value) any {
	n, _ := v.Int()
	f, _ := v.Float()
	b, _ := v.Bytes()
	switch v.Tag {
	case 't':
		b, _ := v.Bool()
		return b
	case 'b':
		return int8(n)
	case 'B':
		return byte(n)
	case 's':
		return int16(n)
	case 'u':
		return uint16(n)
	case 'I':
		return int32(n)
	case 'i':
		return uint32(n)
	case 'l', 'L':
		return n
	case 'f':
		return float32(f)
	case 'd':
		return f
	case 'D':
		scale, n, _ := v.Decimal()
		return amqp091.Decimal{Scale: scale, Value: int32(n)}
	case 'S':
		return string(b)
	case 'x':
		return append([]byte{}, b...)
	case 'T':
		s, _ := v.Timestamp()
		return time.Unix(int64(s), 0)
	case 'F':
		t, _ := v.Table()
		return toStock(t)
	case 'A':
		a, _ := v.Array()
		var out []any // the client reads an empty array as nil
		for e := range a.All() {
			out = append(out, stockValue(e))
		}
		return out
	}
	return nil
}
