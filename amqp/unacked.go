package amqp

import (
	"time"

	"mayfly/queue"
)

// judgment is what a client decides about a delivery.
type judgment uint8

const (
	undecided judgment = iota
	judgedAck
	judgedReject  // reject or nack without requeue
	judgedNack    // nack with requeue
	judgedRequeue // reject with requeue
	judgedRecover
)

// why says on whose account a returned message goes back.
func (v judgment) why() queue.Why {
	switch v {
	case judgedNack:
		return queue.WhyNack
	case judgedRequeue:
		return queue.WhyReject
	}
	return queue.WhyRecover
}

// outstanding is one delivery that the client has not settled.
type outstanding struct {
	tag     uint64
	pos     queue.Pos
	due     time.Duration // when the consumer timeout ends it; 0 = never
	lane    *laneState
	over    bool     // settled; the entry waits to be trimmed
	counted bool     // takes a slot of the channel's own prefetch (global qos)
	inTx    judgment // settled inside the open transaction, undone by rollback
}

// maxHoles is the least number of settled entries inside the ring that makes it
// worth closing up.
const maxHoles = 64

// unacked holds the outstanding deliveries of a channel in the order of their
// tags. Tags of no-ack deliveries are missing from it, and one old unacked
// delivery must not keep the entries of all later ones, so the ring is closed up
// when more than half of it is settled. The channel's mu guards it.
type unacked struct {
	ring    ring[outstanding]
	live    int // entries not over
	counted int // live entries that are counted
}

func (u *unacked) add(o outstanding) {
	*u.ring.push() = o
	u.live++
	o.lane.unacked++
	if o.counted {
		u.counted++
	}
}

// find gives the index of a live entry outside any transaction, -1 if there is none.
func (u *unacked) find(tag uint64) int {
	n := u.ring.len()
	if n == 0 || tag < u.ring.at(0).tag {
		return -1
	}
	i := n // tags without holes, the common case: the index is the distance
	if d := tag - u.ring.at(0).tag; d < uint64(n) {
		i = int(d)
	}
	if i == n || u.ring.at(i).tag != tag {
		i = u.search(tag)
	}
	if i == n {
		return -1
	}
	if e := u.ring.at(i); e.tag != tag || e.over || e.inTx != undecided {
		return -1
	}
	return i
}

// search gives the index of the first entry with at least that tag.
func (u *unacked) search(tag uint64) int {
	lo, hi := 0, u.ring.len()
	for lo < hi {
		mid := (lo + hi) / 2
		if u.ring.at(mid).tag < tag {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// end marks the entry at index i as settled; trim must follow.
func (u *unacked) end(i int) {
	e := u.ring.at(i)
	e.over = true
	e.lane.unacked--
	u.live--
	if e.counted {
		u.counted--
	}
}

// trim drops settled entries from the front, and closes the ring up when it is
// mostly holes. Indexes are void afterwards.
func (u *unacked) trim() {
	for u.ring.len() > 0 && u.ring.at(0).over {
		u.ring.pop()
	}
	if holes := u.ring.len() - u.live; holes > maxHoles && holes > u.live {
		u.ring.keep(func(e *outstanding) bool { return !e.over })
	}
}

// countAll starts the channel's own prefetch: what is outstanding counts.
func (u *unacked) countAll() {
	for i := range u.ring.len() {
		if e := u.ring.at(i); !e.over {
			e.counted = true
		}
	}
	u.counted = u.live
}
