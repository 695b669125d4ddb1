package admin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mayfly/fsm/catalog"
	"mayfly/internal/password"
	"mayfly/queue/exchange"
)

// Bounds of an import (X11).
const (
	MaxDefinitions   = 64 << 20 // bytes of a document
	maxDefinitionsIn = 64       // nesting
	maxListed        = 20       // unsupported things named in the error
)

// ImportOptions say how a definitions document is read.
type ImportOptions struct {
	// SkipUnsupported leaves out what this release has no machinery for, instead of
	// refusing the document.
	SkipUnsupported bool
	// Vhost takes the objects of a document of a single vhost; "" is the vhost the
	// document came from.
	Vhost string
	// View tells which vhosts are there already; nil leaves that to the catalogue.
	View *catalog.View
}

// ReadDefinitions is ParseDefinitions for a stream, of which it reads no more than
// the bound.
func ReadDefinitions(r io.Reader, o ImportOptions) (catalog.Batch, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxDefinitions+1))
	if err != nil {
		return catalog.Batch{}, fmt.Errorf("read definitions: %w", err)
	}
	return ParseDefinitions(data, o)
}

// ParseDefinitions makes one batch of a document: all of it takes effect, or none.
// Objects that are there already stay if they cannot change (queues, exchanges), and
// are replaced if they can.
func ParseDefinitions(data []byte, o ImportOptions) (catalog.Batch, error) {
	if len(data) > MaxDefinitions {
		return catalog.Batch{}, fmt.Errorf("definitions are larger than %d bytes", MaxDefinitions)
	}
	if err := checkNesting(data, maxDefinitionsIn); err != nil {
		return catalog.Batch{}, err
	}
	var doc document
	if err := json.Unmarshal(data, &doc); err != nil {
		return catalog.Batch{}, fmt.Errorf("definitions: %w", err)
	}
	b := &importer{doc: &doc, options: o, known: map[string]bool{}, dropped: map[exchange.Dest]bool{}}
	for _, step := range []func() error{b.users, b.vhosts, b.permissions, b.parameters, b.policies, b.exchanges, b.queues, b.bindings} {
		if err := step(); err != nil {
			return catalog.Batch{}, err
		}
	}
	if len(b.unsupported) > 0 && !o.SkipUnsupported {
		return catalog.Batch{}, unsupportedError(b.unsupported)
	}
	return catalog.Batch{Commands: b.cmds}, nil
}

// checkNesting bounds the depth of a document before anything recursive reads it.
func checkNesting(data []byte, bound int) error {
	depth, inString, escaped := 0, false, false
	for _, c := range data {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > bound {
				return fmt.Errorf("definitions nest deeper than %d", bound)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// unsupportedError names what cannot be imported.
func unsupportedError(list []string) error {
	n := len(list)
	if n > maxListed {
		list = append(slices.Clone(list[:maxListed]), fmt.Sprintf("and %d more", n-maxListed))
	}
	return errors.New("definitions hold what this release does not support (skip_unsupported imports the rest): " + strings.Join(list, ", "))
}

// importer gathers commands in RabbitMQ's order of import.
type importer struct {
	doc         *document
	options     ImportOptions
	cmds        []catalog.Command
	known       map[string]bool // vhosts of the document
	unsupported []string
	dropped     map[exchange.Dest]bool // left out, by vhost and name (droppedKey)
}

func (b *importer) add(c catalog.Command) { b.cmds = append(b.cmds, c) }

// vhost is where an object goes, or why it cannot.
func (b *importer) vhost(name string) (string, error) {
	if name == "" {
		if name = b.options.Vhost; name == "" {
			name = b.doc.OriginalVhostName
		}
	}
	if name == "" {
		return "", errors.New("definitions of a single vhost, but which one is not said")
	}
	if b.known[name] || b.options.View == nil || b.options.View.Vhost(name) != nil {
		return name, nil
	}
	return "", fmt.Errorf("Please create virtual host %q prior to importing definitions.", name) //nolint:staticcheck // RabbitMQ's words
}

func (b *importer) users() error {
	for _, u := range b.doc.Users {
		s, err := b.stored(u)
		if err != nil {
			return fmt.Errorf("user %q: %w", u.Name, err)
		}
		limits, err := parseLimits(u.Limits, "max-connections", "max-channels")
		if err != nil {
			return fmt.Errorf("user %q: %w", u.Name, err)
		}
		b.add(catalog.PutUser{Name: u.Name, Algorithm: s.Algorithm, Hash: s.Hash, Tags: u.Tags, MaxConnections: limits[0], MaxChannels: limits[1]})
	}
	return nil
}

func (b *importer) stored(u userDef) (password.Stored, error) {
	if u.PasswordHash == "" && u.Password != "" {
		return password.New([]byte(u.Password))
	}
	hash, err := base64.StdEncoding.DecodeString(u.PasswordHash)
	if err != nil {
		return password.Stored{}, errors.New("password_hash is not base64")
	}
	s := password.Stored{Algorithm: u.HashingAlgorithm, Hash: hash}
	if s.Algorithm == "" {
		s.Algorithm = defaultAlgorithm(b.doc.RabbitVersion)
	}
	return s, password.Check(s)
}

// defaultAlgorithm is of users whose document names none: brokers before 3.6 knew
// only one and did not say so.
func defaultAlgorithm(version string) string {
	for _, old := range []string{"1.", "2.", "3.0.", "3.1.", "3.2.", "3.3.", "3.4.", "3.5."} {
		if strings.HasPrefix(version, old) {
			return password.MD5
		}
	}
	return password.SHA256
}

// parseLimits reads an object of limits; RabbitMQ writes none as [] at times.
func parseLimits(raw json.RawMessage, names ...string) ([]catalog.Limit, error) {
	limits := make([]catalog.Limit, len(names))
	raw = bytes.TrimSpace(raw)
	if s := string(raw); s == "" || s == "[]" || s == "null" {
		return limits, nil
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, errors.New("limits must be an object")
	}
	for i, name := range names {
		val, ok := values[name]
		if !ok {
			continue
		}
		var n int64
		if err := json.Unmarshal(val, &n); err != nil {
			return nil, fmt.Errorf("%s should be a number, actually was %s", name, val)
		}
		limits[i] = catalog.NewLimit(n)
		delete(values, name)
	}
	if len(values) > 0 {
		var others []string
		for name := range values {
			others = append(others, name)
		}
		slices.Sort(others)
		return nil, fmt.Errorf("unrecognised limits: %s", strings.Join(others, ", "))
	}
	return limits, nil
}

func (b *importer) vhosts() error {
	for _, v := range b.doc.Vhosts {
		c := catalog.PutVhost{Name: v.Name, Description: v.Description, Tags: v.Tags, DefaultQueueType: v.DefaultQueueType, Tracing: v.Tracing, Protected: v.Metadata.Protected}
		if c.Description == "" {
			c.Description = v.Metadata.Description
		}
		if c.Tags == nil {
			c.Tags = v.Metadata.Tags
		}
		if c.DefaultQueueType == "" {
			c.DefaultQueueType = v.Metadata.DefaultQueueType
		}
		b.known[v.Name] = true
		b.add(c)
	}
	return b.ownLimits()
}

// ownLimits are those at the top of a document of a single vhost.
func (b *importer) ownLimits() error {
	limits, err := parseLimits(b.doc.Limits, "max-connections", "max-queues")
	if err != nil || !limits[0].Set && !limits[1].Set {
		return err
	}
	vhost, err := b.vhost("")
	if err == nil {
		b.add(catalog.PutVhostLimits{Vhost: vhost, MaxConnections: limits[0], MaxQueues: limits[1]})
	}
	return err
}

func (b *importer) permissions() error {
	for _, p := range b.doc.Permissions {
		vhost, err := b.vhost(p.Vhost)
		if err != nil {
			return err
		}
		b.add(catalog.PutPermission{User: p.User, Vhost: vhost, Configure: p.Configure, Write: p.Write, Read: p.Read})
	}
	for _, p := range b.doc.TopicPermissions {
		vhost, err := b.vhost(p.Vhost)
		if err != nil {
			return err
		}
		b.add(catalog.PutTopicPermission{User: p.User, Vhost: vhost, Exchange: p.Exchange, Write: p.Write, Read: p.Read})
	}
	return nil
}

// vhostLimits is the component under which RabbitMQ keeps a vhost's limits.
const vhostLimits = "vhost-limits"

func (b *importer) parameters() error {
	for _, p := range b.doc.Parameters {
		if p.Component != vhostLimits {
			b.unsupported = append(b.unsupported, fmt.Sprintf("parameter %q of component %q in vhost %q", p.Name, p.Component, p.Vhost))
			continue
		}
		vhost, err := b.vhost(p.Vhost)
		if err != nil {
			return err
		}
		limits, err := parseLimits(p.Value, "max-connections", "max-queues")
		if err != nil {
			return fmt.Errorf("limits of vhost %q: %w", vhost, err)
		}
		b.add(catalog.PutVhostLimits{Vhost: vhost, MaxConnections: limits[0], MaxQueues: limits[1]})
	}
	for _, p := range b.doc.GlobalParameters {
		var val bytes.Buffer
		if err := json.Compact(&val, p.Value); err != nil {
			return fmt.Errorf("global parameter %q has no value", p.Name)
		}
		b.add(catalog.PutGlobalParameter{Name: p.Name, Value: val.Bytes()})
	}
	return nil
}

func (b *importer) policies() error {
	for _, p := range b.doc.Policies {
		b.unsupported = append(b.unsupported, fmt.Sprintf("policy %q in vhost %q", p.Name, p.Vhost))
	}
	return nil
}

// drop notes an object that is left out, so that its bindings are too.
func (b *importer) drop(vhost string, isQueue bool, name string) {
	b.dropped[droppedKey(vhost, isQueue, name)] = true
}

func droppedKey(vhost string, isQueue bool, name string) exchange.Dest {
	return exchange.Dest{Queue: isQueue, Name: fmt.Sprintf("%d:%s%s", len(vhost), vhost, name)}
}

// predeclared tells that an exchange is every vhost's own.
func predeclared(name string) bool {
	return name == "" || strings.HasPrefix(name, catalog.ReservedPrefix)
}

func (b *importer) exchanges() error {
	for _, x := range b.doc.Exchanges {
		if predeclared(x.Name) {
			continue
		}
		vhost, err := b.vhost(x.Vhost)
		if err != nil {
			return err
		}
		if _, refusal := catalog.CheckExchangeType(x.Type); refusal != nil {
			b.drop(vhost, false, x.Name)
			b.unsupported = append(b.unsupported, fmt.Sprintf("exchange %q of type %q in vhost %q", x.Name, x.Type, vhost))
			continue
		}
		args, err := parseArguments(x.Arguments)
		if err != nil {
			return fmt.Errorf("exchange %q in vhost %q: %w", x.Name, vhost, err)
		}
		b.add(catalog.DeclareExchange{Vhost: vhost, Name: x.Name, Type: x.Type, Durable: x.Durable, AutoDelete: x.AutoDelete, Internal: x.Internal, Args: args, IfAbsent: true})
	}
	return nil
}

func (b *importer) queues() error {
	for _, q := range b.doc.Queues {
		vhost, err := b.vhost(q.Vhost)
		if err != nil {
			return err
		}
		args, err := parseArguments(q.Arguments)
		if err != nil {
			return fmt.Errorf("queue %q in vhost %q: %w", q.Name, vhost, err)
		}
		if t, ok := args.Get("x-queue-type"); ok && t.Text() == "stream" {
			b.drop(vhost, true, q.Name)
			b.unsupported = append(b.unsupported, fmt.Sprintf("queue %q of type \"stream\" in vhost %q", q.Name, vhost))
			continue
		}
		b.add(catalog.DeclareQueue{Vhost: vhost, Name: q.Name, Durable: q.Durable, AutoDelete: q.AutoDelete, Args: args, IfAbsent: true})
	}
	return nil
}

func (b *importer) bindings() error {
	for _, d := range b.doc.Bindings {
		vhost, err := b.vhost(d.Vhost)
		if err != nil {
			return err
		}
		if d.DestinationType != "queue" && d.DestinationType != "exchange" {
			return fmt.Errorf("binding from %q in vhost %q: destination_type is %q", d.Source, vhost, d.DestinationType)
		}
		to := exchange.Dest{Queue: d.DestinationType == "queue", Name: d.Destination}
		if d.Source == "" || b.dropped[droppedKey(vhost, false, d.Source)] || b.dropped[droppedKey(vhost, to.Queue, to.Name)] {
			continue // implicit, or an end of it was left out
		}
		args, err := parseArguments(d.Arguments)
		if err != nil {
			return fmt.Errorf("binding from %q in vhost %q: %w", d.Source, vhost, err)
		}
		b.add(catalog.Bind{Vhost: vhost, Binding: exchange.Binding{Source: d.Source, Dest: to, Key: d.RoutingKey, Args: args}})
	}
	return nil
}
