package catalog

import (
	"strings"
	"testing"
)

// TestAllowed is the table of rights: patterns against names (amqp.md 16, X8).
func TestAllowed(t *testing.T) {
	for _, row := range []struct {
		pattern, name string
		want          bool
	}{
		{".*", "anything", true}, {".*", "", true}, {".*", "a\nb", true},
		{"", "q", false}, {"", "", false}, {"^$", "q", false}, {"^$", "", false},
		{"q", "q", true}, {"q", "my-q-1", true}, {"^q", "my-q", false}, {"^q", "q1", true}, {"q$", "q1", false},
		{"^q$", "q", true}, {"^q$", "qq", false}, {"^q$", "q\n", false},
		{"^(a|b)\\..*", "a.x", true}, {"^(a|b)\\..*", "c.x", false},
		{"^amq\\.default$", "", true}, {"^amq\\.default$", "amq.default", true}, {"^amq\\.gen-.*", "amq.gen-abc", true},
		{"^x.y$", "x.y", true}, {"^x.y$", "xzy", true},
		{"(?i)^Q$", "q", true},
	} {
		r := newRig(t)
		r.must(PutPermission{User: "u", Vhost: "/", Configure: row.pattern, Write: row.pattern, Read: row.pattern})
		v := r.m.View()
		for _, right := range []Right{Configure, Write, Read} {
			if got := v.Allowed("u", "/", right, row.name); got != row.want {
				t.Errorf("%s %q on %q = %v", right, row.pattern, row.name, got)
			}
			if v.Allowed("nobody", "/", right, row.name) || v.Allowed("u", "other", right, row.name) || v.Allowed("u", "/", 0, row.name) {
				t.Errorf("%s %q: allowed to nobody, elsewhere, or a right that is none", right, row.pattern)
			}
		}
	}
}

// TestRightsAreApart: each right has its own pattern.
func TestRightsAreApart(t *testing.T) {
	r := newRig(t)
	r.must(PutPermission{User: "u", Vhost: "/", Configure: "^c$", Write: "^w$", Read: "^r$"})
	for name, right := range map[string]Right{"c": Configure, "w": Write, "r": Read} {
		for _, asked := range []Right{Configure, Write, Read} {
			if got := r.m.View().Allowed("u", "/", asked, name); got != (asked == right) {
				t.Errorf("%s on %q = %v", asked, name, got)
			}
		}
	}
	p := r.m.View().User("u").Permission("/")
	if p.Pattern(Configure) != "^c$" || p.Pattern(Write) != "^w$" || p.Pattern(Read) != "^r$" || p.Pattern(0) != "" {
		t.Errorf("patterns as given: %+v", p)
	}
}

func TestBadPatterns(t *testing.T) {
	r := newRig(t)
	for _, bad := range []string{"(", "a{2,1}", "(?<!x)y", "(a)\\1", strings.Repeat("a", 1025), "((a{100}){100}){100}", "(((x{30}){30}){30}y){30}"} {
		if o := r.apply(PutPermission{User: "u", Vhost: "/", Configure: bad}); o.Code != 400 {
			t.Errorf("pattern %.40q: %d %s", bad, o.Code, o.Text)
		}
		if o := r.apply(PutTopicPermission{User: "u", Vhost: "/", Exchange: "x", Read: bad}); o.Code != 400 {
			t.Errorf("topic pattern %.40q: %d %s", bad, o.Code, o.Text)
		}
	}
	for _, good := range []string{strings.Repeat("a", 1024), "^(ab|cd){1,50}$", "^[\\w.-]{1,200}$", "^\\pL{1,255}$"} {
		r.must(PutPermission{User: "u", Vhost: "/", Configure: good})
	}
}

// TestRevocation is S24: what was revoked is gone in the next view, and the version
// that holders of cached rights compare has changed.
func TestRevocation(t *testing.T) {
	all := PutPermission{User: "u", Vhost: "/", Configure: ".*", Write: ".*", Read: ".*"}
	for name, revoke := range map[string]Command{
		"narrowed":      PutPermission{User: "u", Vhost: "/", Configure: ".*", Write: "^other$", Read: ".*"},
		"row deleted":   DeletePermission{User: "u", Vhost: "/"},
		"user deleted":  DeleteUser{Name: "u"},
		"vhost deleted": DeleteVhost{Name: "/"},
		"in a batch":    Batch{[]Command{DeleteUser{Name: "u"}, PutUser{Name: "u"}}},
	} {
		r := newRig(t)
		r.must(all)
		before := r.m.View()
		r.must(revoke)
		after := r.m.View()
		if after.Allowed("u", "/", Write, "q") || after.AuthVersion() == before.AuthVersion() {
			t.Errorf("%s: allowed %v, auth version %d, before %d", name, after.Allowed("u", "/", Write, "q"), after.AuthVersion(), before.AuthVersion())
		}
		if !before.Allowed("u", "/", Write, "q") {
			t.Errorf("%s: the old view has changed", name)
		}
	}
	r := newRig(t)
	r.must(all, DeleteVhost{Name: "/"}, PutVhost{Name: "/"})
	if r.m.View().Allowed("u", "/", Read, "q") {
		t.Error("rights came back with a new vhost of the same name")
	}
	auth := r.m.View().AuthVersion()
	r.must(declare(nil), DeclareExchange{Vhost: "/", Name: "x", Type: "topic"}, bindQueue("x", "q", ""))
	if v := r.m.View(); v.AuthVersion() != auth || v.Version() != r.index {
		t.Errorf("after a declare: auth version %d, was %d; version %d at index %d", v.AuthVersion(), auth, v.Version(), r.index)
	}
	r.must(PutUser{Name: "u", Hash: []byte("new")})
	if r.m.View().AuthVersion() == auth {
		t.Error("a new password did not change the auth version")
	}
}

func TestTopicPermissions(t *testing.T) {
	r := newRig(t)
	r.must(PutUser{Name: "a.*b"}, PutTopicPermission{User: "u", Vhost: "/", Exchange: "x", Write: `^{username}\.`, Read: "^{vhost}$"},
		PutTopicPermission{User: "a.*b", Vhost: "/", Exchange: "x", Write: "^{username}$", Read: ""})
	for _, row := range []struct {
		user, exchange string
		right          Right
		key            string
		want           bool
	}{
		{"u", "x", Write, "u.1", true}, {"u", "x", Write, "v.1", false}, {"u", "x", Write, "{username}.", false},
		{"u", "x", Read, "/", true}, {"u", "x", Read, "u.1", false},
		{"u", "other", Write, "v.1", true}, // no row
		{"a.*b", "x", Write, "a.*b", true}, // a name is never read as a pattern (X8)
		{"a.*b", "x", Write, "axxb", false},
		{"a.*b", "x", Read, "k", false}, {"a.*b", "x", Read, "", true},
		{"nobody", "x", Write, "k", false},
	} {
		if got := r.m.View().TopicAllowed(row.user, "/", row.exchange, row.right, []byte(row.key)); got != row.want {
			t.Errorf("%s %s %q at %s = %v", row.user, row.right, row.key, row.exchange, got)
		}
	}
	r.must(PutTopicPermission{User: "u", Vhost: "/", Exchange: "y"}, DeleteTopicPermission{User: "u", Vhost: "/", Exchange: "x"})
	if v := r.m.View(); !v.TopicAllowed("u", "/", "x", Write, []byte("v")) || v.TopicAllowed("u", "/", "y", Write, []byte("v")) {
		t.Error("deleting one rule")
	}
	r.must(DeleteTopicPermission{User: "u", Vhost: "/", All: true})
	if rules := r.m.View().User("u").TopicRules(); len(rules) != 0 {
		t.Errorf("rules left: %v", rules)
	}
}

func TestUsersAndVhosts(t *testing.T) {
	r := newRig(t)
	const missing = "vhost_or_user_not_found"
	r.refused(PutPermission{User: "none", Vhost: "/"}, 400, missing)
	r.refused(PutPermission{User: "u", Vhost: "none"}, 400, missing)
	r.refused(PutTopicPermission{User: "u", Vhost: "none"}, 400, missing)
	r.refused(DeleteUser{Name: "none"}, 404, "user 'none' does not exist")
	r.refused(PutUserLimits{Name: "none"}, 404, "user 'none' does not exist")
	r.refused(DeleteVhost{Name: "none"}, 404, "vhost 'none' does not exist")
	r.refused(PutUser{}, 400, "user name must have 1 to 255 bytes")
	r.refused(PutVhost{Name: strings.Repeat("v", 256)}, 400, "vhost name must have 1 to 255 bytes")
	r.must(PutPermission{User: "u", Vhost: "/", Read: ".*"}, PutUser{Name: "u", Tags: []string{"administrator"}, MaxChannels: NewLimit(3)})
	u := r.m.View().User("u")
	if !u.HasTag("administrator") || u.HasTag("monitoring") || u.MaxChannels.Number() != 3 || u.MaxConnections.Number() != -1 || len(u.Permissions()) != 1 {
		t.Errorf("user after a second put: %+v", u)
	}
	r.must(PutUserLimits{Name: "u", MaxConnections: NewLimit(0)})
	if u = r.m.View().User("u"); u.MaxConnections.Allows(0) || !u.MaxChannels.Allows(1<<40) || !u.HasTag("administrator") {
		t.Errorf("user after a change of limits: %+v", u)
	}
	r.must(PutVhost{Name: "p", Protected: true, Tags: []string{"t"}})
	r.refused(DeleteVhost{Name: "p"}, 412, "vhost 'p' is protected from deletion")
	r.must(DeclareQueue{Vhost: "p", Name: "a"}, DeclareQueue{Vhost: "p", Name: "b", Exclusive: true, Owner: 1 << 32}, PutVhost{Name: "p"})
	if o := r.must(DeleteVhost{Name: "p"}); len(o.Removed) != 2 || r.m.View().QueueCount() != 0 {
		t.Errorf("deleting a vhost removed %v", o.Removed)
	}
}

// TestSeed is X6: the default user comes with an empty catalogue, or never.
func TestSeed(t *testing.T) {
	seed := Seed{Vhost: "/", User: "guest", Algorithm: "a", Hash: []byte("h"), Tags: []string{"administrator"}}
	r := &rig{T: t, m: New()}
	if o := r.must(seed); o.Existed || !r.m.View().Allowed("guest", "/", Write, "") {
		t.Errorf("seeding an empty catalogue: %+v", o)
	}
	r.must(DeleteUser{Name: "guest"})
	if o := r.must(seed); !o.Existed || r.m.View().User("guest") != nil {
		t.Errorf("guest came back: %+v", o)
	}
	r = &rig{T: t, m: New()}
	if r.must(Seed{Vhost: "/"}); len(r.m.View().Users()) != 0 || len(r.m.View().Vhosts()) != 1 {
		t.Error("seed without a user")
	}
}
