package session

import (
	"context"
	"io"
	"sync"
	"time"
)

const (
	// inputSize is how much input is kept for a program that does not read.
	inputSize = 64 << 10
	// inputPiece is the most that is written at once, so that a terminal that changes its mode is
	// noticed.
	inputPiece = 4 << 10
	// inputWait is how long there may be no room for more.
	inputWait = 5 * time.Second
	// lineLimit is after how many bytes a line is handed over to a program on a terminal that
	// collects lines: the kernel drops what is beyond 4095.
	lineLimit = 4000
)

// lineMode is what a terminal's input can say; see [process.Input.LineMode].
type lineMode interface {
	LineMode() (eof byte, collects bool)
}

// input is what waits to be written to a program, so that nobody else waits for a program that does
// not read.
type input struct {
	to   io.WriteCloser
	wake chan struct{} // an item when there is something to write

	mu    sync.Mutex
	queue []byte
	moved chan struct{} // closed and replaced when the queue gets shorter
	ended chan struct{} // closed when nothing is written any more
	line  int           // bytes since a line began, at most; of run alone
}

func newInput(to io.WriteCloser) *input {
	return &input{to: to, wake: make(chan struct{}, 1), moved: make(chan struct{}), ended: make(chan struct{})}
}

// put queues p. It waits for room, and returns ErrInputFull when there has been none for inputWait;
// a part of p may be queued then.
func (in *input) put(ctx context.Context, p []byte) error {
	for {
		n, moved := in.add(p)
		if p = p[n:]; len(p) == 0 {
			return nil
		}
		if err := in.wait(ctx, moved); err != nil {
			return err
		}
	}
}

func (in *input) add(p []byte) (n int, moved <-chan struct{}) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.over() {
		return 0, in.moved
	}
	n = min(len(p), inputSize-len(in.queue))
	in.queue = append(in.queue, p[:n]...)
	select {
	case in.wake <- struct{}{}:
	default:
	}
	return n, in.moved
}

func (in *input) over() bool {
	select {
	case <-in.ended:
		return true
	default:
		return false
	}
}

func (in *input) wait(ctx context.Context, moved <-chan struct{}) error {
	if in.over() {
		return ErrEnded
	}
	limit := time.NewTimer(inputWait)
	defer limit.Stop()
	select {
	case <-moved:
		return nil
	case <-in.ended:
		return ErrEnded
	case <-limit.C:
		return ErrInputFull
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run writes what is put, until a write fails or end is closed. Its owner closes the writer at the
// program's end, which makes a write fail.
func (in *input) run(end <-chan struct{}) {
	defer close(in.ended)
	for {
		select {
		case <-in.wake:
		case <-end:
			return
		}
		for p := in.next(); len(p) > 0; p = in.next() {
			if err := in.write(p); err != nil {
				return
			}
			in.drop(len(p))
		}
	}
}

// next returns the beginning of the queue, which only drop changes.
func (in *input) next() []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.queue[:min(len(in.queue), inputPiece)]
}

func (in *input) drop(n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	rest := in.queue[n:]
	if len(rest) == 0 {
		rest = nil // lets go of the buffer of a large paste
	}
	in.queue = rest
	close(in.moved)
	in.moved = make(chan struct{})
}

// write writes p. To a terminal that collects lines it hands over each line that grows too long.
func (in *input) write(p []byte) error {
	for len(p) > 0 {
		n, eof := in.untilHandOver(p)
		if _, err := in.to.Write(p[:n]); err != nil {
			return err
		}
		if p = p[n:]; eof == 0 {
			continue
		}
		if _, err := in.to.Write([]byte{eof}); err != nil {
			return err
		}
	}
	return nil
}

// untilHandOver returns how much of p to write before the line has to be handed over, by eof; 0
// when it has not to be.
//
// The character means the end of the input where it comes first on a line, so that it follows only
// a byte that is surely part of the line: not one that may edit it, or end it, or interrupt the
// program.
func (in *input) untilHandOver(p []byte) (n int, eof byte) {
	tty, ok := in.to.(lineMode)
	if !ok {
		return len(p), 0
	}
	eof, collects := tty.LineMode()
	if !collects {
		in.line = 0
		return len(p), 0
	}
	for i, c := range p {
		if c == '\n' || c == '\r' || c == eof {
			in.line = 0
			continue
		}
		if in.line++; in.line >= lineLimit && eof != 0 && c >= ' ' && c != 0x7f {
			in.line = 0
			return i + 1, eof
		}
	}
	return len(p), 0
}
