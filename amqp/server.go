package amqp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/fsm/catalog"
	"mayfly/internal/clock"
	"mayfly/internal/password"
)

// Server accepts connections and owns them. One Server serves any number of
// listeners. All its methods may be called from any goroutine.
type Server struct {
	broker  Broker
	opts    Options
	log     *slog.Logger
	clock   clock.Clock
	verify  verifyFunc
	gate    *gate
	replies *replyRegistry // direct reply-to
	stats   counters
	alarms  atomic.Uint32   // alarmMemory, alarmDisk
	ctx     context.Context // cancelled when Shutdown is over
	cancel  context.CancelFunc

	mu        sync.Mutex // before conn.mu
	closing   bool
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{} // accepted and not yet finished
	open      int                // past open-ok
	users     map[string]*use
	vhosts    map[string]int // open connections
	idle      chan struct{}  // closed when closing and conns is empty
	checked   uint64         // View.AuthVersion of the last Recheck
}

// verifyFunc is password.Verifier.Verify; fuzzing has a cheaper one.
type verifyFunc func(ctx context.Context, user string, stored password.Stored, pass []byte) (bool, error)

// ErrServerClosed is what Serve answers after Shutdown.
var ErrServerClosed = errors.New("server is shut down")

// New makes a server. The options must be valid.
func New(broker Broker, opts Options, logger *slog.Logger) (*Server, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("amqp options: %w", err)
	}
	if opts.Verifier == nil {
		opts.Verifier = password.NewVerifier(password.Options{Clock: opts.Clock})
	}
	s := &Server{
		broker: broker, opts: opts, log: logger, clock: opts.Clock,
		verify:    opts.Verifier.Verify,
		gate:      newGate(opts.MaxUnauthenticated, opts.MaxUnauthenticatedPerAddr),
		listeners: make(map[net.Listener]struct{}),
		conns:     make(map[*conn]struct{}),
		users:     make(map[string]*use),
		vhosts:    make(map[string]int),
		idle:      make(chan struct{}),
	}
	s.replies = newReplyRegistry(s)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// ServeTLS is Serve with TLS by Options.TLS on every connection.
func (s *Server) ServeTLS(l net.Listener) error {
	if s.opts.TLS == nil {
		return errors.New("amqp: ServeTLS without Options.TLS")
	}
	conf := s.opts.TLS.Clone()
	conf.MinVersion = max(conf.MinVersion, tls.VersionTLS12) // X14
	return s.Serve(tls.NewListener(l, conf))
}

// Serve accepts connections until Shutdown, when it answers ErrServerClosed, or
// until the listener fails. It closes the listener. What tls.NewListener gives is
// served as TLS.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return ErrServerClosed
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
	}()
	pause := time.Duration(0)
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = 0
			s.accept(nc)
			continue
		}
		if s.isClosing() {
			return ErrServerClosed
		}
		var ne net.Error
		if !errors.As(err, &ne) || !ne.Timeout() && !transient(err) {
			return fmt.Errorf("accept on %s: %w", l.Addr(), err)
		}
		// Out of descriptors or memory: the connections that end will free some.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.log.Warn("accept failed, waiting", "err", err, "pause", pause)
		timer := s.clock.NewTimer(pause)
		select {
		case <-timer.C():
		case <-s.ctx.Done():
			timer.Stop()
		}
	}
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// accept starts a connection, or refuses it by closing it at once: beyond the
// bounds of X1 even an answer would cost too much.
func (s *Server) accept(nc net.Conn) {
	raw, cost := nc, int64(idleCharge)
	if t, ok := nc.(*tls.Conn); ok {
		raw, cost = t.NetConn(), cost+tlsCharge
	}
	s.stats.accepted.Add(1)
	c := newConn(s, nc, raw)
	if !c.charge.take(cost) {
		s.stats.refused.Add(1)
		s.log.Debug("too many unauthenticated connections", "peer", c.peer)
		c.cancel()
		nc.Close()
		return
	}
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		c.charge.settle()
		c.cancel()
		nc.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	go c.run()
}

// remove forgets a connection that has ended.
func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if c.use != nil {
		s.open--
		if s.vhosts[c.vhost]--; s.vhosts[c.vhost] == 0 {
			delete(s.vhosts, c.vhost)
		}
		if c.use.conns--; c.use.conns == 0 {
			delete(s.users, c.user)
		}
		s.stats.closed.Add(1)
	}
	if s.closing && len(s.conns) == 0 {
		close(s.idle)
	}
}

// list is the connections as of now.
func (s *Server) list() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		out = append(out, c)
	}
	return out
}

// admit counts a connection that is about to open, against the limits of node,
// vhost and user.
func (s *Server) admit(c *conn) *Error {
	view := c.view()
	var vhostMax, userMax catalog.Limit
	if v := view.Vhost(c.vhost); v != nil {
		vhostMax = v.MaxConnections
	}
	if u := view.User(c.user); u != nil {
		userMax = u.MaxConnections
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[c.user]
	open := 0
	if u != nil {
		open = u.conns
	}
	switch {
	case s.opts.MaxConnections > 0 && s.open >= s.opts.MaxConnections:
		return nodeLimit(s.opts.MaxConnections)
	case !vhostMax.Allows(int64(s.vhosts[c.vhost])):
		return vhostLimit(c.vhost, c.user, vhostMax.Max)
	case !userMax.Allows(int64(open)):
		return userLimit(c.user, userMax.Max)
	}
	if u == nil {
		u = &use{}
		s.users[c.user] = u
	}
	u.conns++
	s.open++
	s.vhosts[c.vhost]++
	c.use = u
	s.stats.opened.Add(1)
	return nil
}

// addChannel counts a channel against its user's limit.
func (s *Server) addChannel(c *conn) *Error {
	var limit catalog.Limit
	if u := c.view().User(c.user); u != nil {
		limit = u.MaxChannels
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !limit.Allows(int64(c.use.channels)) {
		return userChannelsReached(c.user, limit.Max)
	}
	c.use.channels++
	return nil
}

func (s *Server) dropChannels(c *conn, n int) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.use.channels -= n
}

// Recheck closes the connections whose user or vhost is gone (section 4). The
// node calls it after each change of the catalogue it has applied; without a
// change of users, vhosts or permissions it costs a comparison.
func (s *Server) Recheck() {
	version := s.broker.View().AuthVersion()
	s.mu.Lock()
	same := s.checked == version
	s.checked = version
	s.mu.Unlock()
	if same {
		return
	}
	for _, c := range s.list() {
		c.mu.Lock()
		running := c.phase == phaseRunning
		c.mu.Unlock()
		if running {
			s.recheck(c)
		}
	}
}

func (s *Server) recheck(c *conn) {
	view := s.broker.View()
	switch {
	case view.User(c.user) == nil:
		c.fail(forced(reasonUserDeleted(c.user)), c.closeTimeout())
	case view.Vhost(c.vhost) == nil:
		c.fail(forced(reasonVhostDeleted(c.vhost)), c.closeTimeout())
	}
}

// Shutdown stops accepting, sends 320 to every open connection and waits for
// them, until ctx ends or Options.ShutdownWait is over; then it cuts what is left.
// The error is ctx's, when connections had to be cut.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.cancel()
	s.stop()
	for _, c := range s.list() {
		c.mu.Lock()
		p := c.phase
		c.mu.Unlock()
		if p == phaseRunning {
			c.fail(forced(reasonShutdown), s.opts.ShutdownWait)
		} else if p == phaseHandshake {
			c.abort()
		}
	}
	timer := s.clock.NewTimer(s.opts.ShutdownWait)
	defer timer.Stop()
	select {
	case <-s.idle:
		return nil
	case <-timer.C():
	case <-ctx.Done():
	}
	for _, c := range s.list() {
		c.abort()
	}
	// Cut sockets free their goroutines at once; what may take longer is sessions
	// that wait for the broker.
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("shut down with %d connections: %w", len(s.list()), ctx.Err())
	}
}

// stop closes the listeners; from here on nobody is accepted.
func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return
	}
	s.closing = true
	for l := range s.listeners {
		l.Close()
	}
	if len(s.conns) == 0 {
		close(s.idle)
	}
}
