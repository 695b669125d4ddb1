package fsm_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mayfly/dlx"
	"mayfly/fsm"
	"mayfly/fsm/fsmtest"
	"mayfly/queue"
)

// wireSamples holds one or more of each command; their bytes must never change.
func wireSamples() []fsmtest.Command {
	s := queue.SessionID(3<<32 | 41)
	full := queue.Config{
		Vhost: "/", Name: "orders", MaxLength: 10, MaxBytes: 1 << 30, Overflow: queue.RejectPublishDLX, MaxPriority: 9, DefaultPriority: 4,
		TTL: 60000, MessageTTLWins: true, TTLCeiling: 90000, ExpireAtHead: true, Expires: 1800000, SingleActive: true, DeliveryLimit: -1,
		CountOnlyFailure: true, AutoDelete: true, DeadLetter: true, DeadLetterReasons: dlx.AllReasons, Strategy: dlx.AtLeastOnce,
		DeadLetterExchange: "dlx", DeadLetterKey: "k", HasDeadLetterKey: true,
	}
	plain := queue.Message{Exchange: []byte("x"), Key: []byte("a.b"), Props: []byte{0, 0}, Body: []byte("hello"), TTL: queue.NoTTL}
	rich := queue.Message{
		Exchange: []byte("amq.topic"), Key: []byte("k"), Annotations: []byte{1, 2}, Props: []byte{0x10, 0, 2}, Body: bytes.Repeat([]byte("b"), 300),
		TTL: 60000, Priority: 7, HasPriority: true, Persistent: true,
	}
	return []fsmtest.Command{
		{Op: fsmtest.Configure, Config: queue.Defaults()},
		{Op: fsmtest.Configure, Config: full},
		{Op: fsmtest.Publish, Session: s, Seq: 1, Message: plain},
		{Op: fsmtest.Publish, Session: s, Seq: 1 << 40, Message: rich},
		{Op: fsmtest.Settle, Session: s, Positions: []queue.Pos{5, 6, 9, 4}},
		{Op: fsmtest.Reject, Session: s, Positions: []queue.Pos{1 << 33}},
		{Op: fsmtest.Return, Session: s, Positions: []queue.Pos{7}, Why: queue.WhyClosed},
		{Op: fsmtest.Credit, Session: s, Spec: queue.ConsumerSpec{Number: 2}, Total: 1000},
		{Op: fsmtest.Attach, Session: s, Seq: 2, Spec: queue.ConsumerSpec{Number: 2, Tag: "ctag-1", Prefetch: 100, Window: 500, Priority: -3, NoAck: true, Exclusive: true}},
		{Op: fsmtest.Detach, Session: s, Seq: 3, Spec: queue.ConsumerSpec{Number: 2}},
		{Op: fsmtest.Get, Session: s, Seq: 4, NoAck: true},
		{Op: fsmtest.Purge, Session: s, Seq: 5},
		{Op: fsmtest.Close, Session: s, Seq: 6, IfEmpty: true},
		{Op: fsmtest.SessionClosed, Session: s},
		{Op: fsmtest.NodeGone, Node: 3},
		{Op: fsmtest.NodesBefore, Node: 4},
		{Op: fsmtest.Touch},
		{Op: fsmtest.Forwarded, IDs: []uint64{1, 2, 5}, Cause: dlx.NoRoute},
		{Op: fsmtest.Tx, Session: s, Seq: 7, Tx: queue.Tx{Publishes: []*queue.Message{&plain, &rich}, Settles: []queue.Pos{3}, Returns: []queue.Pos{4, 5}}},
	}
}

// TestWire holds the bytes of each command against testdata/wire, and what two
// decoders make of them against the values.
func TestWire(t *testing.T) {
	var text strings.Builder
	for _, c := range wireSamples() {
		e := fsmtest.Entry{Stamp: 1_700_000_000_123, Lead: c.Op == fsmtest.Configure, Commands: []fsmtest.Command{c}}
		data := e.Bytes()
		fmt.Fprintf(&text, "%s\n%s", c.Op, hex.Dump(data))
		got, err := fsmtest.Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", c.Op, err)
		}
		if !bytes.Equal(got.Bytes(), data) {
			t.Errorf("%s: decoded and encoded again, it differs:\n%s\n%s", c.Op, &e, &got)
		}
		var out fsm.Outcome
		if err := fsm.New().Apply(1, data, &out); err != nil {
			t.Errorf("%s: %v", c.Op, err)
		}
	}
	golden(t, "testdata/wire/commands.txt", text.String())
}

// TestSnapshotWire holds the bytes of a snapshot with something of everything.
func TestSnapshotWire(t *testing.T) {
	w := fsmtest.Walk{Seed: 4, Steps: 300}
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w.Machine().Snapshot().WriteTo(&b)
	golden(t, "testdata/wire/snapshot.txt", hex.Dump(b.Bytes()))
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if *update && (err != nil || string(want) != got) {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s: bytes changed: %s", file, firstDifference(string(want), got))
	}
}

// TestConfigCodec: every field of a Config survives, alone and with the others.
func TestConfigCodec(t *testing.T) {
	samples := []queue.Config{queue.Defaults(), wireSamples()[1].Config}
	whole := samples[1]
	for i := range reflect.TypeFor[queue.Config]().NumField() {
		c := queue.Defaults()
		reflect.ValueOf(&c).Elem().Field(i).Set(reflect.ValueOf(whole).Field(i))
		if c == queue.Defaults() {
			t.Errorf("field %d of the sample has its default value: nothing is tested", i)
		}
		samples = append(samples, c)
	}
	for _, c := range samples {
		got, err := queue.ParseConfig(queue.AppendConfig(nil, &c))
		if err != nil || got != c {
			t.Errorf("%+v\nbecame %+v, %v", c, got, err)
		}
	}
	for name, b := range map[string][]byte{"unknown field": {200}, "cut": {1, 5, 'a'}, "twice": {9, 9}, "descending": {9, 2, 1, 'q'}, "bad overflow": {5, 8}} {
		if c, err := queue.ParseConfig(b); err == nil {
			t.Errorf("%s: read as %+v", name, c)
		}
	}
}

func TestEnqueueSize(t *testing.T) {
	for _, c := range wireSamples() {
		if c.Op == fsmtest.Publish {
			if n := len(fsm.AppendEnqueue(nil, c.Session, 1<<63, &c.Message)); n > fsm.EnqueueSize(&c.Message) {
				t.Errorf("EnqueueSize says %d, it took %d", fsm.EnqueueSize(&c.Message), n)
			}
		}
		if c.Op == fsmtest.Tx {
			if n := len(fsm.AppendTx(nil, c.Session, 1<<63, &c.Tx)); n > fsm.TxSize(&c.Tx) {
				t.Errorf("TxSize says %d, it took %d", fsm.TxSize(&c.Tx), n)
			}
		}
	}
}

// TestEnvelope: a Ref given out by Apply finds the message in the entry's bytes.
func TestEnvelope(t *testing.T) {
	c := wireSamples()[3]
	e := fsmtest.Entry{Stamp: 5, Commands: []fsmtest.Command{wireSamples()[2], c, {Op: fsmtest.Get, Session: 9, Seq: 1}, {Op: fsmtest.Get, Session: 9, Seq: 2}}}
	var out fsm.Outcome
	data := e.Bytes()
	if err := fsm.New().Apply(8, data, &out); err != nil {
		t.Fatal(err)
	}
	ref := out.Effects[1].Delivery.Ref
	env, err := fsm.ParseEnvelope(data[ref.Off : ref.Off+ref.Size])
	if err != nil || ref.Index != 8 {
		t.Fatal(ref, err)
	}
	m := c.Message
	if string(env.Exchange) != string(m.Exchange) || string(env.Key) != string(m.Key) || string(env.Annotations) != string(m.Annotations) ||
		string(env.Props) != string(m.Props) || string(env.Body) != string(m.Body) {
		t.Errorf("got %+v", env)
	}
	for n := range 6 {
		if _, err := fsm.ParseEnvelope([]byte{5, 0, 0, 0, 'a'}[:min(n, 5)]); err == nil {
			t.Errorf("an envelope cut to %d bytes was read", n)
		}
	}
}

// TestUndecodable: what a replica must stop at, and that it stays stopped.
func TestUndecodable(t *testing.T) {
	good := func(b ...byte) []byte { return append(fsm.AppendHeader(nil), b...) }
	newer := fsm.AppendHeader(nil)
	newer[0] = fsm.Version + 1
	flagged := fsm.AppendHeader(nil)
	flagged[1] = 0x80
	early, late := fsm.AppendHeader(nil), fsm.AppendHeader(nil)
	fsm.PutStamp(early, -1)
	fsm.PutStamp(late, fsm.MaxStamp+1)
	sess := []byte{0, 0, 0, 1, 0, 0, 0, 1}
	for name, data := range map[string][]byte{
		"empty": nil, "short": fsm.AppendHeader(nil)[:9], "version 0": make([]byte, 10), "newer version": newer, "unknown flag": flagged,
		"negative stamp": early, "huge stamp": late, "command 0": good(0), "unknown command": good(99),
		"cut session": good(3, 0, 0), "claimed count": good(append(append([]byte{3}, sess...), 0xff, 0xff, 0xff, 0x7f)...),
		"unknown publish flag": good(append(append([]byte{2}, sess...), 1, 0x80, 4, 0, 0, 0, 0)...),
		"envelope too long":    good(append(append([]byte{2}, sess...), 1, 0, 9, 0, 0, 0, 0)...),
		"lengths too long":     good(append(append([]byte{2}, sess...), 1, 0, 4, 1, 0, 0, 0)...),
		"why 0":                good(append(append([]byte{5}, sess...), 0, 0)...),
		"unknown cause":        good(16, 200, 0),
	} {
		m := fsm.New()
		var out fsm.Outcome
		if err := m.Apply(1, data, &out); err == nil {
			t.Errorf("%s: applied", name)
		}
		if err := m.Apply(2, fsm.AppendHeader(nil), &out); err == nil {
			t.Errorf("%s: applied another entry after it", name)
		}
	}
	m := fsm.New()
	var out fsm.Outcome
	if err := m.Apply(7, fsm.AppendHeader(nil), &out); err != nil {
		t.Fatal(err)
	}
	if err := m.Apply(7, fsm.AppendHeader(nil), &out); err == nil {
		t.Error("one index applied twice")
	}
}
