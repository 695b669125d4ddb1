package wire

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

// allIDs finds every method through the factory itself.
func allIDs() []ID {
	var ids []ID
	for class := range ID(100) {
		for method := range ID(256) {
			if id := class<<16 | method; newMethod(id) != nil {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// filled is a method with a different value in each field.
func filled(id ID) Method {
	m := newMethod(id)
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case string:
			f.SetString(strings.Repeat("s", i+1))
		case []byte:
			f.SetBytes([]byte{0, byte(i), 255})
		case Table:
			f.Set(reflect.ValueOf(AppendLong(nil, "key", int64(i))))
		case bool:
			f.SetBool(i%2 == 0)
		default:
			f.SetUint(math.MaxUint64>>(64-f.Type().Bits()) - uint64(i))
		}
	}
	return m
}

func payloadOf(m Method) []byte { return m.Append(be.AppendUint32(nil, uint32(m.ID()))) }

func TestMethodsRoundTrip(t *testing.T) {
	ids := allIDs()
	if len(ids) != 66 {
		t.Errorf("%d methods, amqp.md 1.1 has 66", len(ids))
	}
	for _, id := range ids {
		for _, m := range []Method{filled(id), newMethod(id)} {
			got, err := Decode(payloadOf(m))
			if err != nil || !reflect.DeepEqual(got, m) {
				t.Errorf("%s:\n got %+v (%v)\nwant %+v", id, got, err, m)
			}
		}
	}
}

// Checklist 31: each possible cut of each method, and one octet too many.
func TestMethodsOfWrongLength(t *testing.T) {
	for _, id := range allIDs() {
		payload := payloadOf(filled(id))
		for n := 4; n <= len(payload)+1; n++ {
			if n == len(payload) {
				continue
			}
			_, err := Decode(append(payload, 0)[:n:n])
			var e *Error
			if !errors.As(err, &e) || e.Code != 501 || e.Class != id.Class() || e.Method != id.Method() ||
				!strings.HasPrefix(e.Text, "cannot decode <<") || !strings.HasSuffix(e.Text, ">>") {
				t.Fatalf("%s cut to %d of %d: %v", id, n, len(payload), err)
			}
		}
	}
}

func TestMethodTooShortForItsIDs(t *testing.T) {
	for n := range 4 {
		_, err := Decode([]byte("\x00\x0A\x00\x0B")[:n])
		if e := new(Error); !errors.As(err, &e) || e.Code != 501 || !strings.HasSuffix(e.Text, ": unknown_frame") {
			t.Errorf("%d octets: %v", n, err)
		}
	}
}

// Checklist 30.
func TestUnknownMethods(t *testing.T) {
	for _, row := range []struct {
		payload       string
		class, method uint16
		text          string
	}{
		{"\x00\x3C\x00\xC8\x00", 60, 200, "unknown method 60.200"}, // basic.credit is not spoken
		{"\xFF\xFF\xFF\xFF", 65535, 65535, "unknown method 65535.65535"},
		{"\x00\x28\x00\x29", 40, 41, "unknown method 40.41"}, // unbind-ok is 51
	} {
		_, err := Decode([]byte(row.payload))
		wantWireError(t, row.text, err, 503, row.text)
		if e := new(Error); errors.As(err, &e) && (e.Class != row.class || e.Method != row.method) {
			t.Errorf("%s: ids %d %d", row.text, e.Class, e.Method)
		}
	}
}

// Checklist 42: names are checked, routing keys and texts are not.
func TestInvalidUTF8(t *testing.T) {
	const bad = "a\xFFb"
	for _, row := range []struct {
		name string
		m    Method
		ok   bool
	}{
		{"vhost", &ConnectionOpen{Vhost: bad}, false},
		{"mechanism", &ConnectionStartOk{Mechanism: bad}, false},
		{"queue", &QueueDeclare{Queue: bad}, false},
		{"queue of delete", &QueueDelete{Queue: bad}, false},
		{"exchange", &ExchangeDeclare{Exchange: bad}, false},
		{"type", &ExchangeDeclare{Type: bad}, false},
		{"source", &ExchangeBind{Source: bad}, false},
		{"tag", &BasicConsume{ConsumerTag: bad}, false},
		{"cancelled tag", &BasicCancel{ConsumerTag: bad}, false},
		{"exchange of publish", &BasicPublish{Exchange: bad}, false},
		{"routing key of publish", &BasicPublish{RoutingKey: bad}, true},
		{"routing key of bind", &QueueBind{RoutingKey: bad}, true},
		{"reply text", &ConnectionClose{ReplyText: bad}, true},
		{"locale", &ConnectionStartOk{Locale: bad}, true},
		{"argument key and value", &QueueDeclare{Arguments: AppendString(nil, bad, bad)}, true},
		{"umlaut", &QueueDeclare{Queue: "grün"}, true},
	} {
		_, err := Decode(payloadOf(row.m))
		if row.ok {
			if err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
			continue
		}
		wantWireError(t, row.name, err, 501, "Malformed UTF-8 in shortstr")
		if e := new(Error); errors.As(err, &e) && ID(uint32(e.Class)<<16|uint32(e.Method)) != row.m.ID() {
			t.Errorf("%s: ids %d %d", row.name, e.Class, e.Method)
		}
	}
}

// amqp.md 5: a table that is wrong inside is 502, one that is longer than the
// frame is arguments too short.
func TestMalformedArguments(t *testing.T) {
	queue := func(args string) []byte { return payloadOf(&QueueDeclare{Queue: "q", Arguments: Table(args)}) }
	_, err := Decode(queue("\x01kQ"))
	wantWireError(t, "unknown tag", err, 502, "unknown field type 81")
	if e := new(Error); !errors.As(err, &e) || e.Class != 50 || e.Method != 10 {
		t.Errorf("ids of the offender: %+v", e)
	}
	_, err = Decode(queue("\x01kI\x00"))
	wantWireError(t, "overrun", err, 502, "field value longer than its table")
	payload := queue("")
	payload[len(payload)-1] = 9
	_, err = Decode(payload)
	wantWireError(t, "longer than the frame", err, 501, "cannot decode <<0,0,1,113,0,0,0,0,9>>")
}

func TestEmptyTableIsNil(t *testing.T) {
	m, err := Decode(payloadOf(&QueueDeclare{Queue: "q", Arguments: Table{}}))
	if err != nil || m.(*QueueDeclare).Arguments != nil {
		t.Errorf("got %+v, %v", m, err)
	}
}

// The result of Decode survives the buffer it came from.
func TestDecodeShares(t *testing.T) {
	for _, id := range allIDs() {
		payload := payloadOf(filled(id))
		m, err := Decode(payload)
		if err != nil {
			t.Fatal(err)
		}
		clear(payload)
		if !reflect.DeepEqual(m, filled(id)) {
			t.Errorf("%s shares memory with its payload", id)
		}
	}
}

// Reserved fields may hold anything.
func TestReservedIsIgnored(t *testing.T) {
	for name, payload := range map[string]string{
		"ticket":        "\x00\x32\x00\x1E\xFF\xFF\x01q\x01",
		"channel.open":  "\x00\x14\x00\x0A\x03\xFF\xFE\xFD",
		"open, old bit": "\x00\x0A\x00\x28\x01/\x02hi\x01",
	} {
		if _, err := Decode([]byte(payload)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, _ := Decode([]byte("\x00\x32\x00\x1E\xFF\xFF\x01q\xFF"))
	if got := m.(*QueuePurge); got.Queue != "q" || !got.NoWait {
		t.Errorf("got %+v", got)
	}
}

// Bytes that clients have been seen to be strict about (checklist 12, amqp.md 1.1).
func TestMethodBytes(t *testing.T) {
	for _, row := range []struct {
		name string
		m    Method
		want string
	}{
		{"open-ok has one zero octet", &ConnectionOpenOk{}, "\x00\x0A\x00\x29\x00"},
		{"channel.open-ok has four", &ChannelOpenOk{}, "\x00\x14\x00\x0B\x00\x00\x00\x00"},
		{"exchange.unbind-ok is 51", &ExchangeUnbindOk{}, "\x00\x28\x00\x33"},
		{"queue.unbind has no bits", &QueueUnbind{Queue: "q"}, "\x00\x32\x00\x32\x00\x00\x01q\x00\x00\x00\x00\x00\x00"},
		{"get-empty", &BasicGetEmpty{}, "\x00\x3C\x00\x48\x00"},
		{"ticket 1", &AccessRequestOk{Ticket: 1}, "\x00\x1E\x00\x0B\x00\x01"},
		{"start is 0-9", &ConnectionStart{VersionMinor: 9, Mechanisms: "PLAIN", Locales: "en_US"}, "\x00\x0A\x00\x0A\x00\x09\x00\x00\x00\x00\x00\x00\x00\x05PLAIN\x00\x00\x00\x05en_US"},
		{"nack of the server", &BasicNack{DeliveryTag: 5, Multiple: true, Requeue: true}, "\x00\x3C\x00\x78\x00\x00\x00\x00\x00\x00\x00\x05\x03"},
		{"declare's five bits", &QueueDeclare{Queue: "q", Durable: true, NoWait: true}, "\x00\x32\x00\x0A\x00\x00\x01q\x12\x00\x00\x00\x00"},
		{"exchange's five bits", &ExchangeDeclare{Exchange: "x", Type: "topic", AutoDelete: true}, "\x00\x28\x00\x0A\x00\x00\x01x\x05topic\x04\x00\x00\x00\x00"},
	} {
		if got := string(payloadOf(row.m)); got != row.want {
			t.Errorf("%s:\n got %q\nwant %q", row.name, got, row.want)
		}
	}
}

func TestIDs(t *testing.T) {
	if BasicPublishID.Class() != 60 || BasicPublishID.Method() != 40 || BasicPublishID.String() != "basic.publish" {
		t.Errorf("%d %d %s", BasicPublishID.Class(), BasicPublishID.Method(), BasicPublishID)
	}
	if got := ID(60<<16 | 200).String(); got != "60.200" {
		t.Errorf("got %s", got)
	}
	for id, want := range map[ID]bool{
		BasicPublishID: true, BasicAckID: true, ChannelCloseOkID: true, BasicCancelOkID: true,
		BasicDeliverID: false, ConnectionStartID: false, QueueDeclareOkID: false, ID(1): false,
	} {
		if id.FromClient() != want {
			t.Errorf("%s from the client: %v", id, !want)
		}
	}
	for _, id := range allIDs() {
		if !strings.Contains(id.String(), ".") || strings.ContainsAny(id.String(), "0123456789") {
			t.Errorf("%d.%d is called %s", id.Class(), id.Method(), id)
		}
	}
}

// The text of a fault does not print a whole frame.
func TestTextIsBounded(t *testing.T) {
	_, err := Decode(append([]byte("\x00\x5A\x00\x0A"), make([]byte, 100<<10)...))
	if e := new(Error); !errors.As(err, &e) || len(e.Text) > 300 || !strings.HasSuffix(e.Text, "...>>") {
		t.Errorf("got %v", err)
	}
}
