package admin

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"mayfly/amqp/wire"
	"mayfly/fsm/catalog"
	"mayfly/internal/password"
	"mayfly/queue/exchange"
)

// load applies a batch to an empty catalogue.
func load(t testing.TB, b catalog.Batch) (*catalog.Machine, catalog.Outcome) {
	t.Helper()
	m := catalog.New()
	o := m.Apply(1, catalog.Encode(b))
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m, o
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func importAll(t *testing.T, doc []byte) *catalog.View {
	t.Helper()
	b, err := ParseDefinitions(doc, ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, o := load(t, b)
	if o.Code != 0 {
		t.Fatalf("command %d refused: %s", o.Failed, o.Text)
	}
	return m.View()
}

func TestImport(t *testing.T) {
	v := importAll(t, read(t, "testdata/rabbit.json"))
	check := password.NewVerifier(password.Options{})
	for user, pass := range map[string]string{"guest": "test12", "plain": "secret"} {
		u := v.User(user)
		if ok, err := check.Verify(t.Context(), user, password.Stored{Algorithm: u.Algorithm, Hash: u.Hash}, []byte(pass)); !ok || err != nil {
			t.Errorf("user %s cannot log in: %v", user, err)
		}
	}
	app := v.User("app")
	if len(app.Hash) != 0 || !app.HasTag("policymaker") || app.MaxConnections.Number() != 5 || app.MaxChannels.Set || len(v.User("plain").Tags) != 0 {
		t.Errorf("user app: %+v", app)
	}
	if !v.Allowed("guest", "/", catalog.Configure, "any") || v.Allowed("app", "teams/öx", catalog.Configure, "q") || !v.Allowed("app", "teams/öx", catalog.Read, "q1") {
		t.Error("permissions")
	}
	if !v.TopicAllowed("app", "teams/öx", "amq.topic", catalog.Write, []byte("app.1")) || v.TopicAllowed("app", "teams/öx", "amq.topic", catalog.Write, []byte("x.1")) {
		t.Error("topic permissions")
	}
	root, team := v.Vhost("/"), v.Vhost("teams/öx")
	if root.MaxQueues.Number() != 100 || root.MaxConnections.Set || root.DefaultQueueType != "classic" || !team.Protected || len(team.Tags) != 1 {
		t.Errorf("vhosts: %+v %+v", root, team)
	}
	q := root.Queue("q")
	if q.Config.TTL != 60000 || q.TypeNamed != "classic" || root.Queue("qq").Config.DeliveryLimit != 5 || !team.Queue("<b>").AutoDelete {
		t.Errorf("queue: %+v", q)
	}
	if x := root.Exchange("x"); x.Kind != exchange.Headers || x.Alternate != "ae" || x.BindingCount() != 2 || !root.Exchange("y").Internal {
		t.Errorf("exchange: %+v", x)
	}
	if val, _ := v.GlobalParameter("internal_cluster_id"); string(val) != `"rabbitmq-cluster-id-x<&>"` {
		t.Errorf("global parameter %s", val)
	}
	foo, _ := q.Args.Get("foo")
	if got := foo.Text(); got != "[1,2.5,undefined,true,[{b,c},{a,1000}]]" {
		t.Errorf("argument foo is %s", got)
	}
}

// TestImportTwice: what cannot change stays, what can is replaced.
func TestImportTwice(t *testing.T) {
	first, err := ParseDefinitions([]byte(`{"vhosts":[{"name":"/"}],"queues":[{"name":"q","vhost":"/","durable":true,"arguments":{"x-max-length":5}}],
		"exchanges":[{"name":"x","vhost":"/","type":"topic"}],"users":[{"name":"u","tags":"a"}]}`), ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := load(t, first)
	second, err := ParseDefinitions([]byte(`{"vhosts":[{"name":"/","description":"new"}],"queues":[{"name":"q","vhost":"/","durable":false}],
		"exchanges":[{"name":"x","vhost":"/","type":"fanout"}],"users":[{"name":"u","tags":"b"}]}`), ImportOptions{View: m.View()})
	if err != nil {
		t.Fatal(err)
	}
	if o := m.Apply(2, catalog.Encode(second)); o.Code != 0 {
		t.Fatal(o.Text)
	}
	h := m.View().Vhost("/")
	if h.Description != "new" || !h.Queue("q").Durable || h.Exchange("x").Kind != exchange.Topic || !m.View().User("u").HasTag("b") {
		t.Errorf("after the second import: %+v %+v", h, m.View().User("u"))
	}
}

// TestRoundTrip is F9: export of an import is stable.
func TestRoundTrip(t *testing.T) {
	o := ExportOptions{ClusterName: "c", Version: "1.0.0"}
	one, err := ExportDefinitions(importAll(t, read(t, "testdata/rabbit.json")), o)
	if err != nil {
		t.Fatal(err)
	}
	two, err := ExportDefinitions(importAll(t, one), o)
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("%v\nfirst export\n%s\nsecond\n%s", err, one, two)
	}
	for _, want := range []string{`"x-message-ttl": 60000`, `"max-queues": 100`, `"name": "<b>"`, `"destination_type": "exchange"`, `"rabbitmq_definition_format": "cluster"`, `"policies": []`} {
		if !bytes.Contains(one, []byte(want)) {
			t.Errorf("export has no %s:\n%s", want, one)
		}
	}
	if bytes.Contains(one, []byte(`"name": "amq.`)) || bytes.Contains(one, []byte("secret")) {
		t.Errorf("export holds predeclared exchanges or a password:\n%s", one)
	}
}

// TestSingleVhost moves a vhost under another name.
func TestSingleVhost(t *testing.T) {
	v := importAll(t, read(t, "testdata/rabbit.json"))
	doc, err := ExportDefinitions(v, ExportOptions{Vhost: "/"})
	if err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{`"users"`, `"permissions"`, `"vhost":`} {
		if bytes.Contains(doc, []byte(no)) {
			t.Errorf("document of one vhost holds %s", no)
		}
	}
	b, err := ParseDefinitions(doc, ImportOptions{Vhost: "copy"})
	if err != nil {
		t.Fatal(err)
	}
	m, o := load(t, catalog.Batch{Commands: append([]catalog.Command{catalog.PutVhost{Name: "copy"}}, b.Commands...)})
	if o.Code != 0 || m.View().Vhost("copy").QueueCount() != 2 || m.View().Vhost("copy").MaxQueues.Number() != 100 || len(m.View().Vhost("copy").Bindings()) != 2 {
		t.Errorf("copy: %+v", o)
	}
	if b, err = ParseDefinitions(doc, ImportOptions{}); err != nil || b.Commands[0].(catalog.PutVhostLimits).Vhost != "/" {
		t.Errorf("back where it came from: %+v %v", b, err)
	}
	if _, err := ExportDefinitions(v, ExportOptions{Vhost: "none"}); err == nil {
		t.Error("exported a vhost that is not there")
	}
}

func TestExclusiveIsNotExported(t *testing.T) {
	m, _ := load(t, catalog.Batch{Commands: []catalog.Command{catalog.PutVhost{Name: "/"}, catalog.DeclareQueue{Vhost: "/", Name: "ex", Exclusive: true, Owner: 5},
		catalog.Bind{Vhost: "/", Owner: 5, Binding: exchange.Binding{Source: "amq.topic", Dest: exchange.Dest{Queue: true, Name: "ex"}, Key: "ex"}}}})
	doc, err := ExportDefinitions(m.View(), ExportOptions{})
	if err != nil || bytes.Contains(doc, []byte(`"ex"`)) {
		t.Errorf("%v\n%s", err, doc)
	}
}

// TestUnsupported: named in full, or left out with all that hangs on it.
func TestUnsupported(t *testing.T) {
	doc := []byte(`{"vhosts":[{"name":"/"}],
		"policies":[{"vhost":"/","name":"ttl","pattern":".*","definition":{"message-ttl":5},"priority":0,"apply-to":"queues"}],
		"parameters":[{"vhost":"/","component":"shovel","name":"s","value":{"src-uri":"amqp://"}}],
		"exchanges":[{"name":"d","vhost":"/","type":"x-delayed-message","durable":true},{"name":"x","vhost":"/","type":"fanout"}],
		"queues":[{"name":"st","vhost":"/","durable":true,"arguments":{"x-queue-type":"stream"}},{"name":"q","vhost":"/"}],
		"bindings":[{"source":"d","vhost":"/","destination":"q","destination_type":"queue","routing_key":""},
			{"source":"x","vhost":"/","destination":"st","destination_type":"queue","routing_key":""},
			{"source":"x","vhost":"/","destination":"d","destination_type":"exchange","routing_key":""},
			{"source":"","vhost":"/","destination":"q","destination_type":"queue","routing_key":"q"},
			{"source":"x","vhost":"/","destination":"q","destination_type":"queue","routing_key":"kept"}]}`)
	_, err := ParseDefinitions(doc, ImportOptions{})
	want := `definitions hold what this release does not support (skip_unsupported imports the rest): parameter "s" of component "shovel" in vhost "/", policy "ttl" in vhost "/", ` +
		`exchange "d" of type "x-delayed-message" in vhost "/", queue "st" of type "stream" in vhost "/"`
	if err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
	b, err := ParseDefinitions(doc, ImportOptions{SkipUnsupported: true})
	if err != nil {
		t.Fatal(err)
	}
	m, o := load(t, b)
	if o.Code != 0 {
		t.Fatal(o.Text)
	}
	h := m.View().Vhost("/")
	if bs := h.Bindings(); len(bs) != 1 || bs[0].Key != "kept" || h.Queue("st") != nil || h.Exchange("d") != nil {
		t.Errorf("bindings %v", bs)
	}
	many := `{"policies":[` + strings.Repeat(`{"name":"p","vhost":"/"},`, 49) + `{"name":"p","vhost":"/"}]}`
	if _, err := ParseDefinitions([]byte(many), ImportOptions{}); err == nil || !strings.HasSuffix(err.Error(), ", and 30 more") {
		t.Errorf("fifty policies: %v", err)
	}
}

func TestRefusedDocuments(t *testing.T) {
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	nested := strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)
	wide := `[` + strings.Repeat("null,", 9000) + `null]`
	queue := func(args string) string { return `{"queues":[{"name":"q","vhost":"/","arguments":` + args + `}]}` }
	known, _ := load(t, catalog.Batch{Commands: []catalog.Command{catalog.PutVhost{Name: "/"}}})
	for name, row := range map[string]struct{ doc, text string }{
		"not JSON":             {`{`, "unexpected end"},
		"a list":               {`[]`, "cannot unmarshal"},
		"wrong type":           {`{"queues":{}}`, "cannot unmarshal"},
		"too deep (X11)":       {deep, "nest deeper than 64"},
		"deep in a string":     {`{"explanation":"` + deep + `","queues":[{"name":"q","vhost":"nope"}]}`, `Please create virtual host "nope" prior to importing definitions.`},
		"unknown vhost":        {`{"queues":[{"name":"q","vhost":"x"}]}`, `Please create virtual host "x" prior to importing definitions.`},
		"which vhost":          {`{"queues":[{"name":"q"}]}`, "which one is not said"},
		"arguments of a list":  {queue(`[1]`), "must be an object"},
		"argument twice":       {queue(`{"a":1,"a":2}`), "there twice"},
		"number too large":     {queue(`{"a":99999999999999999999}`), "64 bits"},
		"double too large":     {queue(`{"a":1e999}`), "double"},
		"name too long":        {queue(`{"` + strings.Repeat("n", 256) + `":1}`), "256 bytes"},
		"too many values (X3)": {queue(`{"a":` + wide + `}`), "arguments"},
		"nested to the bound":  {queue(nested), ""},
		"limits":               {`{"parameters":[{"vhost":"/","component":"vhost-limits","name":"limits","value":{"max-queues":"a"}}]}`, `max-queues should be a number, actually was "a"`},
		"unknown limit":        {`{"parameters":[{"vhost":"/","component":"vhost-limits","name":"limits","value":{"max-zzz":0}}]}`, "unrecognised limits: max-zzz"},
		"hash":                 {`{"users":[{"name":"u","password_hash":"%%","tags":""}]}`, "not base64"},
		"hash of a wrong size": {`{"users":[{"name":"u","password_hash":"AAAA","tags":""}]}`, "hash of 3 bytes"},
		"unknown algorithm":    {`{"users":[{"name":"u","password_hash":"AAAA","hashing_algorithm":"rot13","tags":""}]}`, "unknown hashing algorithm"},
		"binding to nothing":   {`{"bindings":[{"source":"x","vhost":"/","destination":"q","destination_type":"planet"}]}`, `destination_type is "planet"`},
		"value of a parameter": {`{"global_parameters":[{"name":"g"}]}`, "has no value"},
	} {
		_, err := ParseDefinitions([]byte(row.doc), ImportOptions{View: known.View()})
		if row.text == "" && err != nil || row.text != "" && (err == nil || !strings.Contains(err.Error(), row.text)) {
			t.Errorf("%s: got %v, want %s", name, err, row.text)
		}
	}
	if _, err := ReadDefinitions(&endless{}, ImportOptions{}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("endless document: %v", err)
	}
}

// endless never stops giving blanks.
type endless struct{}

func (*endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// TestAllOrNothing: one refusal takes the whole document along.
func TestAllOrNothing(t *testing.T) {
	b, err := ParseDefinitions([]byte(`{"vhosts":[{"name":"/"}],"queues":[{"name":"good","vhost":"/"},{"name":"bad","vhost":"/","arguments":{"x-message-ttl":"5"}}]}`), ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, o := load(t, b)
	if o.Code != 406 || o.Failed != 2 || o.Text != `invalid arg 'x-message-ttl' for queue 'bad' in vhost '/': "expected integer, got longstr"` || m.View().Vhost("/") != nil {
		t.Errorf("%+v", o)
	}
}

func TestOldHashes(t *testing.T) {
	for version, want := range map[string]string{"3.5.7": password.MD5, "3.6.0": password.SHA256, "3.13.1": password.SHA256, "": password.SHA256, "2.8.4": password.MD5, "4.0.5": password.SHA256} {
		if got := defaultAlgorithm(version); got != want {
			t.Errorf("users of %s are hashed by %s, want %s", version, got, want)
		}
	}
}

// TestArgumentsOut writes every type, those too that JSON does not know.
func TestArgumentsOut(t *testing.T) {
	var a wire.Table
	for _, e := range []struct {
		key string
		val wire.Value
	}{{"int", wire.IntValue(5)}, {"time", wire.TimestampValue(7)}, {"far", wire.TimestampValue(1 << 63)}, {"dec", wire.Value{Tag: 'D', Data: []byte{2, 0, 0, 4, 210}}},
		{"one", wire.Value{Tag: 'd', Data: []byte{0x3f, 0xf0, 0, 0, 0, 0, 0, 0}}}, {"inf", wire.Value{Tag: 'd', Data: []byte{0x7f, 0xf0, 0, 0, 0, 0, 0, 0}}},
		{"bin", wire.Value{Tag: 'x', Data: []byte{0xff}}}, {"nul", wire.Value{Tag: 'V'}}, {"int", wire.IntValue(6)}, {"\x00\"", wire.StringValue("<\n>")}} {
		a = wire.AppendRaw(a, e.key, e.val)
	}
	got := string(appendArguments(nil, a))
	want := `{"int":5,"time":7,"far":9.223372036854776e+18,"dec":12.34,"one":1.0,"inf":"+Inf","bin":"/w==","nul":null,"\u0000\"":"<\n>"}`
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	back, err := parseArguments([]byte(got))
	if err != nil || string(appendArguments(nil, back)) != want {
		t.Errorf("read back: %v, %s", err, appendArguments(nil, back))
	}
}

func TestSeedLogsIn(t *testing.T) {
	c, err := Seed("/", "guest", "guest")
	if err != nil {
		t.Fatal(err)
	}
	m := catalog.New()
	m.Apply(1, catalog.Encode(c))
	u := m.View().User("guest")
	ok, err := password.NewVerifier(password.Options{}).Verify(t.Context(), "guest", password.Stored{Algorithm: u.Algorithm, Hash: u.Hash}, []byte("guest"))
	if !ok || err != nil || !u.HasTag(Administrator) || !m.View().Allowed("guest", "/", catalog.Write, "") {
		t.Errorf("guest: %v %v %+v", ok, err, u)
	}
	if _, err := Seed("/", "guest", ""); err == nil {
		t.Error("default user without a password")
	}
	if c, err := Seed("/", "", ""); err != nil || c.(catalog.Seed).User != "" {
		t.Errorf("no default user: %v", err)
	}
}

// FuzzDefinitions is F9: a document is read or refused, never worse, and what was
// taken over is exported the same after a second round.
func FuzzDefinitions(f *testing.F) {
	if b, err := os.ReadFile("testdata/rabbit.json"); err == nil {
		f.Add(b)
	}
	f.Add([]byte(`{"queues":[{"name":"q","vhost":"/","arguments":{"a":1.5e3,"b":[{}],"c":"\ud800"}}]}`))
	f.Add([]byte(`{"rabbitmq_definition_format":"single_virtual_host","original_vhost_name":"/","limits":{"max-queues":1},"queues":[{"name":"q"}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if bytes.Contains(doc, []byte(`"password"`)) {
			return // hashing is slow, and salted anew each time
		}
		one, ok := export(t, doc)
		if !ok {
			return
		}
		two, ok := export(t, one)
		if !ok || !bytes.Equal(one, two) {
			t.Fatalf("first export\n%s\nsecond (%v)\n%s", one, ok, two)
		}
	})
}

// export imports a document beside the vhost "/", and writes what came of it.
func export(t *testing.T, doc []byte) ([]byte, bool) {
	b, err := ParseDefinitions(doc, ImportOptions{SkipUnsupported: true})
	if err != nil {
		return nil, false
	}
	m, o := load(t, catalog.Batch{Commands: append([]catalog.Command{catalog.PutVhost{Name: "/"}}, b.Commands...)})
	if o.Code != 0 {
		return nil, false
	}
	out, err := ExportDefinitions(m.View(), ExportOptions{})
	if err != nil {
		t.Fatalf("export: %v", err)
	}
	return out, true
}
