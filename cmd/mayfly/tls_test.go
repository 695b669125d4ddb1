package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// certificate makes one that signs itself, for 127.0.0.1 and for the user guest, and
// answers its files.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "guest"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, b []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}))
	}
	return write(t, dir+"/cert.pem", text("CERTIFICATE", der)), write(t, dir+"/key.pem", text("PRIVATE KEY", raw))
}

// The TLS listener stands alone, asks for a client certificate where that is
// required, and takes the user's name from it (X14).
func TestTLSListener(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	p := startProcess(t, dir, "--amqp", "off", "--set", "amqp.tls.listen=127.0.0.1:0", "--set", "amqp.tls.cert="+cert,
		"--set", "amqp.tls.key="+key, "--set", "amqp.tls.ca="+cert, "--set", "amqp.tls.verify=required")
	if _, ok := p.ends["amqp"]; ok || p.ends["amqps"] == nil {
		t.Fatalf("endpoints %v, want amqps alone", p.ends)
	}
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	url := "amqps://" + p.ends["amqps"].(string) + "/"
	c, err := amqp.DialTLS_ExternalAuth(url, &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatalf("with a certificate: %v\n%s", err, p.logText())
	}
	c.Close()
	if c, err := amqp.DialTLS_ExternalAuth(url, &tls.Config{RootCAs: roots}); err == nil {
		c.Close()
		t.Error("without a certificate: taken")
	}
}

func TestTLSFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	for _, row := range []struct {
		name  string
		files tlsFiles
		want  string // "" = fine
	}{
		{"server only", tlsFiles{cert: cert, key: key, verify: "none"}, ""},
		{"client certificates", tlsFiles{cert: cert, key: key, ca: cert, verify: "optional"}, ""},
		{"no key", tlsFiles{cert: cert, verify: "none"}, "needs amqp.tls.cert and amqp.tls.key"},
		{"swapped", tlsFiles{cert: key, key: cert, verify: "none"}, "amqp.tls.cert"},
		{"no authorities", tlsFiles{cert: cert, key: key, verify: "required"}, "needs amqp.tls.ca"},
		{"authorities gone", tlsFiles{cert: cert, key: key, ca: dir + "/gone", verify: "required"}, "amqp.tls.ca"},
		{"authorities are a key", tlsFiles{cert: cert, key: key, ca: key, verify: "required"}, "no certificate"},
	} {
		_, err := loadTLS(row.files)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
	}
}
