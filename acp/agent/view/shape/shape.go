// Package shape makes updates of what a program prints: text in pieces that a client takes,
// cleaned, batched in time, and bounded. It knows no protocol and no turn: bytes go in by
// Shaper.Write, pieces of text come out by Config.Emit. Begin at shape.go.
package shape

import (
	"bytes"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/internal/termtext"
)

// Limits of what a client is shown of one command. Head and tail together are
// the budget; the head counts bytes of shaped text, the tail bytes as printed.
const (
	maxHead       = 128 << 10
	maxTail       = 64 << 10
	maxHeadRaw    = 2 << 20                // the head ends after so many printed bytes even if they gave little text
	batchBytes    = 8 << 10                // an update goes out when it holds this much
	batchInterval = 100 * time.Millisecond // and otherwise at most one in this time
	maxUnit       = termtext.MaxLine + 2   // bytes of the longest unit: a folded line and its end
	restAfter     = 500 * time.Millisecond // after which an unfinished line is shown
	movingEvery   = time.Second            // and at least so often while it changes, as a progress bar does
	progressEvery = 5 * time.Second        // between two lines of progress after the head
	maxText       = 16 << 10               // JSON-encoded bytes of one piece: a wire line of 24 KiB, less its envelope and what a view adds
	tailText      = 4 << 10                // bytes of Tail
	progressText  = 160                    // bytes of a program's line inside a line of progress
)

// Mode says what kind of client the output is shaped for.
type Mode int

const (
	// Text is plain text in lines, escape sequences removed. The agent's own notes
	// among them stand in brackets.
	Text Mode = iota
	// Terminal is deltas for _meta.terminal_output: colour, cursor and erase
	// sequences stay.
	Terminal
)

// Config is what a Shaper is made for. The zero value is text within the budget.
type Config struct {
	Mode  Mode
	Full  bool // no budget: everything is shown
	Quiet bool // nothing is shown; only Stats and Tail are of use

	// Interval is the time between two updates while less than 8 KiB wait; 0: 100 ms.
	Interval time.Duration

	// LogPath says where the whole output is, "" or nil for nowhere. It is asked
	// once, by Finish, when something was left out.
	LogPath func() string

	// Emit sends one update. It may block, which holds up the program, and is
	// never called twice at a time. An error means that the client is gone:
	// nothing more is shown. Once the Shaper is abandoned, Emit has to return in
	// the end; Wait waits for it.
	Emit func(text string) error
}

// Stats says how much a program printed and how much of it was shown.
type Stats struct {
	Bytes     int64 // as printed
	Lines     int64 // as printed, an unfinished last one included
	Shown     int64 // bytes of text made of it, without notes
	LeftOut   int64 // bytes as printed that were not shown
	Truncated bool  // LeftOut > 0
}

// source is the text of a stream in units that are never split:
// termtext.Lines or termtext.Stream.
type source interface {
	Next(p []byte) (unit []byte, n int)
	Pending() []byte
	MarkSent()
	Break()
	End() []byte
}

// Shaper turns what one program prints into the updates that a client is shown.
// Its methods may be called from any goroutine, Write from one at a time; all
// but Abandon wait while Emit blocks, so Emit must call none of the others.
type Shaper struct {
	cfg       Config
	abandoned chan struct{}
	abandon   sync.Once
	ticks     sync.WaitGroup // the armed or running timer
	emits     sync.WaitGroup // the call of Emit under way

	mu       lock
	err      error // from Emit
	stopped  bool  // no timer may be armed any more
	finished bool
	src      source
	block    block
	last     tail

	bytes, newlines int64
	taken           int64 // printed bytes that were put into block or dropped as controls
	shown           int64 // bytes of text put into block
	headEnd         int64 // printed bytes that the head covers, once it is full
	headFull        bool
	leftOut         int64

	timer       *time.Timer
	armedFor    time.Time // zero when the timer is not armed
	flushAt     time.Time // when the waiting batch may go; zero: none waits
	restAt      time.Time // when the unfinished line is shown; zero: none waits
	movesFor    time.Time // since when it has not been shown; zero: it is, or there is none
	statusAt    time.Time // when the next line of progress is due
	lastSent    time.Time
	reported    int64    // printed bytes at the last line of progress
	onWire      int64    // printed bytes that updates already covered
	wireAtStart bool     // what is on the wire ends with its line
	inFlight    *sending // abandoned before its end was known
}

func New(cfg Config) *Shaper {
	s := &Shaper{cfg: cfg, abandoned: make(chan struct{}), mu: make(lock, 1)}
	s.src = s.newSource()
	if s.cfg.Interval == 0 {
		s.cfg.Interval = batchInterval
	}
	s.block = block{terminal: cfg.Mode == Terminal, atStart: true, emit: s.send}
	s.wireAtStart = true
	return s
}

func (s *Shaper) newSource() source {
	if s.cfg.Mode == Terminal {
		return new(termtext.Stream)
	}
	return new(termtext.Lines)
}

// Write takes the next bytes that the program printed; p is not kept. It blocks
// while Emit does, until Abandon.
func (s *Shaper) Write(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished || len(p) == 0 {
		return
	}
	s.bytes += int64(len(p))
	s.newlines += int64(bytes.Count(p, []byte{'\n'}))
	s.last.write(p)
	if !s.showing() || s.headFull {
		return
	}
	s.show(p)
	s.endHead()
	s.plan(time.Now())
}

// endHead ends a head that takes too long to fill: what is read for text costs
// time, and a program that prints gigabytes of zeros must not pay for it.
func (s *Shaper) endHead() {
	if s.cfg.Full || s.headFull || s.bytes < maxHeadRaw || !s.showing() {
		return
	}
	s.putPending()
	s.headFull, s.headEnd = true, s.bytes
}

// showing tells whether somebody still wants to see output.
func (s *Shaper) showing() bool {
	return !s.cfg.Quiet && !s.stopped && s.err == nil && !s.isAbandoned()
}

// show puts p into updates until the head is full.
func (s *Shaper) show(p []byte) {
	for s.showing() {
		unit, n := s.src.Next(p)
		p = p[n:]
		if unit == nil {
			return
		}
		s.put(unit)
		s.movesFor = time.Time{}
		s.taken = s.bytes - int64(len(p))
		if !s.cfg.Full && s.shown > maxHead-maxUnit {
			s.headFull, s.headEnd = true, s.taken
			return
		}
	}
}

func (s *Shaper) put(unit []byte) {
	s.shown += int64(len(unit))
	s.block.text(unit)
}

// putPending shows the unfinished line as it stands.
func (s *Shaper) putPending() {
	if unit := s.src.Pending(); len(unit) > 0 {
		s.put(unit)
		s.src.MarkSent()
	}
	s.movesFor = time.Time{}
}

// Break shows what waits and ends the line, so that an update of another kind can
// follow. The error is Emit's.
func (s *Shaper) Break() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.showing() {
		if !s.headFull {
			s.putPending()
			s.src.Break()
		}
		s.block.close()
		s.block.flush()
		s.restAt, s.flushAt = time.Time{}, time.Time{}
	}
	return s.err
}

// Finish ends the output and returns the updates that are still to be sent, in
// order: what waits, and when something was left out, a line that says so and
// the tail. It waits for an update under way. After Abandon, or when the client
// is gone, it returns only what ends a line that is unfinished on the wire.
// Stats and Tail go on working.
func (s *Shaper) Finish() (pieces []string) {
	s.mu.Lock()
	if s.finished {
		s.mu.Unlock()
		return nil
	}
	showing := s.showing()
	s.finished = true
	s.stop()
	if !showing {
		s.leftOut = s.bytes - s.onWire
		s.toWire()
	}
	s.block.emit = func(text string) { pieces = append(pieces, text) }
	if showing {
		s.putRest()
	}
	s.block.close()
	s.block.flush()
	s.mu.Unlock()
	s.ticks.Wait()
	return pieces
}

// putRest shows what follows the head.
func (s *Shaper) putRest() {
	if s.headFull {
		tail := s.last.bytes()
		if rest := s.bytes - s.headEnd; rest <= int64(len(tail)) {
			tail = tail[int64(len(tail))-rest:]
		} else {
			tail = termtext.AlignStart(tail)
			s.leftOut = rest - int64(len(tail))
			s.block.note(s.leftOutNote())
			s.src = s.newSource()
		}
		s.putAll(tail)
	}
	if unit := s.src.End(); len(unit) > 0 {
		s.put(unit)
	}
}

func (s *Shaper) putAll(p []byte) {
	for {
		unit, n := s.src.Next(p)
		if unit == nil {
			return
		}
		s.put(unit)
		p = p[n:]
	}
}

// Stats counts what was printed so far; LeftOut and Truncated are known after
// Finish.
func (s *Shaper) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{Bytes: s.bytes, Lines: s.newlines, Shown: s.shown, LeftOut: s.leftOut, Truncated: s.leftOut > 0}
	if last := s.last.bytes(); len(last) > 0 && last[len(last)-1] != '\n' {
		st.Lines++
	}
	return st
}

// Tail is the last n lines printed as plain text of at most 4 KiB, without blank
// lines after it and a last line feed.
func (s *Shaper) Tail(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw := s.last.bytes()
	if int64(len(raw)) < s.bytes {
		raw = termtext.AlignStart(raw)
	}
	return termtext.LastLines(raw, n, tailText)
}

// Quiet says whether nothing is shown, as Config has it.
func (s *Shaper) Quiet() bool { return s.cfg.Quiet }

// LastLines is the last n lines of a text that a program printed, as Tail has
// them.
func LastLines(raw []byte, n int) string { return termtext.LastLines(raw, n, tailText) }
