package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	maxBody = 512 << 20 // the largest message any broker takes
	maxRate = 1_000_000
)

// Options are common to all scenarios; each uses what it needs.
type Options struct {
	URLs      []string      // of the broker's nodes; clients are spread over them
	Pids      []int         // of the broker's processes; none = no CPU figures
	Count     int           // messages, or queues for manyqueues
	Size      int           // bytes of a body
	Window    int           // publishes not yet confirmed, in all
	Prefetch  int           // of each consumer
	Queues    int           // side by side
	Sample    int           // queues that manyqueues publishes to
	Rate      int           // messages a second (latency)
	Duration  time.Duration // of a paced or idle phase
	Type      string        // x-queue-type; empty = the broker's default
	Transient bool          // delivery-mode 1 and a non-durable queue
	Keep      bool          // leave the queues behind
}

// Scenario is one measured run.
type Scenario struct {
	Name, Does string
	// Uses names the flags, beside those of every scenario, that make a difference.
	Uses []string
	Run  func(ctx context.Context, o Options) (*Report, error)
}

// Scenarios are the runs that `mayfly bench` knows.
var Scenarios = []Scenario{
	{"publish", "publish with confirms as fast as the window allows", []string{"count", "size", "window", "queues"}, runPublish},
	{"pubcon", "publish with confirms and consume with acks at the same time", []string{"count", "size", "window", "queues", "prefetch"}, runPubcon},
	{"latency", "end-to-end and confirm latency at a fixed rate", []string{"rate", "duration", "size", "window", "prefetch"}, runLatency},
	{"backlog", "fill a queue without consumers, then drain it", []string{"count", "size", "window", "prefetch", "keep"}, runBacklog},
	{"manyqueues", "declare many queues, let them idle, publish to a sample", []string{"count", "sample", "size", "duration", "keep"}, runManyQueues},
	{"burst", "messages that all expire at one moment: how late they are dead-lettered", []string{"count", "size", "window", "prefetch", "duration"}, runBurst},
	{"decreasing", "each message expires before those in front of it: how late they are dead-lettered", []string{"count", "size", "window", "prefetch", "duration"}, runDecreasing},
}

// Find is the scenario of that name, nil if there is none.
func Find(name string) *Scenario {
	for i := range Scenarios {
		if Scenarios[i].Name == name {
			return &Scenarios[i]
		}
	}
	return nil
}

// Report is the one JSON line of a run. Figures that were not measured are absent.
type Report struct {
	Scenario  string  `json:"scenario"`
	Broker    string  `json:"broker,omitempty"`
	Messages  int     `json:"messages,omitempty"`
	Size      int     `json:"size,omitempty"`
	Queues    int     `json:"queues,omitempty"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_second,omitempty"`

	CPUPerMillion     float64 `json:"broker_cpu_s_per_million,omitempty"`
	LoaderPerMillion  float64 `json:"loader_cpu_s_per_million,omitempty"`
	WrittenPerMessage float64 `json:"disk_bytes_per_message,omitempty"`
	RSSMiB            float64 `json:"broker_rss_mib,omitempty"`

	ConfirmMs *Percentiles `json:"confirm_ms,omitempty"`
	EndToEnd  *Percentiles `json:"end_to_end_ms,omitempty"`
	TouchMs   *Percentiles `json:"first_publish_ms,omitempty"`
	LateMs    *Percentiles `json:"late_ms,omitempty"` // behind the moment a message was due; below zero: too early

	FillPerSecond    float64 `json:"fill_per_second,omitempty"`
	DrainPerSecond   float64 `json:"drain_per_second,omitempty"`
	DeclarePerSecond float64 `json:"declare_per_second,omitempty"`
	DeclareCPUMs     float64 `json:"broker_cpu_ms_per_declare,omitempty"`
	IdleCPUPercent   float64 `json:"idle_cpu_percent_of_a_core,omitempty"`
	KiBPerQueue      float64 `json:"kib_per_queue,omitempty"`

	DrainCPUPerMillion float64 `json:"drain_broker_cpu_s_per_million,omitempty"`
}

// Validate refuses what no scenario can run with.
func (o *Options) Validate() error {
	switch {
	case len(o.URLs) == 0:
		return errors.New("no broker URL")
	case o.Count < 1 || o.Queues < 1 || o.Window < 1:
		return errors.New("count, queues and window are at least 1")
	case o.Size < minBody || o.Size > maxBody:
		return fmt.Errorf("size is from %d, which hold a time, to %d bytes", minBody, maxBody)
	case o.Prefetch < 0 || o.Prefetch > 65535:
		return errors.New("prefetch is from 0 (no limit) to 65535")
	case o.Rate < 1 || o.Rate > maxRate:
		return fmt.Errorf("rate is from 1 to %d messages a second", maxRate)
	case o.Sample < 1:
		return errors.New("sample is at least 1")
	case o.Duration < 0:
		return errors.New("duration is not negative")
	}
	return nil
}

// measured runs f and fills in what it cost.
func measured(o Options, r *Report, messages int, f func() error) error {
	before, err := usageOf(o.Pids)
	if err != nil {
		return err
	}
	self := selfUsage()
	start := time.Now()
	if err := f(); err != nil {
		return err
	}
	r.Seconds = time.Since(start).Seconds()
	after, err := usageOf(o.Pids)
	if err != nil {
		return err
	}
	millions := float64(messages) / 1e6
	r.Messages, r.Size, r.Queues = messages, o.Size, o.Queues
	r.PerSecond = float64(messages) / r.Seconds
	r.LoaderPerMillion = (selfUsage().cpu - self.cpu).Seconds() / millions
	if len(o.Pids) > 0 {
		r.CPUPerMillion = (after.cpu - before.cpu).Seconds() / millions
		r.WrittenPerMessage = float64(after.written-before.written) / float64(messages)
		r.RSSMiB = float64(after.rss) / (1 << 20)
	}
	return nil
}
