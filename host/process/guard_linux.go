package process

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	guardName   = "chant-acp-guard" // argv[0], for people who look at ps
	guardVar    = "CHANT_ACP_GUARD"
	stageLaunch = "launch"
	stageWatch  = "watch"
	ledgerFD    = 3 // the guard's descriptors are the socket, the null device twice, and this

	// sweepGrace is what programs get between SIGTERM and SIGKILL when nobody is left to wait for
	// them.
	sweepGrace = 150 * time.Millisecond
	// sweepPause lies between two looks.
	sweepPause = 5 * time.Millisecond
	// sweepLimit bounds the fight against what SIGKILL does not end.
	sweepLimit = 10 * time.Second
)

// guarded says that this program is prepared to be started as its own guard.
var guarded atomic.Bool

// GuardMain is all that a guard does, where this process was started as one, and does not return
// then. Elsewhere it returns at once. A program that starts others calls it first thing in main,
// and tests do in TestMain: the guard is a second copy of the running executable, and [Start] and
// [Hold] refuse to make one that would be something else.
func GuardMain() {
	guarded.Store(true)
	if len(os.Args) != 3 || os.Args[0] != guardName || os.Args[2] == "" || os.Getenv(guardVar) != os.Args[2] {
		return
	}
	Conceal()
	shedMark()
	signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT)
	switch os.Args[1] {
	case stageLaunch:
		os.Exit(launchGuard(os.Args[2]))
	case stageWatch:
		w := guard{handed: make(map[int]time.Time), held: make(map[string][]*os.File)}
		_, _ = os.Stdin.WriteString(wordReady) // the socket; a parent that is gone needs no word
		w.listen(int(os.Stdin.Fd()))
		w.open(os.NewFile(ledgerFD, "ledger"))
		w.sweep()
		os.Exit(0)
	}
	os.Exit(2)
}

// launchGuard starts the second stage. It inherits the ignored signals, but Go's runtime takes some
// of them back for a moment: only when it says that it is ready is there nothing left that would
// end it by a polite signal.
func launchGuard(nonce string) int {
	if _, err := startStage(stageWatch, nonce, []*os.File{os.Stdin, os.Stdout, os.Stderr, os.NewFile(ledgerFD, "ledger")}); err != nil {
		_, _ = fmt.Fprint(os.Stdin, err) // the socket: the only way to our parent
		return 1
	}
	return 0
}

// A message to the guard is two words. Files come with some.
const (
	wordHold = "hold" // keep the file that comes with this open, under a number
	wordDrop = "drop" // close the one of that number
)

// wordReady is all that a guard says.
const wordReady = "ready"

// handOverMessage says that a group has so much time left. The file that holds its output comes
// with it.
func handOverMessage(id int, owed time.Duration) string {
	return fmt.Sprintf("%d %d", id, owed.Milliseconds())
}

// guardedGroup is one process group that the guard ends when its time is over.
type guardedGroup struct {
	serial string
	start  uint64    // of the leader
	until  time.Time // of a group that was handed over: when its grace ends
}

// guard is the second process: what it was told by the first, and what it ends when that is gone.
type guard struct {
	tags   tags
	groups map[int]guardedGroup
	handed map[int]time.Time
	held   map[string][]*os.File // by their numbers; they stay open until nothing of the groups is left
	scan   scanner
}

// open reads the ledger, which changes no more.
func (g *guard) open(ledger *os.File) {
	g.tags, g.groups = readLedger(ledger)
	for id, until := range g.handed {
		if c, known := g.groups[id]; known {
			c.until = until
			g.groups[id] = c
		}
	}
}

// listen takes messages until the other end closes, which is how the guard learns that the process
// is gone.
func (g *guard) listen(conn int) {
	buf, oob := make([]byte, 512), make([]byte, unix.CmsgSpace(4))
	for {
		var n, oobn int
		_, err := retry(func() (int, error) {
			var err error
			n, oobn, _, _, err = unix.Recvmsg(conn, buf, oob, unix.MSG_CMSG_CLOEXEC)
			return n, err
		})
		if err != nil || n == 0 {
			return
		}
		g.handle(string(buf[:n]), passed(oob[:oobn]))
	}
}

// passed are the files that came with a message.
func passed(oob []byte) []*os.File {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var files []*os.File
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files
}

// discard ends with the output or with the guard.
func discard(output *os.File) {
	defer output.Close()
	_, _ = io.Copy(io.Discard, output)
}

// handle acts on one message. What it does not understand it leaves alone; both ends are the same
// executable.
func (g *guard) handle(message string, files []*os.File) {
	left, right, _ := strings.Cut(message, " ")
	switch left {
	case wordHold:
		g.held[right] = files
		return
	case wordDrop:
		closeAll(g.held[right])
		delete(g.held, right)
		return
	}
	for _, output := range files { // read, so that the group neither stops nor is ended by SIGPIPE
		go discard(output)
	}
	id, idErr := strconv.Atoi(left)
	owed, owedErr := strconv.Atoi(right)
	if idErr == nil && owedErr == nil {
		g.handed[id] = time.Now().Add(time.Duration(owed) * time.Millisecond)
	}
}

// sweep ends everything: SIGTERM, SIGKILL a moment later, until nothing is found.
func (g *guard) sweep() {
	killAt := time.Now().Add(sweepGrace)
	giveUp := g.lastUntil(killAt).Add(sweepLimit)
	asked := make(map[uint64]bool)
	for unsureOnly := 0; time.Now().Before(giveUp); {
		due, later, wake, unsure := g.find()
		until := time.Now().Add(sweepPause)
		switch {
		case len(due) > 0 && time.Now().Before(killAt):
			g.terminate(due, asked)
			until = killAt
		case len(due) > 0:
			g.kill(due)
			until = until.Add(3 * sweepPause)
		case len(later) > 0:
			until = wake
		case !unsure || unsureOnly == unsureLooks:
			return
		default:
			unsureOnly++
		}
		wait(due, later, until)
		due.release()
		later.release()
	}
}
