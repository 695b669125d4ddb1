package ttl

import "testing"

func TestEffective(t *testing.T) {
	tests := []struct{ message, queue, want int64 }{
		{None, None, None}, // never expires
		{5, None, 5},
		{None, 7, 7},
		{5, 7, 5},
		{7, 5, 5}, // the queue's is lower: it wins (T-10)
		{0, 7, 0},
		{7, 0, 0},
		{-5, -9, None},
	}
	for _, tt := range tests {
		if got := Effective(tt.message, tt.queue); got != tt.want {
			t.Errorf("Effective(%d, %d) = %d, want %d", tt.message, tt.queue, got, tt.want)
		}
	}
}

func TestEffectiveMessageFirst(t *testing.T) {
	tests := []struct{ message, queue, ceiling, want int64 }{
		{None, None, None, None},
		{9, 5, None, 9}, // longer, and still its own (T-14)
		{9, 5, 7, 7},    // but for the operator's ceiling
		{None, 5, 7, 5},
		{None, 9, 7, 7},
		{None, None, 7, 7},
		{0, 5, 7, 0},
	}
	for _, tt := range tests {
		if got := EffectiveMessageFirst(tt.message, tt.queue, tt.ceiling); got != tt.want {
			t.Errorf("EffectiveMessageFirst(%d, %d, %d) = %d, want %d", tt.message, tt.queue, tt.ceiling, got, tt.want)
		}
	}
}

func TestDeadline(t *testing.T) {
	if got := Deadline(1000, None); got != Never {
		t.Errorf("Deadline without TTL = %d, want Never", got)
	}
	if got := Deadline(1000, 0); got != 1000 {
		t.Errorf("Deadline with TTL 0 = %d, want the entry stamp", got)
	}
	if got := Deadline(1000, 50); got != 1050 {
		t.Errorf("Deadline = %d, want 1050", got)
	}
	if got := Deadline(0, 0); got == Never {
		t.Error("a deadline at the epoch became Never")
	}
	if Never.Due(1 << 60) {
		t.Error("Never came due")
	}
	if Stamp(1050).Due(1049) || !Stamp(1050).Due(1050) {
		t.Error("a deadline is due at its own stamp and not before (T-12)")
	}
}

func TestEarlier(t *testing.T) {
	for _, tt := range [][3]Stamp{{Never, Never, Never}, {5, Never, 5}, {Never, 5, 5}, {5, 6, 5}, {6, 5, 5}} {
		if got := Earlier(tt[0], tt[1]); got != tt[2] {
			t.Errorf("Earlier(%d, %d) = %d, want %d", tt[0], tt[1], got, tt[2])
		}
	}
}

func TestSeconds(t *testing.T) {
	if got := Stamp(1999).Seconds(); got != 1 {
		t.Errorf("Seconds = %d, want 1: whole seconds (D-22)", got)
	}
}

func TestLease(t *testing.T) {
	var none Lease
	none.Touch(1000)
	if none.Deadline(false) != Never || none.Due(1<<60, false) {
		t.Error("a queue without x-expires has a lease")
	}
	l := Lease{Term: 500}
	l.Touch(1000)
	if got := l.Deadline(false); got != 1500 {
		t.Errorf("Deadline = %d, want 1500 (Q-5)", got)
	}
	if l.Due(1499, false) || !l.Due(1500, false) {
		t.Error("a lease ends at its term and never early (Q-6)")
	}
	if l.Deadline(true) != Never || l.Due(9999, true) {
		t.Error("a held queue has a deadline (Q-4)")
	}
	l.Touch(900)
	if l.Used != 1000 {
		t.Error("a use moved the lease back")
	}
}
