package amqp

import "mayfly/amqp/wire"

// Alarms of the node, as bits of Server.alarms.
const (
	alarmMemory = 1 << iota
	alarmDisk
)

// SetAlarms tells the server which resources are short. Publishing connections
// are not read while any is (section 4); the others notice nothing.
func (s *Server) SetAlarms(memory, disk bool) {
	var bits uint32
	if memory {
		bits |= alarmMemory
	}
	if disk {
		bits |= alarmDisk
	}
	if s.alarms.Swap(bits) == bits {
		return
	}
	s.log.Warn("resource alarms changed", "memory", memory, "disk", disk)
	if bits != 0 {
		return
	}
	for _, c := range s.list() {
		c.mu.Lock()
		c.unblocked.Broadcast()
		c.mu.Unlock()
	}
}

// blockedReason is the text of connection.blocked.
func blockedReason(alarms uint32) string {
	switch alarms {
	case alarmMemory:
		return "low on memory"
	case alarmDisk:
		return "low on disk"
	}
	return "low on memory & low on disk"
}

// noteContent is called by the reader at each content header, before anything
// is done with it. While an alarm is on, the reader stops here: the publish waits
// with all that follows it, and is confirmed after the alarm.
func (c *conn) noteContent() {
	if c.server.alarms.Load() != 0 {
		c.awaitAlarm()
	}
}

// awaitAlarm blocks the reader until no alarm is on or the connection ends. The
// heartbeat monitor sees that nobody listens (conn.reading) and waits as well.
func (c *conn) awaitAlarm() {
	c.flushTouched()
	c.mu.Lock()
	defer c.mu.Unlock()
	told := false
	for {
		alarms := c.server.alarms.Load()
		if alarms == 0 || c.phase != phaseRunning {
			break
		}
		if !told && c.caps.connectionBlocked {
			c.out.sendMethod(0, &wire.ConnectionBlocked{Reason: blockedReason(alarms)})
			told = true
		}
		c.blocked.Store(true)
		c.unblocked.Wait()
	}
	c.blocked.Store(false)
	if told && c.phase == phaseRunning {
		c.out.sendMethod(0, &wire.ConnectionUnblocked{})
	}
}
