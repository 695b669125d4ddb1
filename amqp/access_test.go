package amqp

import (
	"fmt"
	"slices"
	"testing"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
)

// accessForms is one working call for each row of the access table. res names the
// resource of each role.
var accessForms = map[string]struct {
	m   wire.Method
	res map[role]string
}{
	"exchange.declare":           {&wire.ExchangeDeclare{Exchange: "newx", Type: "direct"}, map[role]string{roleExchange: "newx"}},
	"exchange.declare passive":   {&wire.ExchangeDeclare{Exchange: "x", Passive: true}, map[role]string{roleExchange: "x"}},
	"exchange.declare alternate": {&wire.ExchangeDeclare{Exchange: "newx", Type: "direct", Arguments: wire.AppendString(nil, "alternate-exchange", "ae")}, map[role]string{roleExchange: "newx", roleAlternate: "ae"}},
	"exchange.delete":            {&wire.ExchangeDelete{Exchange: "x"}, map[role]string{roleExchange: "x"}},
	"exchange.bind":              {&wire.ExchangeBind{Destination: "x", Source: "y"}, map[role]string{roleDestination: "x", roleSource: "y"}},
	"exchange.unbind":            {&wire.ExchangeUnbind{Destination: "x", Source: "y"}, map[role]string{roleDestination: "x", roleSource: "y"}},
	"queue.declare":              {&wire.QueueDeclare{Queue: "newq"}, map[role]string{roleQueue: "newq"}},
	"queue.declare passive":      {&wire.QueueDeclare{Queue: "q", Passive: true}, map[role]string{roleQueue: "q"}},
	"queue.declare dead-letter":  {&wire.QueueDeclare{Queue: "newq", Arguments: wire.AppendString(nil, "x-dead-letter-exchange", "")}, map[role]string{roleQueue: "newq", roleDeadLetter: "amq.default"}},
	"queue.delete":               {&wire.QueueDelete{Queue: "q"}, map[role]string{roleQueue: "q"}},
	"queue.bind":                 {&wire.QueueBind{Queue: "q", Exchange: "x"}, map[role]string{roleQueue: "q", roleExchange: "x"}},
	"queue.unbind":               {&wire.QueueUnbind{Queue: "q", Exchange: "x"}, map[role]string{roleQueue: "q", roleExchange: "x"}},
	"queue.purge":                {&wire.QueuePurge{Queue: "q"}, map[role]string{roleQueue: "q"}},
	"basic.consume":              {&wire.BasicConsume{Queue: "q"}, map[role]string{roleQueue: "q"}},
	"basic.get":                  {&wire.BasicGet{Queue: "q"}, map[role]string{roleQueue: "q"}},
	"basic.publish":              {&wire.BasicPublish{Exchange: "x"}, map[role]string{roleExchange: "x"}},
}

func (r accessRow) name() string {
	return r.method.String() + [...]string{"", " passive", " dead-letter", " alternate"}[r.when]
}

// rightsOf gives the rights a form needs: those of its row, and of the plain row
// when it only adds to it.
func rightsOf(row accessRow) []need {
	if row.when == ifDeadLetter || row.when == ifAlternate {
		return append(slices.Clone(accessNeeds(row.method, always).needs), row.needs...)
	}
	return row.needs
}

// Checklist 109 and X8: the table is walked, every cell allowed and refused, with
// exact texts, and nothing beyond the table is needed.
func TestChecklist109Matrix(t *testing.T) {
	if len(accessForms) != len(accessTable) {
		t.Errorf("%d rows, %d forms", len(accessTable), len(accessForms))
	}
	for _, row := range accessTable {
		form, ok := accessForms[row.name()]
		if !ok {
			t.Errorf("no form of %s", row.name())
			continue
		}
		needs := rightsOf(row)
		for missing := range len(needs) + 1 { // the last round lacks nothing
			t.Run(fmt.Sprintf("%s/%d", row.name(), missing), func(t *testing.T) {
				granted := [4][]string{}
				for i, n := range needs {
					if row.any && missing < len(needs) && i != missing || !row.any && i == missing {
						continue // any: only one of them is granted; else: all but one
					}
					granted[n.right] = append(granted[n.right], form.res[n.role])
				}
				r, p := accessRig(t, granted)
				r.broker.settle()
				send := func() {
					p.send(1, form.m)
					if form.m.ID() == wire.BasicPublishID {
						p.content(1, noProps, "")
						p.send(1, &wire.AccessRequest{})
					}
				}
				send()
				_, got, _ := p.next()
				close, refused := got.(*wire.ChannelClose)
				if row.any || missing == len(needs) {
					if refused {
						t.Fatalf("refused: %s", close.ReplyText)
					}
					return
				}
				n := needs[missing]
				want := fmt.Sprintf("ACCESS_REFUSED - %s access to %s refused for user 'u'", n.right, resourceText(n.role, "/", form.res[n.role]))
				if !refused || close.ReplyCode != 403 || close.ReplyText != want {
					t.Fatalf("got %s\nwant 403 %s", describe(got), want)
				}
			})
		}
	}
}

// accessRig is a vhost with queue q and exchanges x, y, and a user who has the
// rights on exactly these names.
func accessRig(t *testing.T, granted [4][]string) (owner, user *chanRig) {
	r := newChanRig(t)
	r.declare("q", nil)
	for _, x := range []string{"x", "y"} {
		r.call(1, &wire.ExchangeDeclare{Exchange: x, Type: "direct"}, &wire.ExchangeDeclareOk{})
	}
	pattern := func(right catalog.Right) string {
		s := "^("
		for i, name := range granted[right] {
			if i > 0 {
				s += "|"
			}
			s += name
		}
		if len(granted[right]) == 0 {
			return "^$"
		}
		return s + ")$"
	}
	r.broker.must(t, catalog.PutUser{Name: "u"}, catalog.PutPermission{User: "u", Vhost: "/",
		Configure: pattern(catalog.Configure), Write: pattern(catalog.Write), Read: pattern(catalog.Read)})
	return r, openRig(t, r.server, r.broker, r.clock, "u")
}

// A user without any of the three rights may not even look.
func TestPassiveNeedsOneRight(t *testing.T) {
	_, p := accessRig(t, [4][]string{})
	p.refused(&wire.QueueDeclare{Queue: "q", Passive: true}, 403, "ACCESS_REFUSED - configure access to queue 'q' in vhost '/' refused for user 'u'")
	p.refused(&wire.ExchangeDeclare{Exchange: "x", Passive: true}, 403, "ACCESS_REFUSED - configure access to exchange 'x' in vhost '/' refused for user 'u'")
}

// Checklist 110: 403 before 404.
func TestChecklist110NothingLearnt(t *testing.T) {
	_, p := accessRig(t, [4][]string{})
	for _, m := range []wire.Method{&wire.BasicGet{Queue: "none"}, &wire.BasicConsume{Queue: "none"}, &wire.QueuePurge{Queue: "none"}} {
		p.refused(m, 403, "ACCESS_REFUSED - read access to queue 'none' in vhost '/' refused for user 'u'")
	}
	p.refused(&wire.QueueDelete{Queue: "none"}, 403, "ACCESS_REFUSED - configure access to queue 'none' in vhost '/' refused for user 'u'")
	p.publish(1, message{exchange: "none"})
	p.closed(403, "ACCESS_REFUSED - write access to exchange 'none' in vhost '/' refused for user 'u'", wire.BasicPublishID)
}

// Every method that a client may send either is in the table or needs no right.
func TestEveryMethodIsJudged(t *testing.T) {
	free := []wire.ID{
		wire.ChannelFlowID, wire.AccessRequestID, wire.BasicQosID, wire.BasicCancelID, wire.BasicAckID, wire.BasicRejectID,
		wire.BasicNackID, wire.BasicRecoverID, wire.BasicRecoverAsyncID, wire.ConfirmSelectID, wire.TxSelectID, wire.TxCommitID, wire.TxRollbackID,
	}
	for class := uint32(30); class <= 90; class++ {
		for method := uint32(1); method < 130; method++ {
			id := wire.ID(class<<16 | method)
			if id.FromClient() && accessNeeds(id, always) == nil && !slices.Contains(free, id) && id != wire.BasicCancelOkID {
				t.Errorf("%s needs no right and is not said to", id)
			}
		}
	}
}

// Checklist 111.
func TestChecklist111Topics(t *testing.T) {
	r := newChanRig(t)
	r.declare("q", nil)
	bind := &wire.QueueBind{Queue: "q", Exchange: "amq.topic", RoutingKey: "a.#"}
	r.call(1, bind, &wire.QueueBindOk{})
	r.broker.must(t, catalog.PutTopicPermission{User: "guest", Vhost: "/", Exchange: "amq.topic", Write: "^a", Read: "^b"})
	r.publish(1, message{exchange: "amq.topic", key: "a.x", body: "1"}, message{exchange: "amq.direct", key: "z"})
	r.quiet()
	r.ready("q", "1")
	r.publish(1, message{exchange: "amq.topic", key: "c.x"})
	const text = "ACCESS_REFUSED - %s access to topic '%s' in exchange 'amq.topic' in vhost '/' refused for user 'guest'"
	r.closed(403, fmt.Sprintf(text, "write", "c.x"), wire.BasicPublishID)
	r.publish(1, message{exchange: "amq.topic", key: "a.x", props: headersOnly(copies("BCC", "a", "d"))})
	r.closed(403, fmt.Sprintf(text, "write", "d"), wire.BasicPublishID)
	r.refused(bind, 403, fmt.Sprintf(text, "read", "a.#"))
	r.call(1, &wire.QueueBind{Queue: "q", Exchange: "amq.topic", RoutingKey: "b"}, &wire.QueueBindOk{})
}

func TestRightsCacheIsBounded(t *testing.T) {
	r := newChanRig(t)
	for i := range 3 * maxRights {
		r.call(1, &wire.ExchangeDeclare{Exchange: fmt.Sprint("x", i), Type: "direct"}, &wire.ExchangeDeclareOk{})
	}
	if n := len(r.channel(1).rights.known); n > maxRights {
		t.Errorf("%d rights remembered", n)
	}
}
