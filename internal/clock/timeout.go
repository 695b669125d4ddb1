package clock

import (
	"context"
	"time"
)

// WithTimeout is context.WithTimeout on a clock. The context has no deadline to
// ask for; after d it is cancelled, with context.DeadlineExceeded as its cause.
func WithTimeout(ctx context.Context, c Clock, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := c.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}
