package amqp

import (
	"math/rand/v2"
	"testing"

	"mayfly/queue"
)

// The outstanding deliveries against a map.
func TestUnackedTwin(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var u unacked
	lane := &laneState{}
	twin := map[uint64]queue.Pos{}
	tag := uint64(0)
	for range 100_000 {
		if rnd.IntN(2) == 0 {
			tag++
			if rnd.IntN(3) > 0 { // else it is a no-ack delivery's
				u.add(outstanding{tag: tag, pos: queue.Pos(tag * 10), lane: lane, counted: rnd.IntN(2) == 0})
				twin[tag] = queue.Pos(tag * 10)
			}
			continue
		}
		pick := uint64(rnd.IntN(int(tag) + 2))
		i := u.find(pick)
		pos, known := twin[pick]
		if known != (i >= 0) || known && u.ring.at(i).pos != pos {
			t.Fatalf("tag %d: found %d, known %v", pick, i, known)
		}
		if known {
			u.end(i)
			u.trim()
			delete(twin, pick)
		}
		if u.live != len(twin) || lane.unacked != len(twin) {
			t.Fatalf("%d live, %d in lane, want %d", u.live, lane.unacked, len(twin))
		}
	}
	if u.ring.len() > 2*u.live+maxHoles+1 {
		t.Errorf("%d entries for %d outstanding", u.ring.len(), u.live)
	}
}

// One old delivery does not keep the entries of all later ones.
func TestUnackedClosesUp(t *testing.T) {
	var u unacked
	lane := &laneState{}
	u.add(outstanding{tag: 1, pos: 1, lane: lane, counted: true})
	for tag := uint64(2); tag < 100_000; tag++ {
		u.add(outstanding{tag: tag, pos: queue.Pos(tag), lane: lane, counted: true})
		u.end(u.find(tag))
		u.trim()
	}
	if u.ring.len() > maxHoles+3 || u.counted != 1 {
		t.Errorf("%d entries, %d counted", u.ring.len(), u.counted)
	}
}
