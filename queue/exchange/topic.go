package exchange

import (
	"bytes"
	"strings"
)

// node is one place in the trie of a topic exchange's binding keys: what the
// words on the way to it have in common. Nodes are immutable.
type node struct {
	words   tree[*node] // by a literal word
	one     *node       // by *
	many    *node       // by #
	targets *targets    // of the binding keys that end here
	id      uint64      // of the way to here; equal ids of different nodes are possible and harmless
}

const (
	hashOne  = 0x9e3779b97f4a7c15
	hashMany = 0xc2b2ae3d27d4eb4f
)

// with is the trie with one binding more. A nil trie is empty.
func (n *node) with(key string, d Dest) *node {
	if len(key) > maxKey {
		return n
	}
	words := patternWords(key)
	path := n.path(words)
	last := len(words)
	end := *path[last]
	end.targets = end.targets.with(d)
	path[last] = &end
	return rebuild(path, words)
}

// without is the trie with one binding less, nil when it was the last.
func (n *node) without(key string, d Dest) *node {
	if len(key) > maxKey {
		return n
	}
	words := patternWords(key)
	path := n.path(words)
	last := len(words)
	end := *path[last]
	end.targets = end.targets.without(d)
	path[last] = &end
	return rebuild(path, words)
}

// path is the nodes that the words lead through, the root first; those that do
// not exist are made, but not linked.
func (n *node) path(words []string) []*node {
	if n == nil {
		n = &node{id: fnvStart}
	}
	path := make([]*node, 1, len(words)+1)
	path[0] = n
	for _, w := range words {
		next := n.child(w)
		if next == nil {
			next = &node{id: stir(n.id*fnvPrime ^ wordHash(w))}
		}
		path = append(path, next)
		n = next
	}
	return path
}

// rebuild links a path whose last node is new, from the end to the root. Nodes
// that hold nothing vanish.
func rebuild(path []*node, words []string) *node {
	kid := path[len(words)]
	for i := len(words) - 1; i >= 0; i-- {
		kid = path[i].withChild(words[i], kid.orNil())
	}
	return kid.orNil()
}

func (n *node) orNil() *node {
	if n.targets == nil && n.one == nil && n.many == nil && n.words.n == 0 {
		return nil
	}
	return n
}

func (n *node) child(word string) *node {
	switch word {
	case "*":
		return n.one
	case "#":
		return n.many
	}
	kid, _ := n.words.get(hashString(word), word)
	return kid
}

func (n *node) withChild(word string, kid *node) *node {
	c := *n
	switch {
	case word == "*":
		c.one = kid
	case word == "#":
		c.many = kid
	case kid == nil:
		c.words = n.words.without(word)
	default:
		c.words = n.words.with(word, kid)
	}
	return &c
}

func wordHash(word string) uint64 {
	switch word {
	case "*":
		return hashOne
	case "#":
		return hashMany
	}
	return hashString(word)
}

// maxKey is the longest key that AMQP can carry. A match may cost the product of
// both lengths, which this bounds; a longer key can come from nowhere, and one
// that did is bound and listed but matches nothing.
const maxKey = 255

// patternWords is the words of a binding key, with runs of wildcards in one
// order: # twice is # once, and #.* is *.#. Fewer nodes are below a # then.
func patternWords(key string) []string {
	if key == "" {
		return nil
	}
	words := strings.Split(key, ".")
	n := 0
	for _, w := range words {
		if n > 0 && words[n-1] == "#" {
			if w == "#" {
				continue
			}
			if w == "*" {
				words[n-1], w = w, "#"
			}
		}
		words[n] = w
		n++
	}
	return words[:n]
}

// topicMatch is the working memory of one match: the nodes that the words so far
// can lead to. A node below # stays reached for ever, since # takes any further
// word; it is in always. The others are in now, each once, because the way to a
// node is unique. So a word costs one step for each reached node, and there is
// nothing to go back to, whatever the patterns are.
type topicMatch struct {
	now, next []*node
	always    []*node
	seen      set[node] // what is in always
}

// matchTopic adds the targets of all binding keys that match.
func (r *Router) matchTopic(root *node, key []byte) {
	if root == nil || len(key) > maxKey {
		return
	}
	t := &r.topic
	t.now, t.always = t.now[:0], t.always[:0]
	t.seen.clear()
	t.now = t.reach(t.now, root)
	for more := len(key) > 0; more && len(t.now)+len(t.always) > 0; {
		word := key
		if i := bytes.IndexByte(key, '.'); i >= 0 {
			word, key = key[:i], key[i+1:]
		} else {
			more = false
		}
		t.step(word)
	}
	for _, list := range [2][]*node{t.now, t.always} {
		for _, n := range list {
			if n.targets != nil {
				r.hits = append(r.hits, n.targets.hit)
			}
		}
	}
}

// step takes one word.
func (t *topicMatch) step(word []byte) {
	h := hashBytes(word)
	t.next = t.next[:0]
	known := len(t.always) // what is reached by this word may not take it too
	for _, n := range t.now {
		t.next = t.follow(t.next, n, h, word)
	}
	for i := range known {
		t.next = t.follow(t.next, t.always[i], h, word)
	}
	t.now, t.next = t.next, t.now
}

// follow adds what word leads to from n.
func (t *topicMatch) follow(dst []*node, n *node, h uint64, word []byte) []*node {
	if n.words.n > 0 {
		if kid, ok := n.words.getBytes(h, word); ok {
			dst = t.reach(dst, kid)
		}
	}
	if n.one != nil {
		dst = t.reach(dst, n.one)
	}
	return dst
}

// reach adds n, and as # takes no word too, what lies behind it.
func (t *topicMatch) reach(dst []*node, n *node) []*node {
	for m := n.many; m != nil && t.seen.add(m.id, m); m = m.many {
		t.always = append(t.always, m)
	}
	return append(dst, n)
}
