package invariant

import "testing"

func TestAssert(t *testing.T) {
	panicked := func(held bool) (got any) {
		defer func() { got = recover() }()
		Assert(held, "1: a message is in one place")
		return nil
	}
	if got := panicked(true); got != nil {
		t.Errorf("Assert(true) panicked: %v", got)
	}
	got := panicked(false)
	if (got != nil) != Enabled {
		t.Fatalf("Assert(false) with Enabled=%v: panic %v", Enabled, got)
	}
	if Enabled && got != "invariant broken: 1: a message is in one place" {
		t.Errorf("panic text %q", got)
	}
}
