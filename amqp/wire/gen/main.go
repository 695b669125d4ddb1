// Command gen writes methods_gen.go of package wire from methods.txt.
// Run it with `go generate ./amqp/wire`; a test beside it compares.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run("methods.txt", "methods_gen.go"); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	src, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	methods, err := parse(string(src))
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	code, err := generate(methods)
	if err != nil {
		return fmt.Errorf("generate from %s: %w", in, err)
	}
	return os.WriteFile(out, code, 0o644)
}
