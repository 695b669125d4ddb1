package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// floors says which of our packages each may import (style.md, section 2).
// A package that is not listed fails: a new one needs a place in the house.
var floors = map[string][]string{
	"amqp/wire":            {},
	"amqp/wire/gen":        {},
	"internal/invariant":   {},
	"internal/clock":       {},
	"internal/arch":        {},
	"internal/password":    {"internal/clock"},
	"ttl":                  {"internal/invariant"},
	"queue/exchange":       {"amqp/wire"},
	"dlx":                  {"ttl", "amqp/wire"},
	"queue":                {"ttl", "dlx", "internal/invariant"},
	"fsm":                  {"queue", "ttl", "dlx", "internal/invariant"},
	"fsm/fsmtest":          {"fsm", "queue", "ttl", "dlx", "internal/invariant"},
	"fsm/catalog":          {"fsm", "queue", "queue/exchange", "ttl", "dlx", "amqp/wire", "internal/invariant"},
	"cluster/storage/vfs":  {},
	"cluster/storage":      {"cluster/storage/vfs", "internal/clock", "internal/invariant"},
	"cluster/transport":    {"internal/clock"},
	"cluster":              {"cluster/storage", "cluster/storage/vfs", "cluster/transport", "fsm", "fsm/catalog", "queue", "queue/exchange", "ttl", "dlx", "amqp/wire", "internal/clock", "internal/invariant"},
	"amqp":                 {"amqp/wire", "queue", "queue/exchange", "fsm/catalog", "ttl", "dlx", "internal/clock", "internal/password"},
	"admin":                {"fsm/catalog", "queue", "queue/exchange", "amqp/wire", "internal/clock", "internal/password"},
	"internal/conformance": {"amqp/wire"},
	"internal/bench":       {},
	"cmd/mayfly":           {"admin", "amqp", "amqp/wire", "cluster", "cluster/storage", "cluster/storage/vfs", "fsm/catalog", "queue", "ttl", "internal/clock", "internal/password", "internal/bench"},
}

// pure lists the packages that must compute the same on every node for ever.
var pure = []string{"amqp/wire", "ttl", "queue", "queue/exchange", "dlx", "fsm", "fsm/catalog"}

// foreign says which modules of others a package may import; all else is refused
// outside test files (style.md, section 6, Dependencies; docs/decisions).
var foreign = map[string][]string{
	"cluster":             {"github.com/hashicorp/raft", "github.com/hashicorp/raft-boltdb/v2", "github.com/hashicorp/go-hclog", "go.etcd.io/bbolt"},
	"cluster/storage":     {"github.com/hashicorp/raft", "golang.org/x/sys/unix"},
	"cluster/storage/vfs": {"golang.org/x/sys/unix"},
	"cluster/transport":   {"github.com/hashicorp/raft"},
	"internal/clock":      {"golang.org/x/sys/unix"},
	"internal/password":   {"golang.org/x/crypto/argon2"},
	"internal/bench":      {"github.com/rabbitmq/amqp091-go"},
	"cmd/mayfly":          {"github.com/pelletier/go-toml/v2", "golang.org/x/sys/unix"},
}

// packages finds every directory with Go files, as paths below the module.
func packages(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			rel, _ := filepath.Rel(root, filepath.Dir(path))
			if !slices.Contains(found, rel) {
				found = append(found, rel)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// sources are a package's files that are not tests.
func sources(t *testing.T, pkg string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
}

func imports(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

func TestFloors(t *testing.T) {
	for _, pkg := range packages(t) {
		if strings.HasPrefix(pkg, "docs/examples/") {
			continue // examples are clients: they may import what a user would
		}
		allowed, listed := floors[pkg]
		if !listed {
			t.Errorf("package %s has no floor; give it one in floors_test.go", pkg)
			continue
		}
		for _, file := range sources(t, pkg) {
			for _, imp := range imports(t, file) {
				ours, isOurs := strings.CutPrefix(imp, "mayfly/")
				switch {
				case isOurs && !slices.Contains(allowed, ours):
					t.Errorf("%s imports %s, which its floor does not allow", file, imp)
				case !isOurs && strings.Contains(strings.Split(imp, "/")[0], ".") && !slices.Contains(foreign[pkg], imp):
					t.Errorf("%s imports %s, which is not among its dependencies", file, imp)
				}
			}
		}
	}
}

// homes names what only some packages may import: time is read through
// internal/clock, product files through vfs, HTTP stays in admin.
var homes = []struct {
	path   string
	within []string // packages it is kept out of
	except []string // files that may
}{
	{"os", []string{"cluster", "cluster/storage", "cluster/transport", "amqp", "admin"}, nil},
	{"net/http", []string{"cluster", "cluster/storage", "cluster/transport", "amqp"}, nil},
}

func TestHomes(t *testing.T) {
	for _, h := range homes {
		for _, pkg := range h.within {
			for _, file := range sources(t, pkg) {
				if slices.Contains(imports(t, file), h.path) && !slices.Contains(h.except, filepath.Base(file)) {
					t.Errorf("%s imports %s, which has another home", file, h.path)
				}
			}
		}
	}
}
