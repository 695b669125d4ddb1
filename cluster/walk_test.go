package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mayfly/queue"
)

// walker drives one queue by a few sessions at random, and knows what must be true:
// what is delivered was published, is not settled and is held by nobody else, and
// at the end exactly what was not settled is there, in order (S1, S6, S8, S10).
type walker struct {
	t       *testing.T
	r       *rig
	rng     *rand.Rand
	id      queue.ID
	next    int
	alive   map[string]bool // published and not settled
	users   []*walkUser
	settled int
}

type walkUser struct {
	*user
	seen int              // deliveries looked at
	held []queue.Delivery // and not given back
}

func TestWalk(t *testing.T) {
	for i := range uint64(4) {
		seed := uint64(time.Now().UnixNano()) + i
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			w := &walker{t: t, r: newRig(t).start(), rng: rand.New(rand.NewPCG(seed, 0)), alive: map[string]bool{}}
			w.id = w.r.queue("q", "x-delivery-limit", 1_000_000)
			for range 400 {
				w.step()
			}
			w.closeAll()
			w.r.restart()
			w.finish()
			w.r.stop()
		})
	}
}

func (w *walker) step() {
	switch n := w.rng.IntN(100); {
	case len(w.users) == 0 || n < 6 && len(w.users) < 5:
		w.users = append(w.users, &walkUser{user: w.r.user(w.id)})
		return
	case n == 6:
		w.restart()
		return
	}
	i := w.rng.IntN(len(w.users))
	u := w.users[i]
	u.look(w)
	switch n := w.rng.IntN(100); {
	case n < 40:
		for range 1 + w.rng.IntN(20) {
			body := fmt.Sprintf("%06d", w.next)
			w.next++
			w.alive[body] = true
			u.l.Publish(message(body))
		}
	case n < 60:
		ps := u.some(w)
		for _, d := range ps {
			delete(w.alive, w.r.body(u.l, &d))
			w.settled++
		}
		u.l.Settle(positions(ps))
	case n < 70:
		u.l.Return(positions(u.some(w)), queue.WhyNack)
	case n < 80:
		if err := u.l.Attach(w.t.Context(), queue.ConsumerSpec{Number: 1, Prefetch: uint32(1 + w.rng.IntN(20))}); err != nil {
			w.t.Fatal(err)
		}
	case n < 88:
		d, _, ok, err := u.l.Get(w.t.Context(), false)
		if err != nil {
			w.t.Fatal(err)
		}
		if ok {
			u.take(w, d)
		}
	case n < 94:
		if err := u.l.Detach(w.t.Context(), 1); err != nil {
			w.t.Fatal(err)
		}
	default:
		w.close(u)
		w.users = slices.Delete(w.users, i, i+1)
	}
}

// look takes in what came meanwhile.
func (u *walkUser) look(w *walker) {
	u.mu.Lock()
	fresh := slices.Clone(u.got[u.seen:])
	u.seen = len(u.got)
	u.mu.Unlock()
	for _, d := range fresh {
		u.take(w, d)
	}
}

func (u *walkUser) take(w *walker, d queue.Delivery) {
	w.t.Helper()
	if body := w.r.body(u.l, &d); !w.alive[body] {
		w.t.Fatalf("%s is delivered, and was settled or never published", body)
	}
	for _, o := range w.users {
		if slices.ContainsFunc(o.held, func(h queue.Delivery) bool { return h.Pos == d.Pos }) {
			w.t.Fatalf("position %d is delivered while it is held", d.Pos)
		}
	}
	u.held = append(u.held, d)
}

// some gives up a random part of what u holds.
func (u *walkUser) some(w *walker) []queue.Delivery {
	w.rng.Shuffle(len(u.held), func(i, j int) { u.held[i], u.held[j] = u.held[j], u.held[i] })
	n := w.rng.IntN(len(u.held) + 1)
	gone := slices.Clone(u.held[:n])
	u.held = slices.Delete(u.held, 0, n)
	return gone
}

func positions(ds []queue.Delivery) (ps []queue.Pos) {
	for _, d := range ds {
		ps = append(ps, d.Pos)
	}
	return ps
}

// sync waits until all that u sent is applied.
func (w *walker) sync(u *walkUser) {
	if _, err := u.l.Stat(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *walker) close(u *walkUser) {
	if err := u.s.Close(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *walker) closeAll() {
	for _, u := range w.users {
		w.close(u)
	}
	w.users = nil
}

// restart stops the node under its users, as a crash does, once in two by a power
// cut: what is applied is on disk, the rest is gone.
func (w *walker) restart() {
	for _, u := range w.users {
		w.sync(u)
	}
	w.users = nil
	if w.rng.IntN(2) == 0 {
		w.r.restart()
		return
	}
	cut := w.r.fs.Crash(func(int, int, int) int { return 0 })
	w.r.stop()
	w.r.fs = cut
	w.r.start()
}

func (w *walker) finish() {
	var want []string
	for body := range w.alive {
		want = append(want, body)
	}
	slices.Sort(want)
	if got := w.r.take(w.id); !slices.Equal(got, want) {
		w.t.Fatalf("%d messages are left, want %d\n%q\n%q", len(got), len(want), got, want)
	}
	if n := w.r.liveBytes(w.id); n != 0 {
		w.t.Fatalf("%d bytes of bodies still live", n)
	}
	w.t.Logf("%d published, %d settled", w.next, w.settled)
}
