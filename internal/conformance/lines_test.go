package conformance

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// threeNodes are the lines of the checklist that this package cannot show: doc.go.
var threeNodes = map[int]bool{114: true, 115: true, 116: true, 117: true, 118: true, 119: true, 120: true, 121: true, 122: true}

// TestEveryLineHasATest holds the checklist of amqp.md 20 against the tests here.
func TestEveryLineHasATest(t *testing.T) {
	fset := token.NewFileSet()
	pkgs, err := parser.ParseDir(fset, ".", func(f fs.FileInfo) bool { return strings.HasSuffix(f.Name(), "_test.go") }, 0)
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^TestLine(\d{3})[A-Z]`)
	found := map[int]string{}
	for _, pkg := range pkgs {
		for _, file := range pkg.Files {
			for _, d := range file.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if m := name.FindStringSubmatch(fn.Name.Name); m != nil {
					n, _ := strconv.Atoi(m[1])
					if found[n] != "" {
						t.Errorf("line %d has two tests, %s and %s", n, found[n], fn.Name.Name)
					}
					found[n] = fn.Name.Name
				}
			}
		}
	}
	for n := 1; n <= 128; n++ {
		if (found[n] != "") == threeNodes[n] {
			t.Errorf("line %d: test %q, listed as needing three nodes: %v", n, found[n], threeNodes[n])
		}
	}
}
