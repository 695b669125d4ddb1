package bench

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

func valid() Options {
	return Options{URLs: []string{"amqp://127.0.0.1:1/"}, Count: 1, Size: minBody, Window: 1, Prefetch: 1, Queues: 1, Sample: 1, Rate: 1}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   string // part of the error, "" = fine
	}{
		{"least values", func(*Options) {}, ""},
		{"no limit on deliveries", func(o *Options) { o.Prefetch = 0 }, ""},
		{"no URL", func(o *Options) { o.URLs = nil }, "URL"},
		{"no messages", func(o *Options) { o.Count = 0 }, "count"},
		{"no queues", func(o *Options) { o.Queues = 0 }, "queues"},
		{"no window", func(o *Options) { o.Window = 0 }, "window"},
		{"no room for a time", func(o *Options) { o.Size = minBody - 1 }, "size"},
		{"too large", func(o *Options) { o.Size = maxBody + 1 }, "size"},
		{"prefetch beyond the protocol", func(o *Options) { o.Prefetch = 65536 }, "prefetch"},
		{"prefetch below zero", func(o *Options) { o.Prefetch = -1 }, "prefetch"},
		{"no sample", func(o *Options) { o.Sample = 0 }, "sample"},
		{"no rate", func(o *Options) { o.Rate = 0 }, "rate"},
		{"duration below zero", func(o *Options) { o.Duration = -1 }, "duration"},
	} {
		o := valid()
		c.change(&o)
		err := o.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestFind(t *testing.T) {
	var names []string
	for _, s := range Scenarios {
		if Find(s.Name) == nil || s.Does == "" || s.Run == nil || len(s.Uses) == 0 {
			t.Errorf("scenario %q is not complete", s.Name)
		}
		if slices.Contains(names, s.Name) {
			t.Errorf("scenario %q is there twice", s.Name)
		}
		names = append(names, s.Name)
	}
	if Find("nothing") != nil {
		t.Error("an unknown scenario was found")
	}
}

// The first error ends the others, which would wait for ever.
func TestTogetherEndsWithTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	err := together(context.Background(),
		func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		func(context.Context) error { return broken },
		func(ctx context.Context) error { <-ctx.Done(); return nil })
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if err := together(context.Background(), func(context.Context) error { return nil }); err != nil {
		t.Errorf("all well: got %v", err)
	}
}

func TestAckStep(t *testing.T) {
	for prefetch, want := range map[int]int{0: ackEvery, 1: 1, 2: 1, 10: 5, 99: 49, 1000: ackEvery} {
		if got := ackStep(prefetch); got != want {
			t.Errorf("prefetch %d: ack every %d, want %d", prefetch, got, want)
		}
	}
}

func TestRoundUp(t *testing.T) {
	for in, want := range map[time.Duration]time.Duration{
		0: 0, 1: time.Millisecond, time.Millisecond: time.Millisecond,
		1500 * time.Microsecond: 2 * time.Millisecond, -5 * time.Second: 0,
	} {
		if got := roundUp(in); got != want {
			t.Errorf("%v: got %v, want %v", in, got, want)
		}
	}
}

// Every scenario says that there is no broker, and ends.
func TestNoBroker(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	o := valid()
	o.URLs = []string{"amqp://" + address + "/"}
	for _, s := range Scenarios {
		if _, err := s.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "connect") {
			t.Errorf("%s: got %v, want an error of connecting", s.Name, err)
		}
	}
}
