package main

import (
	"fmt"
	"strconv"
	"strings"
)

// method is one line of the description.
type method struct {
	class, number uint16
	name          string // "queue.declare", as people say it
	goName        string // "QueueDeclare"
	direction     string // C, S or B
	fields        []field
}

// field is one argument; an empty goName is a reserved one.
type field struct {
	goName string
	kind   string
}

var kinds = map[string]string{
	"u8": "byte", "u16": "uint16", "u32": "uint32", "u64": "uint64", "bit": "bool",
	"table": "Table", "long": "string", "blob": "[]byte", "name": "string", "text": "string",
}

func parse(src string) ([]method, error) {
	var ms []method
	seen := map[string]bool{}
	for i, line := range strings.Split(src, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		m, err := parseLine(words)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		id := words[0]
		if seen[id] || seen[m.name] {
			return nil, fmt.Errorf("line %d: %s %s is there twice", i+1, id, m.name)
		}
		seen[id], seen[m.name] = true, true
		ms = append(ms, m)
	}
	return ms, nil
}

func parseLine(words []string) (method, error) {
	if len(words) < 4 {
		return method{}, fmt.Errorf("want id, class, method and direction, got %q", words)
	}
	class, number, ok := strings.Cut(words[0], ".")
	c, err1 := strconv.ParseUint(class, 10, 16)
	n, err2 := strconv.ParseUint(number, 10, 16)
	if !ok || err1 != nil || err2 != nil {
		return method{}, fmt.Errorf("bad id %q", words[0])
	}
	if !strings.Contains("CSB", words[3]) {
		return method{}, fmt.Errorf("bad direction %q", words[3])
	}
	m := method{
		class: uint16(c), number: uint16(n), direction: words[3],
		name:   words[1] + "." + words[2],
		goName: goName(words[1]) + goName(words[2]),
	}
	for _, w := range words[4:] {
		name, kind, ok := strings.Cut(w, ":")
		if !ok || kinds[kind] == "" {
			return method{}, fmt.Errorf("bad argument %q", w)
		}
		f := field{kind: kind}
		if name != "-" {
			f.goName = goName(name)
		}
		m.fields = append(m.fields, f)
	}
	return m, nil
}

// goName turns "start-ok" into "StartOk" and "class-id" into "ClassID".
func goName(s string) string {
	var b strings.Builder
	for _, part := range strings.Split(s, "-") {
		if part == "id" {
			b.WriteString("ID")
			continue
		}
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
