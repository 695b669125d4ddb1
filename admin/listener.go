package admin

import (
	"net"
	"sync"
	"sync/atomic"
)

// boundedListener holds at most max connections open; it closes one more at once,
// so that nobody can take all of the node's descriptors through this port.
type boundedListener struct {
	net.Listener
	max  int64
	open atomic.Int64
}

// Accept waits for a connection within the bound.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.max {
			return &boundedConn{Conn: c, of: l}, nil
		}
		l.open.Add(-1)
		c.Close()
	}
}

// boundedConn gives its place back when it is closed.
type boundedConn struct {
	net.Conn
	of   *boundedListener
	once sync.Once
}

func (c *boundedConn) Close() error {
	c.once.Do(func() { c.of.open.Add(-1) })
	return c.Conn.Close()
}
