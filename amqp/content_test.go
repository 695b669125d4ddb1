package amqp

import (
	"strings"
	"testing"

	"mayfly/amqp/wire"
)

// frames sends raw frames of channel 1.
func (r *chanRig) frames(fs ...wire.Frame) {
	for _, f := range fs {
		f.Channel = 1
		r.frame(f)
	}
}

func headerFrame(class, weight uint16, size uint64) wire.Frame {
	b := []byte{byte(class >> 8), byte(class), byte(weight >> 8), byte(weight)}
	for i := 56; i >= 0; i -= 8 {
		b = append(b, byte(size>>i))
	}
	return wire.Frame{Type: wire.FrameHeader, Payload: append(b, 0, 0)}
}

func bodyFrame(s string) wire.Frame { return wire.Frame{Type: wire.FrameBody, Payload: []byte(s)} }

// Checklist 32 and 33: content out of place ends the connection with the text of section 5.
func TestChecklist32ContentOutOfPlace(t *testing.T) {
	pub := methodFrame(1, &wire.BasicPublish{RoutingKey: "q"})
	get := methodFrame(1, &wire.BasicGet{Queue: "q"})
	const headerDue = "UNEXPECTED_FRAME - expected content header for class 60, got non content header frame instead"
	const bodyDue = "UNEXPECTED_FRAME - expected content body, got non content body frame instead"
	for _, c := range []struct {
		name          string
		frames        []wire.Frame
		code          uint16
		text          string
		class, method uint16
	}{
		{"header alone", []wire.Frame{headerFrame(60, 0, 1)}, 505, "UNEXPECTED_FRAME - expected method frame, got non method frame instead", 0, 0},
		{"body alone", []wire.Frame{bodyFrame("x")}, 505, "UNEXPECTED_FRAME - expected method frame, got non method frame instead", 0, 0},
		{"method for header", []wire.Frame{pub, get}, 505, headerDue, 60, 40},
		{"close for header", []wire.Frame{pub, methodFrame(1, &wire.ChannelClose{})}, 505, headerDue, 60, 40},
		{"body for header", []wire.Frame{pub, bodyFrame("x")}, 505, headerDue, 60, 40},
		{"class", []wire.Frame{pub, headerFrame(50, 0, 1)}, 505, "UNEXPECTED_FRAME - expected content header for class 60, got one for class 50 instead", 60, 40},
		{"weight", []wire.Frame{pub, headerFrame(60, 1, 1)}, 505, headerDue, 60, 40},
		{"method for body", []wire.Frame{pub, headerFrame(60, 0, 1), get}, 505, bodyDue, 60, 40},
		{"header for body", []wire.Frame{pub, headerFrame(60, 0, 1), headerFrame(60, 0, 1)}, 505, bodyDue, 60, 40},
		{"too long", []wire.Frame{pub, headerFrame(60, 0, 3), bodyFrame("ab"), bodyFrame("cd")}, 501, "FRAME_ERROR - content body frame exceeds remaining content size", 60, 40},
		{"after the end", []wire.Frame{pub, headerFrame(60, 0, 0), bodyFrame("")}, 505, "UNEXPECTED_FRAME - expected method frame, got non method frame instead", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newChanRig(t)
			r.declare("q", nil)
			r.frames(c.frames...)
			r.want(0, &wire.ConnectionClose{ReplyCode: c.code, ReplyText: c.text, ClassID: c.class, MethodID: c.method})
		})
	}
}

func TestMalformedPropertiesAreFatal(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.publish(1, message{key: "q", props: []byte{0x80, 0, 200}, body: "x"})
	_, m, _ := r.next()
	if c, ok := m.(*wire.ConnectionClose); !ok || c.ReplyCode != 501 || !strings.HasPrefix(c.ReplyText, "FRAME_ERROR - ") {
		t.Fatalf("got %s", describe(m))
	}
}

// Checklist 34: no empty body frame goes out (readContent checks), and empty ones
// inside a body are taken.
func TestChecklist34EmptyBodies(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	r.frames(methodFrame(1, &wire.BasicPublish{RoutingKey: "q"}), headerFrame(60, 0, 3),
		bodyFrame(""), bodyFrame("a"), bodyFrame(""), bodyFrame("bc"))
	r.frames(methodFrame(1, &wire.BasicPublish{RoutingKey: "q"}), headerFrame(60, 0, 0))
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
	r.delivered(1, 1, "abc")
	r.delivered(1, 2, "")
}

// Checklist 35: any size for a receiver with small frames.
func TestChecklist35Sizes(t *testing.T) {
	r := newChanRig(t)
	r.c.frameMax = 4096
	r.declare("q", nil)
	sizes := []int{4096 - 8, 4096 - 7, 1, 10 << 20}
	for _, n := range sizes {
		r.to("q", strings.Repeat("x", n-1)+"y")
	}
	r.consume(1, &wire.BasicConsume{Queue: "q", ConsumerTag: "c"})
	for i, n := range sizes {
		r.delivered(1, uint64(i+1), strings.Repeat("x", n-1)+"y")
	}
	if r.channel(1).pub.body != nil {
		t.Error("a buffer is kept")
	}
}

// Checklist 36: channels interleave freely.
func TestChecklist36Interleaved(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	const n = 100
	for ch := uint16(2); ch < n; ch++ {
		r.open(ch)
	}
	for ch := uint16(1); ch < n; ch++ {
		r.frame(methodFrame(ch, &wire.BasicPublish{RoutingKey: "q"}))
	}
	for ch := uint16(1); ch < n; ch++ {
		f := headerFrame(60, 0, 2)
		f.Channel = ch
		r.frame(f)
	}
	for range 2 {
		for ch := uint16(1); ch < n; ch++ {
			r.frame(wire.Frame{Type: wire.FrameBody, Channel: ch, Payload: []byte{byte(ch)}})
		}
	}
	got := r.broker.bodies("q")
	if len(got) != n-1 {
		t.Fatalf("%d messages", len(got))
	}
	for i, b := range got {
		if b != string([]byte{byte(i + 1), byte(i + 1)}) {
			t.Errorf("message %d is %q", i, b)
		}
	}
}

// Checklist 37: over max_message_size is a channel error, at the end of the body;
// over the hard cap at the header (X2).
func TestChecklist37MessageSize(t *testing.T) {
	r := chanRigWith(t, func(o *Options) { o.MaxMessageSize = 100 })
	r.open(2)
	r.declare("q", nil)
	r.publish(1, message{exchange: "missing", key: "q", body: strings.Repeat("x", 101)})
	r.closed(406, "PRECONDITION_FAILED - message size 101 is larger than configured max size 100", wire.BasicPublishID)
	r.to("q", strings.Repeat("x", 100))
	r.frames(methodFrame(1, &wire.BasicPublish{RoutingKey: "q"}), headerFrame(60, 0, 1<<63))
	r.closed(406, "PRECONDITION_FAILED - message size 9223372036854775808 is larger than configured max size 100", wire.BasicPublishID)
	r.call(2, &wire.AccessRequest{}, &wire.AccessRequestOk{Ticket: 1})
	if r.channel(1).pub.body != nil {
		t.Error("an oversize body was kept")
	}
	r = chanRigWith(t, func(o *Options) { o.MaxMessageSize = MaxMessageSizeCap })
	r.frames(methodFrame(1, &wire.BasicPublish{RoutingKey: "q"}), headerFrame(60, 0, MaxMessageSizeCap+1))
	r.closed(406, "PRECONDITION_FAILED - message size 536870913 is larger than max size 536870912", wire.BasicPublishID)
}

func TestUnimplementedMethods(t *testing.T) {
	for _, m := range []wire.Method{&wire.BasicDeliver{}, &wire.QueueDeclareOk{}, &wire.TxSelectOk{}, &wire.ConnectionTune{}} {
		newChanRig(t).cut(m, 503, "COMMAND_INVALID - unimplemented method")
	}
	r := newChanRig(t)
	r.send(1, &wire.BasicCancelOk{ConsumerTag: "x"}, &wire.ChannelFlowOk{})
	r.quiet()
}

// Checklist 47 and 48.
func TestChecklist47FlowAndAccess(t *testing.T) {
	r := newChanRig(t)
	r.call(1, &wire.ChannelFlow{Active: true}, &wire.ChannelFlowOk{Active: true})
	r.call(1, &wire.AccessRequest{}, &wire.AccessRequestOk{Ticket: 1})
	r.cut(&wire.ChannelFlow{}, 540, "NOT_IMPLEMENTED - active=false")
}
