package dlx

// Reason is why a message died (D-1). The numbers are in logs and snapshots and
// never change.
type Reason uint8

const (
	Rejected      Reason = 1 // rejected or nacked without requeue
	Expired       Reason = 2 // its deadline came (T-20)
	MaxLen        Reason = 3 // evicted, or refused under reject-publish-dlx
	DeliveryLimit Reason = 4 // returned once too often
)

// String is the reason as clients read it in x-death.
func (r Reason) String() string {
	switch r {
	case Rejected:
		return "rejected"
	case Expired:
		return "expired"
	case MaxLen:
		return "maxlen"
	case DeliveryLimit:
		return "delivery_limit"
	}
	return "unknown"
}

// ParseReason is the reverse of String.
func ParseReason(s string) (Reason, bool) {
	for r := Rejected; r <= DeliveryLimit; r++ {
		if r.String() == s {
			return r, true
		}
	}
	return 0, false
}

// Reasons is a set of reasons: those whose letters are forwarded (D-12).
type Reasons uint8

// AllReasons is the set when x-dead-letter-reasons is absent.
const AllReasons Reasons = 1<<Rejected | 1<<Expired | 1<<MaxLen | 1<<DeliveryLimit

// With adds one.
func (s Reasons) With(r Reason) Reasons { return s | 1<<r }

// Has says whether r is in the set.
func (s Reasons) Has(r Reason) bool { return s&(1<<r) != 0 }

// Strategy is how a letter is brought to its target (section 4.4).
type Strategy uint8

const (
	ExactlyOnce Strategy = 0 // the default: kept until the targets have it, and told apart there
	AtLeastOnce Strategy = 1 // the same, and kept while there is no route
	AtMostOnce  Strategy = 2 // forwarded once and forgotten
)

// String is the strategy's name in arguments and policies.
func (s Strategy) String() string {
	switch s {
	case AtLeastOnce:
		return "at-least-once"
	case AtMostOnce:
		return "at-most-once"
	}
	return "exactly-once"
}

// ParseStrategy is the reverse of String.
func ParseStrategy(s string) (Strategy, bool) {
	for v := ExactlyOnce; v <= AtMostOnce; v++ {
		if v.String() == s {
			return v, true
		}
	}
	return 0, false
}

// Cause is why a letter was dropped and not forwarded, as counted in
// dead_letter_dropped_total{cause} (D-49, D-12).
type Cause uint8

const (
	NotDropped    Cause = 0
	NoExchange    Cause = 1
	NoRoute       Cause = 2
	Cycle         Cause = 3
	History       Cause = 4
	TargetRefused Cause = 5
	PendingLimit  Cause = 6
	Config        Cause = 7
	Deleted       Cause = 8
	ReasonOff     Cause = 9
)

var causes = [...]string{"", "no_dlx", "no_route", "cycle", "history", "target_refused", "pending_limit", "config", "deleted", "reason_off"}

// Causes is how many there are, NotDropped included: the length of a table of counts.
const Causes = len(causes)

// String is the label of the metric.
func (c Cause) String() string {
	if int(c) < len(causes) {
		return causes[c]
	}
	return "unknown"
}
