package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The generated file in the tree is what the description says (style.md 6).
func TestTreeIsUpToDate(t *testing.T) {
	out := filepath.Join(t.TempDir(), "methods_gen.go")
	if err := run("../methods.txt", out); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../methods_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("methods_gen.go is not what methods.txt gives: run go generate ./amqp/wire")
	}
}

func TestParseRefuses(t *testing.T) {
	for _, row := range []struct{ name, line, want string }{
		{"too few words", "10.10 connection start", "want id"},
		{"bad id", "10 connection start S", "bad id"},
		{"id too large", "10.70000 connection start S", "bad id"},
		{"bad direction", "10.10 connection start X", "bad direction"},
		{"unknown type", "10.10 connection start S a:int", "bad argument"},
		{"no type", "10.10 connection start S a", "bad argument"},
		{"twice", "10.10 a b S\n10.10 a c S", "twice"},
	} {
		if _, err := parse(row.line); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
	}
}

func TestRunNamesTheFile(t *testing.T) {
	if err := run("missing.txt", "unused"); err == nil || !strings.Contains(err.Error(), "missing.txt") {
		t.Errorf("got %v", err)
	}
	bad := filepath.Join(t.TempDir(), "bad.txt")
	if err := os.WriteFile(bad, []byte("10.10"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(bad, "unused"); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("got %v", err)
	}
}
