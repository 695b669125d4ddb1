package main

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// banner is what a person who started a server at a terminal sees first.
func (b *broker) banner() string {
	var s strings.Builder
	fmt.Fprintf(&s, "\nMayfly %s is ready: node %s, on its own.\n\n", version, b.c.node.Name)
	fmt.Fprintf(&s, "  AMQP   %s\n  data   %s\n", b.addresses(), b.c.node.DataDir)
	if b.manage != nil {
		fmt.Fprintf(&s, "  manage http://%s/api/\n", b.manage.address())
	}
	if b.c.listen != "off" {
		fmt.Fprintf(&s, "  try    mayfly bench publish --url %s\n", clientURL(b.listeners[0].Addr().String(), b.c.defaultUser, b.c.defaultPass, b.c.defaultVhost))
	}
	s.WriteString("  stop   Ctrl-C\n\n")
	return s.String()
}

// clientURL is how a client on this machine reaches a listener. A password that
// somebody chose is not shown.
func clientURL(listen, user, pass, vhost string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	if pass != "guest" {
		pass = "PASSWORD"
	}
	u := url.URL{Scheme: "amqp", User: url.UserPassword(user, pass), Host: net.JoinHostPort(host, port), Path: "/"}
	if vhost != "/" {
		u.RawPath, u.Path = "/"+url.PathEscape(vhost), "/"+vhost
	}
	return u.String()
}
