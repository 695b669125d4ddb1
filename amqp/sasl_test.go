package amqp

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"mayfly/amqp/wire"
)

// authority signs certificates for a test.
type authority struct {
	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
	next int64
}

func newAuthority(t testing.TB) *authority {
	a := &authority{t: t, pool: x509.NewCertPool()}
	c := a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign})
	a.cert, a.key = c.Leaf, c.PrivateKey.(*ecdsa.PrivateKey)
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) issue(c *x509.Certificate) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.next++
	c.SerialNumber = big.NewInt(a.next)
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// tlsRig is a server that also speaks TLS; dialTLS connects with a certificate or none.
func tlsRig(t testing.TB, adjust func(*Options)) (r *rig, dialTLS func(*tls.Certificate) *peer) {
	a := newAuthority(t)
	server := a.issue(&x509.Certificate{DNSNames: []string{"broker"}})
	conf := &tls.Config{Certificates: []tls.Certificate{server}, ClientCAs: a.pool, ClientAuth: tls.VerifyClientCertIfGiven}
	r = newRig(t, func(o *Options) {
		o.TLS = conf
		if adjust != nil {
			adjust(o)
		}
	})
	addr := r.serve(func(l net.Listener) net.Listener { return tls.NewListener(l, conf) })
	return r, func(cert *tls.Certificate) *peer {
		t.Helper()
		c := &tls.Config{RootCAs: a.pool, ServerName: "broker"}
		if cert == nil {
			cert = &tls.Certificate{}
		} else {
			*cert = a.issue(cert.Leaf)
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
		nc, err := tls.Dial("tcp", addr, c)
		if err != nil {
			t.Fatal(err)
		}
		return newPeer(t, nc)
	}
}

func TestTLS(t *testing.T) {
	r, dial := tlsRig(t, nil)
	p := dial(nil)
	if m := p.greet(); m.Mechanisms != "PLAIN AMQPLAIN" {
		t.Errorf("mechanisms without a certificate: %q", m.Mechanisms)
	}
	p.nc.Close()
	p = dial(nil).open(0)
	p.roundTrip()
	if infos := r.srv.Connections(); len(infos) != 1 || infos[0].TLSVersion != "TLS 1.3" {
		t.Errorf("listed as %+v", infos)
	}
	p.hangUp()
}

func TestExternal(t *testing.T) {
	uri, _ := url.Parse("spiffe://here/guest")
	template := x509.Certificate{Subject: pkix.Name{CommonName: "guest", Organization: []string{"O"}}, DNSNames: []string{"dns.guest"},
		EmailAddresses: []string{"guest@here"}, URIs: []*url.URL{uri}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, row := range []struct{ which, user string }{
		{"cn", "guest"}, {"dn", "CN=guest,O=O"}, {"san_dns", "dns.guest"}, {"san_email", "guest@here"}, {"san_uri", "spiffe://here/guest"},
		{"san_dns", "other"},
	} {
		t.Run(row.which+" "+row.user, func(t *testing.T) {
			r, dial := tlsRig(t, func(o *Options) { o.ExternalName = row.which })
			r.node.must(t, putUser(t, row.user, "unused"))
			cert := template
			p := dial(&tls.Certificate{Leaf: &cert})
			if m := p.greet(); m.Mechanisms != "PLAIN AMQPLAIN EXTERNAL" {
				t.Errorf("mechanisms %q", m.Mechanisms)
			}
			p.send(0, &wire.ConnectionStartOk{ClientProperties: allCaps(), Mechanism: "EXTERNAL", Response: []byte("ignored")})
			if row.user == "other" { // the certificate names somebody who is not there
				p.closed(403, strings.Replace(refusedText, "PLAIN", "EXTERNAL", 1))
				return
			}
			expect[*wire.ConnectionTune](p, 0)
		})
	}
	two := template
	two.DNSNames = []string{"a", "b"}
	if name := certificateName(&two, "san_dns"); name != "" {
		t.Errorf("a certificate with two names is %q, want nobody", name)
	}
}

func TestSilentTLSPeer(t *testing.T) {
	r := newRig(t, fakeTime)
	a := newAuthority(t)
	conf := &tls.Config{Certificates: []tls.Certificate{a.issue(&x509.Certificate{})}}
	r.addr = r.serve(func(l net.Listener) net.Listener { return tls.NewListener(l, conf) })
	p := r.dial()
	r.fake.WaitTimers(1)
	r.fake.Advance(10 * time.Second)
	p.gone()
}

func TestServeTLSNeedsOptions(t *testing.T) {
	if err := newRig(t, nil).srv.ServeTLS(nil); err == nil {
		t.Error("ServeTLS without a configuration was accepted")
	}
}

func TestSecretPrintsAsNothing(t *testing.T) {
	var b bytes.Buffer
	s := secret("hunter2")
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "a", s, "b", []any{s})
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "a", s, "b", map[string]any{"k": s})
	if strings.Contains(b.String(), "hunter2") || !strings.Contains(b.String(), "[secret]") {
		t.Errorf("logged %s", b.String())
	}
}

// F11: no login, however malformed, puts its secret into the log or a frame.
func FuzzLogin(f *testing.F) {
	f.Add("PLAIN", "guest", "hunter2-secret", byte(0))
	f.Add("AMQPLAIN", "guest", "hunter2-secret", byte(1))
	f.Add("EXTERNAL", "", "hunter2-secret", byte(2))
	f.Add("PLAIN", "a\x00b", "hunter2-secret", byte(3))
	f.Add("CRAM", "\xff", "hunter2-secret", byte(4))
	f.Fuzz(func(t *testing.T, mechanism, user, pass string, shape byte) {
		const mark = "sEcReTmArK"
		pass = mark + pass
		if strings.Contains(mechanism+user, mark) || len(mechanism) > 255 {
			return
		}
		var response []byte
		switch shape % 5 {
		case 0:
			response = plain(user, pass)
		case 1:
			response = amqplain(user, pass)
		case 2:
			response = []byte(pass)
		case 3:
			response = append(plain(user, pass), 0)
		case 4:
			response = amqplain(user, pass)
			response = response[:len(response)-1]
		}
		payload := wire.AppendMethod(nil, 0, &wire.ConnectionStartOk{ClientProperties: allCaps(), Mechanism: mechanism, Response: response})
		var logs safeBuffer
		s, _ := soloServer(t, &logs)
		out := runBytes(s, append([]byte(wire.ProtocolHeader), payload...))
		if s.Stats().LoginsRefused != 1 {
			t.Fatalf("%s %q was not refused", mechanism, user)
		}
		if strings.Contains(logs.String(), mark) || bytes.Contains(out, []byte(mark)) {
			t.Fatalf("the secret got out: %s % x", logs.String(), out)
		}
	})
}
