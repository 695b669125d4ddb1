package amqp

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"
)

func TestOptionsValidate(t *testing.T) {
	good := DefaultOptions()
	if err := good.Validate(); err != nil {
		t.Fatalf("the defaults are refused: %v", err)
	}
	for _, row := range []struct {
		key    string
		change func(*Options)
	}{
		{"amqp.frame_max", func(o *Options) { o.FrameMax = 4095 }},
		{"amqp.frame_max", func(o *Options) { o.FrameMax = 1<<30 + 1 }},
		{"amqp.heartbeat", func(o *Options) { o.Heartbeat = 1500 * time.Millisecond }},
		{"amqp.heartbeat", func(o *Options) { o.Heartbeat = 65536 * time.Second }},
		{"amqp.max_message_size", func(o *Options) { o.MaxMessageSize = MaxMessageSizeCap + 1 }},
		{"amqp.max_message_size", func(o *Options) { o.MaxMessageSize = 0 }},
		{"amqp.handshake_timeout", func(o *Options) { o.HandshakeTimeout = 0 }},
		{"amqp.close_timeout", func(o *Options) { o.CloseTimeout = -1 }},
		{"amqp.max_connections", func(o *Options) { o.MaxConnections = -1 }},
		{"amqp.max_unauthenticated", func(o *Options) { o.MaxUnauthenticated = 1 }},
		{"amqp.compat.version", func(o *Options) { o.Version = "4.0-rc1" }},
		{"amqp.compat.version", func(o *Options) { o.Version = "" }},
		{"auth.mechanisms", func(o *Options) { o.Mechanisms = nil }},
		{"auth.mechanisms", func(o *Options) { o.Mechanisms = []string{"plain"} }},
		{"auth.anonymous_user", func(o *Options) { o.Mechanisms = []string{"ANONYMOUS"} }},
		{"auth.external_name", func(o *Options) { o.ExternalName = "san" }},
		{"amqp.tls", func(o *Options) { o.TLS = &tls.Config{MinVersion: tls.VersionTLS11} }},
		{"clock", func(o *Options) { o.Clock = nil }},
	} {
		o := DefaultOptions()
		row.change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), row.key) {
			t.Errorf("%s: error %v does not name it", row.key, err)
		}
		if _, err := New(newFakeBroker(t), o, nil); err == nil {
			t.Errorf("%s: New takes what Validate refuses", row.key)
		}
	}
}
