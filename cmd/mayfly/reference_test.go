package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the generated documentation")

const referenceFile = "../../docs/configuration.md"

const referenceHead = `<!-- Made from the table of settings by: go test ./cmd/mayfly -run TestReference -update -->

# Configuration

Mayfly runs without any. What it can be told, it takes from these places, the later over
the earlier:

1. the defaults below;
2. a TOML file: the first of ` + "`--config FILE`, `$MAYFLY_CONFIG`, `./mayfly.toml`,\n   `mayfly/mayfly.toml` in the user's configuration directory (`$XDG_CONFIG_HOME`), `/etc/mayfly/mayfly.toml`;" + `
3. the files ` + "`conf.d/*.toml`" + ` beside that file, in the order of their names;
4. the environment: ` + "`MAYFLY_AMQP__LISTEN` for `amqp.listen` (two underscores for a dot),\n   `MAYFLY_AUTH__DEFAULT_PASS_FILE` for a file that holds the value of `auth.default_pass`,\n   and `MAYFLY_DATA_DIR` for `node.data_dir`;" + `
5. flags: ` + "`--set amqp.listen=:5672`, and the short ones of `mayfly server --help`." + `

A key that does not exist is an error that names the line and the nearest key that does.
` + "`mayfly config print`" + ` shows what a server started here and now would run with, as a file
that can be edited and used; ` + "`mayfly config validate FILE`" + ` checks one. A change takes effect at
the next start.

    # mayfly.toml
    [amqp]
    listen = "127.0.0.1:5672"
    max_message_size = "64MiB"

    [limits]
    disk_free = "5%"

Values: sizes are ` + "`512MiB`, `1GB` or bytes; shares `60%`; durations `5s`, `10m`, `1h30m`; addresses\n`host:port`, `:port`, `[::1]:port` (port 0 takes a free one, told in `endpoints.json` of the data\ndirectory); lists `[\"a\", \"b\"]`, or `a,b` in flags and the environment." + `
`

// reference is docs/configuration.md as the table of settings wants it.
func reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	section := ""
	for _, s := range settings {
		if now, _, _ := strings.Cut(s.key, "."); now != section {
			section = now
			fmt.Fprintf(&b, "\n## %s\n\n| Key | Default | Meaning |\n| --- | --- | --- |\n", section)
		}
		shown, machine := shownDefaults[s.key]
		switch {
		case machine:
		case s.value == "":
			shown = "empty"
		default:
			shown = "`" + s.value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.key, shown, strings.ReplaceAll(s.help, "|", "\\|"))
	}
	return b.String()
}

// TestReference compares the documentation with the table it is made of.
func TestReference(t *testing.T) {
	want := reference()
	if *update {
		if err := os.WriteFile(referenceFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the settings say; run: go test ./cmd/mayfly -run TestReference -update", referenceFile)
	}
}
