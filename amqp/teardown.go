package amqp

import "context"

// teardown ends the channel. What was received before an orderly end is executed
// first; settlements are pushed in any case, and Session.Close answers when they
// are applied (S8). Deliveries that did not go out return with the session.
func (ch *channel) teardown(why endReason) {
	orderly := why == endClient || why == endConnection
	ch.mu.Lock()
	ch.closing = true
	ch.failed = ch.failed || !orderly
	failed := ch.failed
	ch.room.Broadcast()
	ch.mu.Unlock()
	if failed {
		ch.backlog.drop()
		ch.cancel()
	}
	ch.finishInput()
	ch.closeSession()
	ch.dropOutput()
	ch.cancel()
	if !failed {
		ch.wake() // confirms that came meanwhile
	}
}

// finishInput waits for the input to end and pushes what it has gathered. After
// finishLimit whatever still waits is told to give up. A publish that waits for
// room in a queue without a leader cannot hear that: Session.Close frees it.
func (ch *channel) finishInput() {
	ended := make(chan struct{})
	go func() {
		defer ch.c.contain("channel end")
		defer close(ended)
		ch.backlog.wait()
		ch.own.Lock()
		defer ch.own.Unlock()
		ch.over = true
		ch.tx.forget()
		ch.pushSettlements()
	}()
	timer := ch.c.clock.NewTimer(finishLimit)
	defer timer.Stop()
	select {
	case <-ended:
		return
	case <-timer.C():
	}
	ch.backlog.drop()
	ch.cancel()
	timer.Reset(graceLimit)
	select {
	case <-ended:
	case <-timer.C():
	}
}

func (ch *channel) closeSession() {
	ctx, cancel := context.WithCancel(context.Background())
	timer := ch.c.clock.AfterFunc(closeLimit, cancel)
	defer timer.Stop()
	defer cancel()
	if err := ch.session.Close(ctx); err != nil {
		// The queues learn of the session's end by their own retry (principle 4);
		// the client is not kept waiting.
		ch.c.log.Warn("session not closed in time", "channel", int(ch.id), "err", err)
	}
}

// dropOutput forgets the deliveries that will not go out, and releases the bodies
// of those that their queue has forgotten. Answers and confirms stay for the
// writer's last turn, unless nothing may go out any more.
func (ch *channel) dropOutput() {
	var settled []outItem
	ch.mu.Lock()
	direct := ch.direct
	ch.direct = nil
	ch.stopTimeout()
	drop := func(it *outItem) bool {
		if it.kind == outFrames || it.kind == outGetOk && !ch.failed {
			return !ch.failed
		}
		if it.d.Settled {
			settled = append(settled, *it)
		}
		return false
	}
	ch.out.keep(drop)
	ch.held.keep(drop)
	if ch.failed {
		ch.returned = nil
	}
	ch.mu.Unlock()
	for i := range settled {
		settled[i].lane.Release(&settled[i].d)
	}
	if direct != nil {
		ch.c.server.replies.remove(direct.name)
	}
}
