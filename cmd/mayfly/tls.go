package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// loadTLS reads the certificate of the AMQP listener and, if wanted, the
// authorities that client certificates must come from (X14).
func loadTLS(f tlsFiles) (*tls.Config, error) {
	if f.cert == "" || f.key == "" {
		return nil, errors.New("amqp.tls.listen needs amqp.tls.cert and amqp.tls.key")
	}
	if f.verify != "none" && f.ca == "" {
		return nil, fmt.Errorf("amqp.tls.verify = %s needs amqp.tls.ca", f.verify)
	}
	cert, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("amqp.tls.cert: %w", err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if f.verify == "none" {
		return c, nil
	}
	pem, err := os.ReadFile(f.ca)
	if err != nil {
		return nil, fmt.Errorf("amqp.tls.ca: %w", err)
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("amqp.tls.ca: no certificate in %s", f.ca)
	}
	c.ClientAuth = tls.VerifyClientCertIfGiven
	if f.verify == "required" {
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}
