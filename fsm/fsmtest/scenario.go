package fsmtest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mayfly/dlx"
	"mayfly/fsm"
	"mayfly/queue"
	"mayfly/ttl"
)

// RunScenario plays a scenario and gives it back with what the machine said. A
// scenario is stanzas with an empty line between them; a stanza is commands in
// words, a line "----", and what came of them:
//
//	# a comment
//	at 2000                          the stamp of this entry (default: the last one)
//	configure max-length=2           settings replace all former ones
//	publish s1 x6 body=10 ttl=500    x6: six times
//	attach s1/1 prefetch=3
//	settle s1 4-6 9
//	----
//	(the machine's words)
//
// Sessions are s1, s2, … of node 1, or n2.s1. Numbers are given out by the runner;
// seq=N repeats one. The word "resume" alone in a stanza does that in place of
// an entry. After each entry the machine is checked, and a second one that
// is restored from a snapshot before every entry must agree.
func RunScenario(text string) (string, error) {
	s := scenario{m: fsm.New(), twin: fsm.New(), seqs: map[queue.SessionID]uint64{}, stamp: 1000}
	var out strings.Builder
	for i, stanza := range strings.Split(strings.TrimSpace(text), "\n\n") {
		commands, _, _ := strings.Cut(stanza+"\n", "----\n")
		out.WriteString(strings.TrimRight(commands, "\n"))
		if !comment(commands) {
			got, err := s.stanza(commands)
			if err != nil {
				return "", fmt.Errorf("stanza %d:\n%s\n%w", i+1, commands, err)
			}
			out.WriteString("\n----\n" + strings.TrimRight(got, "\n"))
		}
		out.WriteString("\n\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n", nil
}

func comment(stanza string) bool {
	for _, l := range strings.Split(strings.TrimSpace(stanza), "\n") {
		if !strings.HasPrefix(l, "#") {
			return false
		}
	}
	return true
}

type scenario struct {
	m, twin *fsm.Machine
	index   uint64
	stamp   ttl.Stamp
	seqs    map[queue.SessionID]uint64
}

func (s *scenario) stanza(commands string) (string, error) {
	e := Entry{}
	for _, line := range strings.Split(commands, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if words[0] == "resume" && len(e.Commands) == 0 {
			var out fsm.Outcome
			s.m.Resume(&out)
			return Words(out.Effects), nil
		}
		if err := s.line(&e, words); err != nil {
			return "", fmt.Errorf("%s: %w", line, err)
		}
	}
	e.Stamp = s.stamp
	return s.apply(&e)
}

func (s *scenario) apply(e *Entry) (string, error) {
	s.index++
	var image bytes.Buffer
	s.twin.Snapshot().WriteTo(&image)
	twin, err := fsm.Restore(&image)
	if err != nil {
		return "", err
	}
	s.twin = twin
	var a, b fsm.Outcome
	if err := s.m.Apply(s.index, e.Bytes(), &a); err != nil {
		return "", err
	}
	if err := s.twin.Apply(s.index, e.Bytes(), &b); err != nil {
		return "", err
	}
	if !slices.Equal(a.Effects, b.Effects) || s.m.Digest() != s.twin.Digest() {
		return "", fmt.Errorf("the restored machine differs: %x %x\n%s\n%s", s.m.Digest(), s.twin.Digest(), Words(a.Effects), Words(b.Effects))
	}
	if err := s.m.Check(); err != nil {
		return "", err
	}
	return Words(a.Effects) + s.state(&a), nil
}

// state tells what is where, in a line or two.
func (s *scenario) state(out *fsm.Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "= ready %s", s.ready())
	st := s.m.Stat()
	fmt.Fprintf(&b, " unacked %d consumers %d bytes %d", st.Unacked, st.Consumers, st.Bytes)
	if n, _ := s.m.Letters(); n > 0 {
		b.WriteString(" letters")
		for id := uint64(1); n > 0; id++ {
			if l, ok := s.m.Letter(id); ok {
				fmt.Fprintf(&b, " %d:%d/%v", id, l.Pos, l.Reason)
				n--
			}
		}
	}
	if out.Wake != ttl.Never {
		fmt.Fprintf(&b, " wake %d", out.Wake)
	}
	if out.More {
		b.WriteString(" more")
	}
	for _, rs := range []struct {
		name string
		list []fsm.Release
	}{{"released", out.Released}, {"settled", out.Settled}} {
		if len(rs.list) > 0 {
			fmt.Fprintf(&b, " %s", rs.name)
			for _, r := range rs.list {
				fmt.Fprintf(&b, " %d*%d", r.N, r.Index)
			}
		}
	}
	fmt.Fprintf(&b, " live %d\n", out.Live)
	return b.String()
}

func (s *scenario) ready() string {
	var l []string
	s.m.Queue().Each(func(p queue.Pos, _ queue.Ref, _ ttl.Stamp) bool {
		l = append(l, strconv.FormatUint(uint64(p), 10))
		return len(l) < 20
	})
	return "[" + strings.Join(l, " ") + "]"
}

// line reads one line into the entry.
func (s *scenario) line(e *Entry, words []string) error {
	switch words[0] {
	case "at":
		n, err := strconv.ParseInt(words[1], 10, 64)
		s.stamp = ttl.Stamp(n)
		return err
	case "lead":
		e.Lead = true
		return nil
	}
	c := Command{Op: Op(words[0]), Message: queue.Message{TTL: queue.NoTTL}, Config: queue.Defaults(), Why: queue.WhyNack}
	a := args{command: &c, times: 1}
	for _, w := range words[1:] {
		if err := a.word(w); err != nil {
			return err
		}
	}
	if !slices.Contains(Ops, c.Op) {
		return fmt.Errorf("no such command")
	}
	c.Config.Name = "q"
	if c.Op == Tx {
		c.Tx.Settles = c.Positions
		for range a.times {
			m := c.Message
			c.Tx.Publishes = append(c.Tx.Publishes, &m)
		}
		a.times = 1
	}
	for range a.times {
		if c.Seq = a.seq; a.seq == 0 && c.numbered() {
			s.seqs[c.Session]++
			c.Seq = s.seqs[c.Session]
		}
		e.Commands = append(e.Commands, c)
	}
	return nil
}

func (c *Command) numbered() bool {
	switch c.Op {
	case Publish, Attach, Detach, Get, Purge, Close, Tx:
		return true
	}
	return false
}

// args reads the words behind a command's name.
type args struct {
	command *Command
	times   int
	seq     uint64
}

func (a *args) word(w string) error {
	c := a.command
	if key, value, ok := strings.Cut(w, "="); ok {
		return a.setting(key, value)
	}
	switch {
	case c.Op == Configure:
		return flagSetting(&c.Config, w)
	case w == "no-ack":
		c.NoAck, c.Spec.NoAck = true, true
	case w == "exclusive":
		c.Spec.Exclusive = true
	case w == "if-unused":
		c.IfUnused = true
	case w == "if-empty":
		c.IfEmpty = true
	case w == "closed":
		c.Why = queue.WhyClosed
	case w == "reject":
		c.Why = queue.WhyReject
	case w == "timeout":
		c.Why = queue.WhyTimeout
	case w[0] == 'x':
		n, err := strconv.Atoi(w[1:])
		a.times = n
		return err
	case w[0] == 's' || w[0] == 'n':
		return c.who(w)
	default:
		return a.numbers(w)
	}
	return nil
}

// who reads s1, n2.s1 or s1/3.
func (c *Command) who(w string) error {
	name, number, ok := strings.Cut(w, "/")
	if ok {
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return err
		}
		c.Spec.Number = uint32(n)
	}
	var node, counter uint32 = 1, 0
	if _, err := fmt.Sscanf(name, "n%d.s%d", &node, &counter); err != nil {
		if _, err := fmt.Sscanf(name, "s%d", &counter); err != nil {
			return fmt.Errorf("%q is no session", w)
		}
		node = 1
	}
	c.Session = queue.SessionID(uint64(node)<<32 | uint64(counter))
	return nil
}

// numbers reads 7 or 4-6: positions, letters or a node.
func (a *args) numbers(w string) error {
	from, to, ok := strings.Cut(w, "-")
	if !ok {
		to = from
	}
	lo, err := strconv.ParseUint(from, 10, 64)
	if err != nil {
		return err
	}
	hi, err := strconv.ParseUint(to, 10, 64)
	for n := lo; n <= hi && err == nil; n++ {
		a.command.Positions = append(a.command.Positions, queue.Pos(n))
		a.command.IDs = append(a.command.IDs, n)
		a.command.Node = uint32(n)
	}
	return err
}

func (a *args) setting(key, value string) error {
	c := a.command
	if c.Op == Configure && key == "overflow" {
		switch value {
		case "drop-head":
		case "reject-publish":
			c.Config.Overflow = queue.RejectPublish
		case "reject-publish-dlx":
			c.Config.Overflow = queue.RejectPublishDLX
		default:
			return fmt.Errorf("no overflow %q", value)
		}
		return nil
	}
	if key == "cause" {
		for cause := range dlx.Cause(dlx.Causes) {
			if cause.String() == value {
				c.Cause = cause
			}
		}
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return err
	}
	if c.Op == Configure {
		return numberSetting(&c.Config, key, n)
	}
	switch key {
	case "body":
		c.Message.Body = make([]byte, n)
	case "ttl":
		c.Message.TTL = n
	case "priority":
		c.Message.HasPriority, c.Message.Priority, c.Spec.Priority = true, uint8(n), int32(n)
	case "prefetch":
		c.Spec.Prefetch = uint32(n)
	case "window":
		c.Spec.Window = uint32(n)
	case "total":
		c.Total = uint64(n)
	case "seq":
		a.seq = uint64(n)
	default:
		return fmt.Errorf("no setting %q", key)
	}
	return nil
}

func numberSetting(c *queue.Config, key string, n int64) error {
	switch key {
	case "max-length":
		c.MaxLength = n
	case "max-bytes":
		c.MaxBytes = n
	case "max-priority":
		c.MaxPriority = uint8(n)
	case "default-priority":
		c.DefaultPriority = uint8(n)
	case "ttl":
		c.TTL = n
	case "expires":
		c.Expires = n
	case "delivery-limit":
		c.DeliveryLimit = n
	default:
		return fmt.Errorf("no setting %q", key)
	}
	return nil
}

func flagSetting(c *queue.Config, key string) error {
	switch key {
	case "single-active":
		c.SingleActive = true
	case "auto-delete":
		c.AutoDelete = true
	case "dead-letter":
		c.DeadLetter = true
	case "message-ttl-wins":
		c.MessageTTLWins = true
	case "expire-at-head":
		c.ExpireAtHead = true
	case "count-only-failure":
		c.CountOnlyFailure = true
	default:
		return fmt.Errorf("no setting %q", key)
	}
	return nil
}
