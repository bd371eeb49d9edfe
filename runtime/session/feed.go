package session

import (
	"context"
	"io"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// feedSize is what a feed keeps: the replay, and how far its slowest reader may lag behind it.
	feedSize = Replay + 64<<10
	// firstSize is what a feed begins with.
	firstSize = 4 << 10
	// takeSize is the most that one take returns.
	takeSize = 32 << 10
)

// feed is what a session prints: the last of its bytes in a ring, and readers that are each at a
// place of their own in it. A paced feed lets nobody miss a byte: write waits for room. Else, and
// once it runs free, readers that are overrun are dropped.
type feed struct {
	paced bool
	room  chan struct{} // an item when there may be room, for the one writer

	mu       sync.Mutex
	ring     []byte
	start    int64 // of what is kept; positions count from the beginning of the output
	end      int64
	partial  int // bytes at the end that are the beginning of a rune
	readers  map[*reader]struct{}
	closed   bool
	watchdog *time.Timer // set while a reader has something to take
	armed    bool
}

func newFeed(paced bool) *feed {
	return &feed{paced: paced, room: make(chan struct{}, 1), readers: make(map[*reader]struct{})}
}

// reader is one who reads a feed. Its methods are for one goroutine, but for close.
type reader struct {
	feed *feed
	wake chan struct{} // an item when there is news
	left func()        // called when it was dropped, without locks; may be nil
	buf  []byte

	// Under the feed's lock.
	pos   int64
	since time.Time // when it took something last, or got something to take when it had nothing
	err   error     // why it reads no more
}

// write adds p. There is one writer.
func (f *feed) write(p []byte) {
	for {
		f.mu.Lock()
		n, overrun := f.put(p)
		f.mu.Unlock()
		reportDropped(overrun)
		if p = p[n:]; len(p) == 0 {
			return
		}
		if n == 0 {
			<-f.room // ends with a take, or with the watchdog at the latest
		}
	}
}

// put adds what there is room for, and returns how much that was.
func (f *feed) put(p []byte) (n int, overrun []*reader) {
	n = min(len(p), feedSize)
	if f.paced {
		n = min(n, f.free())
	}
	if n == 0 {
		return 0, nil
	}
	f.grow(n)
	for i := 0; i < n; {
		i += copy(f.ring[(f.end+int64(i))%int64(len(f.ring)):], p[i:n])
	}
	had := f.end - int64(f.partial)
	f.end += int64(n)
	f.start = max(f.start, f.end-int64(len(f.ring)))
	f.partial = f.unfinished()
	now := time.Now()
	for r := range f.readers {
		if r.pos < f.start {
			f.drop(r, ErrStalled)
			overrun = append(overrun, r)
			continue
		}
		if r.pos >= had {
			r.since = now
		}
		r.signal()
	}
	f.watch(now)
	return n, overrun
}

// free is how much can be added without overrunning a reader.
func (f *feed) free() int {
	lag := int64(0)
	for r := range f.readers {
		lag = max(lag, f.end-r.pos)
	}
	return int(feedSize - lag)
}

// grow makes room for n more bytes up to feedSize.
func (f *feed) grow(n int) {
	want := min(int(f.end-f.start)+n, feedSize)
	if want <= len(f.ring) {
		return
	}
	size := max(len(f.ring), firstSize)
	for size < want {
		size = min(2*size, feedSize)
	}
	ring := make([]byte, size)
	for at := f.start; at < f.end; {
		piece := f.piece(at, f.end)
		for len(piece) > 0 {
			n := copy(ring[at%int64(size):], piece)
			at, piece = at+int64(n), piece[n:]
		}
	}
	f.ring = ring
}

// piece returns the bytes from a position on as far as they lie together.
func (f *feed) piece(from, to int64) []byte {
	size := int64(len(f.ring))
	if from == to {
		return nil
	}
	i := from % size
	return f.ring[i:min(i+to-from, size)]
}

// copyOut fills buf from a position on and returns how much it was.
func (f *feed) copyOut(buf []byte, from int64) int {
	n := copy(buf, f.piece(from, f.end))
	return n + copy(buf[n:], f.piece(from+int64(n), f.end))
}

// unfinished returns how many bytes at the end are the beginning of a rune.
func (f *feed) unfinished() int {
	var last [utf8.UTFMax - 1]byte
	from := max(f.start, f.end-int64(len(last)))
	return partialRune(last[:f.copyOut(last[:], from)])
}

// partialRune returns how many bytes at the end of p are the beginning of a rune that is not whole.
func partialRune(p []byte) int {
	for i := len(p) - 1; i >= 0 && len(p)-i < utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if utf8.FullRune(p[i:]) {
				return 0
			}
			return len(p) - i
		}
	}
	return 0
}

// last returns the position from which on there are at most limit bytes, not inside a rune, as far
// as can be told.
func (f *feed) last(limit int) int64 {
	from := max(f.start, f.end-int64(limit))
	if from == 0 {
		return from
	}
	var head [utf8.UTFMax]byte
	n := f.copyOut(head[:], from)
	for i := range n {
		if utf8.RuneStart(head[i]) {
			return from + int64(i)
		}
	}
	if n < len(head) {
		return f.end
	}
	return from // not UTF-8
}

// tail returns at most the last limit bytes.
func (f *feed) tail(limit int) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := f.last(min(max(limit, 0), Replay))
	out := make([]byte, f.end-from)
	f.copyOut(out, from)
	return out
}

// subscribe makes a reader that begins with the replay, and tells whether that is cut. left is
// called when it is dropped.
func (f *feed) subscribe(left func()) (r *reader, cut bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	r = &reader{feed: f, wake: make(chan struct{}, 1), left: left, pos: f.last(Replay), since: now}
	f.readers[r] = struct{}{}
	f.watch(now)
	return r, r.pos > 0
}

// close ends the output.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	for r := range f.readers {
		if r.has() == 0 {
			r.since = now // the beginning of a rune can be taken now
		}
		r.signal()
	}
	f.closed, f.partial = true, 0
	f.watch(now)
}

// runFree lets nobody hold up the output any more.
func (f *feed) runFree() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paced = false
	f.giveRoom()
}

// discard lets go of what nobody reads.
func (f *feed) discard() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.readers) == 0 {
		f.ring, f.start = nil, f.end
	}
}

func (f *feed) giveRoom() {
	select {
	case f.room <- struct{}{}:
	default:
	}
}

// drop ends a reader; the caller holds the lock.
func (f *feed) drop(r *reader, why error) {
	if r.err == nil {
		r.err = why
	}
	delete(f.readers, r)
	r.signal()
	f.giveRoom()
}

func reportDropped(dropped []*reader) {
	for _, r := range dropped {
		if r.left != nil {
			r.left()
		}
	}
}

// watch sets the watchdog where a reader has something to take.
func (f *feed) watch(now time.Time) {
	if f.armed {
		return
	}
	oldest, pending := f.oldest()
	if !pending {
		return
	}
	f.armed = true
	left := oldest.Add(StallLimit).Sub(now)
	if f.watchdog == nil {
		f.watchdog = time.AfterFunc(left, f.expire)
		return
	}
	f.watchdog.Reset(left)
}

// oldest returns since when a reader has had something to take and took nothing.
func (f *feed) oldest() (since time.Time, pending bool) {
	for r := range f.readers {
		if r.has() > 0 && (!pending || r.since.Before(since)) {
			since, pending = r.since, true
		}
	}
	return since, pending
}

// expire drops the readers that took nothing for StallLimit. It runs on a goroutine of the runtime,
// for an instant.
func (f *feed) expire() {
	f.mu.Lock()
	f.armed = false
	now := time.Now()
	var dropped []*reader
	for r := range f.readers {
		if r.has() > 0 && now.Sub(r.since) >= StallLimit {
			f.drop(r, ErrStalled)
			dropped = append(dropped, r)
		}
	}
	f.watch(now)
	f.mu.Unlock()
	reportDropped(dropped)
}

// has is how much the reader can take.
func (r *reader) has() int64 { return max(0, r.feed.end-int64(r.feed.partial)-r.pos) }

// progress says that a part of what was taken has arrived.
func (r *reader) progress() {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	r.since = time.Now()
}

func (r *reader) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take returns the next bytes, valid until the next take.
func (r *reader) take(ctx context.Context) ([]byte, error) {
	for {
		p, err := r.takeNow()
		if len(p) > 0 || err != nil {
			return p, err
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// takeNow returns nothing when there is nothing.
func (r *reader) takeNow() ([]byte, error) {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	n := int(min(r.has(), takeSize))
	if n == 0 {
		if f.closed {
			return nil, io.EOF
		}
		return nil, nil
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, max(n, min(2*cap(r.buf), takeSize)))
	}
	p := r.buf[:n]
	f.copyOut(p, r.pos)
	if int64(n) < r.has() {
		p = p[:n-partialRune(p)]
	}
	r.pos += int64(len(p))
	r.since = time.Now()
	f.giveRoom()
	return p, nil
}

// close ends the reader. It may be called more than once.
func (r *reader) close() {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	r.feed.drop(r, ErrWatchClosed)
}
