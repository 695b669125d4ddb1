package main

import (
	"os"
	"path/filepath"
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
	manage  string // address of the management listener, or off

	defaultUser, defaultPass, defaultVhost string
	definitions                            string
	skipUnsupported                        bool
	logLevel, logFormat                    string
	cpuProfile                             string
	diskFree, memoryHigh                   amount
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

// settings is the whole configuration, in the order it is printed. docs/configuration.md
// is made of it.
var settings = []setting{
	{"node.name", defaultNodeName(), "name of this node; a data directory belongs to the name it was first used with", str(func(c *config) *string { return &c.node.Name })},
	{"node.data_dir", defaultDataDir(), "directory where everything is kept", str(func(c *config) *string { return &c.node.DataDir })},
	{"cluster.name", "", "name of the cluster, shown to clients; the node's name when empty", str(func(c *config) *string { return &c.node.ClusterName })},
	{"amqp.listen", ":5672", "address of the AMQP listener, or off", address(func(c *config) *string { return &c.listen })},
	{"amqp.tls.listen", "off", "address of the AMQP listener with TLS (5671 is usual), or off", address(func(c *config) *string { return &c.tlsAddr })},
	{"amqp.tls.cert", "", "file with the server's certificate and its chain, PEM", str(func(c *config) *string { return &c.tls.cert })},
	{"amqp.tls.key", "", "file with the private key of the certificate, PEM", str(func(c *config) *string { return &c.tls.key })},
	{"amqp.tls.ca", "", "file with the authorities that client certificates must come from, PEM", str(func(c *config) *string { return &c.tls.ca })},
	{"amqp.tls.verify", "none", "client certificates: none (not asked for), optional (checked if sent) or required", oneOf(func(c *config) *string { return &c.tls.verify }, "none", "optional", "required")},
	{"amqp.frame_max", "131072", "largest frame in bytes that clients are offered; 0 = no limit", integer(func(c *config, n int) { c.amqp.FrameMax = uint32(n) }, 0, 1<<30)},
	{"amqp.channel_max", "2047", "most channels of one connection; 0 = no limit", integer(func(c *config, n int) { c.amqp.ChannelMax = uint16(n) }, 0, 65535)},
	{"amqp.heartbeat", "60s", "interval of heartbeats proposed to clients; 0s = none", duration(func(c *config) *time.Duration { return &c.amqp.Heartbeat })},
	{"amqp.handshake_timeout", "10s", "time a client has from connecting until its connection is open", duration(func(c *config) *time.Duration { return &c.amqp.HandshakeTimeout })},
	{"amqp.max_connections", "0", "most connections to this node; 0 = no limit", integer(func(c *config, n int) { c.amqp.MaxConnections = n }, 0, 1<<30)},
	{"amqp.max_message_size", "16MiB", "largest body of a message", bytesize(func(c *config) *int64 { return &c.amqp.MaxMessageSize })},
	{"amqp.max_unauthenticated", "256MiB", "memory of all connections that have not logged in; more of them are refused", bytesize(func(c *config) *int64 { return &c.amqp.MaxUnauthenticated })},
	{"amqp.max_consumers_per_channel", "0", "most consumers of one channel; 0 = no limit", integer(func(c *config, n int) { c.amqp.MaxConsumersPerChannel = n }, 0, 1<<30)},
	{"amqp.default_prefetch", "0", "prefetch of channels that send no basic.qos; 0 = no limit", integer(func(c *config, n int) { c.amqp.DefaultPrefetch = uint16(n) }, 0, 65535)},
	{"amqp.compat.product", "Mayfly", "product name that clients are told, for those that insist on one", str(func(c *config) *string { return &c.amqp.Product })},
	{"amqp.compat.version", "", "version that clients are told; Mayfly's own when empty", str(func(c *config) *string { return &c.amqp.Version })},
	{"management.listen", ":15672", "address of the management API (HTTP), or off", address(func(c *config) *string { return &c.manage })},
	{"queue.consumer_timeout", "30m", "longest time a delivery may stay unacknowledged before its channel is closed; 0s = for ever", duration(func(c *config) *time.Duration { return &c.amqp.ConsumerTimeout })},
	{"auth.mechanisms", "PLAIN,AMQPLAIN,EXTERNAL", "ways to log in, in the order they are offered; ANONYMOUS is another", words(func(c *config) *[]string { return &c.amqp.Mechanisms })},
	{"auth.loopback_users", "guest", "users that may log in from this machine only", words(func(c *config) *[]string { return &c.amqp.LoopbackUsers })},
	{"auth.anonymous_user", "", "user that ANONYMOUS logs in as", str(func(c *config) *string { return &c.amqp.AnonymousUser })},
	{"auth.external_name", "cn", "part of a client certificate that names the user: cn, dn, san_dns, san_email or san_uri", oneOf(func(c *config) *string { return &c.amqp.ExternalName }, "cn", "dn", "san_dns", "san_email", "san_uri")},
	{"auth.default_user", "guest", "user made when the data directory is first used, with all rights; none when empty", str(func(c *config) *string { return &c.defaultUser })},
	{"auth.default_pass", "guest", "password of that user; never printed", str(func(c *config) *string { return &c.defaultPass })},
	{"auth.default_vhost", "/", "virtual host made when the data directory is first used", str(func(c *config) *string { return &c.defaultVhost })},
	{"definitions.load", "", "RabbitMQ definitions file (JSON), imported at every start, all of it or nothing", str(func(c *config) *string { return &c.definitions })},
	{"definitions.skip_unsupported", "false", "import a definitions file without the parts that this release does not do, instead of refusing it", boolean(func(c *config) *bool { return &c.skipUnsupported })},
	{"limits.disk_free", "512MiB", "publishers are blocked while less disk than this is free; a size, or a share of the disk", sizeOrShare(func(c *config) *amount { return &c.diskFree })},
	{"limits.memory_high_watermark", "60%", "publishers are blocked while the server holds more memory than this; a size, or a share of the machine's", sizeOrShare(func(c *config) *amount { return &c.memoryHigh })},
	{"log.level", "info", "least level that is logged: debug, info, warn or error", oneOf(func(c *config) *string { return &c.logLevel }, "debug", "info", "warn", "error")},
	{"log.format", "", "text or json; when empty, text on a terminal and json elsewhere", oneOf(func(c *config) *string { return &c.logFormat }, "", "text", "json")},
	{"shutdown.endpoint_delay", "0s", "how long a server told to stop goes on serving, for load balancers to notice", duration(func(c *config) *time.Duration { return &c.endpointDelay })},
	{"shutdown.client_wait", "1s", "how long clients have to answer that the server goes, before their connections are cut", duration(func(c *config) *time.Duration { return &c.amqp.ShutdownWait })},
	{"shutdown.timeout", "20s", "longest time that stopping takes", duration(func(c *config) *time.Duration { return &c.shutdownTimeout })},
	{"storage.segment_size", "64MiB", "size of a log file", bytesize(func(c *config) *int64 { return &c.node.Storage.SegmentSize })},
	{"storage.cache", "32MiB", "memory for the newest messages and those just read back", bytesize(func(c *config) *int64 { return &c.node.Storage.CacheBytes })},
	{"debug.cpu_profile", "", "file that a CPU profile of the whole run is written to, for go tool pprof; none when empty", str(func(c *config) *string { return &c.cpuProfile })},
}

// shownDefaults replace, in the documentation, defaults that depend on the machine.
var shownDefaults = map[string]string{
	"node.name":     "`mayfly@<hostname>`",
	"node.data_dir": "`/var/lib/mayfly` for root, else `$XDG_DATA_HOME/mayfly` or `~/.local/share/mayfly`",
}

// secret tells whether the value of a key must never be shown.
func secret(key string) bool { return key == "auth.default_pass" }

func defaultNodeName() string {
	h, err := os.Hostname()
	if err != nil {
		h = "localhost"
	}
	return "mayfly@" + h
}

func defaultDataDir() string {
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
