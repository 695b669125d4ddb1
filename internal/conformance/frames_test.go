package conformance

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"
)

// closedLike is closed for texts that quote octets in their middle.
func (c *conn) closedLike(code uint16, prefix, suffix string) {
	c.t.Helper()
	c.closingLike(code, prefix, suffix)
	c.send(0, method(connectionCloseOk))
	c.ended(patience)
}

func (c *conn) closingLike(code uint16, prefix, suffix string) {
	c.t.Helper()
	x := parseClose(c.expect(connectionClose))
	if x.code != code || !strings.HasPrefix(x.text, codeName[code]+" - "+prefix) || !strings.HasSuffix(x.text, suffix) {
		c.t.Fatalf("closed with %d %q, want %d %s - %s...%s", x.code, x.text, code, codeName[code], prefix, suffix)
	}
}

func TestLine028BadFrames(t *testing.T) {
	t.Parallel()
	flow := method(channelFlow, bits(1))
	for _, end := range []byte{0, 0xCD, 0xFF} {
		t.Run(fmt.Sprintf("end octet %#x", end), func(t *testing.T) {
			t.Parallel()
			c := openChannel(t).c
			b := frameBytes(typeMethod, 1, flow)
			b[len(b)-1] = end
			c.write(b)
			c.closedLike(frameError, "type 1, all octets = <<", fmt.Sprintf("{invalid_frame_end_marker,%d}", end))
		})
	}
	for _, typ := range []byte{0, 4, 5, 7, 9, 255} {
		t.Run(fmt.Sprintf("type %d", typ), func(t *testing.T) {
			t.Parallel()
			c := openChannel(t).c
			c.write(frameBytes(typ, 1, flow))
			c.closedLike(frameError, fmt.Sprintf("type %d, all octets = <<", typ), ": unknown_frame")
		})
	}
	t.Run("too large", func(t *testing.T) {
		t.Parallel()
		c := openChannel(t, frameMax(4096)).c
		var h [7]byte
		h[0], h[2] = typeBody, 1
		binary.BigEndian.PutUint32(h[3:], 4097)
		c.write(h[:]) // no payload: the size alone is refused
		c.closedLike(frameError, "type 3, all octets = <<>>: {frame_too_large,4097,", "}")
	})
	t.Run("payload of frame_max", func(t *testing.T) {
		t.Parallel()
		ch := openChannel(t, frameMax(4096))
		q := ch.queue()
		body := strings.Repeat("x", 2*4096)
		b := frameBytes(typeMethod, 1, method(basicPublish, uint16(0), "", q, bits(0)))
		b = append(b, frameBytes(typeHeader, 1, header(uint64(len(body)), props{}.encode()))...)
		b = append(b, frameBytes(typeBody, 1, []byte(body[:4096]))...)
		ch.c.write(append(b, frameBytes(typeBody, 1, []byte(body[4096:]))...))
		if m := ch.get(q, 1); m.body != body {
			t.Errorf("body of %d octets came back with %d", len(body), len(m.body))
		}
	})
}

func TestLine029ClaimedSize(t *testing.T) {
	t.Parallel()
	claim := func(c *conn, typ byte) {
		c.write([]byte{typ, 0, 0, 0xff, 0xff, 0xff, 0xff, 'x', 'y', 'z'})
	}
	addr, before := broker.addr, 0
	var s *server
	if !broker.rabbit {
		s = serve(t)
		addr, before = s.addr, s.residentBytes(t)
	}
	for range 20 {
		c := open(t, at(addr))
		claim(c, typeMethod)
		c.closingLike(frameError, "type 1, all octets = <<>>: {frame_too_large,4294967295,", "}")
		early, _ := greet(t, addr)
		claim(early, typeMethod)
	}
	if s != nil {
		if grown := s.residentBytes(t) - before; grown > 48<<20 {
			t.Errorf("40 frames that claim 4 GiB cost %d MiB", grown>>20)
		}
	}
}

func TestLine030UnknownMethod(t *testing.T) {
	t.Parallel()
	for _, id := range []uint32{99<<16 | 1, 60<<16 | 201, 20<<16 | 99, 0, 65535<<16 | 65535} {
		t.Run(methodName(id), func(t *testing.T) {
			t.Parallel()
			c := openChannel(t).c
			c.send(1, method(id, uint16(0), "", bits(0)))
			if broker.rabbit && id != 60<<16|201 { // drops the socket; [M] of amqp.md 5
				c.ended(patience)
				return
			}
			c.closed(commandInvalid, "…", id)
		})
	}
	if !broker.rabbit { // RabbitMQ knows basic.credit and refuses it in other ways
		t.Run("basic.credit", func(t *testing.T) {
			openChannel(t).hard(commandInvalid, "…", 60<<16|200, "tag", uint32(1), bits(0))
		})
	}
	for _, row := range []struct {
		name string
		m    []byte
		id   uint32
	}{
		{"connection.start from a client", method(connectionStart, uint8(0), uint8(9), table{}, []byte("PLAIN"), []byte("en_US")), connectionStart},
		{"deliver from a client", method(basicDeliver, "t", uint64(1), bits(0), "", "q"), basicDeliver},
		{"declare-ok from a client", method(queueDeclareOk, "q", uint32(0), uint32(0)), queueDeclareOk},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := openChannel(t).c
			c.send(1, row.m)
			if row.id == basicDeliver { // RabbitMQ wants its content first
				c.write(frameBytes(typeHeader, 1, header(0, props{}.encode())))
			}
			c.closed(commandInvalid, "…", row.id)
		})
	}
}

func TestLine031BadArguments(t *testing.T) {
	t.Parallel()
	declare := method(queueDeclare, declareArgs("q", 0, table{{"a", "b"}})...)
	get := method(basicGet, uint16(0), "q", bits(0))
	for _, row := range []struct {
		name string
		m    []byte
		id   uint32
	}{
		{"declare without its table", declare[:len(declare)-14], queueDeclare},
		{"get without its bits", get[:len(get)-1], basicGet},
		{"get with an octet more", append(get[:len(get):len(get)], 0), basicGet},
		{"get with nothing", get[:4], basicGet},
		{"name longer than the frame", append(get[:6:6], 200, 'q'), basicGet},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := openChannel(t).c
			c.send(1, row.m)
			c.closed(frameError, "cannot decode <<…", row.id)
		})
	}
	for _, row := range []struct {
		name string
		args table
	}{
		{"unknown tag", table{{"a", raw{'Z', "1234"}}}},
		{"value longer than the table", table{{"a", raw{'S', "\x00\x00\xff\xff12"}}}},
		{"nested too deep", deep(300)},
	} {
		t.Run("table: "+row.name, func(t *testing.T) {
			t.Parallel()
			ch := openChannel(t)
			ch.send(queueDeclare, declareArgs(unique("q"), exclusive, row.args)...)
			if broker.rabbit { // drops the socket, and takes any depth; [M] of amqp.md 5 and 7
				if row.name == "nested too deep" {
					ch.expect(queueDeclareOk)
					return
				}
				ch.c.ended(patience)
				return
			}
			ch.c.closed(syntaxError, "…", queueDeclare)
		})
	}
}

// deep is a table of n levels.
func deep(n int) table {
	t := table{{"end", true}}
	for range n - 1 {
		t = table{{"t", t}}
	}
	return t
}

func TestLine032ContentOutOfPlace(t *testing.T) {
	t.Parallel()
	publish := frameBytes(typeMethod, 1, method(basicPublish, uint16(0), "", "nowhere", bits(0)))
	head := func(class, weight uint16) []byte {
		b := binary.BigEndian.AppendUint16(nil, class)
		b = binary.BigEndian.AppendUint16(b, weight)
		return frameBytes(typeHeader, 1, append(binary.BigEndian.AppendUint64(b, 3), 0, 0))
	}
	body := frameBytes(typeBody, 1, []byte("abc"))
	flow := frameBytes(typeMethod, 1, method(channelFlow, bits(1)))
	const (
		noMethod = "expected method frame, got non method frame instead"
		noHeader = "expected content header for class 60, got non content header frame instead"
		noBody   = "expected content body, got non content body frame instead"
	)
	for _, row := range []struct {
		name   string
		frames [][]byte
		text   string
		id     uint32
	}{
		{"header without publish", [][]byte{head(60, 0)}, noMethod, 0},
		{"body without publish", [][]byte{body}, noMethod, 0},
		{"body without header", [][]byte{publish, body}, noHeader, basicPublish},
		{"method instead of header", [][]byte{publish, flow}, noHeader, basicPublish},
		{"publish instead of header", [][]byte{publish, publish}, noHeader, basicPublish},
		{"method instead of body", [][]byte{publish, head(60, 0), flow}, noBody, basicPublish},
		{"header instead of body", [][]byte{publish, head(60, 0), head(60, 0)}, noBody, basicPublish},
		{"header of class 10", [][]byte{publish, head(10, 0)}, "expected content header for class 60, got one for class 10 instead", basicPublish},
		{"weight 1", [][]byte{publish, head(60, 1)}, noHeader, basicPublish},
		{"body after the body", [][]byte{publish, head(60, 0), body, body}, noMethod, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := openChannel(t).c
			for _, f := range row.frames {
				c.write(f)
			}
			c.closed(unexpectedFrame, row.text, row.id)
		})
	}
}

func TestLine033BodyTooLong(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	b := frameBytes(typeMethod, 1, method(basicPublish, uint16(0), "", q, bits(0)))
	b = append(b, frameBytes(typeHeader, 1, header(3, props{}.encode()))...)
	ch.c.write(append(b, frameBytes(typeBody, 1, []byte("abcd"))...))
	if broker.rabbit { // 4.0.5 waits for ever; [4.3] as Mayfly
		if _, err := ch.c.next(0, 200*time.Millisecond); err != errSilence {
			t.Fatal(err)
		}
		return
	}
	ch.c.closed(frameError, "content body frame exceeds remaining content size", anyID)
}
