package catalog

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// pattern is a permission pattern: searched in the name, not anchored but by its
// own marks. Matching takes time linear in the name (X8).
type pattern struct {
	text  string
	kind  patternKind
	re    *regexp.Regexp // of patternSearch
	exact string         // of patternExact
}

type patternKind uint8

const (
	patternExact patternKind = iota // ^name$ without any mark; "" is read as "^$", which no name matches
	patternAll                      // ".*": the usual one, worth no search
	patternSearch
)

const (
	maxPattern        = 1024 // bytes of a pattern (X8)
	maxPatternProgram = 4096 // states a pattern may unfold to: nested repeats multiply
)

func compilePattern(text string) (pattern, error) {
	switch text {
	case "":
		return pattern{}, nil
	case ".*":
		return pattern{text: text, kind: patternAll}, nil
	}
	if len(text) > maxPattern {
		return pattern{}, fmt.Errorf("pattern of %d bytes is longer than %d", len(text), maxPattern)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return pattern{}, fmt.Errorf("%q is not a regular expression of the RE2 kind: %w", text, err)
	}
	if programSize(tree) > maxPatternProgram {
		return pattern{}, fmt.Errorf("%q repeats too much", text)
	}
	if inner, ok := strings.CutPrefix(text, "^"); ok {
		if inner, ok = strings.CutSuffix(inner, "$"); ok && regexp.QuoteMeta(inner) == inner {
			return pattern{text: text, kind: patternExact, exact: inner}, nil
		}
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return pattern{}, err
	}
	return pattern{text: text, kind: patternSearch, re: re}, nil
}

// programSize estimates how many states a pattern unfolds to, before it is
// compiled, and stops counting where it is too many anyway.
func programSize(t *syntax.Regexp) int {
	n := 1
	if t.Op == syntax.OpLiteral {
		n = len(t.Rune)
	}
	for _, sub := range t.Sub {
		if n += programSize(sub); n > maxPatternProgram {
			return n
		}
	}
	if t.Op == syntax.OpRepeat {
		n *= max(t.Min, t.Max, 1)
	}
	return n
}

// matches answers for a name of a client without a copy.
func (p *pattern) matches(name string) bool {
	switch p.kind {
	case patternAll:
		return true
	case patternExact:
		return p.exact == name
	case patternSearch:
		return p.re.MatchString(name)
	}
	return false
}

func (p *pattern) matchesBytes(name []byte) bool {
	switch p.kind {
	case patternAll:
		return true
	case patternExact:
		return p.exact == string(name)
	case patternSearch:
		return p.re.Match(name)
	}
	return false
}
