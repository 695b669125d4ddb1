package conformance

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// refusedHeader demands a protocol header as the answer, and the end.
func refusedHeader(t *testing.T, sent, want string) {
	t.Helper()
	c := dial(t, broker.addr)
	c.write([]byte(sent))
	f, err := c.next(0, patience)
	if err != nil {
		t.Fatal(err)
	}
	if f.typ != typeGreeting || string(f.payload) != want {
		t.Fatalf("answer to %q: %v, want %q", sent, f, want)
	}
	c.ended(patience)
}

func TestLine001ProtocolHeader(t *testing.T) {
	t.Parallel()
	t.Run("0-9-1 is answered at once", func(t *testing.T) {
		// The best of a few tries: the machine may be busy, the broker must not wait.
		best := time.Hour
		for range 10 {
			begin := time.Now()
			greet(t, broker.addr)
			best = min(best, time.Since(begin))
		}
		if best > 100*time.Millisecond {
			t.Errorf("connection.start after %v, want within 100 ms", best)
		}
	})
	const rabbit10 = "AMQP\x03\x01\x00\x00" // RabbitMQ offers AMQP 1.0, Mayfly has none
	for _, row := range []struct{ name, sent, want string }{
		{"0-9-0", "AMQP\x00\x00\x09\x00", header091},
		{"0-9-2", "AMQP\x00\x00\x09\x02", header091},
		{"0-10", "AMQP\x00\x00\x0a\x00", header091},
		{"0-8", "AMQP\x01\x01\x08\x00", pick(header091, rabbit10)},
		{"HTTP", "GET / HT", pick(header091, rabbit10)},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01", pick(header091, rabbit10)},
		{"zeros", "\x00\x00\x00\x00\x00\x00\x00\x00", pick(header091, rabbit10)},
	} {
		t.Run(row.name, func(t *testing.T) { refusedHeader(t, row.sent, row.want) })
	}
	if !broker.rabbit { // RabbitMQ goes on in AMQP 1.0 here
		t.Run("1.0", func(t *testing.T) { refusedHeader(t, rabbit10, header091) })
	}
}

func TestLine002OldHeader(t *testing.T) {
	t.Parallel()
	c := dial(t, broker.addr)
	c.write([]byte("AMQP\x01\x01\x00\x09"))
	a := c.expect(connectionStart)
	if major, minor := a.u8(), a.u8(); major != 0 || minor != 9 {
		t.Errorf("version %d-%d, want 0-9", major, minor)
	}
	l := newLogin(nil)
	c.send(0, l.startOk())
	c.expect(connectionTune)
	c.send(0, l.tuneOk())
	c.send(0, l.openVhost())
	c.expect(connectionOpenOk)
}

func TestLine003SlowAndSilentClients(t *testing.T) {
	t.Parallel()
	t.Run("byte by byte", func(t *testing.T) {
		t.Parallel()
		c := dial(t, broker.addr)
		for _, b := range []byte(header091) {
			c.write([]byte{b})
			pause(20 * time.Millisecond)
		}
		c.expect(connectionStart)
		l := newLogin(nil)
		for _, b := range frameBytes(typeMethod, 0, l.startOk()) {
			c.write([]byte{b})
		}
		c.expect(connectionTune)
	})
	for _, row := range []struct {
		name  string
		until func(c *conn)
	}{
		{"no byte", func(*conn) {}},
		{"half a header", func(c *conn) { c.write([]byte(header091[:5])) }},
		{"no start-ok", func(c *conn) { c.write([]byte(header091)); c.expect(connectionStart) }},
		{"no tune-ok", func(c *conn) {
			l := newLogin(nil)
			c.write([]byte(header091))
			c.expect(connectionStart)
			c.send(0, l.startOk())
			c.expect(connectionTune)
		}},
	} {
		t.Run("closed at 10 s: "+row.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			c := dial(t, broker.addr)
			row.until(c)
			if took := c.ended(patience).Sub(begin); took < 9500*time.Millisecond || took > 12*time.Second {
				t.Errorf("closed after %v, want 10 s", took)
			}
		})
	}
}

func TestLine004ConnectionStart(t *testing.T) {
	t.Parallel()
	_, a := greet(t, broker.addr)
	if major, minor := a.u8(), a.u8(); major != 0 || minor != 9 {
		t.Errorf("version %d-%d, want 0-9", major, minor)
	}
	p := a.table()
	a.long()
	if locales := string(a.long()); locales != "en_US" {
		t.Errorf("locales %q, want en_US", locales)
	}
	a.end()
	for _, key := range []string{"cluster_name", "copyright", "information", "platform", "product", "version"} {
		if s, ok := p.get(key).(string); !ok || s == "" {
			t.Errorf("server property %s is %v, want a string", key, p.get(key))
		}
	}
	caps, _ := p.get("capabilities").(table)
	for _, key := range []string{
		"publisher_confirms", "exchange_exchange_bindings", "basic.nack", "consumer_cancel_notify", "connection.blocked",
		"consumer_priorities", "authentication_failure_close", "per_consumer_qos", "direct_reply_to",
	} {
		if caps.get(key) != true {
			t.Errorf("capability %s is %v, want true", key, caps.get(key))
		}
	}
	if want := pick("Mayfly", "RabbitMQ"); p.get("product") != want {
		t.Errorf("product %v, want %s", p.get("product"), want)
	}
	version, _ := p.get("version").(string)
	for _, part := range strings.Split(version, ".") {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			t.Errorf("version %q, want dotted integers", version)
		}
	}
}

func TestLine005Mechanisms(t *testing.T) {
	t.Parallel()
	_, a := greet(t, broker.addr)
	a.u16()
	a.table()
	list := string(a.long())
	names := strings.Split(list, " ")
	if !slices.Contains(names, "PLAIN") || !slices.Contains(names, "AMQPLAIN") || slices.Contains(names, "") {
		t.Errorf("mechanisms %q: want PLAIN and AMQPLAIN, one space between", list)
	}
	if slices.Contains(names, "EXTERNAL") {
		t.Errorf("mechanisms %q: EXTERNAL without TLS", list)
	}
	t.Run("PLAIN", func(t *testing.T) { open(t) })
	t.Run("AMQPLAIN", func(t *testing.T) {
		open(t, func(l *login) { l.mechanism = "AMQPLAIN" })
	})
	t.Run("AMQPLAIN with byte arrays", func(t *testing.T) {
		l := newLogin(nil)
		c, _ := greet(t, l.addr)
		response := fields(table{{"PASSWORD", []byte(l.pass)}, {"LOGIN", []byte(l.user)}})
		c.send(0, method(connectionStartOk, table{}, "AMQPLAIN", response, "de_DE"))
		c.expect(connectionTune)
	})
}

// startOkWith sends a start-ok of free content and returns when.
func startOkWith(t *testing.T, mechanism string, response []byte, caps table) (*conn, time.Time) {
	t.Helper()
	c, _ := greet(t, broker.addr)
	c.send(0, method(connectionStartOk, table{{"capabilities", caps}}, mechanism, response, "en_US"))
	return c, time.Now()
}

var failureClose = table{{"authentication_failure_close", true}}

// endsLate demands the end of the socket 1 to 5 s after begin, without a frame.
func endsLate(t *testing.T, c *conn, begin time.Time) {
	t.Helper()
	if took := c.ended(patience).Sub(begin); took < time.Second || took > 5*time.Second {
		t.Errorf("closed after %v, want 1 to 5 s", took)
	}
}

const loginRefused = "Login was refused using authentication mechanism "

func TestLine006WrongPassword(t *testing.T) {
	t.Parallel()
	plain := func(user, pass string) []byte { return []byte("\x00" + user + "\x00" + pass) }
	for _, row := range []struct {
		name, mechanism string
		response        []byte
	}{
		{"wrong password", "PLAIN", plain(broker.user, "wrong")},
		{"empty password", "PLAIN", plain(broker.user, "")},
		{"AMQPLAIN", "AMQPLAIN", fields(table{{"LOGIN", broker.user}, {"PASSWORD", "wrong"}})},
	} {
		t.Run(row.name+", told", func(t *testing.T) {
			t.Parallel()
			c, begin := startOkWith(t, row.mechanism, row.response, failureClose)
			c.closing(accessRefused, loginRefused+row.mechanism+". For details see the broker logfile.", 0)
			if took := c.ended(patience).Sub(begin); took > 5*time.Second {
				t.Errorf("the socket stayed open for %v without close-ok", took)
			}
		})
		t.Run(row.name+", not told", func(t *testing.T) {
			t.Parallel()
			c, begin := startOkWith(t, row.mechanism, row.response, nil)
			endsLate(t, c, begin)
		})
	}
	for _, row := range []struct {
		name, mechanism string
		response        []byte
		code            uint16
	}{
		{"unknown mechanism", "SCRAM-SHA-1", plain(broker.user, broker.pass), accessRefused},
		{"no zero octets", "PLAIN", []byte("guest guest"), syntaxError},
		{"no LOGIN", "AMQPLAIN", fields(table{{"PASSWORD", broker.pass}}), syntaxError},
		{"no table", "AMQPLAIN", []byte("guest\x00guest"), syntaxError},
	} {
		t.Run(row.name+", not told", func(t *testing.T) {
			t.Parallel()
			c, begin := startOkWith(t, row.mechanism, row.response, nil)
			endsLate(t, c, begin)
		})
		t.Run(row.name+", told", func(t *testing.T) {
			t.Parallel()
			c, begin := startOkWith(t, row.mechanism, row.response, failureClose)
			if broker.rabbit { // [M] of amqp.md 2.3: Mayfly says why
				endsLate(t, c, begin)
				return
			}
			c.closing(row.code, "…", anyID)
			c.ended(patience)
		})
	}
}

func TestLine007UnknownUser(t *testing.T) {
	t.Parallel()
	var said []string
	for _, user := range []string{broker.user, "nobody-of-this-name"} {
		c, _ := startOkWith(t, "PLAIN", []byte("\x00"+user+"\x00wrong"), failureClose)
		f, err := c.next(0, patience)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, string(f.payload))
	}
	if said[0] != said[1] {
		t.Errorf("wrong password and unknown user differ:\n%q\n%q", said[0], said[1])
	}
}

// outside is an address of this machine that is not loopback.
func outside(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	return ""
}

func TestLine008GuestIsLocal(t *testing.T) {
	t.Parallel()
	var port string
	if broker.rabbit {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ = net.SplitHostPort(l.Addr().String())
		l.Close()
		operator(t, "eval", "rabbit_networking:start_tcp_listener("+port+", 10).")
		t.Cleanup(func() { operator(t, "eval", "rabbit_networking:stop_tcp_listener("+port+").") })
	} else {
		_, port, _ = net.SplitHostPort(serve(t, "--amqp", ":0").addr)
	}
	guest := as("guest", "guest")
	open(t, guest, at(net.JoinHostPort("127.0.0.1", port)))
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil {
		l.Close()
		open(t, guest, at(net.JoinHostPort("::1", port)))
	}
	ip := outside(t)
	if ip == "" {
		t.Log("this machine has no address but loopback: the refusal was not seen")
		return
	}
	l := newLogin([]option{guest, at(net.JoinHostPort(ip, port))})
	c, _ := greet(t, l.addr)
	c.send(0, l.startOk())
	c.closing(accessRefused, loginRefused+"PLAIN. For details see the broker logfile.", 0)
	open(t, as("conf-impersonator", "conf-impersonator"), at(l.addr)).close()
}

// refusesTune sends a tune-ok that must be refused: Mayfly says why ([M] of
// amqp.md 2.4), RabbitMQ closes after a while.
func refusesTune(t *testing.T, text string, o option) {
	t.Helper()
	t.Parallel()
	c, l := tuned(t, o)
	begin := time.Now()
	c.send(0, l.tuneOk())
	if broker.rabbit {
		endsLate(t, c, begin)
		return
	}
	c.closed(notAllowed, text, connectionTuneOk)
}

func TestLine009TuneFrameMax(t *testing.T) {
	t.Parallel()
	t.Run("the offer", func(t *testing.T) {
		c, _ := greet(t, broker.addr)
		c.send(0, newLogin(nil).startOk())
		a := c.expect(connectionTune)
		if ch, fr, hb := a.u16(), a.u32(), a.u16(); ch != 2047 || fr != 131072 || hb != 60 {
			t.Errorf("tune %d / %d / %d, want 2047 / 131072 / 60", ch, fr, hb)
		}
		a.end()
	})
	t.Run("4096 is accepted", func(t *testing.T) { open(t, frameMax(4096)) })
	for _, row := range []struct {
		max  uint32
		text string
	}{
		{4095, "negotiated frame_max = 4095 is lower than the minimum allowed value (4096)"},
		{1, "negotiated frame_max = 1 is lower than the minimum allowed value (4096)"},
		{0, "negotiated frame_max = 0 …"},
		{131073, "negotiated frame_max = 131073 is higher than the maximum allowed value (131072)"},
	} {
		t.Run("refused", func(t *testing.T) { refusesTune(t, row.text, frameMax(row.max)) })
	}
}

func TestLine010TuneChannelMax(t *testing.T) {
	t.Parallel()
	t.Run("1 is accepted", func(t *testing.T) { open(t, channelMax(1)) })
	t.Run("0", func(t *testing.T) {
		refusesTune(t, "negotiated channel_max = 0 …", channelMax(0))
	})
	t.Run("2048", func(t *testing.T) {
		refusesTune(t, "negotiated channel_max = 2048 is higher than the maximum allowed value (2047)", channelMax(2048))
	})
}

func TestLine011OpenRefused(t *testing.T) {
	t.Parallel()
	none := as("conf-none", "conf-none")
	for _, row := range []struct {
		name, text string
		opts       []option
	}{
		{"missing vhost", "vhost no-such-vhost not found", []option{vhost("no-such-vhost")}},
		{"empty vhost", "vhost  not found", []option{vhost("")}},
		{"no permission", "access to vhost '/' refused for user 'conf-none'", []option{none, vhost("/")}},
		{"missing vhost, no permission", "vhost no-such-vhost not found", []option{none, vhost("no-such-vhost")}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			halfOpen(t, row.opts...).closed(notAllowed, row.text, connectionOpen)
		})
	}
}

func TestLine012OpenOkOctets(t *testing.T) {
	t.Parallel()
	c := halfOpen(t)
	if a := c.expect(connectionOpenOk); string(a.b) != "\x00" {
		t.Errorf("open-ok carries % x, want one zero octet", a.b)
	}
	ch := &channel{c, 1}
	if a := ch.call(channelOpenOk, channelOpen, ""); string(a.b) != "\x00\x00\x00\x00" {
		t.Errorf("channel.open-ok carries % x, want four zero octets", a.b)
	}
}

func TestLine013LongToken(t *testing.T) {
	t.Parallel()
	c, _ := greet(t, broker.addr)
	l := newLogin(nil)
	padded := fields(table{{"LOGIN", l.user}, {"PADDING", strings.Repeat("t", 20<<10)}, {"PASSWORD", l.pass}})
	c.send(0, method(connectionStartOk, table{}, "AMQPLAIN", padded, "en_US"))
	if broker.rabbit { // 4.0 takes 4096 octets before tune; [M] of amqp.md 1: 128 KiB
		c.ended(patience)
		return
	}
	c.expect(connectionTune)
}

func TestLine014Pipelined(t *testing.T) {
	t.Parallel()
	l := newLogin(nil)
	c := dial(t, l.addr)
	b := []byte(header091)
	for _, m := range [][]byte{l.startOk(), l.tuneOk(), l.openVhost()} {
		b = append(b, frameBytes(typeMethod, 0, m)...)
	}
	b = append(b, frameBytes(typeMethod, 1, method(channelOpen, ""))...)
	c.write(b)
	c.expect(connectionStart)
	c.expect(connectionTune)
	c.expect(connectionOpenOk)
	(&channel{c, 1}).expect(channelOpenOk)
}

func TestLine015ChannelMax(t *testing.T) {
	t.Parallel()
	c := open(t, channelMax(2))
	c.channel(7)
	c.channel(1)
	c.send(2, method(channelOpen, ""))
	c.closed(notAllowed, "number of channels opened (2) has reached the negotiated channel_max (2)", anyID)

	t.Run("a closed channel makes room", func(t *testing.T) {
		c := open(t, channelMax(1))
		c.channel(5).close()
		c.channel(6)
	})
}
