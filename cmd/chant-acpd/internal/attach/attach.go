package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/runtime/gateway/client"
	"github.com/chant-acp/chant-acp/runtime/session"
)

const (
	// maxSize is the most columns and rows that a terminal at a gateway has.
	maxSize = session.MaxSize
	// chunk is how much input is sent at once: what comes after it waits until the
	// program has room for it.
	chunk = 4 << 10
	// ahead is how many chunks are read ahead, so that the keys to detach are found
	// behind input that a program does not take.
	ahead = 64
	// lastWords is how long our terminal may take to be set back, and the other one
	// to take what was typed last.
	lastWords = time.Second
)

// ErrDetached says that the keys to detach were typed.
var ErrDetached = errors.New("detached")

// ErrHungUp says that the terminal is gone.
var ErrHungUp = errors.New("the terminal is gone")

// SignalError says that a signal ended the attachment.
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (e *SignalError) Error() string { return "detached by the signal: " + e.Signal.String() }

// Place is where somebody attaches from. In and Out must be files whose reads and
// writes a deadline ends, where they can take time.
type Place struct {
	In, Out *os.File
	Err     io.Writer // for what has to be said while attached
}

// Size is the size of the terminal that is printed on, or of the one that is typed
// on, 0 by 0 where neither is one.
func (p Place) Size() (cols, rows int) {
	for _, f := range []*os.File{p.Out, p.In} {
		if t := (&tty{f: f}); t.isTerminal() {
			return t.size()
		}
	}
	return 0, 0
}

// Shown says whether output is shown on a terminal.
func (p Place) Shown() bool { return (&tty{f: p.Out}).isTerminal() }

// attachment is one stay at a terminal.
type attachment struct {
	p        Place
	at       *client.Terminal
	typed    bool // In is a terminal, and is in raw mode
	shown    bool // Out is a terminal
	in       tty
	cols     int // the size that was sent last
	rows     int
	all      sync.WaitGroup
	mu       sync.Mutex // guards in, modes and restored
	modes    modes
	restored bool
}

// Run attaches a place to a terminal until one of them ends, and closes the
// latter. The error is io.EOF when the program has ended, ErrDetached, ErrHungUp,
// a *SignalError, those of [client.Terminal.Read], or why output can't be written.
// Our own terminal is then as it was found, even after a panic.
func Run(ctx context.Context, p Place, at *client.Terminal) error {
	defer at.Close()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	a := &attachment{p: p, at: at, in: tty{f: p.In}}
	a.typed, a.shown = a.in.isTerminal(), p.Shown()
	defer a.restore()
	if a.typed {
		if err := a.in.raw(); err != nil {
			return err
		}
	}
	return a.run(ctx, signals)
}

// run does everything in raw mode.
func (a *attachment) run(ctx context.Context, signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancelCause(ctx)
	queue := make(chan []byte, ahead)
	a.begin(func() { cancel(a.output()) })
	sent := make(chan struct{})
	a.begin(func() {
		err := a.read(ctx, queue)
		close(queue)
		if errors.Is(err, ErrDetached) {
			wait(ctx, sent) // what was typed before the keys is meant
		}
		if err != nil {
			cancel(err)
		}
	})
	a.begin(func() {
		defer close(sent)
		a.send(ctx, queue)
	})
	cancel(a.watch(ctx, signals))
	a.at.Close()
	now := time.Now()
	_ = a.p.In.SetReadDeadline(now)   // a file that has none does not wait
	_ = a.p.Out.SetWriteDeadline(now) // nor here
	a.all.Wait()
	return context.Cause(ctx)
}

// wait waits for the last of the input, but not for a program that takes none.
func wait(ctx context.Context, sent <-chan struct{}) {
	limit := time.NewTimer(lastWords)
	defer limit.Stop()
	select {
	case <-sent:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// begin starts a goroutine. A panic in one ends the process without the deferred
// calls of the others, so that each sets the terminal back itself.
func (a *attachment) begin(do func()) {
	a.all.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				a.restore()
				panic(v)
			}
		}()
		do()
	})
}

// restore sets our terminal back.
func (a *attachment) restore() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.restored {
		return
	}
	a.restored = true
	_ = a.p.Out.SetWriteDeadline(time.Now().Add(lastWords)) // a file that has none does not wait
	a.setBack()
}

// setBack does so; the caller has the lock.
func (a *attachment) setBack() {
	if a.shown {
		_, _ = io.WriteString(a.p.Out, a.modes.reset()) // a terminal that is gone needs nothing
	}
	a.in.restore()
}

// watch follows signals, and returns why to end.
func (a *attachment) watch(ctx context.Context, signals <-chan os.Signal) error {
	a.resize(ctx) // the size may have changed meanwhile
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case s := <-signals:
			switch s {
			case syscall.SIGWINCH:
				a.resize(ctx)
			case syscall.SIGTSTP:
				a.suspend()
			case syscall.SIGCONT:
				if err := a.resume(); err != nil {
					return err
				}
				a.resize(ctx)
			default:
				return &SignalError{s}
			}
		}
	}
}

// resize tells our size where it is another one.
func (a *attachment) resize(ctx context.Context) {
	cols, rows := a.p.Size()
	if cols == 0 || cols == a.cols && rows == a.rows {
		return
	}
	a.cols, a.rows = cols, rows
	_ = a.at.Resize(ctx, cols, rows) // the reader finds out why it failed
}

// suspend stops the process as SIGTSTP would have, with our terminal set back.
func (a *attachment) suspend() {
	a.mu.Lock()
	a.setBack()
	a.mu.Unlock()
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
}

// resume is after suspend, or after a SIGSTOP that nobody saw.
func (a *attachment) resume() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shown {
		_, _ = io.WriteString(a.p.Out, a.modes.again()) // where it fails, so does the output
	}
	if !a.typed {
		return nil
	}
	return a.in.raw()
}

// output shows what the terminal prints until it ends.
func (a *attachment) output() error {
	for {
		text, err := a.at.Read()
		if err != nil {
			return err
		}
		if a.shown {
			a.mu.Lock()
			a.modes.printed([]byte(text))
			a.mu.Unlock()
		}
		if _, err := io.WriteString(a.p.Out, text); err != nil {
			return fmt.Errorf("the output can't be written: %w", err)
		}
	}
}

// read reads what is typed, or piped in, until ctx ends or the input does.
func (a *attachment) read(ctx context.Context, queue chan<- []byte) error {
	var keys keys
	var runes runes
	buf := make([]byte, chunk)
	for {
		n, err := a.p.In.Read(buf)
		p, detach := buf[:n], false
		if a.typed {
			p, detach = keys.filter(p)
		}
		p = runes.whole(p)
		if err != nil {
			p = append(p, runes.end()...)
		}
		if len(p) > 0 {
			select {
			case queue <- p:
			case <-ctx.Done():
				return nil
			}
		}
		switch {
		case detach:
			return ErrDetached
		case err == nil:
		case ctx.Err() != nil, !a.typed && errors.Is(err, io.EOF):
			return nil
		case a.typed:
			return ErrHungUp
		default:
			return fmt.Errorf("the input can't be read: %w", err)
		}
	}
}

// send sends what was read. Where it is not taken, that is said, and the program
// goes on: it may be at its end, or read again later.
func (a *attachment) send(ctx context.Context, queue <-chan []byte) {
	for p := range queue {
		err := a.at.Write(ctx, p)
		var refused *client.InputError
		if errors.As(err, &refused) {
			a.say(refused.Detail)
		} else if err != nil {
			return // the reader of the connection says why
		}
	}
}

// say says something beside what the terminal shows.
func (a *attachment) say(text string) {
	if a.typed {
		text = "\r\n[" + text + "]\r\n"
	} else {
		text = "chant-acp: " + text + "\n"
	}
	_, _ = io.WriteString(a.p.Err, text) // nothing can be done about a failed write
}
