package admin

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"time"

	"mayfly/internal/clock"
	"mayfly/internal/password"
)

// Bounds of the listener (X11).
const (
	maxConns       = 512      // open sockets; one more is closed at once
	maxHeaderBytes = 32 << 10 // of a request; net/http answers 431 beyond it
	maxBody        = 1 << 20  // octets of a request's body; beyond it 400
	headerTimeout  = 10 * time.Second
	readTimeout    = 30 * time.Second // a whole request
	writeTimeout   = 60 * time.Second // from its header to the end of the answer
	idleTimeout    = 60 * time.Second // between two requests of a connection
	loginTimeout   = 10 * time.Second // waiting for a turn to verify a password
)

// Options configure a Server.
type Options struct {
	LoopbackUsers []string           // may log in from a loopback address only (X6)
	Verifier      *password.Verifier // the node's one
	Clock         clock.Clock
}

// Server is the management API. All its methods may be called from any goroutine.
type Server struct {
	broker   Broker
	opts     Options
	log      *slog.Logger
	throttle *throttle
	routes   []route
	http     *http.Server
}

// New makes a server.
func New(broker Broker, opts Options, log *slog.Logger) *Server {
	s := &Server{broker: broker, opts: opts, log: log, throttle: newThrottle(opts.Clock)}
	s.routes = append(s.built(), unbuiltRoutes()...)
	s.http = &http.Server{
		Handler: s, MaxHeaderBytes: maxHeaderBytes,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve answers requests until Shutdown, or until the listener fails, and closes
// the listener.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(&boundedListener{Listener: l, max: maxConns})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Shutdown stops accepting and waits for the requests under way until ctx ends;
// then it cuts them.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}

// request is a request on its way through the server.
type request struct {
	*http.Request
	w      http.ResponseWriter
	args   []string // what the path's placeholders stand for
	caller caller
}

// ServeHTTP finds the route, then who asks, then whether that one may.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	r := &request{Request: hr, w: w}
	defer s.contain(r)
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "accept, accept-encoding, origin")
	h.Set("X-Content-Type-Options", "nosniff")
	route := s.match(r)
	if route == nil {
		notFound.write(w)
		return
	}
	handle, f := route.handler(r)
	if f != nil {
		f.write(w)
		return
	}
	if hr.ContentLength > maxBody {
		badRequest("the body is larger than 1 MiB").write(w)
		return
	}
	hr.Body = http.MaxBytesReader(w, hr.Body, maxBody)
	if r.caller, f = s.login(hr); f == nil {
		f = handle(r)
	}
	if f != nil {
		f.write(w)
	}
}

// contain keeps a fault of ours in one request from ending the node (X4). The log
// line has no header and no path: both may hold secrets (X11).
func (s *Server) contain(r *request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	s.log.Error("request stopped by a fault of ours", "method", r.Method, "user", r.caller.name(), "err", p, "stack", string(debug.Stack()))
	internalError.write(r.w)
}

// peer is the address of the socket's other end: no header can change it (X6).
func peer(r *http.Request) netip.Addr {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr().Unmap()
}
