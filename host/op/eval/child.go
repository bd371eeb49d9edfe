package eval

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"modernc.org/quickjs"
)

const (
	childName = "chant-acp-eval" // argv[0], for people who look at ps
	childVar  = "CHANT_ACP_EVAL" // holds what argv[1] says, so that nobody becomes a child by chance

	// maxWork is the processor time that one file may take. What QuickJS does not
	// interrupt, such as joining an endless list, ends with the process, overtime
	// later.
	maxWork  = 2 * time.Second
	overtime = 500 * time.Millisecond
	workTick = 20 * time.Millisecond

	// maxGrowth is the address space that the child may take beyond what its
	// start took, in bytes: what a script may use, and as much for bundling it.
	maxGrowth = 2 * maxMemory
	// maxStack is what nested sources may take of it, in bytes. Growing a stack
	// takes three times as much for a moment.
	maxStack = 64 << 20

	exitOvertime = 3
	exitBroken   = 4
)

// init catches the copies of the executable that are to evaluate files, before
// any of the program's own code runs.
func init() {
	if len(os.Args) != 2 || os.Args[0] != childName || os.Args[1] == "" || os.Getenv(childVar) != os.Args[1] {
		return
	}
	if err := serveFiles(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitBroken)
	}
	os.Exit(0)
}

// serveFiles answers requests on standard input until it ends.
func serveFiles() error {
	if err := limitMemory(); err != nil {
		return err
	}
	requests := make(chan request)
	go readRequests(requests)
	first := <-requests
	root, err := os.OpenRoot(first.Root)
	if err != nil {
		return err
	}
	e, err := newEngine(environment(), first.Root)
	if err != nil {
		return err
	}
	watch := newWatch(e.interrupt)
	for r := range requests {
		watch.begin()
		a := evaluateFile(root, e, r.File, func(a answer) {
			_ = writeFrame(os.Stdout, a) // the last part says whether anybody reads
		})
		watch.end()
		if err := writeFrame(os.Stdout, a); err != nil {
			return err
		}
	}
	return nil
}

// readRequests ends the process when the other end closes, whatever is being
// evaluated then: nobody waits for it.
func readRequests(requests chan<- request) {
	in := bufio.NewReader(os.Stdin)
	for {
		var r request
		if err := readFrame(in, &r); err != nil {
			os.Exit(0)
		}
		requests <- r
	}
}

// environment is what files see of the variables: all but our own.
func environment() []string {
	var all []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, childVar+"=") {
			all = append(all, v)
		}
	}
	return all
}

// limitMemory bounds the address space. The Go runtime reserves much of it that
// it never uses, so the bound is on what comes on top.
func limitMemory() error {
	debug.SetTraceback("none") // of running out of it
	debug.SetMemoryLimit(maxGrowth / 2)
	debug.SetMaxStack(maxStack)
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	pages, err := strconv.ParseUint(strings.Fields(string(text))[0], 10, 64)
	if err != nil {
		return err
	}
	most := pages*uint64(os.Getpagesize()) + maxGrowth
	return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: most, Max: most})
}

// evaluateFile makes an answer of a file, and tells of it in parts.
func evaluateFile(root *os.Root, e *engine, file string, part func(answer)) answer {
	b := &bundler{root: root, report: func(s seen) { part(answer{More: true, Seen: s}) }}
	script, found := b.bundle(file)
	if found != nil {
		return answer{Findings: found, Seen: b.seen}
	}
	part(answer{More: true, Seen: b.seen, Environ: true})
	r, err := e.evaluate(script)
	a := answer{Environ: r.Unknown || r.Cwd || len(r.Env) > 0}
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
		return tooLong, true
	case thrown.Name == "InternalError" && thrown.Message == "out of memory":
		return tooLarge, true
	case thrown.Name == "ReferenceError":
		return fmt.Sprintf("it throws %v; an Op's file is evaluated without Node", err), false
	}
	return fmt.Sprintf("it throws %v", err), false
}

// tooLong is what is said of a file that does not come to an end.
var tooLong = fmt.Sprintf("it takes more than %s to evaluate; it may hold a loop without an end", maxWork)

// tooLarge is what is said of a file that takes more memory than it has; which of
// the two bounds it was is chance where it comes near both.
var tooLarge = fmt.Sprintf("evaluating it takes more memory than a file has, %d MiB, and %d MiB together with bundling it", maxMemory>>20, maxGrowth>>20)

// A watch ends evaluations that use too much processor time.
type watch struct {
	interrupt func()
	since     atomic.Int64 // the process's time when a file began; 0 between files
}

func newWatch(interrupt func()) *watch {
	w := &watch{interrupt: interrupt}
	go w.run() // until the process ends
	return w
}

func (w *watch) begin() { w.since.Store(max(processorTime(), 1)) }
func (w *watch) end()   { w.since.Store(0) }

func (w *watch) run() {
	for range time.Tick(workTick) {
		since := w.since.Load()
		if since == 0 {
			continue
		}
		switch used := time.Duration(processorTime() - since); {
		case used > maxWork+overtime:
			os.Exit(exitOvertime)
		case used > maxWork:
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
