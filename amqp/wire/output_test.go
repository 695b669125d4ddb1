package wire

import (
	"bytes"
	"strings"
	"testing"
)

// readAll cuts output into frames again.
func readAll(t *testing.T, out []byte, frameMax uint32) []Frame {
	t.Helper()
	r := NewReader(bytes.NewReader(out), len(out)+minBuffer)
	r.SetMax(frameMax)
	var fs []Frame
	for r.fill(1) == nil {
		f, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		fs = append(fs, f)
	}
	return fs
}

// The hot encoders write what AppendMethod writes.
func TestHotEncodersAgree(t *testing.T) {
	long := strings.Repeat("k", 255)
	for _, redelivered := range []bool{false, true} {
		for _, key := range []string{"", "key", long} {
			x, k := []byte("ex"), []byte(key)
			for _, row := range []struct {
				m   Method
				got []byte
			}{
				{&BasicDeliver{"tag", 1 << 40, redelivered, "ex", key}, AppendDeliver(nil, 65535, "tag", 1<<40, redelivered, x, k)},
				{&BasicGetOk{7, redelivered, "ex", key, 99}, AppendGetOk(nil, 65535, 7, redelivered, x, k, 99)},
				{&BasicReturn{312, "NO_ROUTE", "ex", key}, AppendReturn(nil, 65535, 312, "NO_ROUTE", x, k)},
				{&BasicAck{3, redelivered}, AppendAck(nil, 65535, 3, redelivered)},
				{&BasicNack{3, redelivered, true}, AppendNack(nil, 65535, 3, redelivered, true)},
				{&BasicNack{3, true, redelivered}, AppendNack(nil, 65535, 3, true, redelivered)},
			} {
				if want := AppendMethod(nil, 65535, row.m); !bytes.Equal(row.got, want) {
					t.Errorf("%s:\n got %q\nwant %q", row.m.ID(), row.got, want)
				}
			}
		}
	}
	if got := string(AppendHeartbeat([]byte("x"))); got != "x"+frame(FrameHeartbeat, 0, "") {
		t.Errorf("heartbeat %q", got)
	}
	fs := readAll(t, AppendDeliver(nil, 1, "t", 1, false, bytes.Repeat([]byte("x"), 300), nil), 4096)
	if _, err := Decode(fs[0].Payload); err != nil {
		t.Errorf("an exchange name that is too long broke the frame: %v", err)
	}
}

// Checklist 34 and 35: bodies around the frame size, and none at all.
func TestAppendContent(t *testing.T) {
	raw := props(allFlags, "t", oneOfEach)
	for _, row := range []struct {
		size     int
		frameMax uint32
		frames   int
	}{
		{0, 4096, 0}, {1, 4096, 1}, {4088, 4096, 1}, {4089, 4096, 2}, {10 << 20, 4096, 2566}, {131072, 131072, 2}, {200_000, 0, 1}, {20, 8, 1}, {20, 9, 20},
	} {
		body := bytes.Repeat([]byte("0123456789"), row.size/10+1)[:row.size]
		fs := readAll(t, AppendContent(nil, 300, raw, body, row.frameMax), max(row.frameMax, 4096)*1000)
		if len(fs) != 1+row.frames {
			t.Errorf("%d bytes with frame_max %d: %d body frames, want %d", row.size, row.frameMax, len(fs)-1, row.frames)
		}
		h, err := DecodeHeader(fs[0].Payload)
		if err != nil || fs[0].Type != FrameHeader || h.Class != 60 || h.Weight != 0 || h.BodySize != uint64(row.size) || !bytes.Equal(h.Props, raw) {
			t.Errorf("%d bytes: header %+v, %v", row.size, h, err)
		}
		var got []byte
		for _, f := range fs[1:] {
			if f.Type != FrameBody || f.Channel != 300 || len(f.Payload) == 0 || row.frameMax > 8 && len(f.Payload) > int(row.frameMax)-8 {
				t.Fatalf("%d bytes: frame of type %d, channel %d, %d bytes", row.size, f.Type, f.Channel, len(f.Payload))
			}
			got = append(got, f.Payload...)
		}
		if !bytes.Equal(got, body) {
			t.Errorf("%d bytes with frame_max %d came out different", row.size, row.frameMax)
		}
	}
}

// A header is one frame even where the receiver's frames are smaller.
func TestLargeHeaderIsOneFrame(t *testing.T) {
	raw := props(PropHeaders, "", AppendString(nil, "k", strings.Repeat("v", 9000)))
	if fs := readAll(t, AppendContent(nil, 1, raw, []byte("b"), 4096), 131072); len(fs) != 2 || len(fs[0].Payload) != 12+len(raw) {
		t.Errorf("%d frames", len(fs))
	}
}
