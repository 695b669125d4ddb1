package catalog

import (
	"math"
	"strings"
	"testing"

	"mayfly/amqp/wire"
	"mayfly/dlx"
	"mayfly/queue"
)

const q = "queue 'q' in vhost '/'"

func declare(a wire.Table) DeclareQueue {
	return DeclareQueue{Vhost: "/", Name: "q", Durable: true, Owner: 1<<32 | 7, Args: a, User: "u"}
}

// TestEveryIntegerType is checklist line 1.
func TestEveryIntegerType(t *testing.T) {
	for _, key := range []string{"x-message-ttl", "x-expires", "x-max-length", "x-max-length-bytes", "x-max-priority", "x-delivery-limit",
		"x-delayed-retry-min", "x-delayed-retry-max", "x-quorum-initial-group-size"} {
		for _, tag := range integers {
			if _, r := CheckQueueArgs("/", "q", true, false, false, args(key, integer(tag, 100))); r != nil {
				t.Errorf("%s as %c refused: %s", key, tag, r.Text)
			}
		}
	}
}

// TestUnbuiltArgumentsAreRefused: what no machine acts on yet is not accepted in
// silence. docs/limits.md lists them.
func TestUnbuiltArgumentsAreRefused(t *testing.T) {
	for _, a := range []struct {
		key string
		val any
	}{{"x-consumer-timeout", 1000}, {"x-consumer-disconnected-timeout", 0}, {"x-delayed-retry-type", "all"}, {"x-idle-mode", "activity"}, {"x-dead-letter-max-pending", 9}} {
		_, r := CheckQueueArgs("/", "q", true, false, false, args(a.key, a.val))
		want := "invalid arg '" + a.key + "' for " + q + ": \"not supported by this release\""
		if r == nil || r.Code != 406 || r.Text != want {
			t.Errorf("%s: %v, want %s", a.key, r, want)
		}
	}
}

// TestBadArguments has a row for every detail of table 1.4: checklist lines 2 to 8
// and 20, amqp.md 55.
func TestBadArguments(t *testing.T) {
	for _, row := range []struct {
		rule, key string
		val       wire.Value
		detail    string
	}{
		{"A-40", "x-queue-type", str("bad"), `"unsupported queue type 'bad'"`},
		{"A-40", "x-queue-type", str("stream"), `"unsupported queue type 'stream'"`},
		{"A-40", "x-queue-type", str("Quorum"), `"unsupported queue type 'Quorum'"`},
		{"A-40", "x-queue-type", str(""), `"unsupported queue type ''"`},
		{"A-40", "x-queue-type", integer('I', 1), `{unacceptable_type,signedint}`},
		{"A-41", "x-message-ttl", integer('I', -1), `{value_negative,-1}`},
		{"A-41", "x-message-ttl", integer('l', 315360000001), `{value_too_large,315360000001}`},
		{"A-42", "x-expires", integer('b', 0), `{value_zero,0}`},
		{"A-42", "x-expires", integer('s', -1), `{value_negative,-1}`},
		{"A-42", "x-expires", integer('L', 315360000001), `{value_too_large,315360000001}`},
		{"A-44", "x-dead-letter-routing-key", str("k"), `routing_key_but_no_dlx_defined`},
		{"A-44", "x-dead-letter-routing-key", integer('I', 1), `{unacceptable_type,signedint}`},
		{"A-45", "x-dead-letter-strategy", str("never"), `invalid_dlx_strategy`},
		{"A-45", "x-dead-letter-strategy", integer('I', 1), `{unacceptable_type,signedint}`},
		{"A-46", "x-max-length", str("1"), `"expected integer, got longstr"`},
		{"A-46", "x-max-length", integer('I', -1), `{value_negative,-1}`},
		{"A-46", "x-max-length-bytes", integer('l', -5), `{value_negative,-5}`},
		{"A-46", "x-max-length-bytes", double(1), `"expected integer, got double"`},
		{"A-47", "x-overflow", str("drop-tail"), `invalid_overflow`},
		{"A-47", "x-overflow", yes, `{unacceptable_type,bool}`},
		{"A-48", "x-max-priority", integer('I', 256), `{max_value_exceeded,256}`},
		{"A-48", "x-max-priority", integer('I', -1), `{value_negative,-1}`},
		{"A-48", "x-max-priority", str("1"), `"expected integer, got longstr"`},
		{"A-49", "x-single-active-consumer", str("true"), `{unacceptable_type,longstr}`},
		{"A-49", "x-single-active-consumer", integer('I', 1), `{unacceptable_type,signedint}`},
		{"A-50", "x-delivery-limit", str("a"), `"expected integer, got longstr"`},
		{"C-4", "x-delivery-limit-counts", str("some"), `{unacceptable_value,<<"some">>}`},
		{"A-51", "x-consumer-timeout", integer('I', -1), `{value_negative,-1}`},
		{"A-51", "x-consumer-disconnected-timeout", str("x"), `"expected integer, got longstr"`},
		{"A-52", "x-delayed-retry-type", str("x"), `invalid_delayed_retry_type`},
		{"A-52", "x-delayed-retry-type", integer('I', 1), `{unacceptable_type,signedint}`},
		{"A-52", "x-delayed-retry-min", integer('I', 0), `{value_zero,0}`},
		{"A-52", "x-delayed-retry-max", integer('I', -1), `{value_negative,-1}`},
		{"A-53", "x-quorum-initial-group-size", integer('I', 0), `{value_zero,0}`},
		{"A-54", "x-queue-leader-locator", str("here"), `invalid_queue_locator_arg`},
		{"A-54", "x-queue-leader-locator", integer('I', 1), `{unacceptable_type,signedint}`},
		{"A-55", "x-queue-mode", str("bad"), `"unsupported queue mode 'bad'"`},
		{"A-55", "x-queue-mode", integer('I', 1), `{unacceptable_type,signedint}`},
		{"A-56", "x-queue-version", integer('I', 3), `"unsupported queue version '3'"`},
		{"A-56", "x-queue-version", integer('I', -1), `{value_negative,-1}`},
		{"A-56", "x-queue-version", str("1"), `"expected integer, got longstr"`},
		{"A-57", "x-max-in-memory-length", integer('I', -1), `{value_negative,-1}`},
		{"A-57", "x-max-in-memory-bytes", str("1"), `"expected integer, got longstr"`},
		{"A-60", "x-idle-mode", str("v"), `{unacceptable_value,<<"v">>}`},
		{"A-60", "x-idle-mode", integer('I', 1), `{unacceptable_type,signedint}`},
		{"A-60", "x-ttl-precedence", str("v"), `{unacceptable_value,<<"v">>}`},
		{"A-60", "x-expiry-mode", str("v"), `{unacceptable_value,<<"v">>}`},
		{"A-60", "x-message-times", str("true"), `{unacceptable_type,longstr}`},
		{"D-12", "x-dead-letter-reasons", str("expired,dropped"), `{unacceptable_value,<<"dropped">>}`},
		{"D-12", "x-dead-letter-reasons", array, `{unacceptable_value,<<"a">>}`},
		{"D-12", "x-dead-letter-reasons", wire.ArrayValue(wire.AppendValue(nil, yes)), `{unacceptable_type,bool}`},
		{"D-12", "x-dead-letter-reasons", yes, `{unacceptable_type,bool}`},
		{"D-12", "x-dead-letter-reasons", wire.ArrayValue(nil), `{unacceptable_value,<<"">>}`},
		{"A-12", "x-message-ttl", double(math.Inf(1)), `"expected integer, got double"`},
		{"A-12", "x-message-ttl", double(math.NaN()), `"expected integer, got double"`},
	} {
		_, r := CheckQueueArgs("/", "q", true, false, false, args(row.key, row.val))
		want := "invalid arg '" + row.key + "' for " + q + ": " + row.detail
		if r == nil || r.Code != 406 || r.Text != want {
			t.Errorf("%s %s=%s\n got %v\nwant %s", row.rule, row.key, row.val.Text(), r, want)
		}
	}
}

// TestEveryWrongType is checklist line 2.
func TestEveryWrongType(t *testing.T) {
	for name, v := range map[string]wire.Value{"longstr": str("5"), "float": float(5), "double": double(5), "bool": yes, "decimal": decimal,
		"timestamp": stamp, "void": void, "binary": binary5, "array": array, "table": table} {
		for _, key := range []string{"x-message-ttl", "x-expires", "x-max-length", "x-max-priority", "x-delivery-limit"} {
			_, r := CheckQueueArgs("/", "q", true, false, false, args(key, v))
			if want := "invalid arg '" + key + "' for " + q + `: "expected integer, got ` + name + `"`; r == nil || r.Text != want {
				t.Errorf("%s: got %v, want %s", key, r, want)
			}
		}
	}
}

// TestGoodArguments holds what is accepted, and what it makes of the configuration.
func TestGoodArguments(t *testing.T) {
	for _, row := range []struct {
		rule string
		args wire.Table
		set  func(c *queue.Config)
	}{
		{"A-3", nil, func(*queue.Config) {}},
		{"A-3", args("x-queue-type", "undefined"), func(*queue.Config) {}},
		{"A-40", args("x-queue-type", "classic"), func(*queue.Config) {}},
		{"C-11", args("x-queue-type", "quorum"), func(c *queue.Config) { c.MaxPriority, c.DefaultPriority = 31, 4 }},
		{"A-41", args("x-message-ttl", 0), func(c *queue.Config) { c.TTL = 0 }},
		{"A-41", args("x-message-ttl", integer('l', 315360000000)), func(c *queue.Config) { c.TTL = 315360000000 }},
		{"A-42", args("x-expires", 1), func(c *queue.Config) { c.Expires = 1 }},
		{"A-43", args("x-dead-letter-exchange", ""), func(c *queue.Config) { c.DeadLetter = true }},
		{"A-44", args("x-dead-letter-routing-key", "k", "x-dead-letter-exchange", "x"), func(c *queue.Config) {
			c.DeadLetter, c.DeadLetterExchange, c.DeadLetterKey, c.HasDeadLetterKey = true, "x", "k", true
		}},
		{"A-45", args("x-dead-letter-strategy", "at-most-once"), func(c *queue.Config) { c.Strategy = dlx.AtMostOnce }},
		{"A-45", args("x-dead-letter-strategy", "at-least-once"), func(c *queue.Config) { c.Strategy = dlx.AtLeastOnce }},
		{"A-45", args("x-dead-letter-strategy", "exactly-once"), func(*queue.Config) {}},
		{"A-46", args("x-max-length", 0, "x-max-length-bytes", 9), func(c *queue.Config) { c.MaxLength, c.MaxBytes = 0, 9 }},
		{"A-47", args("x-overflow", "reject-publish"), func(c *queue.Config) { c.Overflow = queue.RejectPublish }},
		{"A-47", args("x-overflow", "reject-publish-dlx"), func(c *queue.Config) { c.Overflow = queue.RejectPublishDLX }},
		{"A-47", args("x-overflow", "reject-publish-dlx", "x-queue-type", "quorum"), func(c *queue.Config) {
			c.Overflow, c.MaxPriority, c.DefaultPriority = queue.RejectPublishDLX, 31, 4
		}},
		{"A-48", args("x-max-priority", 255), func(c *queue.Config) { c.MaxPriority = 255 }},
		{"A-49", args("x-single-active-consumer", true), func(c *queue.Config) { c.SingleActive = true }},
		{"A-50", args("x-delivery-limit", -7), func(c *queue.Config) { c.DeliveryLimit = -1 }},
		{"A-50", args("x-delivery-limit", 2), func(c *queue.Config) { c.DeliveryLimit = 2 }},
		{"C-4", args("x-delivery-limit-counts", "failures"), func(c *queue.Config) { c.CountOnlyFailure = true }},
		{"A-55", args("x-queue-mode", "lazy", "x-queue-version", 2, "x-queue-master-locator", 7), func(*queue.Config) {}},
		{"A-57", args("x-max-in-memory-length", 5, "x-max-in-memory-bytes", 0), func(*queue.Config) {}},
		{"A-60", args("x-ttl-precedence", "message", "x-expiry-mode", "head"), func(c *queue.Config) { c.MessageTTLWins, c.ExpireAtHead = true, true }},
		{"A-60", args("x-idle-mode", "consumers", "x-message-times", true, "x-delayed-retry-type", "disabled", "x-dead-letter-max-pending", 0), func(*queue.Config) {}},
		{"A-62", args("foo", double(math.Inf(1)), "x-bar", array, "message-ttl", "x"), func(*queue.Config) {}},
		{"D-12", args("x-dead-letter-reasons", "rejected, maxlen"), func(c *queue.Config) {
			c.DeadLetterReasons = dlx.Reasons(0).With(dlx.Rejected).With(dlx.MaxLen)
		}},
	} {
		want := queue.Defaults()
		want.Vhost, want.Name = "/", "q"
		row.set(&want)
		got, r := CheckQueueArgs("/", "q", true, false, false, row.args)
		if r != nil || got != want {
			t.Errorf("%s\n got %+v %v\nwant %+v", row.rule, got, r, want)
		}
	}
}

// TestForeignKeys is the matrix of 1.4, its columns C/Q and Mayfly.
func TestForeignKeys(t *testing.T) {
	good := map[string]wire.Value{"x-max-priority": integer('I', 5), "x-queue-mode": str("lazy"), "x-queue-version": integer('I', 1),
		"x-queue-master-locator": str("min-masters"), "x-max-in-memory-length": integer('I', 1), "x-max-in-memory-bytes": integer('I', 1),
		"x-max-age": str("1D"), "x-initial-cluster-size": integer('I', 1), "x-stream-max-segment-size-bytes": integer('I', 1), "x-stream-filter-size-bytes": integer('I', 1)}
	for _, row := range []struct{ key, native, classic, quorum string }{
		{"x-max-priority", "", "", "quorum"}, {"x-queue-mode", "", "", "quorum"}, {"x-queue-version", "", "", "quorum"},
		{"x-queue-master-locator", "", "", "quorum"}, {"x-max-in-memory-length", "", "classic", ""}, {"x-max-in-memory-bytes", "", "classic", ""},
		{"x-max-age", "quorum", "classic", "quorum"}, {"x-initial-cluster-size", "quorum", "classic", "quorum"},
		{"x-stream-max-segment-size-bytes", "quorum", "classic", "quorum"}, {"x-stream-filter-size-bytes", "quorum", "classic", "quorum"},
	} {
		for named, shown := range map[string]string{"": row.native, "classic": row.classic, "quorum": row.quorum} {
			a := args(row.key, good[row.key])
			if named != "" {
				a = wire.AppendString(a, "x-queue-type", named)
			}
			want := ""
			if shown != "" {
				want = "invalid arg '" + row.key + "' for " + q + " of queue type rabbit_" + shown + "_queue"
			}
			got := ""
			if _, r := CheckQueueArgs("/", "q", true, false, false, a); r != nil {
				got = r.Text
			}
			if got != want {
				t.Errorf("%s on type %q\n got %s\nwant %s", row.key, named, got, want)
			}
		}
	}
}

// TestOrderOfChecks is and 7.4: of several faults the first is told.
func TestOrderOfChecks(t *testing.T) {
	bad := args("x-max-age", "x", "x-message-ttl", -1, "x-queue-type", "bad", "x-dead-letter-exchange", 5)
	r := newRig(t)
	r.must(PutVhostLimits{Vhost: "/", MaxQueues: NewLimit(0)})
	for _, row := range []struct{ key, text string }{
		{"x-dead-letter-exchange", "invalid type 'signedint' for arg 'x-dead-letter-exchange' in " + q},
		{"x-queue-type", "invalid arg 'x-queue-type' for " + q + `: "unsupported queue type 'bad'"`},
		{"x-message-ttl", "invalid arg 'x-message-ttl' for " + q + ": {value_negative,-1}"},
		{"x-max-age", "invalid arg 'x-max-age' for " + q + " of queue type rabbit_quorum_queue"},
	} {
		c := declare(bad)
		c.AutoDelete = true
		r.refused(c, 406, row.text)
		bad = without(bad, row.key)
		if row.key == "x-queue-type" {
			bad = wire.AppendString(bad, "x-queue-type", "quorum")
		}
	}
	// A-10, in this order; each flag put right uncovers the next.
	c := DeclareQueue{Vhost: "/", Name: "q", AutoDelete: true, Exclusive: true, Args: bad}
	r.refused(c, 406, "invalid property 'auto-delete' for "+q)
	c.AutoDelete = false
	r.refused(c, 406, "invalid property 'exclusive-owner' for "+q)
	c.Exclusive = false
	r.refused(c, 406, "invalid property 'non-durable' for "+q)
	c.Durable = true
	r.refused(c, 406, "cannot declare queue 'q': queue limit in vhost '/' (0) is reached")
	r.must(PutVhostLimits{Vhost: "/", MaxQueues: NewLimit(1)}, c)
}

func without(t wire.Table, key string) wire.Table {
	var out wire.Table
	for k, v := range t.All() {
		if string(k) != key {
			out = wire.AppendRaw(out, string(k), v)
		}
	}
	return out
}

// TestNativeTakesAllFlags is checklist line 10.
func TestNativeTakesAllFlags(t *testing.T) {
	for _, named := range []string{"", "classic"} {
		for flags := range 8 {
			var a wire.Table
			if named != "" {
				a = args("x-queue-type", named)
			}
			if _, r := CheckQueueArgs("/", "q", flags&1 > 0, flags&2 > 0, flags&4 > 0, a); r != nil {
				t.Errorf("type %q, flags %03b: %s", named, flags, r.Text)
			}
		}
	}
}

func TestLongTextsAreWhole(t *testing.T) {
	// Cutting at 255 bytes is the protocol's business, not the catalogue's.
	name := strings.Repeat("n", 255)
	_, r := CheckQueueArgs("/", name, true, false, false, args("x-message-ttl", "x"))
	if r == nil || !strings.HasSuffix(r.Text, `"expected integer, got longstr"`) {
		t.Errorf("got %v", r)
	}
}
