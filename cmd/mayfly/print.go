package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

const configUsage = `Usage:
  mayfly config print [flags]      every key, its value and what it is for, as TOML
  mayfly config validate FILE      check a configuration file; exit code 78 if it is wrong

Flags of print:
  --config FILE                    read this file instead of the usual places
  --set section.key=value          set one key; may be repeated
  --defaults                       the defaults, whatever files and environment say

A server reads, the later over the earlier: its defaults; the first of --config FILE,
$MAYFLY_CONFIG, ./mayfly.toml, mayfly/mayfly.toml in the user's configuration directory
and /etc/mayfly/mayfly.toml; conf.d/*.toml beside that file; the environment
(MAYFLY_AMQP__LISTEN for amqp.listen, MAYFLY_AMQP__LISTEN_FILE for a file that holds
the value); flags.
`

func runConfig(args []string, out, errs io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(errs, configUsage)
		return exitUsage
	}
	switch verb, rest := args[0], args[1:]; verb {
	case "print":
		return printConfig(rest, out, errs)
	case "validate":
		return validateConfig(rest, out, errs)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(out, configUsage)
		return exitOK
	default:
		fmt.Fprintf(errs, "mayfly config: unknown verb %q\n\n%s", verb, configUsage)
		return exitUsage
	}
}

func validateConfig(args []string, out, errs io.Writer) int {
	if len(args) == 1 && wantsHelp(args[0]) {
		fmt.Fprint(out, configUsage)
		return exitOK
	}
	if len(args) != 1 {
		fmt.Fprint(errs, configUsage)
		return exitUsage
	}
	if _, err := loadConfig(args[0], nil); err != nil {
		fmt.Fprintln(errs, "mayfly config:", err)
		return exitConfig
	}
	fmt.Fprintln(out, "ok")
	return exitOK
}

func wantsHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// printConfig prints what a server started here would run with, as a file that a
// server can be started with. Secrets are left out.
func printConfig(args []string, out, errs io.Writer) int {
	var file string
	var sets []string
	var defaults bool
	fs := flag.NewFlagSet("mayfly config print", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // the text above says more than flag's
	fs.StringVar(&file, "config", "", "")
	fs.Func("set", "", func(v string) error { sets = append(sets, v); return nil })
	fs.BoolVar(&defaults, "defaults", false, "")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, configUsage)
		return exitOK
	case err != nil:
		fmt.Fprintln(errs, "mayfly config print:", err)
		return exitUsage
	case fs.NArg() > 0:
		fmt.Fprintf(errs, "mayfly config print: unexpected argument %q; a file is named by --config\n", fs.Arg(0))
		return exitUsage
	}
	values := defaultValues()
	if !defaults {
		var err error
		if values, err = configValues(file, sets); err != nil {
			fmt.Fprintln(errs, "mayfly config:", err)
			return exitConfig
		}
	}
	for _, s := range settings {
		if secret(s.key) {
			fmt.Fprintf(out, "# %s = (hidden) # %s\n", s.key, s.help)
			continue
		}
		fmt.Fprintf(out, "%s = %s # %s\n", s.key, tomlString(values[s.key]), s.help)
	}
	return exitOK
}

func tomlString(v string) string {
	b, err := toml.Marshal(map[string]string{"v": v})
	if err != nil {
		return fmt.Sprintf("%q", v) // cannot happen: strings can be marshalled
	}
	return strings.TrimSpace(strings.TrimPrefix(string(b), "v = "))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	s, err := f.Stat()
	return err == nil && s.Mode()&os.ModeCharDevice != 0
}
