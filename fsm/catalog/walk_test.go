package catalog

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"mayfly/amqp/wire"
	"mayfly/queue"
	"mayfly/queue/exchange"
)

var walkSeed = flag.Uint64("walk.seed", 0, "replay the random walk of this seed alone")

// walker makes commands out of few names, so that they meet.
type walker struct {
	*rand.Rand
	next queue.ID
	incs uint32
}

func (w *walker) pick(names ...string) string { return names[w.IntN(len(names))] }

func (w *walker) yes() bool { return w.IntN(2) == 0 }

func (w *walker) vhost() string { return w.pick("/", "/", "/", "v1", "v2") }

func (w *walker) user() string { return w.pick("u1", "u2", "u3") }

func (w *walker) queue() string { return w.pick("q1", "q2", "q3", "q4", "q5") }

func (w *walker) exchange() string {
	return w.pick("x1", "x2", "x3", "x4", "amq.topic", "amq.fanout", "amq.headers", "")
}

func (w *walker) owner() uint64 { return uint64(w.IntN(int(w.incs)+2))<<32 | uint64(w.IntN(2)) }

func (w *walker) args() wire.Table {
	switch w.IntN(8) {
	case 0:
		return args("x-message-ttl", w.IntN(3)-1)
	case 1:
		return args("x-queue-type", w.pick("classic", "quorum", "bad"))
	case 2:
		return args("alternate-exchange", w.exchange(), "x-match", w.pick("all", "any", "some"))
	}
	return nil
}

func (w *walker) binding() exchange.Binding {
	b := exchange.Binding{Source: w.exchange(), Dest: exchange.Dest{Queue: true, Name: w.queue()}, Key: w.pick("", "a", "a.*", "#"), Args: w.args()}
	if w.IntN(3) == 0 {
		b.Dest = exchange.Dest{Name: w.exchange()}
	}
	return b
}

func (w *walker) command() Command {
	switch w.IntN(28) {
	case 0:
		return PutVhost{Name: w.vhost(), Protected: w.IntN(4) == 0}
	case 1:
		if w.IntN(4) > 0 {
			return DeleteVhost{Name: w.pick("v1", "v2")}
		}
		return DeleteVhost{Name: w.vhost()}
	case 2:
		return PutVhostLimits{Vhost: w.vhost(), MaxQueues: NewLimit(int64(w.IntN(6) - 2)), MaxConnections: NewLimit(int64(w.IntN(3) - 1))}
	case 3:
		return PutUser{Name: w.user(), Hash: []byte(w.pick("", "h")), Tags: []string{w.pick("a", "b")}, MaxChannels: NewLimit(int64(w.IntN(3) - 1))}
	case 4:
		return DeleteUser{Name: w.user()}
	case 5:
		return PutPermission{w.user(), w.vhost(), w.pick(".*", "", "("), w.pick("^q", "x$"), w.pick("", "^$")}
	case 6:
		return DeletePermission{w.user(), w.vhost()}
	case 7:
		return PutTopicPermission{w.user(), w.vhost(), w.exchange(), w.pick("{username}", ")"), ".*"}
	case 8:
		return DeleteTopicPermission{w.user(), w.vhost(), w.exchange(), w.yes()}
	case 9:
		return PutParameter{w.vhost(), w.pick("c1", "c2"), w.pick("n1", "n2"), []byte(w.pick("1", "2"))}
	case 10:
		return DeleteParameter{w.vhost(), w.pick("c1", "c2"), w.pick("n1", "n2")}
	case 11:
		return PutGlobalParameter{w.pick("n1", "n2"), []byte("1")}
	case 12:
		return DeleteGlobalParameter{w.pick("n1", "n2")}
	case 13:
		return NodeUp{Name: w.pick("n1", "n2")}
	case 14:
		return NodeGone{Incarnation: uint32(w.IntN(int(w.incs) + 1))}
	case 15:
		return DropTransient{Since: uint32(w.IntN(int(w.incs) + 1))}
	case 16:
		return Seed{Vhost: "/", User: "u1"}
	case 17:
		return PutUserLimits{Name: w.user(), MaxConnections: NewLimit(1)}
	case 18:
		return DeleteExchange{w.vhost(), w.exchange(), w.yes()}
	case 19, 20:
		return DeleteQueue{ID: queue.ID(w.IntN(int(w.next) + 2))}
	case 21:
		return Unbind{w.vhost(), w.binding(), w.owner()}
	case 22:
		b := Batch{}
		for range w.IntN(4) {
			b.Commands = append(b.Commands, w.declaration())
		}
		return b
	}
	return w.declaration()
}

func (w *walker) declaration() Command {
	switch w.IntN(3) {
	case 0:
		return DeclareExchange{w.vhost(), w.exchange(), w.pick("direct", "fanout", "topic", "headers", "x-local-random", "bad"), w.yes(), w.yes(), w.yes(), w.args(), w.yes()}
	case 1:
		return DeclareQueue{w.vhost(), w.queue(), w.yes(), w.yes(), w.yes(), w.owner(), w.args(), w.user(), w.yes(), w.yes()}
	}
	return Bind{w.vhost(), w.binding(), w.owner()}
}

// TestRandomWalk feeds two machines the same entries, one of them thrown away and
// restored from its snapshot now and then, and checks everything after each.
func TestRandomWalk(t *testing.T) {
	seeds := []uint64{*walkSeed}
	if *walkSeed == 0 {
		for s := range uint64(25) {
			seeds = append(seeds, s+1)
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { walk(t, seed, 400) })
	}
}

func walk(t *testing.T, seed uint64, steps int) {
	w := &walker{Rand: rand.New(rand.NewPCG(seed, 7))}
	a, b := New(), New()
	obeyed := 0
	for i := 1; i <= steps; i++ {
		entry := Encode(w.command())
		w.next, w.incs = a.view.nextQueue, a.view.incarnation
		before := a.Digest()
		oa, ob := a.Apply(uint64(i), entry), b.Apply(uint64(i), entry)
		if oa.Code == 0 {
			obeyed++
		} else if a.Digest() != before {
			t.Fatalf("step %d: refused (%s), yet changed", i, oa.Text)
		}
		if err := a.Check(); err != nil {
			c, _ := Decode(entry)
			t.Fatalf("step %d, %#v: %v", i, c, err)
		}
		if oa.Code != ob.Code || oa.Text != ob.Text || fmt.Sprint(oa.Removed) != fmt.Sprint(ob.Removed) || oa.Existed != ob.Existed || oa.Incarnation != ob.Incarnation {
			t.Fatalf("step %d: outcomes %+v and %+v", i, oa, ob)
		}
		if a.Digest() != b.Digest() {
			t.Fatalf("step %d: digests differ", i)
		}
		if w.IntN(5) == 0 {
			b = restoreFrom(t, b)
		}
	}
	if obeyed < steps/4 {
		t.Errorf("only %d of %d commands were obeyed: the walk shows little", obeyed, steps)
	}
}

func restoreFrom(t *testing.T, m *Machine) *Machine {
	t.Helper()
	var buf bytes.Buffer
	if _, err := m.Snapshot().WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	r, err := Restore(&buf)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOldViews keeps each view of a walk, and finds it unchanged at the end.
func TestOldViews(t *testing.T) {
	w := &walker{Rand: rand.New(rand.NewPCG(3, 3))}
	m := New()
	var views []*View
	var images [][]byte
	for i := 1; i <= 500; i++ {
		w.next, w.incs = m.view.nextQueue, m.view.incarnation
		m.Apply(uint64(i), Encode(w.command()))
		views = append(views, m.View())
		images = append(images, m.View().encode())
	}
	for i, v := range views {
		if !bytes.Equal(v.encode(), images[i]) {
			t.Fatalf("the view of entry %d has changed", i+1)
		}
	}
}

func TestSnapshotDamage(t *testing.T) {
	r := newRig(t)
	r.must(declare(args("x-message-ttl", 5)), bindQueue("amq.topic", "q", "a.#"), PutPermission{"u", "/", ".*", "a", "b"},
		PutParameter{"/", "c", "n", []byte("1")}, PutGlobalParameter{"g", []byte("2")}, PutTopicPermission{"u", "/", "x", "{vhost}", ""})
	image := r.m.snapshotBytes()
	for i := range image {
		bad := bytes.Clone(image)
		bad[i] ^= 0x10
		if _, err := Restore(bytes.NewReader(bad)); err == nil {
			t.Fatalf("damage in byte %d went unseen", i)
		}
		if _, err := Restore(bytes.NewReader(image[:i])); err == nil {
			t.Fatalf("snapshot cut to %d bytes was restored", i)
		}
	}
	m := r.restored()
	if q := m.View().Vhost("/").Queue("q"); q.Config != r.vhost().Queue("q").Config || m.View().Version() != r.m.View().Version() || m.View().AuthVersion() != r.m.View().AuthVersion() {
		t.Errorf("restored queue %+v, versions %d %d", q, m.View().Version(), m.View().AuthVersion())
	}
	// A snapshot taken is the state of then, whatever comes after.
	s := r.m.Snapshot()
	r.must(DeleteVhost{Name: "/"})
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil || !bytes.Equal(b.Bytes(), image) {
		t.Errorf("snapshot changed after it was taken: %v", err)
	}
}

// FuzzRestore: never panics; what is restored keeps the invariants.
func FuzzRestore(f *testing.F) {
	m := New()
	for i, c := range []Command{PutVhost{Name: "/"}, PutUser{Name: "u"}, declare(nil), bindQueue("amq.topic", "q", "#"), PutPermission{"u", "/", ".*", "", "x"}} {
		m.Apply(uint64(i+1), Encode(c))
	}
	f.Add(m.view.encode())
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 || body[0] != snapshotVersion {
			return
		}
		x := &coder{buf: body[1:], reading: true}
		c := change{}
		c.decode(x)
		if x.end("snapshot") != nil {
			return
		}
		v := c.View
		v.encode()
	})
}
