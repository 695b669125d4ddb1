package conformance

import (
	"strings"
	"testing"
)

const defaultExchange = "operation not permitted on the default exchange"

func TestLine064PredeclaredExchanges(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	for name, kind := range map[string]string{
		"amq.direct": "direct", "amq.fanout": "fanout", "amq.topic": "topic", "amq.headers": "headers", "amq.match": "headers",
	} {
		ch.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(name, kind, durable, nil)...).end()
		ch.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(name, "fanout", passive, nil)...).end()
	}
	ch.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs("amq.rabbitmq.trace", "topic", durable|internal, nil)...).end()
	q := ch.queue()
	ch.publish("", q, nil, "by default")
	if m := ch.get(q, 1); m.exchange != "" || m.key != q {
		t.Errorf("came from %q with key %q", m.exchange, m.key)
	}
}

func TestLine065InequivalentExchange(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	for _, row := range []struct {
		name        string
		was, is     bits
		kind        string
		first, then table
		text        string
	}{
		{"type", 0, 0, "fanout", nil, nil, "'type' for X: received 'fanout' but current is 'direct'"},
		{"type first", 0, durable, "fanout", nil, nil, "'type' for X: received 'fanout' but current is 'direct'"},
		{"durable", 0, durable, "direct", nil, nil, "'durable' for X: received 'true' but current is 'false'"},
		{"auto-delete", xAutoDelete, 0, "direct", nil, nil, "'auto_delete' for X: received 'false' but current is 'true'"},
		{"internal", 0, internal, "direct", nil, nil, "'internal' for X: received 'true' but current is 'false'"},
		{"alternate", 0, 0, "direct", table{{"alternate-exchange", "a"}}, table{{"alternate-exchange", "b"}}, "'alternate-exchange' for X: received 'b' but current is 'a'"},
		{"alternate new", 0, 0, "direct", nil, table{{"alternate-exchange", "b"}}, "'alternate-exchange' for X: received the value 'b' of type 'longstr' but current is none"},
		{"alternate gone", 0, 0, "direct", table{{"alternate-exchange", "a"}}, nil, "'alternate-exchange' for X: received none but current is the value 'a' of type 'longstr'"},
	} {
		t.Run(row.name, func(t *testing.T) {
			x := ch.exchange("direct", row.was, row.first...)
			text := strings.Replace("inequivalent arg "+row.text, "X:", rx(x)+":", 1)
			ch.refused(preconditionFailed, text, exchangeDeclare, exchangeArgs(x, row.kind, row.is, row.then)...)
		})
	}
	t.Run("other arguments are not compared", func(t *testing.T) {
		x := ch.exchange("direct", 0, field{"mine", 1})
		ch.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(x, "direct", 0, table{{"mine", 2}})...).end()
	})
	t.Run("unknown type", func(t *testing.T) {
		for _, kind := range []string{"bogus", ""} {
			ch.send(exchangeDeclare, exchangeArgs(unique("x"), kind, 0, nil)...)
			x := parseClose(ch.expect(channelClose))
			ch.send(channelCloseOk)
			ch.open()
			if !x.matches(preconditionFailed, "unknown exchange type '"+kind+"'") && !x.matches(preconditionFailed, "invalid exchange type '"+kind+"'") {
				t.Errorf("type %q: closed with %d %q", kind, x.code, x.text)
			}
		}
	})
	t.Run("passive", func(t *testing.T) {
		x, missing := ch.exchange("direct", 0), unique("missing")
		ch.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(x, "fanout", passive|durable|internal, table{{"alternate-exchange", "z"}})...).end()
		ch.refused(notFound, "no "+rx(missing), exchangeDeclare, exchangeArgs(missing, "direct", passive, nil)...)
	})
	t.Run("alternate of a wrong type", func(t *testing.T) {
		ch.refused(preconditionFailed, "…", exchangeDeclare, exchangeArgs(unique("x"), "direct", 0, table{{"alternate-exchange", 1}})...)
	})
	t.Run("reserved name", func(t *testing.T) {
		ch.refused(accessRefused, "exchange name 'amq.mine' contains reserved prefix 'amq.*'", exchangeDeclare, exchangeArgs("amq.mine", "direct", 0, nil)...)
	})
}

func TestLine066DefaultExchange(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q, x := ch.queue(), ch.exchange("fanout", 0)
	for _, row := range []struct {
		id   uint32
		args []any
	}{
		{exchangeDeclare, exchangeArgs("", "direct", durable, nil)},
		{exchangeDeclare, exchangeArgs("", "direct", passive, nil)},
		{exchangeDelete, []any{uint16(0), "", bits(0)}},
		{queueBind, []any{uint16(0), q, "", "k", bits(0), table{}}},
		{queueUnbind, []any{uint16(0), q, "", q, table{}}},
		{exchangeBind, []any{uint16(0), x, "", "k", bits(0), table{}}},
		{exchangeBind, []any{uint16(0), "", x, "k", bits(0), table{}}},
		{exchangeUnbind, []any{uint16(0), x, "", "k", bits(0), table{}}},
	} {
		t.Run(methodName(row.id), func(t *testing.T) { ch.refused(accessRefused, defaultExchange, row.id, row.args...) })
	}
}

func (ch *channel) deleteExchange(x string, flags bits) {
	ch.c.t.Helper()
	ch.call(exchangeDeleteOk, exchangeDelete, uint16(0), x, flags).end()
}

func TestLine067DeleteExchange(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	for _, x := range []string{"amq.direct", "amq.not-there"} {
		ch.refused(accessRefused, "deletion of system "+rx(x)+" not allowed", exchangeDelete, uint16(0), x, bits(0))
	}
	ch.deleteExchange(unique("missing"), 0)
	ch.deleteExchange(unique("missing"), ifUnused)

	x, y, q := ch.exchange("fanout", 0), ch.exchange("fanout", 0), ch.queue()
	ch.bind(q, x, "")
	ch.refused(preconditionFailed, rx(x)+" in use", exchangeDelete, uint16(0), x, ifUnused)
	ch.unbind(q, x, "")
	ch.bindExchange(y, x, "")
	ch.refused(preconditionFailed, rx(x)+" in use", exchangeDelete, uint16(0), x, ifUnused)
	ch.deleteExchange(y, ifUnused) // being a destination does not count
	ch.deleteExchange(x, ifUnused)

	z := ch.exchange("fanout", 0)
	ch.bind(q, z, "")
	ch.deleteExchange(z, 0)
	ch.send(basicPublish, uint16(0), z, "", bits(0))
	ch.c.write(frameBytes(typeHeader, ch.n, header(0, props{}.encode())))
	ch.closed(notFound, "no "+rx(z), basicPublish)
}

func TestLine068InternalExchange(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	hidden, front, q := ch.exchange("fanout", internal), ch.exchange("fanout", 0), ch.queue()
	ch.bindExchange(hidden, front, "")
	ch.bind(q, hidden, "")
	ch.publish(front, "k", nil, "through")
	if m := ch.get(q, 1); m.body != "through" || m.exchange != front || m.key != "k" {
		t.Errorf("got %+v", m)
	}
	ch.publish(hidden, "k", nil, "no")
	ch.closed(accessRefused, "cannot publish to internal "+rx(hidden), basicPublish)
}

func TestLine069AutoDeleteExchange(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	there := func(x string, want bool) {
		t.Helper()
		ch.send(exchangeDeclare, exchangeArgs(x, "fanout", passive, nil)...)
		f, err := ch.c.next(ch.n, patience)
		if err != nil {
			t.Fatal(err)
		}
		if f.id() == channelClose {
			ch.send(channelCloseOk)
			ch.open()
		}
		if got := f.id() == exchangeDeclareOk; got != want {
			t.Errorf("exchange exists: %v, want %v", got, want)
		}
	}
	x, q, r := ch.exchange("fanout", xAutoDelete), ch.queue(), ch.queue()
	there(x, true) // never bound: stays
	ch.bind(q, x, "")
	ch.bind(r, x, "")
	ch.unbind(q, x, "")
	there(x, true)
	ch.unbind(r, x, "")
	there(x, false)

	x = ch.exchange("fanout", xAutoDelete)
	ch.bind(q, x, "")
	ch.deleteQueue(q, 0)
	there(x, false)

	// The end of one is the end of a binding of the other.
	first, second := ch.exchange("fanout", xAutoDelete), ch.exchange("fanout", xAutoDelete)
	ch.bindExchange(second, first, "")
	ch.bind(r, second, "")
	ch.unbind(r, second, "")
	there(second, false)
	there(first, false)

	// Being only a destination keeps nothing alive and ends nothing.
	source, dest := ch.exchange("fanout", 0), ch.exchange("fanout", xAutoDelete)
	ch.bindExchange(dest, source, "")
	ch.call(exchangeUnbindOk, exchangeUnbind, uint16(0), dest, source, "", bits(0), table{}).end()
	there(dest, true)
	ch.call(exchangeUnbindOk, exchangeUnbind, uint16(0), dest, source, "", bits(0), table{}).end()
	missing := unique("missing")
	ch.call(exchangeUnbindOk, exchangeUnbind, uint16(0), missing, source, "", bits(0), table{}).end()
	ch.refused(notFound, "no "+rx(missing), exchangeBind, uint16(0), missing, source, "", bits(0), table{})
	ch.refused(notFound, "no "+rx(missing), exchangeBind, uint16(0), dest, missing, "", bits(0), table{})
}

// drained takes everything a queue was given before: it publishes a mark to the
// queue and reads up to it.
func (ch *channel) drained(q string) []string {
	t := ch.c.t
	t.Helper()
	mark := unique("mark")
	ch.publish("", q, nil, mark)
	got := ch.gets(q)
	if len(got) == 0 || got[len(got)-1] != mark {
		t.Fatalf("the mark is not the last of %q", got)
	}
	return got[:len(got)-1]
}
