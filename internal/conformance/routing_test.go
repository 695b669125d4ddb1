package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestLine070TopicTable(t *testing.T) {
	t.Parallel()
	keys := []string{"", "a", "b", "a.b", ".", "a.", ".a", "..", "x.y.a", "a..b", "a.x.y.b", "a.b.", "a.x.b", "ab", "a*", "a#", "*", "#", "x.y", "a.*.b"}
	// want is the whole table: which of the keys each pattern lets through.
	want := map[string][]string{
		"#":     keys,
		"*":     {"a", "b", "ab", "a*", "a#", "*", "#"},
		"":      {""},
		"*.*":   {"a.b", ".", "a.", ".a", "x.y"},
		"#.a":   {"a", ".a", "x.y.a"},
		"a.#":   {"a", "a.b", "a.", "a..b", "a.x.y.b", "a.b.", "a.x.b", "a.*.b"},
		"a.#.b": {"a.b", "a..b", "a.x.y.b", "a.x.b", "a.*.b"},
		"a.*.b": {"a.x.b", "a..b", "a.*.b"},
		"*.#":   keys[1:],
		"#.*":   keys[1:],
		"#.#":   keys,
		"a*":    {"a*"},
		"a#":    {"a#"},
		"a":     {"a"},
		"a.b":   {"a.b"},
	}
	ch := openChannel(t)
	for pattern, match := range want {
		x, q := ch.exchange("topic", 0), ch.queue()
		ch.bind(q, x, pattern)
		for _, k := range keys {
			ch.publish(x, k, nil, k)
		}
		got := ch.drained(q)
		slices.Sort(got)
		wanted := slices.Sorted(slices.Values(match))
		if !slices.Equal(got, wanted) {
			t.Errorf("pattern %q lets through %q, want %q", pattern, got, wanted)
		}
	}
	t.Run("all on one exchange", func(t *testing.T) {
		x, queues := ch.exchange("topic", 0), map[string]string{}
		for pattern := range want {
			queues[pattern] = ch.queue()
			ch.bind(queues[pattern], x, pattern)
		}
		for _, k := range keys {
			ch.publish(x, k, nil, k)
		}
		for pattern, q := range queues {
			got := ch.drained(q)
			slices.Sort(got)
			if wanted := slices.Sorted(slices.Values(want[pattern])); !slices.Equal(got, wanted) {
				t.Errorf("pattern %q lets through %q, want %q", pattern, got, wanted)
			}
		}
	})
}

func TestLine071Headers(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	match := func(mode string) field { return field{"x-match", mode} }
	one := field{"a", 1}
	for _, row := range []struct {
		name          string
		args          table
		headers       table
		mayfly, other bool // routed on Mayfly, on RabbitMQ
	}{
		{"all, both there", table{match("all"), one, {"b", "x"}}, table{{"b", "x"}, one, {"c", 9}}, true, true},
		{"all is the default", table{one, {"b", "x"}}, table{one}, false, false},
		{"all, one missing", table{match("all"), one, {"b", "x"}}, table{one}, false, false},
		{"all, other value", table{match("all"), one}, table{{"a", 2}}, false, false},
		{"all ignores x-", table{match("all"), one, {"x-b", 1}}, table{one}, true, true},
		{"any, one there", table{match("any"), one, {"b", "x"}}, table{{"b", "x"}}, true, true},
		{"any, none there", table{match("any"), one, {"b", "x"}}, table{{"b", "y"}}, false, false},
		{"any ignores x-", table{match("any"), {"x-b", 1}}, table{{"x-b", 1}}, false, false},
		{"all-with-x, there", table{match("all-with-x"), one, {"x-b", 1}}, table{one, {"x-b", 1}}, true, true},
		{"all-with-x, missing", table{match("all-with-x"), one, {"x-b", 1}}, table{one}, false, false},
		{"any-with-x", table{match("any-with-x"), one, {"x-b", 1}}, table{{"x-b", 1}}, true, true},
		{"void: any value", table{{"a", nil}}, table{{"a", "whatever"}}, true, true},
		{"void: absent", table{{"a", nil}}, table{{"b", 1}}, false, false},
		{"no arguments", table{}, table{{"b", 1}}, true, true},
		{"no arguments, no headers", table{}, nil, true, true},
		{"all with x- alone", table{match("all"), {"x-b", 1}}, nil, true, true},
		{"any with nothing", table{match("any")}, table{one}, false, false},
		{"no headers", table{one}, nil, false, false},
		{"wider number", table{one}, table{{"a", int64(1)}}, true, true},
		{"narrower number", table{{"a", int64(1)}}, table{{"a", uint8(1)}}, true, true},
		{"float is not int", table{one}, table{{"a", 1.0}}, false, false},
		{"double", table{{"a", 1.5}}, table{{"a", 1.5}}, true, true},
		{"text is not number", table{one}, table{{"a", "1"}}, false, false},
		{"bool is not int", table{one}, table{{"a", true}}, false, false},
		{"bool", table{{"a", true}}, table{{"a", true}}, true, true},
		{"case of names", table{{"A", 1}}, table{one}, false, false},
		{"array", table{{"a", array{1, "x"}}}, table{{"a", array{1, "x"}}}, true, true},
		{"other array", table{{"a", array{1, "x"}}}, table{{"a", array{1, "y"}}}, false, false},
		{"table", table{{"a", table{{"k", 1}}}}, table{{"a", table{{"k", 1}}}}, true, true},
		{"timestamp", table{{"a", stamp(1700000000)}}, table{{"a", stamp(1700000000)}}, true, false}, // [M]
		{"empty text", table{{"a", ""}}, table{{"a", ""}}, true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			x, q := ch.exchange("headers", 0), ch.queue()
			ch.bind(q, x, "ignored", row.args...)
			p := props{}
			if row.headers != nil {
				p[pHeaders] = row.headers
			}
			ch.publish(x, "any key", p, "m")
			want := pick(row.mayfly, row.other)
			if got := ch.drained(q); (len(got) == 1) != want {
				t.Errorf("routed %d times, want routed: %v", len(got), want)
			}
		})
	}
	badMatch(ch)
}

func badMatch(ch *channel) {
	q, x := ch.queue(), ch.exchange("headers", 0)
	for _, row := range []struct {
		val  any
		text string
	}{
		{"some", `Invalid x-match field value <<"some">>; expected all, any, all-with-x, or any-with-x`},
		{1, "Invalid x-match field type signedint (value 1); expected longstr"},
	} {
		ch.refused(preconditionFailed, row.text, queueBind, uint16(0), q, x, "", bits(0), table{{"x-match", row.val}})
	}
}

func TestLine072OneCopy(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	q := ch.queue()
	once := func(t *testing.T, x, key string, p props) {
		t.Helper()
		ch.publish(x, key, p, "m")
		if got := ch.drained(q); len(got) != 1 {
			t.Errorf("%d copies, want 1", len(got))
		}
	}
	t.Run("overlapping bindings", func(t *testing.T) {
		x := ch.exchange("topic", 0)
		for _, k := range []string{"#", "a.*", "*.b", "a.b", "a.#"} {
			ch.bind(q, x, k)
		}
		once(t, x, "a.b", nil)
	})
	t.Run("CC", func(t *testing.T) {
		x := ch.exchange("direct", 0)
		for _, k := range []string{"1", "2", "3"} {
			ch.bind(q, x, k)
		}
		once(t, x, "1", props{pHeaders: table{{"BCC", array{"3", "1"}}, {"CC", array{"2", "3", "none"}}}})
		once(t, x, "none", props{pHeaders: table{{"CC", array{"2"}}}})
		once(t, x, "none", props{pHeaders: table{{"BCC", array{"2"}}}})
		once(t, "", "none"+q, props{pHeaders: table{{"CC", array{q}}}})
	})
	t.Run("diamond", func(t *testing.T) {
		top, left, right, bottom := ch.exchange("fanout", 0), ch.exchange("fanout", 0), ch.exchange("direct", 0), ch.exchange("topic", 0)
		ch.bindExchange(left, top, "")
		ch.bindExchange(right, top, "")
		ch.bindExchange(bottom, left, "")
		ch.bindExchange(bottom, right, "k")
		ch.bind(q, bottom, "#")
		ch.bind(q, left, "")
		once(t, top, "k", nil)
	})
	t.Run("cycle", func(t *testing.T) {
		a, b, c := ch.exchange("fanout", 0), ch.exchange("fanout", 0), ch.exchange("fanout", 0)
		ch.bindExchange(b, a, "")
		ch.bindExchange(c, b, "")
		ch.bindExchange(a, c, "")
		ch.bindExchange(a, a, "")
		ch.bind(q, c, "")
		for _, x := range []string{a, b, c} {
			once(t, x, "k", nil)
		}
	})
	t.Run("every queue", func(t *testing.T) {
		x := ch.exchange("fanout", 0)
		var qs []string
		for range 20 {
			qs = append(qs, ch.queue())
			ch.bind(qs[len(qs)-1], x, "")
		}
		ch.publish(x, "", nil, "m")
		for _, q := range qs {
			if got := ch.drained(q); len(got) != 1 {
				t.Errorf("%d copies, want 1", len(got))
			}
		}
	})
}

func TestLine073AlternateExchange(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	alternate := func(x string) field { return field{"alternate-exchange", x} }
	q, lost := ch.queue(), ch.queue()
	catch := ch.exchange("fanout", internal)
	ch.bind(lost, catch, "")
	x := ch.exchange("direct", 0, alternate(catch))
	ch.bind(q, x, "k")
	ch.publish(x, "k", nil, "hit")
	ch.publish(x, "other", nil, "miss")
	if got := ch.drained(q); !slices.Equal(got, []string{"hit"}) {
		t.Errorf("the queue holds %q", got)
	}
	if m := ch.get(lost, 1); m.body != "miss" || m.exchange != x || m.key != "other" {
		t.Errorf("the alternate was given %+v, want the original exchange and key", m)
	}
	ch.getEmpty(lost)

	t.Run("chain", func(t *testing.T) {
		second := ch.exchange("direct", 0, alternate(catch))
		first := ch.exchange("direct", 0, alternate(second))
		ch.publish(first, "k", nil, "m")
		if got := ch.drained(lost); !slices.Equal(got, []string{"m"}) {
			t.Errorf("the end of the chain holds %q", got)
		}
	})
	t.Run("missing alternate", func(t *testing.T) {
		x := ch.exchange("direct", 0, alternate(unique("missing")))
		ch.publishWith(x, "k", mandatory, nil, "m")
		ch.returned()
	})
	t.Run("loop", func(t *testing.T) {
		name := unique("x")
		other := ch.exchange("direct", 0, alternate(name))
		ch.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(name, "direct", 0, table{alternate(other)})...).end()
		janitor.exchange(t, name)
		self := unique("x")
		ch.call(exchangeDeclareOk, exchangeDeclare, exchangeArgs(self, "direct", 0, table{alternate(self)})...).end()
		janitor.exchange(t, self)
		for _, x := range []string{name, other, self} {
			ch.publishWith(x, "k", mandatory, nil, x)
			if m := ch.returned(); m.body != x || m.exchange != x {
				t.Errorf("returned %+v", m)
			}
		}
	})
	t.Run("on the way through e2e", func(t *testing.T) {
		inner := ch.exchange("direct", 0, alternate(catch))
		outer := ch.exchange("fanout", 0)
		ch.bindExchange(inner, outer, "")
		ch.publish(outer, "k", nil, "inner miss")
		if got := ch.drained(lost); !slices.Equal(got, []string{"inner miss"}) {
			t.Errorf("the alternate of the inner exchange holds %q", got)
		}
	})
}

func TestLine074CarbonCopies(t *testing.T) {
	t.Parallel()
	ch := openChannel(t)
	x, a, b, c := ch.exchange("direct", 0), ch.queue(), ch.queue(), ch.queue()
	for i, q := range []string{a, b, c} {
		ch.bind(q, x, fmt.Sprint(i))
	}
	p := props{pHeaders: table{{"BCC", array{"2"}}, {"CC", array{"1", 5, true}}, {"other", "kept"}}}
	ch.publish(x, "0", p, "m")
	for _, q := range []string{a, b, c} {
		m := ch.get(q, 1)
		h := m.props(t).headers()
		if m.key != "0" {
			t.Errorf("routing key %q, want that of the publish", m.key)
		}
		if h.has("BCC") || !h.has("CC") || h.get("other") != "kept" {
			t.Errorf("headers %v: want CC and other, not BCC", h)
		}
	}
	ch.publishWith(x, "nowhere", mandatory, props{pHeaders: table{{"BCC", array{"nowhere"}}, {"CC", array{"none"}}}}, "m")
	if h := ch.returned().props(t).headers(); h.has("BCC") || !h.has("CC") {
		t.Errorf("returned headers %v: want CC, not BCC", h)
	}
	for _, row := range []struct {
		key  string
		val  any
		text string
	}{
		{"CC", "text", `{unacceptable_type_in_header,"CC",longstr}`},
		{"BCC", 7, `{unacceptable_type_in_header,"BCC",signedint}`},
		{"CC", table{}, `{unacceptable_type_in_header,"CC",table}`},
	} {
		ch.publish(x, "0", props{pHeaders: table{{row.key, row.val}}}, "m")
		ch.closed(preconditionFailed, "invalid message: "+row.text, basicPublish)
		ch.open()
	}
	t.Run("long list", func(t *testing.T) {
		var many array
		for i := range 500 {
			many = append(many, strings.Repeat("k", i%50))
		}
		ch.publish(x, "none", props{pHeaders: table{{"CC", append(many, "0")}}}, "m")
		if got := ch.drained(a); len(got) != 1 {
			t.Errorf("%d copies, want 1", len(got))
		}
	})
}
