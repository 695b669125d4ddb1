package catalog

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// User is who may log in. It never changes: a change makes a new one.
type User struct {
	Name           string
	Algorithm      string // as internal/password names it
	Hash           []byte // not to be written to; empty: no login by password
	Tags           []string
	MaxConnections Limit
	MaxChannels    Limit

	permissions pmap[*Permission]      // by vhost
	topics      pmap[pmap[*TopicRule]] // by vhost, then exchange
}

// HasTag tells whether the user carries a tag such as administrator.
func (u *User) HasTag(tag string) bool { return slices.Contains(u.Tags, tag) }

// Permission is the user's row in a vhost, or nil: without one the vhost is shut.
func (u *User) Permission(vhost string) *Permission { return u.permissions.at(vhost) }

// Permissions lists the rows, by vhost.
func (u *User) Permissions() []*Permission { return u.permissions.sorted() }

// TopicRules lists the rules for routing keys, by vhost and exchange.
func (u *User) TopicRules() []*TopicRule {
	var all []*TopicRule
	for _, rules := range u.topics.sorted() {
		all = append(all, rules.sorted()...)
	}
	return all
}

// Right is one of the three rights of amqp.md 16.
type Right uint8

const (
	Configure Right = iota + 1
	Write
	Read
)

// String is the right as reply texts name it.
func (r Right) String() string {
	switch r {
	case Configure:
		return "configure"
	case Write:
		return "write"
	case Read:
		return "read"
	}
	return "unknown"
}

// Permission is a user's rights in one vhost.
type Permission struct {
	User, Vhost            string
	configure, write, read pattern
}

// Pattern is the text of a right's pattern.
func (p *Permission) Pattern(r Right) string {
	if pat := p.of(r); pat != nil {
		return pat.text
	}
	return ""
}

// Allows tells whether the right covers the name; of the default exchange that is
// amq.default, also when it comes as "". A nil Permission allows nothing.
func (p *Permission) Allows(r Right, resource string) bool {
	if p == nil {
		return false
	}
	if resource == "" {
		resource = DefaultExchange
	}
	pat := p.of(r)
	return pat != nil && pat.matches(resource)
}

func (p *Permission) of(r Right) *pattern {
	switch r {
	case Configure:
		return &p.configure
	case Write:
		return &p.write
	case Read:
		return &p.read
	}
	return nil
}

// TopicRule narrows a user's routing keys at one exchange.
type TopicRule struct {
	User, Vhost, Exchange string
	Write, Read           string // as given, {username} and {vhost} not filled in
	write, read           pattern
}

func (t *TopicRule) allows(r Right, key []byte) bool {
	switch r {
	case Write:
		return t.write.matchesBytes(key)
	case Read:
		return t.read.matchesBytes(key)
	}
	return false
}

// fillIn puts the user's and the vhost's name into a pattern for routing keys. They
// are quoted: a name is never read as a pattern (X8).
func fillIn(text, user, vhost string) string {
	text = strings.ReplaceAll(text, "{username}", regexp.QuoteMeta(user))
	return strings.ReplaceAll(text, "{vhost}", regexp.QuoteMeta(vhost))
}

const maxName = 255 // bytes of any name: what a short string carries

func checkName(what, name string) *Refusal {
	if name == "" || len(name) > maxName {
		return refuse(codeBadRequest, what+" must have 1 to 255 bytes")
	}
	return nil
}

func (c PutUser) apply(ch *change) *Refusal {
	if r := checkName("user name", c.Name); r != nil {
		return r
	}
	u, ok := ch.users.get(c.Name)
	ch.out.Existed = ok
	var n User
	if ok {
		n = *u
	}
	n.Name, n.Algorithm, n.Hash, n.Tags = c.Name, c.Algorithm, bytes.Clone(c.Hash), slices.Clone(c.Tags)
	n.MaxConnections, n.MaxChannels = c.MaxConnections, c.MaxChannels
	ch.putUser(&n)
	return nil
}

func (c PutUserLimits) apply(ch *change) *Refusal {
	u, ok := ch.users.get(c.Name)
	if !ok {
		return noUser(c.Name)
	}
	n := *u
	n.MaxConnections, n.MaxChannels = c.MaxConnections, c.MaxChannels
	ch.putUser(&n)
	return nil
}

func (c DeleteUser) apply(ch *change) *Refusal {
	if _, ok := ch.users.get(c.Name); !ok {
		return noUser(c.Name)
	}
	ch.users = ch.users.without(c.Name)
	ch.authChanged()
	return nil
}

func noUser(name string) *Refusal { return refuse(codeNotFound, "user '"+name+"' does not exist") }

// userIn finds the user of a permission, which must be there as the vhost must.
func (c *change) userIn(user, vhost string) (User, *Refusal) {
	u, ok := c.users.get(user)
	if _, there := c.vhosts.get(vhost); !ok || !there {
		return User{}, refuse(codeBadRequest, "vhost_or_user_not_found")
	}
	return *u, nil
}

func (c PutPermission) apply(ch *change) *Refusal {
	u, r := ch.userIn(c.User, c.Vhost)
	if r != nil {
		return r
	}
	p := &Permission{User: c.User, Vhost: c.Vhost}
	var err error
	for _, f := range []struct {
		to   *pattern
		text string
	}{{&p.configure, c.Configure}, {&p.write, c.Write}, {&p.read, c.Read}} {
		if *f.to, err = compilePattern(f.text); err != nil {
			return refuse(codeBadRequest, err.Error())
		}
	}
	_, ch.out.Existed = u.permissions.get(c.Vhost)
	u.permissions = u.permissions.with(c.Vhost, p)
	ch.putUser(&u)
	return nil
}

func (c DeletePermission) apply(ch *change) *Refusal {
	u, r := ch.userIn(c.User, c.Vhost)
	if r != nil {
		return r
	}
	if _, ch.out.Existed = u.permissions.get(c.Vhost); !ch.out.Existed {
		return nil
	}
	u.permissions = u.permissions.without(c.Vhost)
	ch.putUser(&u)
	return nil
}

func (c PutTopicPermission) apply(ch *change) *Refusal {
	u, r := ch.userIn(c.User, c.Vhost)
	if r != nil {
		return r
	}
	t := &TopicRule{User: c.User, Vhost: c.Vhost, Exchange: c.Exchange, Write: c.Write, Read: c.Read}
	var err error
	if t.write, err = compilePattern(fillIn(c.Write, c.User, c.Vhost)); err != nil {
		return refuse(codeBadRequest, err.Error())
	}
	if t.read, err = compilePattern(fillIn(c.Read, c.User, c.Vhost)); err != nil {
		return refuse(codeBadRequest, err.Error())
	}
	rules := u.topics.at(c.Vhost)
	_, ch.out.Existed = rules.get(c.Exchange)
	u.topics = u.topics.with(c.Vhost, rules.with(c.Exchange, t))
	ch.putUser(&u)
	return nil
}

func (c DeleteTopicPermission) apply(ch *change) *Refusal {
	u, r := ch.userIn(c.User, c.Vhost)
	if r != nil {
		return r
	}
	rules := u.topics.at(c.Vhost)
	if _, ch.out.Existed = rules.get(c.Exchange); c.All {
		ch.out.Existed = rules.len() > 0
		rules = pmap[*TopicRule]{}
	}
	if !ch.out.Existed {
		return nil
	}
	if rules = rules.without(c.Exchange); rules.len() > 0 {
		u.topics = u.topics.with(c.Vhost, rules)
	} else {
		u.topics = u.topics.without(c.Vhost)
	}
	ch.putUser(&u)
	return nil
}
