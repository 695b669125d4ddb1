package catalog

import (
	"fmt"

	"mayfly/internal/invariant"
	"mayfly/queue"
)

// Machine applies the catalogue's log. One goroutine owns it; the views it gives
// out belong to everybody.
type Machine struct{ view *View }

// New is the catalogue before its first entry.
func New() *Machine { return &Machine{view: &View{nextQueue: 1}} }

// View is the state as of the last entry.
func (m *Machine) View() *View { return m.view }

// Apply makes the change an entry asks for, or refuses it, alike on every replica.
// It panics on an entry that cannot be decoded: a replica that skipped it would
// differ from the others for ever, so it must stop instead.
func (m *Machine) Apply(index uint64, data []byte) Outcome {
	cmd, err := Decode(data)
	if err != nil {
		panic(fmt.Errorf("apply catalogue entry %d: %w", index, err))
	}
	c := change{View: *m.view, index: index}
	if r := cmd.apply(&c); r != nil {
		return Outcome{Code: r.Code, Text: r.Text, Failed: c.out.Failed}
	}
	if c.touched {
		v := c.View
		v.version = index
		if c.authTouched {
			v.auth = index
		}
		m.view = &v
		// Check walks everything; catalogues of tests are small, but not those of benchmarks.
		if invariant.Enabled && v.queues.len() < 100 {
			err := m.Check()
			invariant.Assert(err == nil, "catalogue invariants (doc.go)")
		}
	}
	return c.out
}

// change is a state in the making: a copy of the view that shares all it has not
// replaced. A refused change is dropped, and that undoes it.
type change struct {
	View
	index       uint64
	out         Outcome
	touched     bool
	authTouched bool
}

func (c *change) authChanged() { c.touched, c.authTouched = true, true }

func (c *change) putVhost(v *Vhost) {
	c.vhosts = c.vhosts.with(v.Name, v)
	c.touched = true
}

func (c *change) putUser(u *User) {
	c.users = c.users.with(u.Name, u)
	c.authChanged()
}

// vhost gives a copy to change and put back.
func (c *change) vhost(name string) (Vhost, *Refusal) {
	v, ok := c.vhosts.get(name)
	if !ok {
		return Vhost{}, noVhost(name)
	}
	return *v, nil
}

// addQueue enters a queue everywhere but under its name.
func (c *change) addQueue(q *Queue) {
	c.queues = c.queues.with(idKey(q.ID), q)
	if q.Exclusive {
		k := incarnationKey(q.incarnation())
		c.owned = c.owned.with(k, c.owned.at(k).with(idKey(q.ID), q))
	}
	c.touched = true
}

// dropQueue removes a queue everywhere, with its bindings, from v too.
func (c *change) dropQueue(v *Vhost, q *Queue) {
	v.queues = v.queues.without(q.Name)
	c.queues = c.queues.without(idKey(q.ID))
	if q.Exclusive {
		k := incarnationKey(q.incarnation())
		if rest := c.owned.at(k).without(idKey(q.ID)); rest.len() > 0 {
			c.owned = c.owned.with(k, rest)
		} else {
			c.owned = c.owned.without(k)
		}
	}
	v.unbindAll(queueDest(q.Name))
	c.out.Removed = append(c.out.Removed, q.ID)
	c.touched = true
}

// dropQueues removes queues of any vhosts.
func (c *change) dropQueues(qs []*Queue) {
	for _, q := range qs {
		v := *c.vhosts.at(q.Vhost)
		c.dropQueue(&v, q)
		c.putVhost(&v)
	}
}

func (c Batch) apply(ch *change) *Refusal {
	out := Outcome{}
	for i, sub := range c.Commands {
		ch.out = Outcome{Failed: i}
		if r := sub.apply(ch); r != nil {
			return r
		}
		out.Removed = append(out.Removed, ch.out.Removed...)
		if ch.out.Incarnation != 0 {
			out.Incarnation = ch.out.Incarnation
		}
	}
	ch.out = out
	return nil
}

func (c Seed) apply(ch *change) *Refusal {
	if ch.vhosts.len() > 0 || ch.users.len() > 0 {
		ch.out.Existed = true
		return nil
	}
	cmds := []Command{PutVhost{Name: c.Vhost, Description: "Default virtual host"}}
	if c.User != "" {
		cmds = append(cmds,
			PutUser{Name: c.User, Algorithm: c.Algorithm, Hash: c.Hash, Tags: c.Tags},
			PutPermission{User: c.User, Vhost: c.Vhost, Configure: ".*", Write: ".*", Read: ".*"})
	}
	for _, sub := range cmds {
		if r := sub.apply(ch); r != nil {
			return r
		}
	}
	return nil
}

func (c NodeUp) apply(ch *change) *Refusal {
	if r := checkName("node name", c.Name); r != nil {
		return r
	}
	if old := ch.nodes.at(c.Name); old != nil {
		ch.out.Existed = true
		ch.dropOwned(old.Incarnation)
	}
	ch.incarnation++
	ch.nodes = ch.nodes.with(c.Name, &Node{Name: c.Name, Incarnation: ch.incarnation})
	ch.out.Incarnation = ch.incarnation
	ch.touched = true
	return nil
}

func (c NodeGone) apply(ch *change) *Refusal {
	for _, n := range ch.nodes.sorted() {
		if n.Incarnation == c.Incarnation && !n.Gone {
			gone := *n
			gone.Gone = true
			ch.nodes = ch.nodes.with(n.Name, &gone)
			ch.out.Existed, ch.touched = true, true
		}
	}
	ch.dropOwned(c.Incarnation)
	return nil
}

func (c *change) dropOwned(incarnation uint32) {
	c.dropQueues(c.owned.at(incarnationKey(incarnation)).sorted())
}

func (c DropTransient) apply(ch *change) *Refusal {
	since := c.Since
	if since == 0 {
		since = ch.incarnation
	}
	var doomed []*Queue
	for _, q := range ch.queues.sorted() {
		if q.Exclusive && q.incarnation() < since || !q.Exclusive && !q.Durable && q.Born < since {
			doomed = append(doomed, q)
		}
	}
	ch.dropQueues(doomed)
	for _, name := range ch.vhosts.keys() {
		v, _ := ch.vhost(name)
		for _, x := range v.born.keys() {
			// A cascade of an earlier one may have taken it.
			if v.born.at(x) < since && v.exchanges.Get(x) != nil {
				v.dropExchange(x)
				ch.putVhost(&v)
			}
		}
	}
	return nil
}

func (c DeleteQueue) apply(ch *change) *Refusal {
	q := ch.QueueByID(c.ID)
	if q == nil {
		return nil
	}
	ch.out.Existed = true
	ch.dropQueues([]*Queue{q})
	return nil
}

// nextID takes a queue number. Numbers are never given twice.
func (c *change) nextID() queue.ID {
	id := c.nextQueue
	c.nextQueue++
	return id
}
