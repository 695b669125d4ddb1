package exchange

// set is a set of things that are known by their address and come with a hash.
// Emptying it costs nothing, so that a Router can use it for every message. The
// order of its slots decides nothing.
type set[T any] struct {
	slots []slot[T]
	round uint32
	n     int
}

type slot[T any] struct {
	hash  uint64
	thing *T
	round uint32 // the slot is taken when it is the set's
}

func (s *set[T]) clear() {
	s.n = 0
	if s.round++; s.round == 0 {
		clear(s.slots)
		s.round = 1
	}
}

// add puts a thing in, and answers whether it was not there.
func (s *set[T]) add(hash uint64, thing *T) bool {
	if 2*s.n >= len(s.slots) {
		s.grow()
	}
	mask := uint64(len(s.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		switch x := &s.slots[i]; {
		case x.round != s.round:
			*x = slot[T]{hash, thing, s.round}
			s.n++
			return true
		case x.thing == thing:
			return false
		}
	}
}

func (s *set[T]) grow() {
	old := s.slots
	s.slots = make([]slot[T], max(16, 2*len(old)))
	mask := uint64(len(s.slots) - 1)
	for _, x := range old {
		if x.round != s.round {
			continue
		}
		i := x.hash & mask
		for s.slots[i].round == s.round {
			i = (i + 1) & mask
		}
		s.slots[i] = x
	}
}
