package cluster

import (
	"context"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// raftLogger hands Raft's own log lines to slog. Raft is talkative at info, and
// there is one instance per queue, so its info lines are ours at debug; what an
// operator must see (a leadership change, a failed write) is logged by the group.
type raftLogger struct {
	log  *slog.Logger
	name string
}

func newRaftLogger(l *slog.Logger) hclog.Logger { return &raftLogger{log: l, name: "raft"} }

func (r *raftLogger) level(l hclog.Level) slog.Level {
	switch l {
	case hclog.Error:
		return slog.LevelError
	case hclog.Warn:
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}

func (r *raftLogger) Log(l hclog.Level, msg string, args ...any) {
	lv := r.level(l)
	if !r.log.Enabled(context.Background(), lv) {
		return
	}
	for i, a := range args {
		if f, ok := a.(hclog.Format); ok && len(f) > 0 {
			args[i] = f[0]
		}
	}
	r.log.Log(context.Background(), lv, msg, args...)
}

func (r *raftLogger) Trace(msg string, args ...any) { r.Log(hclog.Trace, msg, args...) }
func (r *raftLogger) Debug(msg string, args ...any) { r.Log(hclog.Debug, msg, args...) }
func (r *raftLogger) Info(msg string, args ...any)  { r.Log(hclog.Info, msg, args...) }
func (r *raftLogger) Warn(msg string, args ...any)  { r.Log(hclog.Warn, msg, args...) }
func (r *raftLogger) Error(msg string, args ...any) { r.Log(hclog.Error, msg, args...) }

func (r *raftLogger) enabled(l hclog.Level) bool {
	return r.log.Enabled(context.Background(), r.level(l))
}
func (r *raftLogger) IsTrace() bool         { return r.enabled(hclog.Trace) }
func (r *raftLogger) IsDebug() bool         { return r.enabled(hclog.Debug) }
func (r *raftLogger) IsInfo() bool          { return r.enabled(hclog.Info) }
func (r *raftLogger) IsWarn() bool          { return r.enabled(hclog.Warn) }
func (r *raftLogger) IsError() bool         { return r.enabled(hclog.Error) }
func (r *raftLogger) ImpliedArgs() []any    { return nil }
func (r *raftLogger) Name() string          { return r.name }
func (r *raftLogger) SetLevel(hclog.Level)  {}
func (r *raftLogger) GetLevel() hclog.Level { return hclog.NoLevel }
func (r *raftLogger) With(args ...any) hclog.Logger {
	return &raftLogger{log: r.log.With(args...), name: r.name}
}
func (r *raftLogger) Named(name string) hclog.Logger {
	return &raftLogger{log: r.log, name: r.name + "." + name}
}
func (r *raftLogger) ResetNamed(name string) hclog.Logger {
	return &raftLogger{log: r.log, name: name}
}

func (r *raftLogger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(r.StandardWriter(nil), "", 0)
}
func (r *raftLogger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return lineWriter{r} }

// lineWriter turns lines of libraries that only know an io.Writer into debug lines.
type lineWriter struct{ r *raftLogger }

func (w lineWriter) Write(p []byte) (int, error) {
	w.r.Log(hclog.Debug, string(p))
	return len(p), nil
}
