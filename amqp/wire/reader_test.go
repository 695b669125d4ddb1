package wire

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// frame builds a frame by hand, independently of output.go.
func frame(typ byte, ch uint16, payload string) string {
	n := len(payload)
	return string([]byte{typ, byte(ch >> 8), byte(ch), byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + payload + "\xCE"
}

func newTestReader(input string) *Reader { return NewReader(strings.NewReader(input), 256) }

func wantWireError(t *testing.T, name string, err error, code uint16, text string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%s: got %v, want %d %q", name, err, code, text)
		return
	}
	if e.Code != code || e.Text != text {
		t.Errorf("%s:\n got %d %q\nwant %d %q", name, e.Code, e.Text, code, text)
	}
}

// Checklist 28 and 19, amqp.md 5.
func TestReaderRefuses(t *testing.T) {
	for _, row := range []struct{ name, input, text string }{
		{"wrong end", "\x01\x00\x00\x00\x00\x00\x02hi\xCD", `type 1, all octets = <<"hi">>: {invalid_frame_end_marker,205}`},
		{"wrong end, unprintable", "\x03\x00\x01\x00\x00\x00\x02\x00\xFF\x00", `type 3, all octets = <<0,255>>: {invalid_frame_end_marker,0}`},
		{"wrong end, long payload", "\x03\x00\x01\x00\x00\x00\x11aaaaaaaaaaaaaaaab\x00", `type 3, first 16 octets = <<"aaaaaaaaaaaaaaaa">>: {invalid_frame_end_marker,0}`},
		{"one too large", "\x01\x00\x00\x00\x00\x10\x01", `type 1, all octets = <<>>: {frame_too_large,4097,4088}`},
		{"4 GiB", "\x03\x00\x01\xFF\xFF\xFF\xFF", `type 3, all octets = <<>>: {frame_too_large,4294967295,4088}`},
		{"type 0", frame(0, 0, ""), `type 0, all octets = <<>>: unknown_frame`},
		{"type 4", frame(4, 0, `a"\`), `type 4, all octets = <<"a\"\\">>: unknown_frame`},
		{"type 9", frame(9, 3, "x"), `type 9, all octets = <<"x">>: unknown_frame`},
		{"type 255", frame(255, 3, "x"), `type 255, all octets = <<"x">>: unknown_frame`},
		{"heartbeat with payload", frame(8, 0, "x"), `type 8, all octets = <<"x">>: unknown_frame`},
	} {
		r := newTestReader(row.input)
		_, err := r.Next()
		wantWireError(t, row.name, err, 501, row.text)
		if _, again := r.Next(); again != err {
			t.Errorf("%s: the second call gives %v", row.name, again)
		}
	}
}

// Checklist 28: RabbitMQ's tolerance of 8 bytes.
func TestReaderAcceptsPayloadOfFrameMax(t *testing.T) {
	for _, max := range []int{4096, 131072} {
		body := strings.Repeat("b", max)
		r := newTestReader(frame(FrameBody, 7, body) + frame(FrameBody, 7, body+"b"))
		r.SetMax(uint32(max))
		f, err := r.Next()
		if err != nil || string(f.Payload) != body || f.Channel != 7 || f.Type != FrameBody {
			t.Fatalf("frame_max %d: payload of frame_max: %v, %d bytes", max, err, len(f.Payload))
		}
		if _, err := r.Next(); err == nil {
			t.Errorf("frame_max %d: one byte more was accepted", max)
		}
	}
}

func TestReaderWithoutLimit(t *testing.T) {
	body := strings.Repeat("b", 1<<20)
	r := newTestReader(frame(FrameBody, 1, body) + "\x03\x00\x01\x20\x00\x00\x01")
	r.SetMax(0)
	if f, err := r.Next(); err != nil || len(f.Payload) != len(body) {
		t.Fatalf("got %v, %d bytes", err, len(f.Payload))
	}
	_, err := r.Next()
	wantWireError(t, "above the hard cap", err, 501, `type 3, all octets = <<>>: {frame_too_large,536870913,536870912}`)
}

// Checklist 29, X2: the claimed size allocates nothing.
func TestReaderAllocatesByArrival(t *testing.T) {
	input := "\x03\x00\x01\x1F\xFF\xFF\xFF" + strings.Repeat("z", 100)
	r := NewReader(strings.NewReader(input), 4096)
	r.SetMax(0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := r.Next()
	runtime.ReadMemStats(&after)
	if err != io.ErrUnexpectedEOF {
		t.Errorf("got %v", err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 64<<10 {
		t.Errorf("100 bytes of a claimed 512 MiB allocated %d bytes", got)
	}
}

// Checklist 13: tokens larger than a frame before tune.
func TestReaderAllowsLargeStartOk(t *testing.T) {
	token := strings.Repeat("t", 20<<10)
	for _, row := range []struct {
		name, input string
		large       int
		ok          bool
	}{
		{"start-ok", frame(FrameMethod, 0, "\x00\x0A\x00\x0B"+token), 128 << 10, true},
		{"secure-ok", frame(FrameMethod, 0, "\x00\x0A\x00\x15"+token), 128 << 10, true},
		{"tune-ok", frame(FrameMethod, 0, "\x00\x0A\x00\x1F"+token), 128 << 10, false},
		{"on channel 1", frame(FrameMethod, 1, "\x00\x0A\x00\x0B"+token), 128 << 10, false},
		{"header frame", frame(FrameHeader, 0, "\x00\x0A\x00\x0B"+token), 128 << 10, false},
		{"above the exception", frame(FrameMethod, 0, "\x00\x0A\x00\x0B"+token), 20 << 10, false},
		{"exception off", frame(FrameMethod, 0, "\x00\x0A\x00\x0B"+token), 0, false},
	} {
		r := NewReader(iotest.OneByteReader(strings.NewReader(row.input)), 512)
		r.AllowLarge(row.large)
		f, err := r.Next()
		if (err == nil) != row.ok || row.ok && len(f.Payload) != len(token)+4 {
			t.Errorf("%s: %v, %d bytes", row.name, err, len(f.Payload))
		}
	}
	r := newTestReader("\x01\x00\x00\x00\x00\x20\x00\x00\x0A")
	r.AllowLarge(1 << 20)
	if _, err := r.Next(); err != io.ErrUnexpectedEOF {
		t.Errorf("end within the ids: %v", err)
	}
	r.AllowLarge(-1)
	if r.large != maxPayload {
		t.Errorf("a negative exception became %d", r.large)
	}
}

func TestReaderEnds(t *testing.T) {
	whole := frame(FrameMethod, 1, "abcd")
	for n := range len(whole) {
		r := newTestReader(whole + whole[:n])
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		want := io.ErrUnexpectedEOF
		if n == 0 {
			want = io.EOF
		}
		for range 2 {
			if _, err := r.Next(); err != want {
				t.Errorf("end after %d bytes: got %v, want %v", n, err, want)
			}
		}
	}
	boom := errors.New("boom")
	r := NewReader(io.MultiReader(strings.NewReader(whole), iotest.ErrReader(boom)), 64)
	if _, err := r.Next(); err != nil {
		t.Error(err)
	}
	if _, err := r.Next(); err != boom {
		t.Errorf("the source's error came as %v", err)
	}
	r = NewReader(iotest.DataErrReader(strings.NewReader(whole)), 64)
	if _, err := r.Next(); err != nil {
		t.Errorf("data that comes with the error was lost: %v", err)
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func TestReaderGivesUpOnSilence(t *testing.T) {
	if _, err := NewReader(silent{}, 64).Next(); err != io.ErrNoProgress {
		t.Errorf("got %v", err)
	}
}

// Checklist 3: the header byte by byte; 2.1: fewer bytes just wait.
func TestReadHeader(t *testing.T) {
	r := NewReader(iotest.OneByteReader(strings.NewReader(ProtocolHeader+frame(FrameHeartbeat, 0, ""))), 64)
	h, err := r.ReadHeader()
	if err != nil || string(h[:]) != ProtocolHeader {
		t.Fatalf("got %q, %v", h, err)
	}
	if f, err := r.Next(); err != nil || f.Type != FrameHeartbeat {
		t.Errorf("the frame after it: %v, %v", f, err)
	}
	if _, err := newTestReader("").ReadHeader(); err != io.EOF {
		t.Errorf("probe: %v", err)
	}
	if _, err := newTestReader("AMQP").ReadHeader(); err != io.ErrUnexpectedEOF {
		t.Errorf("half a header: %v", err)
	}
}

func TestReaderBuffered(t *testing.T) {
	r := newTestReader(frame(FrameMethod, 1, "abcd") + frame(FrameMethod, 2, "efgh"))
	for _, want := range []int{12, 0} {
		if _, err := r.Next(); err != nil || r.Buffered() != want {
			t.Errorf("buffered %d, want %d (%v)", r.Buffered(), want, err)
		}
	}
}

// Growing keeps what is buffered and leaves the last payload alone.
func TestReaderGrow(t *testing.T) {
	r := newTestReader(frame(FrameMethod, 1, "abcd") + frame(FrameMethod, 2, "efgh"))
	f, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	r.Grow(64 << 10)
	g, err := r.Next()
	if err != nil || string(f.Payload) != "abcd" || string(g.Payload) != "efgh" || len(r.buf) != 64<<10 {
		t.Errorf("after growing: %q %q %d %v", f.Payload, g.Payload, len(r.buf), err)
	}
	r.Grow(0)
	if len(r.buf) != minBuffer {
		t.Errorf("shrunk to %d", len(r.buf))
	}
}

// The buffer that a large frame needed is given back after a while.
func TestReaderGivesBack(t *testing.T) {
	small := strings.Repeat(frame(FrameBody, 1, "small"), 2*calmFrames)
	r := NewReader(iotest.HalfReader(strings.NewReader(frame(FrameBody, 1, strings.Repeat("x", 4000))+small)), 64)
	if _, err := r.Next(); err != nil || len(r.buf) < 4000 {
		t.Fatalf("%v, buffer %d", err, len(r.buf))
	}
	for {
		f, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil || string(f.Payload) != "small" {
			t.Fatal(err, f)
		}
	}
	if len(r.buf) != 64 {
		t.Errorf("buffer is still %d bytes", len(r.buf))
	}
}

func TestReaderPayloadCannotGrowIntoTheNext(t *testing.T) {
	r := newTestReader(frame(FrameBody, 1, "a") + frame(FrameBody, 1, "b"))
	f, _ := r.Next()
	_ = append(f.Payload, "overwritten"...)
	if g, err := r.Next(); err != nil || string(g.Payload) != "b" {
		t.Errorf("got %q, %v", g.Payload, err)
	}
}

func TestReaderInterleaved(t *testing.T) {
	var in bytes.Buffer
	for i := range 1000 {
		in.WriteString(frame(FrameBody, uint16(i%100), strings.Repeat("p", i)))
	}
	r := NewReader(&in, 300)
	for i := range 1000 {
		f, err := r.Next()
		if err != nil || int(f.Channel) != i%100 || len(f.Payload) != i {
			t.Fatalf("frame %d: %v", i, err)
		}
	}
}

func TestErrorPrintsItsCode(t *testing.T) {
	if got := (&Error{Code: 501, Text: "x"}).Error(); got != "amqp 501: x" {
		t.Errorf("got %q", got)
	}
}

func TestDescribe(t *testing.T) {
	if got := (Frame{Type: 8, Channel: 7}).Describe(); got != "type 8, all octets = <<>>" {
		t.Errorf("got %q", got)
	}
}
