package conformance

import (
	"strings"
	"testing"
)

// The user conf-perm may configure what has ~c in its name, write ~w, read ~r.
const permUser = "conf-perm"

func denied(right, what string) string {
	return right + " access to " + what + " refused for user '" + permUser + "'"
}

// granted makes a queue or exchange name with the letters of the rights.
func granted(kind, rights string) string {
	name := unique(kind)
	for _, r := range rights {
		name += "~" + string(r)
	}
	return name
}

func TestLine109PermissionMatrix(t *testing.T) {
	t.Parallel()
	boss := openChannel(t)
	user := openChannel(t, as(permUser, permUser))
	queue := func(rights string) string {
		q, _ := boss.declare(granted("q", rights), durable, nil)
		janitor.queue(t, q)
		return q
	}
	exchange := func(rights string) string {
		x := granted("x", rights)
		boss.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(x, "fanout", durable, nil)...).end()
		janitor.exchange(t, x)
		return x
	}
	no := func(t *testing.T, text string, id uint32, a ...any) {
		t.Helper()
		user.refused(accessRefused, text, id, a...)
	}
	t.Run("exchange.declare", func(t *testing.T) {
		x := granted("x", "wr")
		no(t, denied("configure", rx(x)), exchangeDeclare, exchangeArgs(x, "direct", 0, nil)...)
		alternate := func(name string) table { return table{{"alternate-exchange", name}} }
		x = granted("x", "cw")
		no(t, denied("read", rx(x)), exchangeDeclare, exchangeArgs(x, "direct", 0, alternate(granted("x", "w")))...)
		x, other := granted("x", "cr"), granted("x", "cr")
		no(t, denied("write", rx(other)), exchangeDeclare, exchangeArgs(x, "direct", 0, alternate(other))...)
		for _, a := range []table{nil, alternate(granted("x", "w"))} {
			x = granted("x", "cr")
			janitor.exchange(t, x)
			user.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(x, "direct", 0, a)...).end()
		}
	})
	t.Run("exchange.delete", func(t *testing.T) {
		x := exchange("wr")
		no(t, denied("configure", rx(x)), exchangeDelete, uint16(0), x, bits(0))
		user.deleteExchange(exchange("c"), 0)
	})
	t.Run("queue.declare", func(t *testing.T) {
		q := granted("q", "wr")
		no(t, denied("configure", rs(q)), queueDeclare, declareArgs(q, exclusive, nil)...)
		q = queue("wr")
		no(t, denied("configure", rs(q)), queueDeclare, declareArgs(q, durable, nil)...)
		dlx := func(name string) table { return table{{"x-dead-letter-exchange", name}} }
		q = granted("q", "cw")
		no(t, denied("read", rs(q)), queueDeclare, declareArgs(q, exclusive, dlx(granted("x", "w")))...)
		q, x := granted("q", "cr"), granted("x", "cr")
		no(t, denied("write", rx(x)), queueDeclare, declareArgs(q, exclusive, dlx(x))...)
		no(t, denied("write", rx("amq.default")), queueDeclare, declareArgs(q, exclusive, dlx(""))...)
		user.declare(q, exclusive, dlx(granted("x", "w")))
		user.declare(granted("q", "c"), exclusive, nil)
		// A made name is checked as well.
		user.send(queueDeclare, declareArgs("", exclusive, nil)...)
		user.closed(accessRefused, "configure access to queue 'amq.gen-…", queueDeclare)
		user.open()
	})
	t.Run("queue.delete", func(t *testing.T) {
		q := queue("wr")
		no(t, denied("configure", rs(q)), queueDelete, uint16(0), q, bits(0))
		user.deleteQueue(queue("c"), 0)
	})
	t.Run("queue.bind, unbind", func(t *testing.T) {
		q, x := queue("cr"), exchange("r")
		no(t, denied("write", rs(q)), queueBind, uint16(0), q, x, "", bits(0), table{})
		no(t, denied("write", rs(q)), queueUnbind, uint16(0), q, x, "", table{})
		q, x = queue("w"), exchange("cw")
		no(t, denied("read", rx(x)), queueBind, uint16(0), q, x, "", bits(0), table{})
		no(t, denied("read", rx(x)), queueUnbind, uint16(0), q, x, "", table{})
		x = exchange("r")
		user.bind(q, x, "")
		user.unbind(q, x, "")
	})
	t.Run("exchange.bind, unbind", func(t *testing.T) {
		d, s := exchange("cr"), exchange("r")
		no(t, denied("write", rx(d)), exchangeBind, uint16(0), d, s, "", bits(0), table{})
		no(t, denied("write", rx(d)), exchangeUnbind, uint16(0), d, s, "", bits(0), table{})
		d, s = exchange("w"), exchange("cw")
		no(t, denied("read", rx(s)), exchangeBind, uint16(0), d, s, "", bits(0), table{})
		no(t, denied("read", rx(s)), exchangeUnbind, uint16(0), d, s, "", bits(0), table{})
		s = exchange("r")
		user.bindExchange(d, s, "")
		user.call(exchangeUnbindOk, exchangeUnbind, uint16(0), d, s, "", bits(0), table{}).end()
	})
	t.Run("publish", func(t *testing.T) {
		for _, x := range []string{exchange("cr"), "", granted("x", "cr")} { // the last does not exist
			shown := x
			if x == "" {
				shown = "amq.default"
			}
			user.publish(x, "k", nil, "m")
			user.closed(accessRefused, denied("write", rx(shown)), basicPublish)
			user.open()
		}
		x, q := exchange("w"), boss.queue()
		boss.bind(q, x, "")
		user.confirms()
		user.publish(x, "", nil, "m")
		user.confirmed(1, 1)
		boss.get(q, 1)
	})
	t.Run("consume, get, purge", func(t *testing.T) {
		q := queue("cw")
		no(t, denied("read", rs(q)), basicConsume, consumeArgs(q, "t", 0, nil)...)
		no(t, denied("read", rs(q)), basicGet, uint16(0), q, bits(0))
		no(t, denied("read", rs(q)), queuePurge, uint16(0), q, bits(0))
		q = queue("r")
		user.consume(q, "t", 0)
		user.cancel("t")
		user.getEmpty(q)
		user.purge(q)
	})
	t.Run("passive declare", func(t *testing.T) {
		for _, rights := range []string{"c", "w", "r"} {
			user.count(queue(rights))
			user.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(exchange(rights), "", passive, nil)...).end()
		}
		q := queue("")
		if broker.rabbit { // 4.0 asks for no right; [M] of amqp.md 16 as 4.3
			user.count(q)
			return
		}
		no(t, "…", queueDeclare, declareArgs(q, passive, nil)...)
		no(t, "…", exchangeDeclare, exchangeArgs(exchange(""), "", passive, nil)...)
	})
}

func TestLine110RefusedBeforeMissing(t *testing.T) {
	t.Parallel()
	user := openChannel(t, as(permUser, permUser))
	q, x := granted("q", "c"), granted("x", "")
	user.refused(accessRefused, denied("read", rs(q)), basicConsume, consumeArgs(q, "t", 0, nil)...)
	user.refused(accessRefused, denied("read", rs(q)), basicGet, uint16(0), q, bits(0))
	user.refused(accessRefused, denied("read", rs(q)), queuePurge, uint16(0), q, bits(0))
	user.refused(accessRefused, denied("write", rs(q)), queueBind, uint16(0), q, x, "", bits(0), table{})
	user.refused(accessRefused, denied("configure", rx(x)), exchangeDelete, uint16(0), x, bits(0))
	q = granted("q", "w")
	user.refused(accessRefused, denied("configure", rs(q)), queueDelete, uint16(0), q, bits(0))
	user.refused(accessRefused, denied("read", rx(x)), queueBind, uint16(0), q, x, "", bits(0), table{})
	q = granted("q", "r")
	user.refused(notFound, "no "+rs(q), basicGet, uint16(0), q, bits(0))
}

func TestLine111TopicPermissions(t *testing.T) {
	t.Parallel()
	const topicUser = "conf-topic" // on amq.topic: write (ok|{username}|{vhost}).…, read (ok|{username}).…
	ch := openChannel(t, as(topicUser, topicUser))
	refusal := func(right, key string) string {
		return right + " access to topic '" + key + "' in " + rx("amq.topic") + " refused for user '" + topicUser + "'"
	}
	q := ch.queue()
	mark := unique("k")
	for _, key := range []string{"ok." + mark, topicUser + "." + mark, "ok.*." + mark} {
		ch.bind(q, "amq.topic", key)
	}
	for _, key := range []string{"no." + mark, "#", "okay", mark, broker.vhost + "." + mark} {
		ch.refused(accessRefused, refusal("read", key), queueBind, uint16(0), q, "amq.topic", key, bits(0), table{})
	}
	ch.publish("amq.topic", "ok."+mark, nil, "1")
	ch.publish("amq.topic", topicUser+"."+mark, nil, "2")
	ch.publish("amq.topic", broker.vhost+"."+mark, props{pHeaders: table{{"CC", array{"ok.a." + mark}}}}, "3")
	if got := ch.drained(q); strings.Join(got, "") != "123" {
		t.Errorf("the queue holds %q", got)
	}
	for _, row := range []struct {
		key     string
		headers table
		refused string
	}{
		{"no.x", nil, "no.x"},
		{"ok.x", table{{"CC", array{"ok.y", "no.y"}}}, "no.y"},
		{"ok.x", table{{"BCC", array{"no.z"}}}, "no.z"},
	} {
		ch.publish("amq.topic", row.key, props{pHeaders: append(table{}, row.headers...)}, "m")
		ch.closed(accessRefused, refusal("write", row.refused), basicPublish)
		ch.open()
	}
	x := ch.exchange("topic", 0) // no row for this one, nor for exchanges of other types
	ch.bind(q, x, "no.#")
	ch.bind(q, "amq.direct", "no."+mark)
	ch.publish(x, "no.x", nil, "4")
	ch.publish("amq.direct", "no."+mark, nil, "5")
	if got := ch.drained(q); strings.Join(got, "") != "45" {
		t.Errorf("the queue holds %q", got)
	}
}

func TestLine113Limits(t *testing.T) {
	t.Parallel()
	t.Run("connections of a user", func(t *testing.T) {
		one := as("conf-one", "conf-one")
		first := open(t, one)
		halfOpen(t, one).closed(notAllowed, "connection refused for user 'conf-one': user connection limit (1) is reached", connectionOpen)
		first.close()
		reopens(t, one)
	})
	t.Run("channels of a user", func(t *testing.T) {
		two := as("conf-two", "conf-two")
		a, b := open(t, two), open(t, two)
		a.channel(1)
		b.channel(1)
		b.send(2, method(channelOpen, ""))
		// RabbitMQ names the node instead of the user, which is a slip of its own.
		if broker.rabbit {
			b.closed(notAllowed, "number of channels opened for user '…", anyID)
			return
		}
		b.closed(notAllowed, "number of channels opened for user 'conf-two' has reached the maximum allowed user limit of (2)", anyID)
	})
	t.Run("connections of a vhost", func(t *testing.T) {
		first := open(t, vhost("conf-few"))
		text := "access to vhost 'conf-few' refused for user '" + broker.user + "': connection limit (1) is reached"
		halfOpen(t, vhost("conf-few")).closed(notAllowed, text, connectionOpen)
		first.close()
		reopens(t, vhost("conf-few"))
	})
	t.Run("queues of a vhost", func(t *testing.T) {
		ch := openChannel(t, vhost("conf-small"))
		a := ch.queue()
		ch.queue()
		q := unique("q")
		text := "cannot declare queue '" + q + "': queue limit in vhost 'conf-small' (2) is reached"
		ch.refused(preconditionFailed, text, queueDeclare, declareArgs(q, exclusive, nil)...)
		ch.declare(a, exclusive, nil) // one that exists
		ch.deleteQueue(a, 0)
		ch.declare(q, exclusive, nil)
	})
}

// reopens waits until a connection is admitted: a place is free some time after
// the connection that held it has ended.
func reopens(t *testing.T, o option) {
	t.Helper()
	eventually(t, func() bool {
		c := halfOpen(t, o)
		f, err := c.next(0, patience)
		c.drop()
		return err == nil && f.id() == connectionOpenOk
	}, func() string { return "the place of a closed connection was not free again" })
}
