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

// matrix is the boss who may do all, and the user who may do little.
type matrix struct {
	t          *testing.T
	boss, user *channel
}

// queue is made by the boss; its name grants the user these rights.
func (m matrix) queue(rights string) string {
	q, _ := m.boss.declare(granted("q", rights), durable, nil)
	janitor.queue(m.t, q)
	return q
}

func (m matrix) exchange(rights string) string {
	x := granted("x", rights)
	m.boss.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(x, "fanout", durable, nil)...).end()
	janitor.exchange(m.t, x)
	return x
}

// no demands that the user is refused.
func (m matrix) no(text string, id uint32, a ...any) {
	m.t.Helper()
	m.user.refused(accessRefused, text, id, a...)
}

func TestLine109PermissionMatrix(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		check func(m matrix)
	}{
		{"exchange.declare", matrix.exchangeDeclareRow},
		{"exchange.delete", matrix.exchangeDeleteRow},
		{"queue.declare", matrix.queueDeclareRow},
		{"queue.delete", matrix.queueDeleteRow},
		{"queue.bind, unbind", matrix.queueBindRow},
		{"exchange.bind, unbind", matrix.exchangeBindRow},
		{"publish", matrix.publishRow},
		{"consume, get, purge", matrix.readRow},
		{"passive declare", matrix.passiveRow},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.check(matrix{t, openChannel(t), openChannel(t, as(permUser, permUser))})
		})
	}
}

func (m matrix) exchangeDeclareRow() {
	x := granted("x", "wr")
	m.no(denied("configure", rx(x)), exchangeDeclare, exchangeArgs(x, "direct", 0, nil)...)
	alternate := func(name string) table { return table{{"alternate-exchange", name}} }
	x = granted("x", "cw")
	m.no(denied("read", rx(x)), exchangeDeclare, exchangeArgs(x, "direct", 0, alternate(granted("x", "w")))...)
	x, other := granted("x", "cr"), granted("x", "cr")
	m.no(denied("write", rx(other)), exchangeDeclare, exchangeArgs(x, "direct", 0, alternate(other))...)
	for _, a := range []table{nil, alternate(granted("x", "w"))} {
		x = granted("x", "cr")
		janitor.exchange(m.t, x)
		m.user.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(x, "direct", 0, a)...).end()
	}
}

func (m matrix) exchangeDeleteRow() {
	x := m.exchange("wr")
	m.no(denied("configure", rx(x)), exchangeDelete, uint16(0), x, bits(0))
	m.user.deleteExchange(m.exchange("c"), 0)
}

func (m matrix) queueDeclareRow() {
	q := granted("q", "wr")
	m.no(denied("configure", rs(q)), queueDeclare, declareArgs(q, exclusive, nil)...)
	q = m.queue("wr")
	m.no(denied("configure", rs(q)), queueDeclare, declareArgs(q, durable, nil)...)
	dlx := func(name string) table { return table{{"x-dead-letter-exchange", name}} }
	q = granted("q", "cw")
	m.no(denied("read", rs(q)), queueDeclare, declareArgs(q, exclusive, dlx(granted("x", "w")))...)
	q, x := granted("q", "cr"), granted("x", "cr")
	m.no(denied("write", rx(x)), queueDeclare, declareArgs(q, exclusive, dlx(x))...)
	m.no(denied("write", rx("amq.default")), queueDeclare, declareArgs(q, exclusive, dlx(""))...)
	m.user.declare(q, exclusive, dlx(granted("x", "w")))
	m.user.declare(granted("q", "c"), exclusive, nil)
	// A made name is checked as well.
	m.user.send(queueDeclare, declareArgs("", exclusive, nil)...)
	m.user.closed(accessRefused, "configure access to queue 'amq.gen-…", queueDeclare)
	m.user.open()
}

func (m matrix) queueDeleteRow() {
	q := m.queue("wr")
	m.no(denied("configure", rs(q)), queueDelete, uint16(0), q, bits(0))
	m.user.deleteQueue(m.queue("c"), 0)
}

func (m matrix) queueBindRow() {
	q, x := m.queue("cr"), m.exchange("r")
	m.no(denied("write", rs(q)), queueBind, uint16(0), q, x, "", bits(0), table{})
	m.no(denied("write", rs(q)), queueUnbind, uint16(0), q, x, "", table{})
	q, x = m.queue("w"), m.exchange("cw")
	m.no(denied("read", rx(x)), queueBind, uint16(0), q, x, "", bits(0), table{})
	m.no(denied("read", rx(x)), queueUnbind, uint16(0), q, x, "", table{})
	x = m.exchange("r")
	m.user.bind(q, x, "")
	m.user.unbind(q, x, "")
}

func (m matrix) exchangeBindRow() {
	d, s := m.exchange("cr"), m.exchange("r")
	m.no(denied("write", rx(d)), exchangeBind, uint16(0), d, s, "", bits(0), table{})
	m.no(denied("write", rx(d)), exchangeUnbind, uint16(0), d, s, "", bits(0), table{})
	d, s = m.exchange("w"), m.exchange("cw")
	m.no(denied("read", rx(s)), exchangeBind, uint16(0), d, s, "", bits(0), table{})
	m.no(denied("read", rx(s)), exchangeUnbind, uint16(0), d, s, "", bits(0), table{})
	s = m.exchange("r")
	m.user.bindExchange(d, s, "")
	m.user.call(exchangeUnbindOk, exchangeUnbind, uint16(0), d, s, "", bits(0), table{}).end()
}

func (m matrix) publishRow() {
	for _, x := range []string{m.exchange("cr"), "", granted("x", "cr")} { // the last does not exist
		shown := x
		if x == "" {
			shown = "amq.default"
		}
		m.user.publish(x, "k", nil, "m")
		m.user.closed(accessRefused, denied("write", rx(shown)), basicPublish)
		m.user.open()
	}
	x, q := m.exchange("w"), m.boss.queue()
	m.boss.bind(q, x, "")
	m.user.confirms()
	m.user.publish(x, "", nil, "m")
	m.user.confirmed(1, 1)
	m.boss.get(q, 1)
}

func (m matrix) readRow() {
	q := m.queue("cw")
	m.no(denied("read", rs(q)), basicConsume, consumeArgs(q, "t", 0, nil)...)
	m.no(denied("read", rs(q)), basicGet, uint16(0), q, bits(0))
	m.no(denied("read", rs(q)), queuePurge, uint16(0), q, bits(0))
	q = m.queue("r")
	m.user.consume(q, "t", 0)
	m.user.cancel("t")
	m.user.getEmpty(q)
	m.user.purge(q)
}

func (m matrix) passiveRow() {
	for _, rights := range []string{"c", "w", "r"} {
		m.user.count(m.queue(rights))
		m.user.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(m.exchange(rights), "", passive, nil)...).end()
	}
	q := m.queue("")
	if broker.rabbit { // 4.0 asks for no right; [M] of amqp.md 16 as 4.3
		m.user.count(q)
		return
	}
	m.no("…", queueDeclare, declareArgs(q, passive, nil)...)
	m.no("…", exchangeDeclare, exchangeArgs(m.exchange(""), "", passive, nil)...)
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
