package amqp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"mayfly/internal/clock"
	"mayfly/internal/password"
)

// MaxMessageSizeCap is the largest max_message_size that may be configured
// (amqp.md 6.2).
const MaxMessageSizeCap = 512 << 20

// frameMin is the smallest frame_max the protocol allows; old clients ask for
// exactly this (amqp.md 2.4).
const frameMin = 4096

// Options configure a Server. Start from DefaultOptions.
type Options struct {
	FrameMax         uint32        // proposed and highest accepted frame size; 0 = no limit
	ChannelMax       uint16        // the same for the number of channels; 0 = no limit
	Heartbeat        time.Duration // proposed, whole seconds; the client's answer rules
	HandshakeTimeout time.Duration // from accept to connection.open-ok
	CloseTimeout     time.Duration // longest wait for the peer after connection.close
	FailureDelay     time.Duration // how long a refused login keeps its socket
	ShutdownWait     time.Duration // longest wait for close-ok when the server stops

	MaxConnections int   // open connections on this node; 0 = no limit
	MaxMessageSize int64 // octets of a body

	// Bounds on what has not authenticated yet (X1), in octets of heap as charged by limits.go.
	MaxUnauthenticated        int64 // all together
	MaxUnauthenticatedPerAddr int64 // from one address

	MaxConsumersPerChannel int           // 0 = no limit
	DefaultPrefetch        uint16        // of a channel that sends no basic.qos; 0 = unlimited
	ConsumerTimeout        time.Duration // longest time a delivery may stay unacked; 0 = for ever
	CallTimeout            time.Duration // longest wait for the broker's answer before 541

	// What clients are told about the server (amqp.md 2.2).
	Product     string
	Version     string // dotted integers: clients parse it
	Platform    string
	Copyright   string
	Information string

	// Mechanisms in the order they are offered. EXTERNAL is offered only where a
	// verified client certificate was presented, ANONYMOUS only with AnonymousUser.
	Mechanisms    []string
	AnonymousUser string
	// ExternalName says which part of a client certificate is the user's name:
	// "cn", "dn", "san_dns", "san_email" or "san_uri" (X14: matched exactly).
	ExternalName string
	// LoopbackUsers may log in from a loopback address only (X6).
	LoopbackUsers []string
	// TLS is used by ServeTLS.
	TLS *tls.Config
	// Verifier is the one that all listeners of the node share; nil: one of its own.
	Verifier *password.Verifier

	Clock clock.Clock
}

// DefaultOptions are the values of operations.md 4.1.
func DefaultOptions() Options {
	return Options{
		FrameMax: 131072, ChannelMax: 2047, Heartbeat: 60 * time.Second,
		HandshakeTimeout: 10 * time.Second, CloseTimeout: 30 * time.Second,
		FailureDelay: 3 * time.Second, ShutdownWait: 5 * time.Second,
		MaxMessageSize:     16 << 20,
		MaxUnauthenticated: 256 << 20, MaxUnauthenticatedPerAddr: 192 << 20,
		ConsumerTimeout: 30 * time.Minute, CallTimeout: 15 * time.Second,
		Product: "Mayfly", Version: "0.1.0", Platform: "Go",
		Copyright:    "Copyright (c) the Mayfly authors",
		Information:  "AMQP 0-9-1 broker",
		Mechanisms:   []string{"PLAIN", "AMQPLAIN", "EXTERNAL"},
		ExternalName: "cn", LoopbackUsers: []string{"guest"},
		Clock: clock.Real,
	}
}

// Validate tells every setting that cannot work, by its name in the configuration.
func (o *Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.FrameMax != 0 && (o.FrameMax < frameMin || o.FrameMax > 1<<30) {
		bad("amqp.frame_max: %d is neither 0 nor between %d and %d", o.FrameMax, frameMin, 1<<30)
	}
	if o.Heartbeat < 0 || o.Heartbeat > 65535*time.Second || o.Heartbeat%time.Second != 0 {
		bad("amqp.heartbeat: %v is not a whole number of seconds up to 65535", o.Heartbeat)
	}
	if o.MaxMessageSize <= 0 || o.MaxMessageSize > MaxMessageSizeCap {
		bad("amqp.max_message_size: %d is not between 1 and %d", o.MaxMessageSize, MaxMessageSizeCap)
	}
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"amqp.handshake_timeout", o.HandshakeTimeout}, {"amqp.close_timeout", o.CloseTimeout},
		{"amqp.call_timeout", o.CallTimeout},
	} {
		if d.value <= 0 {
			bad("%s: %v is not positive", d.key, d.value)
		}
	}
	if o.FailureDelay < 0 || o.ShutdownWait < 0 || o.ConsumerTimeout < 0 {
		bad("amqp: a delay is negative")
	}
	if o.MaxConnections < 0 || o.MaxConsumersPerChannel < 0 {
		bad("amqp.max_connections: a limit is negative")
	}
	if o.MaxUnauthenticated < largeCharge || o.MaxUnauthenticatedPerAddr < largeCharge {
		bad("amqp.max_unauthenticated: below %d octets no client could log in", largeCharge)
	}
	if !dottedIntegers(o.Version) {
		bad("amqp.compat.version: %q is not made of dotted integers", o.Version)
	}
	errs = append(errs, o.validateAuth()...)
	if o.Clock == nil {
		bad("amqp: no clock")
	}
	return errors.Join(errs...)
}

func (o *Options) validateAuth() []error {
	var errs []error
	if len(o.Mechanisms) == 0 {
		errs = append(errs, errors.New("auth.mechanisms: none given"))
	}
	for _, m := range o.Mechanisms {
		switch m {
		case mechPlain, mechAMQPlain, mechExternal:
		case mechAnonymous:
			if o.AnonymousUser == "" {
				errs = append(errs, errors.New("auth.anonymous_user: ANONYMOUS is enabled without a user"))
			}
		default:
			errs = append(errs, fmt.Errorf("auth.mechanisms: %q is unknown", m))
		}
	}
	switch o.ExternalName {
	case "cn", "dn", "san_dns", "san_email", "san_uri":
	default:
		errs = append(errs, fmt.Errorf("auth.external_name: %q is not cn, dn, san_dns, san_email or san_uri", o.ExternalName))
	}
	if o.TLS != nil && o.TLS.MinVersion != 0 && o.TLS.MinVersion < tls.VersionTLS12 {
		errs = append(errs, errors.New("amqp.tls: versions below 1.2 are not allowed"))
	}
	return errs
}

func dottedIntegers(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return true
}
