package main

import (
	be "encoding/binary"
	"io"
	"log/slog"
	"net"
	"runtime"
	"testing"

	amqpgo "github.com/rabbitmq/amqp091-go"

	"mayfly/admin"
	"mayfly/amqp"
	"mayfly/amqp/wire"
	"mayfly/cluster"
)

// TestPublishAllocations counts the broker's allocations per confirmed publish,
// with a client that makes none: at most two.
func TestPublishAllocations(t *testing.T) {
	addr := serveInProcess(t)
	declareDurable(t, addr, "alloc")
	nc := rawLogin(t, addr)
	const window, rounds = 500, 40
	burst := publishBurst("alloc", make([]byte, 1024), window)
	confirmed := uint64(0)
	run := func() {
		if _, err := nc.Write(burst); err != nil {
			t.Fatal(err)
		}
		for goal := confirmed + window; confirmed < goal; {
			confirmed = max(confirmed, readAck(t, nc))
		}
	}
	run() // buffers grow to their size
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		run()
	}
	runtime.ReadMemStats(&after)
	per := float64(after.Mallocs-before.Mallocs) / (window * rounds)
	t.Logf("%.3f allocations and %.0f bytes a confirmed publish of 1 KiB", per, float64(after.TotalAlloc-before.TotalAlloc)/(window*rounds))
	if per > 2 {
		t.Errorf("%.2f allocations a publish, at most 2 are allowed", per)
	}
}

// serveInProcess runs a broker inside the test and answers its address.
func serveInProcess(t *testing.T) string {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	seed, err := admin.Seed("/", "guest", "guest")
	if err != nil {
		t.Fatal(err)
	}
	node, err := cluster.Start(cluster.Options{Name: "n", DataDir: t.TempDir(), Logger: log, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	server, err := amqp.New(node, amqp.DefaultOptions(), log)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	t.Cleanup(func() {
		server.Shutdown(t.Context())
		node.Stop()
	})
	return l.Addr().String()
}

func declareDurable(t *testing.T, addr, name string) {
	t.Helper()
	c, err := amqpgo.Dial("amqp://guest:guest@" + addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ch, err := c.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ch.QueueDeclare(name, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
}

// rawLogin opens a connection with one channel in confirm mode.
func rawLogin(t *testing.T, addr string) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	out := []byte(wire.ProtocolHeader)
	out = wire.AppendMethod(out, 0, &wire.ConnectionStartOk{Mechanism: "PLAIN", Response: []byte("\x00guest\x00guest"), Locale: "en_US"})
	out = wire.AppendMethod(out, 0, &wire.ConnectionTuneOk{ChannelMax: 10, FrameMax: 131072})
	out = wire.AppendMethod(out, 0, &wire.ConnectionOpen{Vhost: "/"})
	out = wire.AppendMethod(out, 1, &wire.ChannelOpen{})
	out = wire.AppendMethod(out, 1, &wire.ConfirmSelect{})
	if _, err := nc.Write(out); err != nil {
		t.Fatal(err)
	}
	for {
		if id, _ := readFrame(t, nc); id == wire.ConfirmSelectOkID {
			return nc
		}
	}
}

func publishBurst(queue string, body []byte, n int) []byte {
	props := []byte{0x10, 0x00, 2} // delivery-mode 2
	var out []byte
	for range n {
		out = wire.AppendMethod(out, 1, &wire.BasicPublish{RoutingKey: queue})
		out = wire.AppendContent(out, 1, props, body, 131072)
	}
	return out
}

var frameBuf [4096]byte

// readFrame reads a small method frame into a buffer of the test's.
func readFrame(t *testing.T, nc net.Conn) (wire.ID, []byte) {
	t.Helper()
	head := frameBuf[:7]
	if _, err := io.ReadFull(nc, head); err != nil {
		t.Fatal(err)
	}
	size := be.BigEndian.Uint32(head[3:])
	payload := frameBuf[8 : 8+size+1]
	if _, err := io.ReadFull(nc, payload); err != nil {
		t.Fatal(err)
	}
	return wire.ID(be.BigEndian.Uint32(payload)), payload[4:size]
}

// readAck reads one basic.ack and answers its number.
func readAck(t *testing.T, nc net.Conn) uint64 {
	id, args := readFrame(t, nc)
	if id != wire.BasicAckID {
		t.Fatalf("got %v, want basic.ack", id)
	}
	return be.BigEndian.Uint64(args)
}
