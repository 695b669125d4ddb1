package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// row is a line of ARCHITECTURE.md's tables of paths: a file, then a function.
var row = regexp.MustCompile("^\\| [^|]+ \\| `([a-z0-9_/]+\\.go)` \\| `([^`]+)`")

// TestArchitectureIsTrue checks that each file and function named in the paths
// of ARCHITECTURE.md exists (style.md, section 4).
func TestArchitectureIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, line := range strings.Split(string(text), "\n") {
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		rows++
		if !declares(t, m[1], m[2]) {
			t.Errorf("ARCHITECTURE.md names %s in %s, which is not there", m[2], m[1])
		}
	}
	if rows < 20 {
		t.Errorf("ARCHITECTURE.md has %d rows of paths; the four paths are told by file and function", rows)
	}
	if n := strings.Count(string(text), "\n"); n > 300 {
		t.Errorf("ARCHITECTURE.md has %d lines; 300 is the most a newcomer reads", n)
	}
}

// declares tells whether a file declares name: "F", "T" or "(*T).M".
func declares(t *testing.T, file, name string) bool {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	if err != nil {
		return false
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if funcName(d) == name {
				return true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.Name == name {
					return true
				}
			}
		}
	}
	return false
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	switch r := d.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		if id, ok := r.X.(*ast.Ident); ok {
			return "(*" + id.Name + ")." + d.Name.Name
		}
	case *ast.Ident:
		return r.Name + "." + d.Name.Name
	}
	return d.Name.Name
}
