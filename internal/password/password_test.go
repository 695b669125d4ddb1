package password

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mayfly/internal/clock"
)

func decode(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// counted is a verifier that counts hard hashes and makes them cheap.
func counted(o Options) (*Verifier, *atomic.Int64) {
	v := NewVerifier(o)
	var n atomic.Int64
	v.derive = func(a argon, password []byte) []byte {
		n.Add(1)
		a.memory, a.time = 8, 1
		return a.derive(password)
	}
	return v, &n
}

// cheap is an argon2id hash that counted verifiers reproduce.
func cheap(password string) Stored {
	b := newArgon([]byte(password))
	a, _ := parseArgon(b)
	a.memory, a.time = 8, 1
	copy(b[10+argonSaltSize:], a.derive([]byte(password)))
	return Stored{Argon2id, b}
}

// TestKnownHashes verifies hashes that RabbitMQ made.
func TestKnownHashes(t *testing.T) {
	v, _ := counted(Options{})
	for _, row := range []struct{ algorithm, hash, password string }{
		// From RabbitMQ's documentation of credentials: password test12, salt 908DC60A.
		{SHA256, "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR", "test12"},
	} {
		s := Stored{row.algorithm, decode(t, row.hash)}
		if err := Check(s); err != nil {
			t.Errorf("%s: %v", row.hash, err)
		}
		for _, p := range []struct {
			password string
			want     bool
		}{{row.password, true}, {row.password + "x", false}, {"", false}} {
			if ok, err := v.Verify(t.Context(), "u", s, []byte(p.password)); ok != p.want || err != nil {
				t.Errorf("verify %q against %s = %v, %v; want %v", p.password, row.hash, ok, err, p.want)
			}
		}
	}
}

func TestMadeHashesVerify(t *testing.T) {
	v := NewVerifier(Options{})
	for _, algorithm := range []string{SHA256, SHA512, Argon2id} {
		var s, again Stored
		var err error
		if algorithm == Argon2id {
			s, err = New([]byte("pa\x00ss"))
			again, _ = New([]byte("pa\x00ss"))
		} else {
			s, err = NewSalted(algorithm, []byte("pa\x00ss"))
			again, _ = NewSalted(algorithm, []byte("pa\x00ss"))
		}
		if err != nil || s.Algorithm != algorithm || Check(s) != nil {
			t.Fatalf("%s: %v, check: %v", algorithm, err, Check(s))
		}
		if bytes.Equal(s.Hash, again.Hash) {
			t.Errorf("%s: two hashes of one password are equal: no salt", algorithm)
		}
		if ok, err := v.Verify(t.Context(), "u", s, []byte("pa\x00ss")); !ok || err != nil {
			t.Errorf("%s: right password: %v, %v", algorithm, ok, err)
		}
		if ok, err := v.Verify(t.Context(), "u", s, []byte("pa")); ok || err != nil {
			t.Errorf("%s: wrong password: %v, %v", algorithm, ok, err)
		}
	}
	if _, err := NewSalted(MD5, []byte("x")); err == nil {
		t.Error("MD5 hash was made")
	}
	if _, err := New(nil); err == nil {
		t.Error("empty password was hashed")
	}
}

func TestMD5IsVerified(t *testing.T) {
	v, _ := counted(Options{})
	salt := []byte{1, 2, 3, 4}
	s := Stored{MD5, append(bytes.Clone(salt), salted(digest(MD5), salt, []byte("old"))...)}
	if ok, _ := v.Verify(t.Context(), "u", s, []byte("old")); !ok {
		t.Error("imported MD5 hash does not match")
	}
}

func TestCheckRefuses(t *testing.T) {
	big := newArgon([]byte("x"))
	big[5] = 0xff // memory of some TiB
	slow := newArgon([]byte("x"))
	slow[1] = 0xff
	for name, s := range map[string]Stored{
		"unknown algorithm": {"rot13", []byte("x")},
		"short":             {SHA256, []byte("short")},
		"wrong length":      {SHA512, make([]byte, 36)},
		"argon of nothing":  {Argon2id, []byte{1}},
		"too much memory":   {Argon2id, big},
		"too much time":     {Argon2id, slow},
	} {
		if Check(s) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := Check(Stored{}); err != nil {
		t.Errorf("user without a password: %v", err)
	}
}

// TestEveryNoCostsTheSame is X7: one hard hash, whoever is asked for.
func TestEveryNoCostsTheSame(t *testing.T) {
	v, n := counted(Options{})
	sha, _ := NewSalted(SHA256, []byte("right"))
	for name, s := range map[string]Stored{
		"unknown user":      {},
		"sha user":          sha,
		"argon user":        cheap("right"),
		"no password":       {Argon2id, nil},
		"unknown algorithm": {"rot13", []byte("x")},
	} {
		for _, wrong := range []string{"wrong", ""} {
			before := n.Load()
			if ok, err := v.Verify(t.Context(), "u", s, []byte(wrong)); ok || err != nil {
				t.Errorf("%s, %q: %v, %v", name, wrong, ok, err)
			}
			if d := n.Load() - before; d != 1 {
				t.Errorf("%s, %q: %d hard hashes, want 1", name, wrong, d)
			}
		}
	}
}

func TestCache(t *testing.T) {
	fake := clock.NewFake()
	v, n := counted(Options{Clock: fake, CacheSize: 2})
	verify := func(user string, s Stored, password string, want bool, hashes int64) {
		t.Helper()
		before := n.Load()
		if ok, err := v.Verify(t.Context(), user, s, []byte(password)); ok != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", user, ok, err, want)
		}
		if d := n.Load() - before; d != hashes {
			t.Errorf("%s: %d hard hashes, want %d", user, d, hashes)
		}
	}
	a := cheap("a")
	verify("u", a, "a", true, 1)
	verify("u", a, "a", true, 0)
	verify("other", a, "a", true, 1) // the same hash under another name is another user
	verify("u", cheap("b"), "a", false, 1)
	verify("u", Stored{}, "a", false, 1) // deleted: at once (S24)
	verify("u", a, "b", false, 1)
	fake.Advance(30 * time.Second)
	verify("u", a, "a", true, 1) // forgotten after 30 s
	verify("u", a, "a", true, 0)
	for i := range 5 {
		verify(fmt.Sprint("x", i), a, "a", true, 1)
	}
	verify("u", a, "a", true, 1) // pushed out by newer ones
	if len(v.cache.until) > 2 {
		t.Errorf("cache holds %d, bound 2", len(v.cache.until))
	}
}

// TestBoundedConcurrency is X1: no more than Parallel hashes at a time; whoever
// waits longer than its context gets an error; a crowd of one user pays once.
func TestBoundedConcurrency(t *testing.T) {
	v := NewVerifier(Options{Parallel: 2})
	var now, most, total atomic.Int64
	enter, leave := make(chan struct{}, 64), make(chan struct{})
	v.derive = func(a argon, password []byte) []byte {
		total.Add(1)
		most.Store(max(most.Load(), now.Add(1)))
		enter <- struct{}{}
		<-leave
		now.Add(-1)
		a.memory, a.time = 8, 1
		return a.derive(password)
	}
	s := cheap("p")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if ok, err := v.Verify(t.Context(), "u", s, []byte("p")); !ok || err != nil {
				t.Errorf("verify: %v, %v", ok, err)
			}
		})
	}
	<-enter
	<-enter
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Verify(ctx, "late", s, []byte("p")); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting without patience: %v", err)
	}
	close(leave)
	wg.Wait()
	if most.Load() > 2 || total.Load() > 2 {
		t.Errorf("%d hard hashes at a time, %d in all; want at most 2 of each", most.Load(), total.Load())
	}
}

func BenchmarkVerifyCached(b *testing.B) {
	v := NewVerifier(Options{})
	s, _ := New([]byte("password"))
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := v.Verify(b.Context(), "user", s, []byte("password")); !ok {
			b.Fatal("refused")
		}
	}
}

func BenchmarkVerifyHard(b *testing.B) {
	v := NewVerifier(Options{CacheFor: -1})
	s, _ := New([]byte("password"))
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := v.Verify(b.Context(), "user", s, []byte("password")); !ok {
			b.Fatal("refused")
		}
	}
}
