package engine

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"modernc.org/quickjs"

	"github.com/chant-acp/chant-acp/host/op/eval/internal/wire"
	"github.com/chant-acp/chant-acp/internal/acpd"
)

const (
	// overtime is what a file may take beyond its time. What QuickJS does not
	// interrupt, such as joining an endless list, then ends with the process.
	overtime = 500 * time.Millisecond
	workTick = 20 * time.Millisecond

	// maxStack is what nested sources may take of it, in bytes. Growing a stack
	// takes three times as much for a moment.
	maxStack = 64 << 20

	exitBroken = 4
)

// Main answers requests on standard input until it ends, as package wire says, and
// returns the exit code. It gives up what the process may do but that, so it is
// all that a process does.
func Main() (code int) {
	if err := serveFiles(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitBroken
	}
	return 0
}

func serveFiles() error {
	if err := dropSyscalls(); err != nil {
		return err
	}
	debug.SetTraceback("none") // of running out of memory
	debug.SetMemoryLimit(wire.MaxGrowth / 2)
	debug.SetMaxStack(maxStack)
	requests := make(chan wire.Request)
	go readRequests(requests)
	first := <-requests
	root, err := os.OpenRoot(first.Root)
	if err != nil {
		return err
	}
	e, err := newEngine(acpd.Environ(), first.Root)
	if err != nil {
		return err
	}
	watch := newWatch(e.interrupt)
	if err := wire.WriteFrame(os.Stdout, wire.Answer{}); err != nil {
		return err
	}
	for r := range requests {
		watch.begin(r.Work)
		a := evaluateFile(root, e, r.File, func(a wire.Answer) {
			_ = wire.WriteFrame(os.Stdout, a) // the last part says whether anybody reads
		})
		a.Took = watch.end()
		if err := wire.WriteFrame(os.Stdout, a); err != nil {
			return err
		}
	}
	return nil
}

// readRequests ends the process when the other end closes, whatever is being
// evaluated then: nobody waits for it.
func readRequests(requests chan<- wire.Request) {
	in := bufio.NewReader(os.Stdin)
	for {
		var r wire.Request
		if err := wire.ReadFrame(in, &r); err != nil {
			os.Exit(0)
		}
		requests <- r
	}
}

// evaluateFile makes an answer of a file, and tells of it in parts.
func evaluateFile(root *os.Root, e *engine, file string, part func(wire.Answer)) wire.Answer {
	b := &bundler{root: root, report: func(s wire.Seen) { part(wire.Answer{More: true, Seen: s}) }}
	script, found := b.bundle(file)
	if found != nil {
		return wire.Answer{Findings: found, Seen: b.seen}
	}
	part(wire.Answer{More: true, Seen: b.seen, Environ: true})
	r, err := e.evaluate(script)
	a := wire.Answer{Environ: r.Environ, Reads: r.Reads}
	switch {
	case err != nil:
		message, spent := explain(err)
		a.Findings, a.Spent = failed(file, "%s", message), spent
	case r.Error != "":
		a.Findings = failed(file, "%s", r.Error)
	default:
		a.Config = []byte(r.Config)
	}
	return a
}

// explain says what an error of the engine means for the file; spent where that
// is the end of its time or memory.
func explain(err error) (message string, spent bool) {
	var thrown *quickjs.Error
	if !errors.As(err, &thrown) {
		return "it cannot be evaluated: " + err.Error(), false
	}
	switch {
	case thrown.Name == "OpFileError":
		return thrown.Message, false
	case thrown.Name == "InternalError" && thrown.Message == "interrupted":
		return wire.TooLong, true
	case thrown.Name == "InternalError" && thrown.Message == "out of memory":
		return wire.TooLarge, true
	case thrown.Name == "ReferenceError":
		return fmt.Sprintf("it throws %v; an Op's file is evaluated without Node", err), false
	case strings.TrimSpace(err.Error()) == "":
		return "it throws something that can't be shown", false
	}
	return fmt.Sprintf("it throws %v", err), false
}

// A watch ends evaluations that use too much processor time.
type watch struct {
	interrupt func()
	work      atomic.Int64 // what the file may take
	since     atomic.Int64 // the process's time when a file began; 0 between files
}

func newWatch(interrupt func()) *watch {
	w := &watch{interrupt: interrupt}
	go w.run() // until the process ends
	return w
}

func (w *watch) begin(work time.Duration) {
	w.work.Store(int64(work))
	w.since.Store(max(processorTime(), 1))
}

// end returns the time that the file took.
func (w *watch) end() time.Duration {
	return time.Duration(processorTime() - w.since.Swap(0))
}

func (w *watch) run() {
	for range time.Tick(workTick) {
		since := w.since.Load()
		if since == 0 {
			continue
		}
		switch used, work := time.Duration(processorTime()-since), time.Duration(w.work.Load()); {
		case used > work+overtime:
			os.Exit(wire.ExitOvertime)
		case used > work:
			w.interrupt()
		}
	}
}

// processorTime is what all threads of this process used, in nanoseconds.
func processorTime() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return t.Nano()
}
