package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"mayfly/amqp"
)

// loadConfig builds the configuration: flag over environment over file over
// default (operations.md, section 5). sets are key=value pairs of flags.
func loadConfig(file string, sets []string) (*config, error) {
	values, err := configValues(file, sets)
	if err != nil {
		return nil, err
	}
	c := &config{amqp: amqp.DefaultOptions()}
	for _, s := range settings {
		if err := s.set(c, values[s.key]); err != nil {
			return nil, fmt.Errorf("%s = %q: %w", s.key, values[s.key], err)
		}
	}
	return c, c.complete()
}

// complete fills in what follows from other settings, and refuses settings that
// do not go together.
func (c *config) complete() error {
	if c.amqp.Version == "" {
		c.amqp.Version = version
	}
	if c.listen == "off" && c.tlsAddr == "off" {
		return errors.New("amqp.listen and amqp.tls.listen are both off: nobody could connect")
	}
	if c.tlsAddr != "off" {
		t, err := loadTLS(c.tls)
		if err != nil {
			return err
		}
		c.amqp.TLS = t
	}
	return c.amqp.Validate()
}

// configValues gathers the text of every setting from its sources.
func configValues(file string, sets []string) (map[string]string, error) {
	values := defaultValues()
	if err := readFiles(file, values); err != nil {
		return nil, err
	}
	if err := readEnvironment(values); err != nil {
		return nil, err
	}
	for _, kv := range sets {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, fmt.Errorf("--set %s: want section.key=value", kv)
		}
		if err := put(values, k, v); err != nil {
			return nil, fmt.Errorf("--set: %w", err)
		}
	}
	return values, nil
}

func defaultValues() map[string]string {
	values := map[string]string{}
	for _, s := range settings {
		values[s.key] = s.value
	}
	return values
}

// unknownKeyError is a key that no setting has.
type unknownKeyError struct{ key string }

func (e *unknownKeyError) Error() string {
	return fmt.Sprintf("unknown key %q; the nearest is %q", e.key, nearest(e.key))
}

func put(values map[string]string, key, v string) error {
	if _, ok := values[key]; !ok {
		return &unknownKeyError{key}
	}
	values[key] = v
	return nil
}

// readFiles reads the named file, or the first that exists of the usual places,
// then conf.d beside it.
func readFiles(file string, values map[string]string) error {
	if file == "" {
		file = os.Getenv("MAYFLY_CONFIG")
	}
	if file != "" {
		return readFile(file, values, true)
	}
	places := []string{"mayfly.toml", "/etc/mayfly/mayfly.toml"}
	if d, err := os.UserConfigDir(); err == nil {
		places = slices.Insert(places, 1, filepath.Join(d, "mayfly", "mayfly.toml"))
	}
	for _, p := range places {
		if _, err := os.Stat(p); err == nil {
			return readFile(p, values, true)
		}
	}
	return nil
}

func readFile(path string, values map[string]string, withDir bool) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	var tree map[string]any
	if err := toml.Unmarshal(b, &tree); err != nil {
		var de *toml.DecodeError
		if errors.As(err, &de) {
			line, col := de.Position()
			return fmt.Errorf("%s:%d:%d: %w", path, line, col, err)
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := flatten("", tree, values); err != nil {
		var unknown *unknownKeyError
		if errors.As(err, &unknown) {
			if line := lineOf(string(b), unknown.key); line > 0 {
				return fmt.Errorf("%s:%d: %w", path, line, err)
			}
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	if !withDir {
		return nil
	}
	more, err := filepath.Glob(filepath.Join(filepath.Dir(path), "conf.d", "*.toml"))
	if err != nil {
		return err
	}
	slices.Sort(more)
	for _, p := range more {
		if err := readFile(p, values, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// lineOf finds the line of a TOML document that sets the key, 0 if it is written
// in a way that does not show on one line.
func lineOf(doc, key string) int {
	table, n := "", 0
	for line := range strings.Lines(doc) {
		n++
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "["); ok {
			table, _, _ = strings.Cut(rest, "]")
			table = bareKey(table) + "."
			continue
		}
		if k, _, ok := strings.Cut(line, "="); ok && strings.HasPrefix(key+".", table+bareKey(k)+".") {
			return n
		}
	}
	return 0
}

// bareKey takes blanks and quotes off the parts of a dotted key.
func bareKey(k string) string {
	parts := strings.Split(k, ".")
	for i, p := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(p), `"'`)
	}
	return strings.Join(parts, ".")
}

func flatten(prefix string, tree map[string]any, values map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(tree)) {
		switch v := tree[k].(type) {
		case map[string]any:
			if err := flatten(prefix+k+".", v, values); err != nil {
				return err
			}
		case []any:
			words := make([]string, len(v))
			for i, w := range v {
				words[i] = fmt.Sprint(w)
			}
			if err := put(values, prefix+k, strings.Join(words, ",")); err != nil {
				return err
			}
		default:
			if err := put(values, prefix+k, fmt.Sprint(v)); err != nil {
				return err
			}
		}
	}
	return nil
}

// readEnvironment takes MAYFLY_SECTION__KEY (double underscore = dot),
// MAYFLY_SECTION__KEY_FILE, which names a file that holds the value, and
// MAYFLY_DATA_DIR. Names with a double underscore that mean no key are refused.
func readEnvironment(values map[string]string) error {
	if d := os.Getenv("MAYFLY_DATA_DIR"); d != "" {
		values["node.data_dir"] = d
	}
	for _, s := range settings {
		name := environmentName(s.key)
		v, direct := os.LookupEnv(name)
		if direct {
			values[s.key] = v
		}
		path, ok := os.LookupEnv(name + "_FILE")
		if !ok {
			continue
		}
		if direct {
			return fmt.Errorf("%s and %s_FILE are both set", name, name)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s_FILE: %w", name, err)
		}
		values[s.key] = strings.TrimRight(string(b), "\r\n")
	}
	return checkEnvironment(values)
}

func environmentName(key string) string {
	return "MAYFLY_" + strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
}

func checkEnvironment(values map[string]string) error {
	for _, kv := range slices.Sorted(slices.Values(os.Environ())) {
		name, _, _ := strings.Cut(kv, "=")
		rest, ok := strings.CutPrefix(name, "MAYFLY_")
		if !ok || !strings.Contains(rest, "__") {
			continue
		}
		key := strings.ToLower(strings.ReplaceAll(rest, "__", "."))
		_, known := values[key]
		_, knownFile := values[strings.TrimSuffix(key, "_file")]
		if !known && !knownFile {
			return fmt.Errorf("environment %s: %w", name, &unknownKeyError{key})
		}
	}
	return nil
}

// nearest finds the known key that differs least, for the error.
func nearest(key string) string {
	best, least := "", 1<<30
	for _, s := range settings {
		if d := distance(key, s.key); d < least {
			best, least = s.key, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two short words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
