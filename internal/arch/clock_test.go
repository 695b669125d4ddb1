package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// timed are the packages above the pure ones that read time through
// internal/clock alone, so that tests and fault runs can bend it.
var timed = []string{"cluster", "cluster/storage", "cluster/transport", "amqp", "admin", "internal/password"}

var clockCalls = []string{"Now", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick", "Since", "Until"}

func TestTimeIsReadInOneHome(t *testing.T) {
	fset := token.NewFileSet()
	for _, pkg := range timed {
		for _, name := range sources(t, pkg) {
			f, err := parser.ParseFile(fset, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clockCalls, sel.Sel.Name) {
					t.Errorf("%s: time.%s; ask internal/clock", fset.Position(n.Pos()), sel.Sel.Name)
				}
				return true
			})
		}
	}
}
