package conformance

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// rs is how a queue prints in reply texts.
func rs(queue string) string { return "queue '" + queue + "' in vhost '" + broker.vhost + "'" }

// rx is how an exchange prints.
func rx(exchange string) string { return "exchange '" + exchange + "' in vhost '" + broker.vhost + "'" }

func locked(queue string) string {
	return "cannot obtain exclusive access to locked " + rs(queue) + ". It could be originally declared on another connection " +
		"or the exclusive property value does not match that of the original declaration."
}

func TestLine049RedeclareEqual(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	t.Run("counts", func(t *testing.T) {
		q := ch.queue()
		ch.publish("", q, nil, "1")
		ch.publish("", q, nil, "2")
		ch.publish("", q, nil, "3")
		ch.counted(q, counts{3, 0})
		if m := ch.get(q, 0); m.left != 2 {
			t.Errorf("%d left after get, want 2", m.left)
		}
		if _, n := ch.declare(q, exclusive, nil); n != (counts{2, 0}) {
			t.Errorf("redeclare says %+v, want 2 ready (unacked do not count), no consumer", n)
		}
		ch.c.another().consume(q, "t", 0)
		ch.counted(q, counts{0, 1})
	})
	t.Run("integers by value", func(t *testing.T) {
		q := ch.queue(field{"x-message-ttl", int32(60000)})
		for _, v := range []any{int64(60000), uint16(60000), uint32(60000), raw{'L', "\x00\x00\x00\x00\x00\x00\xea\x60"}} {
			ch.declare(q, exclusive, table{{"x-message-ttl", v}})
		}
	})
	t.Run("order and unknown arguments", func(t *testing.T) {
		q := ch.queue(field{"x-max-length", 5}, field{"x-expires", 60000}, field{"mine", "1"})
		ch.declare(q, exclusive, table{{"other", "2"}, {"x-expires", 60000}, {"x-max-length", 5}})
	})
	t.Run("default type named", func(t *testing.T) {
		q, _ := ch.declare(unique("q"), durable, nil)
		janitor.queue(t, q)
		ch.declare(q, durable, table{{"x-queue-type", "classic"}})
	})
}

func TestLine050RedeclareDiffers(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	for _, row := range []struct {
		name        string
		was, is     bits
		first, then table
		text        string
	}{
		{"durable off", durable, 0, nil, nil, "'durable' for Q: received 'false' but current is 'true'"},
		{"durable on", 0, durable, nil, nil, "'durable' for Q: received 'true' but current is 'false'"},
		{"auto-delete on", durable, durable | autoDelete, nil, nil, "'auto_delete' for Q: received 'true' but current is 'false'"},
		{"auto-delete off", autoDelete, 0, nil, nil, "'auto_delete' for Q: received 'false' but current is 'true'"},
		{"durable before auto-delete", durable, autoDelete, nil, nil, "'durable' for Q: received 'false' but current is 'true'"},
		{"auto-delete before arguments", durable, durable | autoDelete, nil, table{{"x-max-length", 1}}, "'auto_delete' for Q: received 'true' but current is 'false'"},
		{"argument", durable, durable, table{{"x-message-ttl", 1000}}, table{{"x-message-ttl", 2000}}, "'x-message-ttl' for Q: received '2000' but current is '1000'"},
		{"argument new", durable, durable, nil, table{{"x-message-ttl", 1000}}, "'x-message-ttl' for Q: received the value '1000' of type 'signedint' but current is none"},
		{"argument gone", durable, durable, table{{"x-message-ttl", 1000}}, nil, "'x-message-ttl' for Q: received none but current is the value '1000' of type 'signedint'"},
		{"argument gone, long", durable, durable, table{{"x-expires", int64(60000)}}, nil, "'x-expires' for Q: received none but current is the value '60000' of type 'long'"},
		{"short", durable, durable, nil, table{{"x-max-length", int16(7)}}, "'x-max-length' for Q: received the value '7' of type 'short' but current is none"},
		{"byte", durable, durable, nil, table{{"x-max-length-bytes", int8(7)}}, "'x-max-length-bytes' for Q: received the value '7' of type 'byte' but current is none"},
		{"string", durable, durable, table{{"x-overflow", "drop-head"}}, nil, "'x-overflow' for Q: received none but current is the value 'drop-head' of type 'longstr'"},
		{"other string", durable, durable, table{{"x-dead-letter-exchange", "a"}}, table{{"x-dead-letter-exchange", "b"}}, "'x-dead-letter-exchange' for Q: received 'b' but current is 'a'"},
		{"bool", durable, durable, nil, table{{"x-single-active-consumer", true}}, "'x-single-active-consumer' for Q: received the value 'true' of type 'bool' but current is none"},
		{"priority", durable, durable, table{{"x-max-priority", 5}}, table{{"x-max-priority", 6}}, "'x-max-priority' for Q: received '6' but current is '5'"},
		{"a string is no number", durable, durable, table{{"x-max-length", 5}}, table{{"x-max-length", "5"}}, "'x-max-length' for Q: received '5' but current is '5'…"},
		{"bad values are compared only", durable, durable, table{{"x-message-ttl", 1000}}, table{{"x-message-ttl", -1}}, "'x-message-ttl' for Q: received '-1' but current is '1000'"},
		{"type", durable, durable, table{{"x-queue-type", "classic"}}, table{{"x-queue-type", "quorum"}}, "'x-queue-type' for Q: received 'quorum' but current is 'classic'"},
	} {
		t.Run(row.name, func(t *testing.T) {
			q, _ := ch.declare(unique("q"), row.was, row.first)
			janitor.queue(t, q)
			text := strings.Replace("inequivalent arg "+row.text, "Q:", rs(q)+":", 1)
			ch.refused(preconditionFailed, text, queueDeclare, declareArgs(q, row.is, row.then)...)
		})
	}
}

func TestLine051ExclusiveDiffers(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	plain, own := ch.shared(), ch.queue()
	ch.refused(resourceLocked, locked(plain), queueDeclare, declareArgs(plain, durable|exclusive, nil)...)
	ch.refused(resourceLocked, locked(own), queueDeclare, declareArgs(own, 0, nil)...)
	ch.refused(resourceLocked, locked(own), queueDeclare, declareArgs(own, durable, nil)...)
	other := openChannel(t)
	for _, flags := range []bits{exclusive, 0, durable | exclusive, passive} {
		other.refused(resourceLocked, locked(own), queueDeclare, declareArgs(own, flags, nil)...)
	}
	ch.declare(own, exclusive|durable, nil) // the durable flag is not compared
}

func TestLine052Passive(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	missing := unique("missing")
	ch.refused(notFound, "no "+rs(missing), queueDeclare, declareArgs(missing, passive, nil)...)
	ch.refused(notFound, "no "+rs(missing), queueDeclare, declareArgs(missing, passive|durable|exclusive, table{{"x-message-ttl", "bad"}})...)
	ch.refused(notFound, "no "+rs(""), queueDeclare, declareArgs("", passive, nil)...)
	q := ch.shared(field{"x-message-ttl", 1000})
	for _, flags := range []bits{0, durable, exclusive, autoDelete, durable | exclusive | autoDelete} {
		ch.declare(q, passive|flags, table{{"x-message-ttl", "bad"}, {"x-max-length", -1}})
	}
}

func TestLine053Names(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	pattern := regexp.MustCompile(`^amq\.gen-[A-Za-z0-9_-]{22}$`)
	q, _ := ch.declare("", exclusive, nil)
	if !pattern.MatchString(q) {
		t.Errorf("server-made name %q", q)
	}
	if other, _ := ch.declare("", exclusive, nil); other == q {
		t.Errorf("the same name twice: %q", q)
	}
	reserved := func(name string) string { return "queue name '" + name + "' contains reserved prefix 'amq.*'" }
	for _, name := range []string{"amq.mine", "amq.gen-x", q} {
		ch.refused(accessRefused, reserved(name), queueDeclare, declareArgs(name, exclusive, nil)...)
	}
	ch.declare(q, passive, nil)
	for _, fine := range []string{"AMQ.x" + unique(""), "amq" + unique(""), strings.Repeat("é", 100) + unique("")} {
		if got, _ := ch.declare(fine, exclusive, nil); got != fine {
			t.Errorf("declared %q, got %q", fine, got)
		}
	}
	want := unique("ab")
	if got, _ := ch.declare("\r"+want[:4]+"\n"+want[4:]+"\r\n", exclusive, nil); got != want {
		t.Errorf("CR and LF stay in %q", got)
	}
}

func TestLine054LastDeclared(t *testing.T) {
	t.Parallel()
	t.Run("none", func(t *testing.T) {
		ch := openChannel(t)
		const none = "no previously declared queue"
		ch.refused(notFound, none, basicConsume, consumeArgs("", "t", 0, nil)...)
		ch.refused(notFound, none, basicGet, uint16(0), "", bits(0))
		ch.refused(notFound, none, queuePurge, uint16(0), "", bits(0))
		ch.refused(notFound, none, queueDelete, uint16(0), "", bits(0))
		ch.refused(notFound, none, queueBind, uint16(0), "", "amq.direct", "k", bits(0), table{})
		ch.refused(notFound, none, queueUnbind, uint16(0), "", "amq.direct", "k", table{})
	})
	ch := openChannel(t)
	x := ch.exchange("direct", 0)
	q, _ := ch.declare("", exclusive, nil)
	ch.bind("", x, "")
	ch.publish(x, q, nil, "by name") // "" and "" bind the queue's name as key
	if m := ch.get("", 1); m.body != "by name" || m.key != q {
		t.Errorf("got %+v", m)
	}
	ch.unbind("", x, "")
	ch.publish(x, q, nil, "unbound")
	ch.getEmpty("")
	ch.publish("", q, nil, "1")
	ch.publish("", q, nil, "2")
	ch.counted(q, counts{2, 0}) // a passive declare counts as the last one too
	if n := ch.purge(""); n != 2 {
		t.Errorf("purged %d, want 2", n)
	}
	ch.consume("", "t", noAck)
	ch.publish("", q, nil, "3")
	ch.delivers("3")
	ch.cancel("t")
	if n := ch.deleteQueue("", 0); n != 0 {
		t.Errorf("deleted %d messages, want 0", n)
	}
	ch.refused(notFound, "no "+rs(q), queueDeclare, declareArgs(q, passive, nil)...)
}

// badArgument is a row of queues-ttl-dlx.md 1.4: a detail in quotes where it is a text.
type badArgument struct {
	key    string
	val    any
	detail string
}

var notInteger = []struct {
	val  any
	name string
}{
	{"5", "longstr"}, {5.5, "double"}, {float32(5), "float"}, {true, "bool"}, {stamp(5), "timestamp"}, {nil, "void"},
	{[]byte{5}, "binary"}, {array{}, "array"}, {table{}, "table"}, {decimal{1, 5}, "decimal"},
}

func badArguments() []badArgument {
	rows := []badArgument{
		{"x-message-ttl", -1, "{value_negative,-1}"},
		{"x-message-ttl", int64(315360000001), "{value_too_large,315360000001}"},
		{"x-expires", 0, "{value_zero,0}"},
		{"x-expires", -1, "{value_negative,-1}"},
		{"x-expires", int64(315360000001), "{value_too_large,315360000001}"},
		{"x-max-length", -5, "{value_negative,-5}"},
		{"x-max-length-bytes", -5, "{value_negative,-5}"},
		{"x-max-priority", 256, "{max_value_exceeded,256}"},
		{"x-max-priority", -1, "{value_negative,-1}"},
		{"x-overflow", "drop-tail", "invalid_overflow"},
		{"x-overflow", 1, "{unacceptable_type,signedint}"},
		{"x-dead-letter-routing-key", "k", "routing_key_but_no_dlx_defined"},
		{"x-single-active-consumer", 1, "{unacceptable_type,signedint}"},
		{"x-single-active-consumer", "true", "{unacceptable_type,longstr}"},
		{"x-queue-type", "bogus", `"unsupported queue type 'bogus'"`},
		{"x-queue-type", "", `"unsupported queue type ''"`},
		{"x-queue-type", "Classic", `"unsupported queue type 'Classic'"`},
		{"x-queue-type", 1, "{unacceptable_type,signedint}"},
		{"x-queue-mode", "bad", `"unsupported queue mode 'bad'"`},
		{"x-queue-version", 3, `"unsupported queue version '3'"`},
		{"x-queue-leader-locator", "nowhere", "invalid_queue_locator_arg"},
	}
	for _, key := range []string{"x-message-ttl", "x-expires", "x-max-length", "x-max-length-bytes", "x-max-priority"} {
		for _, v := range notInteger {
			rows = append(rows, badArgument{key, v.val, `"expected integer, got ` + v.name + `"`})
		}
	}
	return rows
}

func TestLine055ArgumentChecks(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	for _, row := range badArguments() {
		t.Run(fmt.Sprintf("%s %v", row.key, row.val), func(t *testing.T) {
			q := unique("q")
			text := "invalid arg '" + row.key + "' for " + rs(q) + ": " + row.detail
			ch.refused(preconditionFailed, text, queueDeclare, declareArgs(q, durable, table{{row.key, row.val}})...)
		})
	}
	t.Run("limits accepted", func(t *testing.T) {
		for _, a := range []table{
			{{"x-message-ttl", 0}}, {{"x-message-ttl", int64(315360000000)}}, {{"x-expires", int64(315360000000)}},
			{{"x-max-length", 0}}, {{"x-max-length-bytes", int64(1 << 40)}}, {{"x-max-priority", 0}}, {{"x-max-priority", uint8(255)}},
			{{"x-overflow", "drop-head"}}, {{"x-overflow", "reject-publish"}}, {{"x-overflow", "reject-publish-dlx"}},
			{{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", ""}}, {{"x-dead-letter-exchange", "not there"}},
			{{"x-single-active-consumer", false}}, {{"x-queue-mode", "lazy"}}, {{"x-queue-version", 2}}, {{"x-queue-type", "classic"}},
		} {
			ch.declare(unique("q"), exclusive, a)
		}
	})
	t.Run("dead-letter exchange of a wrong type", func(t *testing.T) {
		q := unique("q")
		text := "invalid type 'signedint' for arg 'x-dead-letter-exchange' in " + rs(q)
		ch.refused(preconditionFailed, text, queueDeclare, declareArgs(q, durable, table{{"x-dead-letter-exchange", 1}})...)
	})
}

func TestLine056UnknownArgument(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue(field{"foo", "bar"}, field{"x-foo", array{1, nil}}, field{"nested", table{{"a", table{}}}})
	ch.declare(q, exclusive, nil)
	ch.declare(q, exclusive, table{{"foo", 1}})

	// A type that the client names itself is held to: queues-ttl-dlx.md.
	quorum, classic := field{"x-queue-type", "quorum"}, field{"x-queue-type", "classic"}
	for _, row := range []struct {
		flags bits
		args  table
		text  string
	}{
		{0, table{quorum}, "invalid property 'non-durable' for Q"},
		{durable | autoDelete, table{quorum}, "invalid property 'auto-delete' for Q"},
		{durable | exclusive, table{quorum}, "invalid property 'exclusive-owner' for Q"},
		{durable, table{quorum, {"x-max-priority", 5}}, "invalid arg 'x-max-priority' for Q of queue type rabbit_quorum_queue"},
		{durable, table{quorum, {"x-queue-mode", "lazy"}}, "invalid arg 'x-queue-mode' for Q of queue type rabbit_quorum_queue"},
		{durable, table{classic, {"x-max-age", "1h"}}, "invalid arg 'x-max-age' for Q of queue type rabbit_classic_queue"},
	} {
		q := unique("q")
		ch.refused(preconditionFailed, strings.Replace(row.text, "Q", rs(q), 1), queueDeclare, declareArgs(q, row.flags, row.args)...)
	}
}
