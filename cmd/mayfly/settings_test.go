package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"mayfly/amqp"
)

// isolate keeps a test from the configuration of whoever runs it, and answers the
// working directory.
func isolate(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir+"/xdg")
	t.Setenv("MAYFLY_CONFIG", "")
	t.Setenv("MAYFLY_DATA_DIR", "")
	return dir
}

// load parses sets over the defaults.
func load(t *testing.T, sets ...string) (*config, error) {
	t.Helper()
	isolate(t)
	return loadConfig("", sets)
}

// The defaults of the table are the ones that the packages have by themselves.
func TestDefaultsParseAndAgree(t *testing.T) {
	c, err := load(t)
	if err != nil {
		t.Fatal(err)
	}
	want := amqp.DefaultOptions()
	want.ShutdownWait = time.Second // a stop takes less than two (design.md, section 6)
	want.Version = version
	got := c.amqp
	got.Clock, want.Clock = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("options of amqp:\n got %+v\nwant %+v", got, want)
	}
	if c.diskFree.of(1<<40) != 512<<20 || c.memoryHigh.of(1000) != 600 {
		t.Errorf("limits: disk %+v memory %+v", c.diskFree, c.memoryHigh)
	}
	if c.listen != ":5672" || c.tlsAddr != "off" || c.node.Name == "" || c.node.DataDir == "" {
		t.Errorf("listen %q, tls %q, node %q, data %q", c.listen, c.tlsAddr, c.node.Name, c.node.DataDir)
	}
}

func TestKeysAreUniqueAndExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range settings {
		if seen[s.key] {
			t.Errorf("%s is there twice", s.key)
		}
		seen[s.key] = true
		if s.help == "" || strings.ToLower(s.key) != s.key || !strings.Contains(s.key, ".") {
			t.Errorf("%s: help %q", s.key, s.help)
		}
	}
	for key := range shownDefaults {
		if !seen[key] {
			t.Errorf("shown default of unknown key %s", key)
		}
	}
	for _, k := range flagKeys {
		if !seen[k.key] {
			t.Errorf("flag --%s sets unknown key %s", k.flag, k.key)
		}
	}
}

func TestSizes(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "1": 1, "17B": 17, "1kB": 1000, "1KB": 1000, "1KiB": 1024, "512MiB": 512 << 20, "1GB": 1e9,
		"2 GiB": 2 << 30, "3TiB": 3 << 40, "1TB": 1e12, "4194304TiB": 1 << 62,
	} {
		if got, err := parseSize(in); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "MiB", "-1", "-1MiB", "1.5GiB", "1mib", "1 M", "40%", "4194305TiB", "9999999999999999999"} {
		if got, err := parseSize(in); err == nil {
			t.Errorf("%q: got %d, want an error", in, got)
		}
	}
}

// Each row is a value that is refused, by its key, with what is wanted instead.
func TestValuesRefused(t *testing.T) {
	for _, row := range []struct{ set, want string }{
		{"amqp.listen=5672", "want host:port"},
		{"amqp.listen=:70000", "want host:port"},
		{"amqp.listen=:amqp", "want host:port"},
		{"amqp.listen=", "want host:port"},
		{"amqp.listen=::1:5672", "want host:port"},
		{"amqp.listen=off", "both off"},
		{"amqp.frame_max=-1", "want a number from 0 to"},
		{"amqp.frame_max=1KiB", "want a number from 0 to"},
		{"amqp.frame_max=100", "amqp.frame_max"},
		{"amqp.channel_max=65536", "want a number from 0 to 65535"},
		{"amqp.heartbeat=60", "want a duration"},
		{"amqp.heartbeat=-1s", "want a duration"},
		{"amqp.heartbeat=1500ms", "whole number of seconds"},
		{"amqp.handshake_timeout=0s", "not positive"},
		{"amqp.max_message_size=16 Mio", "want a size"},
		{"amqp.max_message_size=1GiB", "amqp.max_message_size"},
		{"amqp.tls.verify=yes", "want one of none, optional, required"},
		{"amqp.tls.listen=:5671", "needs amqp.tls.cert and amqp.tls.key"},
		{"amqp.compat.version=4.0-beta", "dotted integers"},
		{"auth.mechanisms=", "none given"},
		{"auth.mechanisms=PLAIN,CRAM", `"CRAM" is unknown`},
		{"auth.mechanisms=ANONYMOUS", "auth.anonymous_user"},
		{"auth.external_name=uid", "want one of cn, dn"},
		{"definitions.skip_unsupported=maybe", "want true or false"},
		{"limits.disk_free=lots", "want a size such as 512MiB or a share"},
		{"limits.memory_high_watermark=0%", "want a share"},
		{"limits.memory_high_watermark=101%", "want a share"},
		{"limits.memory_high_watermark=NaN%", "want a share"},
		{"log.level=trace", "want one of debug, info, warn, error"},
		{"log.format=xml", "want one of text, json"},
		{"amqp.lisen=:1", `unknown key "amqp.lisen"; the nearest is "amqp.listen"`},
		{"log=debug", `unknown key "log"; the nearest is "log.level"`},
		{"amqp.listen", "want section.key=value"},
	} {
		_, err := load(t, row.set)
		section := strings.FieldsFunc(row.set, func(r rune) bool { return r == '.' || r == '=' })[0]
		if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), section) {
			t.Errorf("%s: got %v, want a key of %s and %q", row.set, err, section, row.want)
		}
	}
}

func TestValuesTaken(t *testing.T) {
	for _, row := range []struct {
		set string
		ok  func(*config) bool
	}{
		{"amqp.listen=[::1]:0", func(c *config) bool { return c.listen == "[::1]:0" }},
		{"amqp.heartbeat=0s", func(c *config) bool { return c.amqp.Heartbeat == 0 }},
		{"amqp.max_message_size=1MB", func(c *config) bool { return c.amqp.MaxMessageSize == 1e6 }},
		{"auth.mechanisms= PLAIN , EXTERNAL,", func(c *config) bool { return reflect.DeepEqual(c.amqp.Mechanisms, []string{"PLAIN", "EXTERNAL"}) }},
		{"auth.loopback_users=", func(c *config) bool { return len(c.amqp.LoopbackUsers) == 0 }},
		{"limits.disk_free=5%", func(c *config) bool { return c.diskFree.of(1000) == 50 }},
		{"limits.disk_free=0", func(c *config) bool { return c.diskFree.of(1000) == 0 }},
		{"limits.memory_high_watermark=2GiB", func(c *config) bool { return c.memoryHigh.of(1) == 2<<30 }},
		{"limits.memory_high_watermark=12.5%", func(c *config) bool { return c.memoryHigh.of(1000) == 125 }},
		{"definitions.skip_unsupported=true", func(c *config) bool { return c.skipUnsupported }},
		{"auth.default_pass=a=b", func(c *config) bool { return c.defaultPass == "a=b" }},
		{"amqp.compat.version=4.0.5", func(c *config) bool { return c.amqp.Version == "4.0.5" }},
	} {
		if c, err := load(t, row.set); err != nil || !row.ok(c) {
			t.Errorf("%s: %v", row.set, err)
		}
	}
}
