package exchange

import "slices"

// targets is a set of destinations: what the bindings with one key lead to. It is
// immutable. Several bindings may lead to the same destination (arguments make
// them differ), so each name has a count.
type targets struct {
	hit
	queueBindings    []uint32 // how many, for each of queues
	exchangeBindings []uint32
}

// hit is what a match yields: names, ascending, each once.
type hit struct {
	queues    []string
	exchanges []string
}

// with is t and one binding more. A nil t is the empty set.
func (t *targets) with(d Dest) *targets {
	var c targets
	if t != nil {
		c = *t
	}
	if d.Queue {
		c.queues, c.queueBindings = counted(c.queues, c.queueBindings, d.Name)
	} else {
		c.exchanges, c.exchangeBindings = counted(c.exchanges, c.exchangeBindings, d.Name)
	}
	return &c
}

// without is t and one binding less, nil when that was the last.
func (t *targets) without(d Dest) *targets {
	c := *t
	if d.Queue {
		c.queues, c.queueBindings = discounted(c.queues, c.queueBindings, d.Name)
	} else {
		c.exchanges, c.exchangeBindings = discounted(c.exchanges, c.exchangeBindings, d.Name)
	}
	if len(c.queues)+len(c.exchanges) == 0 {
		return nil
	}
	return &c
}

func counted(names []string, counts []uint32, name string) ([]string, []uint32) {
	i, found := slices.BinarySearch(names, name)
	if found {
		return names, replaced(counts, i, counts[i]+1)
	}
	return inserted(names, i, name), inserted(counts, i, 1)
}

func discounted(names []string, counts []uint32, name string) ([]string, []uint32) {
	i, found := slices.BinarySearch(names, name)
	switch {
	case !found:
		return names, counts
	case counts[i] > 1:
		return names, replaced(counts, i, counts[i]-1)
	}
	return removed(names, i), removed(counts, i)
}

// single is the hit of one destination.
func single(d Dest) hit {
	if d.Queue {
		return hit{queues: []string{d.Name}}
	}
	return hit{exchanges: []string{d.Name}}
}
