package arch

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// impure are the standard packages whose use alone makes a result depend on the
// node, the moment or the scheduler.
var impure = []string{"time", "os", "net", "sync", "sync/atomic", "log", "log/slog", "math/rand", "math/rand/v2",
	"crypto/rand", "hash/maphash", "runtime", "context", "syscall", "os/exec", "path/filepath", "net/http", "unsafe", "reflect", "testing"}

// contextOnly may import context: the session interface names it, nothing runs it.
var contextOnly = []string{"queue"}

// loader type-checks our packages from source and the standard library from its
// export data.
type loader struct {
	fset *token.FileSet
	std  types.Importer
	done map[string]*checked
	t    *testing.T
}

type checked struct {
	pkg   *types.Package
	files []*ast.File
	info  *types.Info
}

func (l *loader) Import(path string) (*types.Package, error) {
	ours, ok := strings.CutPrefix(path, "mayfly/")
	if !ok {
		return l.std.Import(path)
	}
	c, err := l.load(ours)
	if err != nil {
		return nil, err
	}
	return c.pkg, nil
}

func (l *loader) load(pkg string) (*checked, error) {
	if c, ok := l.done[pkg]; ok {
		return c, nil
	}
	c := &checked{info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
	for _, name := range sources(l.t, pkg) {
		f, err := parser.ParseFile(l.fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if built(f) {
			c.files = append(c.files, f)
		}
	}
	conf := types.Config{Importer: l}
	p, err := conf.Check("mayfly/"+pkg, l.fset, c.files, c.info)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", pkg, err)
	}
	c.pkg = p
	l.done[pkg] = c
	return c, nil
}

// built leaves out the twins that a build tag turns on.
func built(f *ast.File) bool {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, "//go:build invariants") {
				return false
			}
		}
	}
	return true
}

func TestPurity(t *testing.T) {
	fset := token.NewFileSet()
	l := &loader{fset: fset, std: importer.ForCompiler(fset, "gc", nil), done: map[string]*checked{}, t: t}
	for _, pkg := range pure {
		c, err := l.load(pkg)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, imp := range c.pkg.Imports() {
			if slices.Contains(impure, imp.Path()) && !(imp.Path() == "context" && slices.Contains(contextOnly, pkg)) {
				t.Errorf("%s imports %s", pkg, imp.Path())
			}
		}
		for _, f := range c.files {
			ast.Inspect(f, func(n ast.Node) bool {
				if why := impureNode(n, c.info); why != "" {
					t.Errorf("%s: %s", fset.Position(n.Pos()), why)
				}
				return true
			})
		}
	}
}

// impureNode names what makes a piece of code depend on order or scheduling.
func impureNode(n ast.Node, info *types.Info) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "goroutine"
	case *ast.SendStmt, *ast.SelectStmt, *ast.ChanType:
		return "channel"
	case *ast.RangeStmt:
		if tv, ok := info.Types[n.X]; ok {
			switch tv.Type.Underlying().(type) {
			case *types.Map:
				return "range over a map: its order differs between nodes"
			case *types.Chan:
				return "channel"
			}
		}
	case *ast.AssignStmt:
		for _, lhs := range n.Lhs {
			if id, ok := lhs.(*ast.Ident); ok && globalVar(info.Uses[id]) {
				return "assignment to the global variable " + id.Name
			}
		}
	case *ast.IncDecStmt:
		if id, ok := n.X.(*ast.Ident); ok && globalVar(info.Uses[id]) {
			return "change of the global variable " + id.Name
		}
	}
	return ""
}

func globalVar(o types.Object) bool {
	v, ok := o.(*types.Var)
	return ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
}
