package main

import (
	"errors"
	"fmt"
	"io"
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
	return c, nil
}

// configValues gathers the text of every setting from its sources.
func configValues(file string, sets []string) (map[string]string, error) {
	values := map[string]string{}
	for _, s := range settings {
		values[s.key] = s.value
	}
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

func put(values map[string]string, key, v string) error {
	if _, ok := values[key]; !ok {
		return fmt.Errorf("unknown key %q; nearest is %q", key, nearest(key))
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

// readEnvironment takes MAYFLY_SECTION__KEY (double underscore = dot), and
// MAYFLY_SECTION__KEY_FILE, which names a file that holds the value.
func readEnvironment(values map[string]string) error {
	for _, s := range settings {
		name := "MAYFLY_" + strings.ToUpper(strings.ReplaceAll(s.key, ".", "__"))
		if v, ok := os.LookupEnv(name); ok {
			values[s.key] = v
		}
		if path, ok := os.LookupEnv(name + "_FILE"); ok {
			b, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("%s_FILE: %w", name, err)
			}
			values[s.key] = strings.TrimRight(string(b), "\r\n")
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

func runConfig(args []string, out, errs io.Writer) int {
	switch {
	case len(args) >= 1 && args[0] == "print":
		return printConfig(args[1:], out, errs)
	case len(args) == 2 && args[0] == "validate":
		if _, err := loadConfig(args[1], nil); err != nil {
			fmt.Fprintln(errs, "mayfly config:", err)
			return exitConfig
		}
		fmt.Fprintln(out, "ok")
		return exitOK
	}
	fmt.Fprint(errs, "Usage: mayfly config print [FILE]     every key with its value and what it is for\n       mayfly config validate FILE\n")
	return exitUsage
}

// printConfig prints what a server started here would run with.
func printConfig(args []string, out, errs io.Writer) int {
	file := ""
	if len(args) > 0 {
		file = args[0]
	}
	values, err := configValues(file, nil)
	if err != nil {
		fmt.Fprintln(errs, "mayfly config:", err)
		return exitConfig
	}
	for _, s := range settings {
		v := values[s.key]
		if s.key == "auth.default_pass" {
			v = "(hidden)"
		}
		fmt.Fprintf(out, "%-34s %-28q # %s\n", s.key, v, s.help)
	}
	return exitOK
}
