package catalog

import (
	"bytes"
	"fmt"
	"slices"

	"mayfly/queue/exchange"
)

// Check tests the invariants of doc.go in full.
func (m *Machine) Check() error {
	v := m.view
	named, owned := 0, 0
	for _, h := range v.vhosts.sorted() {
		named += h.queues.len()
		if err := v.checkVhost(h); err != nil {
			return fmt.Errorf("vhost %q: %w", h.Name, err)
		}
	}
	for _, q := range v.queues.sorted() {
		h := v.vhosts.at(q.Vhost)
		if h == nil || h.queues.at(q.Name) != q || q.ID >= v.nextQueue {
			return fmt.Errorf("invariant 1: queue %d is not found under its name", q.ID)
		}
		if q.Exclusive {
			owned++
			if v.owned.at(incarnationKey(q.incarnation())).at(idKey(q.ID)) != q {
				return fmt.Errorf("invariant 5: exclusive queue %d is in no list", q.ID)
			}
		}
	}
	for _, list := range v.owned.sorted() {
		owned -= list.len()
	}
	if named != v.queues.len() || owned != 0 {
		return fmt.Errorf("invariants 1 and 5: %d names for %d queues, owned lists differ by %d", named, v.queues.len(), owned)
	}
	for _, u := range v.users.sorted() {
		for _, name := range slices.Concat(u.permissions.keys(), u.topics.keys()) {
			if v.vhosts.at(name) == nil {
				return fmt.Errorf("invariant 3: user %q has rights in vhost %q, which is not there", u.Name, name)
			}
		}
	}
	for _, n := range v.nodes.sorted() {
		if n.Incarnation > v.incarnation {
			return fmt.Errorf("invariant 4: incarnation %d of node %q was never given", n.Incarnation, n.Name)
		}
	}
	if restored, err := Restore(bytes.NewReader(m.snapshotBytes())); err != nil || restored.Digest() != m.Digest() {
		return fmt.Errorf("state does not survive a snapshot: %w", err)
	}
	return nil
}

func (m *Machine) snapshotBytes() []byte {
	var b bytes.Buffer
	m.Snapshot().WriteTo(&b) // a buffer takes everything
	return b.Bytes()
}

func (v *View) checkVhost(h *Vhost) error {
	counted := map[exchange.Dest]int{}
	for _, x := range h.exchanges.All() {
		if born := h.born.len() > 0 && slices.Contains(h.born.keys(), x.Name); born == x.Durable {
			return fmt.Errorf("exchange %q: durable %v, in the list of transient ones %v", x.Name, x.Durable, born)
		}
		for _, b := range x.Bindings() {
			if _, _, missing := h.ends(&b); missing != nil || b.Source != x.Name {
				return fmt.Errorf("invariant 2: exchange %q has a binding %+v that does not end", x.Name, b)
			}
			counted[b.Dest]++
		}
	}
	total := 0
	for _, k := range h.inbound.keys() {
		for _, s := range h.inbound.at(k) {
			total += s.n
			counted[exchange.Dest{Queue: k[0] == 'q', Name: k[1:]}] -= s.n
		}
	}
	for _, b := range h.Bindings() {
		if total--; counted[b.Dest] != 0 {
			return fmt.Errorf("invariant 2: destination %+v has another count of bindings than its list says", b.Dest)
		}
	}
	if total != 0 {
		return fmt.Errorf("invariant 2: %d bindings in the lists that are not there", total)
	}
	return nil
}
