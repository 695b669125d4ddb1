package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mayfly/amqp"
	"mayfly/cluster"
)

// config is everything a server can be told. Packages know their own options
// only; this file alone knows how a setting is called and parsed.
type config struct {
	node    cluster.Options
	amqp    amqp.Options
	listen  string
	tls     tlsFiles
	tlsAddr string

	defaultUser, defaultPass, defaultVhost string
	definitions                            string
	skipUnsupported                        bool
	logLevel, logFormat                    string
	diskFree                               int64
	memoryHigh                             float64
	endpointDelay                          time.Duration
	shutdownTimeout                        time.Duration
}

type tlsFiles struct {
	cert, key, ca string
	verify        string
}

// setting is one key of the configuration: its default, what it is for, and how
// its text becomes a value.
type setting struct {
	key, value, help string
	set              func(c *config, v string) error
}

var settings = []setting{
	{"node.name", defaultNodeName(), "name of this node", str(func(c *config) *string { return &c.node.Name })},
	{"node.data_dir", defaultDataDir(), "where everything is kept", str(func(c *config) *string { return &c.node.DataDir })},
	{"cluster.name", "", "shown to clients; the node's name when empty", str(func(c *config) *string { return &c.node.ClusterName })},
	{"amqp.listen", ":5672", "address of the AMQP listener, or off", str(func(c *config) *string { return &c.listen })},
	{"amqp.tls.listen", "off", "address of the AMQP listener with TLS, or off", str(func(c *config) *string { return &c.tlsAddr })},
	{"amqp.tls.cert", "", "certificate chain, PEM", str(func(c *config) *string { return &c.tls.cert })},
	{"amqp.tls.key", "", "private key, PEM", str(func(c *config) *string { return &c.tls.key })},
	{"amqp.tls.ca", "", "authorities of client certificates, PEM", str(func(c *config) *string { return &c.tls.ca })},
	{"amqp.tls.verify", "none", "client certificates: none, optional or required", oneOf(func(c *config) *string { return &c.tls.verify }, "none", "optional", "required")},
	{"amqp.frame_max", "131072", "largest frame", integer(func(c *config, n int) { c.amqp.FrameMax = uint32(n) }, 0, 1<<30)},
	{"amqp.channel_max", "2047", "most channels of a connection", integer(func(c *config, n int) { c.amqp.ChannelMax = uint16(n) }, 0, 65535)},
	{"amqp.heartbeat", "60s", "proposed to clients", duration(func(c *config) *time.Duration { return &c.amqp.Heartbeat })},
	{"amqp.handshake_timeout", "10s", "from accept to open", duration(func(c *config) *time.Duration { return &c.amqp.HandshakeTimeout })},
	{"amqp.max_connections", "0", "of this node; 0 = no limit", integer(func(c *config, n int) { c.amqp.MaxConnections = n }, 0, 1<<30)},
	{"amqp.max_message_size", "16MiB", "largest body", bytesize(func(c *config) *int64 { return &c.amqp.MaxMessageSize })},
	{"amqp.max_unauthenticated", "256MiB", "memory of all connections that have not logged in", bytesize(func(c *config) *int64 { return &c.amqp.MaxUnauthenticated })},
	{"amqp.max_consumers_per_channel", "0", "0 = no limit", integer(func(c *config, n int) { c.amqp.MaxConsumersPerChannel = n }, 0, 1<<30)},
	{"amqp.default_prefetch", "0", "of channels that send no basic.qos; 0 = unlimited", integer(func(c *config, n int) { c.amqp.DefaultPrefetch = uint16(n) }, 0, 65535)},
	{"amqp.compat.product", "Mayfly", "product name that clients are told", str(func(c *config) *string { return &c.amqp.Product })},
	{"amqp.compat.version", "", "version that clients are told; Mayfly's own when empty", str(func(c *config) *string { return &c.amqp.Version })},
	{"queue.consumer_timeout", "30m", "longest time a delivery may stay unacked; 0s = for ever", duration(func(c *config) *time.Duration { return &c.amqp.ConsumerTimeout })},
	{"auth.mechanisms", "PLAIN,AMQPLAIN,EXTERNAL", "in the order they are offered", words(func(c *config) *[]string { return &c.amqp.Mechanisms })},
	{"auth.loopback_users", "guest", "may log in from this machine only", words(func(c *config) *[]string { return &c.amqp.LoopbackUsers })},
	{"auth.anonymous_user", "", "whom ANONYMOUS logs in as", str(func(c *config) *string { return &c.amqp.AnonymousUser })},
	{"auth.external_name", "cn", "part of a client certificate that names the user: cn, dn, san_dns, san_email, san_uri", str(func(c *config) *string { return &c.amqp.ExternalName })},
	{"auth.default_user", "guest", "made in an empty cluster; empty = none", str(func(c *config) *string { return &c.defaultUser })},
	{"auth.default_pass", "guest", "", str(func(c *config) *string { return &c.defaultPass })},
	{"auth.default_vhost", "/", "", str(func(c *config) *string { return &c.defaultVhost })},
	{"definitions.load", "", "RabbitMQ definitions file, imported at start", str(func(c *config) *string { return &c.definitions })},
	{"definitions.skip_unsupported", "false", "import definitions although they hold what this release does not do", boolean(func(c *config) *bool { return &c.skipUnsupported })},
	{"limits.disk_free", "512MiB", "publishers are blocked below this much free disk", bytesize(func(c *config) *int64 { return &c.diskFree })},
	{"limits.memory_high_watermark", "60%", "publishers are blocked above this share of the machine's memory", percent(func(c *config) *float64 { return &c.memoryHigh })},
	{"log.level", "info", "debug, info, warn or error", oneOf(func(c *config) *string { return &c.logLevel }, "debug", "info", "warn", "error")},
	{"log.format", "", "text or json; by the terminal when empty", oneOf(func(c *config) *string { return &c.logFormat }, "", "text", "json")},
	{"shutdown.endpoint_delay", "0s", "pause between the stop signal and closing the listener", duration(func(c *config) *time.Duration { return &c.endpointDelay })},
	{"shutdown.timeout", "20s", "bound on an orderly stop", duration(func(c *config) *time.Duration { return &c.shutdownTimeout })},
	{"storage.segment_size", "64MiB", "size of a log file", bytesize(func(c *config) *int64 { return &c.node.Storage.SegmentSize })},
	{"storage.cache", "64MiB", "newest messages kept in memory", bytesize(func(c *config) *int64 { return &c.node.Storage.CacheBytes })},
}

func str(at func(*config) *string) func(*config, string) error {
	return func(c *config, v string) error { *at(c) = v; return nil }
}

func oneOf(at func(*config) *string, words ...string) func(*config, string) error {
	return func(c *config, v string) error {
		for _, w := range words {
			if v == w {
				*at(c) = v
				return nil
			}
		}
		return fmt.Errorf("want one of %s", strings.Join(words, ", "))
	}
}

func boolean(at func(*config) *bool) func(*config, string) error {
	return func(c *config, v string) (err error) {
		if *at(c), err = strconv.ParseBool(v); err != nil {
			return fmt.Errorf("want true or false")
		}
		return nil
	}
}

// integer parses a number within bounds.
func integer(put func(*config, int), low, high int) func(*config, string) error {
	return func(c *config, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < low || n > high {
			return fmt.Errorf("want a number from %d to %d", low, high)
		}
		put(c, n)
		return nil
	}
}

// words parses a list with commas between; the empty text is the empty list.
func words(at func(*config) *[]string) func(*config, string) error {
	return func(c *config, v string) error {
		*at(c) = nil
		for w := range strings.SplitSeq(v, ",") {
			if w = strings.TrimSpace(w); w != "" {
				*at(c) = append(*at(c), w)
			}
		}
		return nil
	}
}

func duration(at func(*config) *time.Duration) func(*config, string) error {
	return func(c *config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 {
			return fmt.Errorf("want a duration such as 5s or 10m")
		}
		*at(c) = d
		return nil
	}
}

var sizeUnits = []struct {
	suffix string
	size   int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}

func bytesize(at func(*config) *int64) func(*config, string) error {
	return func(c *config, v string) error {
		n, err := parseSize(v)
		if err != nil {
			return err
		}
		*at(c) = n
		return nil
	}
}

func parseSize(v string) (int64, error) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(v, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err == nil && n >= 0 && n <= (1<<62)/u.size {
			return n * u.size, nil
		}
	}
	return 0, fmt.Errorf("want a size such as 512MiB or 1GB")
}

func percent(at func(*config) *float64) func(*config, string) error {
	return func(c *config, v string) error {
		digits, ok := strings.CutSuffix(v, "%")
		n, err := strconv.ParseFloat(digits, 64)
		if !ok || err != nil || n <= 0 || n > 100 {
			return fmt.Errorf("want a share such as 60%%")
		}
		*at(c) = n / 100
		return nil
	}
}

func defaultNodeName() string {
	h, err := os.Hostname()
	if err != nil {
		h = "localhost"
	}
	return "mayfly@" + h
}

func defaultDataDir() string {
	if d := os.Getenv("MAYFLY_DATA_DIR"); d != "" {
		return d
	}
	if os.Geteuid() == 0 {
		return "/var/lib/mayfly"
	}
	if d := os.Getenv("XDG_DATA_HOME"); d != "" {
		return filepath.Join(d, "mayfly")
	}
	if h, err := os.UserHomeDir(); err == nil {
		return filepath.Join(h, ".local", "share", "mayfly")
	}
	return "mayfly-data"
}
