package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Flag over environment over conf.d over file over default (operations.md, section
// 5): each source takes one key from the one below it.
func TestPrecedence(t *testing.T) {
	dir := isolate(t)
	file := write(t, dir+"/my.toml", "[log]\nlevel = 'debug'\n[amqp]\nframe_max = 8192\nchannel_max = 1\nheartbeat = '1s'\n")
	write(t, dir+"/conf.d/10.toml", "amqp.frame_max = 16384\namqp.channel_max = 2\namqp.heartbeat = '2s'\n")
	write(t, dir+"/conf.d/20.toml", "[amqp]\nchannel_max = 3\nheartbeat = '3s'\nmax_connections = 7\n")
	write(t, dir+"/conf.d/30.txt", "not read")
	t.Setenv("MAYFLY_AMQP__CHANNEL_MAX", "4")
	t.Setenv("MAYFLY_AMQP__HEARTBEAT", "4s")
	values, err := configValues(file, []string{"amqp.heartbeat=5s", "amqp.heartbeat=6s"})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"amqp.max_message_size": "16MiB", // default
		"log.level":             "debug", // file
		"amqp.frame_max":        "16384", // conf.d
		"amqp.max_connections":  "7",     // conf.d, the later file
		"amqp.channel_max":      "4",     // environment
		"amqp.heartbeat":        "6s",    // flag, the last
	} {
		if values[key] != want {
			t.Errorf("%s = %q, want %q", key, values[key], want)
		}
	}
}

// The first of the usual places that exists is read, no other.
func TestPlacesOfTheFile(t *testing.T) {
	dir := isolate(t)
	level := func() string {
		t.Helper()
		values, err := configValues("", nil)
		if err != nil {
			t.Fatal(err)
		}
		return values["log.level"]
	}
	if got := level(); got != "info" {
		t.Errorf("no file: %s", got)
	}
	write(t, dir+"/xdg/mayfly/mayfly.toml", "log.level = 'debug'")
	if got := level(); got != "debug" {
		t.Errorf("user's directory: %s", got)
	}
	write(t, dir+"/mayfly.toml", "log.level = 'warn'")
	if got := level(); got != "warn" {
		t.Errorf("working directory: %s", got)
	}
	t.Setenv("MAYFLY_CONFIG", write(t, dir+"/named.toml", "log.level = 'error'"))
	if got := level(); got != "error" {
		t.Errorf("MAYFLY_CONFIG: %s", got)
	}
	if _, err := configValues(dir+"/none.toml", nil); err == nil || !strings.Contains(err.Error(), "none.toml") {
		t.Errorf("a named file that is missing: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	dir := isolate(t)
	secretFile := write(t, dir+"/pass", "s3cret\n")
	t.Run("secret from a file", func(t *testing.T) {
		t.Setenv("MAYFLY_AUTH__DEFAULT_PASS_FILE", secretFile)
		values, err := configValues("", nil)
		if err != nil || values["auth.default_pass"] != "s3cret" {
			t.Errorf("got %q, %v", values["auth.default_pass"], err)
		}
	})
	t.Run("data directory", func(t *testing.T) {
		t.Setenv("MAYFLY_DATA_DIR", "/from/environment")
		file := write(t, dir+"/data.toml", "node.data_dir = '/from/file'")
		if values, err := configValues(file, nil); err != nil || values["node.data_dir"] != "/from/environment" {
			t.Errorf("got %q, %v", values["node.data_dir"], err)
		}
	})
	t.Run("names that are no settings", func(t *testing.T) {
		t.Setenv("MAYFLY_SERVICE_HOST", "10.0.0.1") // what Kubernetes sets for a service
		t.Setenv("MAYFLY_PORT", "tcp://10.0.0.1:5672")
		if _, err := configValues("", nil); err != nil {
			t.Error(err)
		}
	})
	for name, row := range map[string]struct{ env, value, want string }{
		"misspelt":      {"MAYFLY_AMQP__LISEN", ":1", `MAYFLY_AMQP__LISEN: unknown key "amqp.lisen"; the nearest is "amqp.listen"`},
		"misspelt file": {"MAYFLY_AUTH__DEFAULT_PAS_FILE", secretFile, "MAYFLY_AUTH__DEFAULT_PAS_FILE"},
		"no such file":  {"MAYFLY_AUTH__DEFAULT_PASS_FILE", dir + "/gone", "MAYFLY_AUTH__DEFAULT_PASS_FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(row.env, row.value)
			if _, err := configValues("", nil); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
	t.Run("value and file", func(t *testing.T) {
		t.Setenv("MAYFLY_AUTH__DEFAULT_PASS", "a")
		t.Setenv("MAYFLY_AUTH__DEFAULT_PASS_FILE", secretFile)
		if _, err := configValues("", nil); err == nil || !strings.Contains(err.Error(), "both set") {
			t.Errorf("got %v", err)
		}
	})
}

// Errors of files name the file, the line, and the key that was probably meant.
func TestFileErrors(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"unknown key in a table", "[log]\nlevel = 'info'\n\n[amqp]\n# listen\nlisen = ':1'\n", `:6: unknown key "amqp.lisen"; the nearest is "amqp.listen"`},
		{"unknown dotted key", "log.level = 'info'\namqp.heart_beat = '1s'\n", `:2: unknown key "amqp.heart_beat"; the nearest is "amqp.heartbeat"`},
		{"unknown quoted key", "[ \"amqp\" ]\n'tls'.cerd = 'x'\n", `:2: unknown key "amqp.tls.cerd"; the nearest is "amqp.tls.cert"`},
		{"unknown inline key", "amqp = {lisen = ':1'}\n", `:1: unknown key "amqp.lisen"`},
		{"unknown table", "[storag]\ncache = '1MiB'\n", `:2: unknown key "storag.cache"; the nearest is "storage.cache"`},
		{"key below a key", "[amqp.listen]\naddress = ':1'\n", `:2: unknown key "amqp.listen.address"`},
		{"not TOML", "[amqp]\nlisten = \n", ":2:"},
		{"twice the same", "log.level = 'info'\nlog.level = 'warn'\n", ":2:"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := isolate(t)
			file := write(t, dir+"/bad.toml", row.text)
			if _, err := configValues(file, nil); err == nil || !strings.Contains(err.Error(), file+row.want) {
				t.Errorf("got  %v\nwant %s%s", err, file, row.want)
			}
			good := write(t, dir+"/good/mayfly.toml", "")
			more := write(t, dir+"/good/conf.d/x.toml", row.text)
			if _, err := configValues(good, nil); err == nil || !strings.Contains(err.Error(), more+row.want) {
				t.Errorf("conf.d: got %v", err)
			}
		})
	}
}

func TestFileValues(t *testing.T) {
	dir := isolate(t)
	file := write(t, dir+"/x.toml", "[auth]\nmechanisms = ['PLAIN', 'EXTERNAL']\nloopback_users = []\n[definitions]\nskip_unsupported = true\n[amqp]\nframe_max = 65536\ntls = {verify = 'optional'}\n")
	values, err := configValues(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"auth.mechanisms": "PLAIN,EXTERNAL", "auth.loopback_users": "", "definitions.skip_unsupported": "true",
		"amqp.frame_max": "65536", "amqp.tls.verify": "optional",
	} {
		if values[key] != want {
			t.Errorf("%s = %q, want %q", key, values[key], want)
		}
	}
}

// What is printed can be read again and means the same; secrets are not in it.
func TestConfigPrint(t *testing.T) {
	dir := isolate(t)
	t.Setenv("MAYFLY_AUTH__DEFAULT_PASS", "s3cret")
	file := write(t, dir+"/a.toml", "node.data_dir = 'C:\\tab \"quoted\"'\nlog.level = 'warn'\n")
	var out, errs strings.Builder
	if code := run([]string{"config", "print", "--config", file, "--set", "amqp.listen=[::1]:0"}, &out, &errs); code != exitOK {
		t.Fatalf("code %d: %s", code, errs.String())
	}
	if strings.Contains(out.String(), "s3cret") {
		t.Error("the password is printed")
	}
	before, err := configValues(file, []string{"amqp.listen=[::1]:0"})
	if err != nil {
		t.Fatal(err)
	}
	after, err := configValues(write(t, dir+"/b/b.toml", out.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings {
		if before[s.key] != after[s.key] {
			t.Errorf("%s was %q, reads back as %q", s.key, before[s.key], after[s.key])
		}
	}
	out.Reset()
	if code := run([]string{"config", "print", "--defaults"}, &out, &errs); code != exitOK || !strings.Contains(out.String(), "log.level = 'info'") {
		t.Errorf("code %d, defaults:\n%s", code, out.String())
	}
}
