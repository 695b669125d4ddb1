package wire

import (
	"io"
	"strconv"
)

const (
	// minFrameMax is what a frame may be before tune-ok.
	minFrameMax = 4096
	// maxPayload bounds a frame when frame_max was negotiated as "no limit": the
	// hard cap of a message, which no useful frame exceeds.
	maxPayload = 512 << 20
	// minBuffer keeps a protocol header and any frame without payload in one read.
	minBuffer = 64
	// calmFrames is how many frames in a row must have fitted into the normal
	// buffer before one that grew for a large frame is given back.
	calmFrames = 64
	// maxEmptyReads is after how many reads without bytes and without an error
	// the source is called broken.
	maxEmptyReads = 100
)

// Reader cuts a byte stream into frames. One goroutine uses it.
//
// Memory follows the bytes that have arrived, never the sizes that are claimed
// (X2): the buffer doubles only when it is full.
type Reader struct {
	src   io.Reader
	buf   []byte
	r, w  int    // buf[r:w] is read and not yet consumed
	limit uint32 // payload bytes tolerated
	large uint32 // the same for start-ok and secure-ok, 0 = no exception
	max   uint32 // negotiated frame_max, for the text
	base  int    // normal buffer size
	calm  int    // frames in a row that fitted into base
	srcIs error  // the source's error, told once its bytes are used up
	fault *Error // malformed input found; nothing after it can be trusted
}

// NewReader reads from r with the limits that hold before tune-ok.
func NewReader(r io.Reader, bufSize int) *Reader {
	bufSize = max(bufSize, minBuffer)
	rd := &Reader{src: r, buf: make([]byte, bufSize), base: bufSize}
	rd.SetMax(minFrameMax)
	return rd
}

// SetMax sets the negotiated frame_max, 0 for no limit. A payload of up to
// frameMax bytes is tolerated, 8 more than the protocol has, because several
// clients are off by the overhead.
func (r *Reader) SetMax(frameMax uint32) {
	r.max, r.limit = frameMax, frameMax
	if frameMax == 0 || frameMax > maxPayload {
		r.max, r.limit = maxPayload+FrameOverhead, maxPayload
	}
}

// AllowLarge tolerates payloads of up to max bytes in start-ok and secure-ok
// frames, which carry tokens before a frame_max is negotiated; 0 ends it.
func (r *Reader) AllowLarge(max int) { r.large = uint32(min(uint(max), maxPayload)) }

// Grow changes the size of the normal buffer. Called after authentication, or
// with the old size to give back what one large frame took. The last frame's
// payload stays valid.
func (r *Reader) Grow(bufSize int) {
	r.base = max(bufSize, minBuffer)
	r.calm = 0
	if size := max(r.base, r.w-r.r); size != len(r.buf) {
		r.replace(size)
	}
}

// Buffered returns how many bytes are read and not yet consumed. At 0 the next
// Next asks the source.
func (r *Reader) Buffered() int { return r.w - r.r }

// ReadHeader reads the 8 bytes of the protocol header. It answers io.EOF when
// the stream ended before the first of them.
func (r *Reader) ReadHeader() ([8]byte, error) {
	var h [8]byte
	if err := r.fill(len(h)); err != nil {
		return h, err
	}
	r.r += copy(h[:], r.buf[r.r:])
	return h, nil
}

// Next returns the next frame. Malformed input is an *Error, and the same again
// on every later call; the source's errors come as they are, io.EOF only
// between frames (io.ErrUnexpectedEOF within one).
func (r *Reader) Next() (Frame, error) {
	if r.fault != nil {
		return Frame{}, r.fault
	}
	if err := r.fill(frameHeaderSize); err != nil {
		return Frame{}, err
	}
	h := r.buf[r.r : r.r+frameHeaderSize]
	size := be.Uint32(h[3:])
	if size > r.limit {
		if err := r.admit(size); err != nil {
			return Frame{}, err
		}
	}
	total := int(size) + FrameOverhead
	if err := r.fill(total); err != nil {
		return Frame{}, err
	}
	if r.calm++; total > r.base {
		r.calm = 0
	}
	b := r.buf[r.r : r.r+total : r.r+total]
	r.r += total
	f := Frame{Type: b[0], Channel: be.Uint16(b[1:]), Payload: b[frameHeaderSize : total-1 : total-1]}
	if b[total-1] != FrameEnd {
		return Frame{}, r.refuse(f.fault("{invalid_frame_end_marker," + strconv.Itoa(int(b[total-1])) + "}"))
	}
	switch f.Type {
	case FrameMethod, FrameHeader, FrameBody:
		return f, nil
	case FrameHeartbeat:
		if size == 0 {
			return f, nil
		}
	}
	return Frame{}, r.refuse(f.fault("unknown_frame"))
}

func (r *Reader) refuse(e *Error) error {
	r.fault = e
	return e
}

// admit decides about a frame above the limit, from its header and, where a
// start-ok or secure-ok may be that large, from the method's ids.
func (r *Reader) admit(size uint32) error {
	f := Frame{Type: r.buf[r.r], Channel: be.Uint16(r.buf[r.r+1:])}
	if size <= r.large && f.Type == FrameMethod && f.Channel == 0 {
		if err := r.fill(frameHeaderSize + 4); err != nil {
			return err
		}
		id := ID(be.Uint32(r.buf[r.r+frameHeaderSize:]))
		if id == ConnectionStartOkID || id == ConnectionSecureOkID {
			return nil
		}
	}
	limit := int(r.max) - FrameOverhead
	return r.refuse(f.fault("{frame_too_large," + strconv.FormatUint(uint64(size), 10) + "," + strconv.Itoa(limit) + "}"))
}

// fill reads until n bytes are buffered.
func (r *Reader) fill(n int) error {
	for idle := 0; r.w-r.r < n; {
		if r.srcIs != nil {
			if r.srcIs == io.EOF && r.w > r.r {
				return io.ErrUnexpectedEOF
			}
			return r.srcIs
		}
		r.makeRoom(n)
		got, err := r.src.Read(r.buf[r.w:])
		r.w += got
		r.srcIs = err
		if got > 0 {
			idle = 0
		} else if idle++; err == nil && idle >= maxEmptyReads {
			r.srcIs = io.ErrNoProgress
		}
	}
	return nil
}

// makeRoom sees to it that there is space behind r.w for more of the n bytes
// that are wanted from r.r on.
func (r *Reader) makeRoom(n int) {
	if r.r == r.w {
		r.r, r.w = 0, 0
		if len(r.buf) > r.base && r.calm >= calmFrames {
			r.buf = make([]byte, r.base)
		}
	}
	if r.r > 0 && r.r+n > len(r.buf) {
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
	if r.w == len(r.buf) {
		r.replace(min(2*len(r.buf), n))
	}
}

// replace moves what is buffered into a new buffer.
func (r *Reader) replace(size int) {
	buf := make([]byte, size)
	r.w = copy(buf, r.buf[r.r:r.w])
	r.r, r.buf = 0, buf
}
