package process

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// startAgain is how often a guard that somebody ended before it was ready is started once more.
const startAgain = 3

// errNotReady: a stage of the guard ended, or was ended, before the guard was ready.
var errNotReady = errors.New("the guard ended before it was ready")

// messageWait bounds one message to the guard. A guard that takes none for so long has been
// stopped.
const messageWait = time.Second

// guardClient is the side of the guard that is in the process that starts programs.
type guardClient struct {
	mu     sync.Mutex
	conn   *os.File // our end of the socket; the guard acts when it closes
	tags   tags     // of this process's programs; set once
	serial uint64
	ledger ledger
	held   map[uint64]*os.File // by their numbers; a new guard gets them all
	number uint64              // of the last of them
	watch  *watch              // while programs run under the guard
}

var ourGuard guardClient

// prepare makes sure that a guard listens, and returns the serial number for the next program.
func (c *guardClient) prepare(ctx context.Context) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tags.prefix == "" {
		if err := c.open(); err != nil {
			return 0, fmt.Errorf("the ledger of the guard, which ends programs when this process dies, can't be made: %w", exhausted(err))
		}
	}
	if err := c.ensure(ctx); err != nil {
		return 0, err
	}
	c.serial = (c.serial + 1) & (1<<serialBits - 1)
	return c.serial, nil
}

func (c *guardClient) open() error {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails; crypto/rand ends the process instead
	session, err := unix.Getsid(0)
	if err != nil {
		return err
	}
	t := newTags(hex.EncodeToString(random[:]), session)
	if err := c.ledger.open(t); err != nil {
		return err
	}
	c.tags = t
	return nil
}

// register makes a group known to the guard, and has the guard watched until unwatch is called.
func (c *guardClient) register(id int, serial, start uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ledger.enter(id, serial, start); err != nil {
		return err
	}
	for c.watch != nil && c.watch.programs == 0 { // it is about to end
		c.awaitWatch(c.watch)
	}
	if c.watch == nil {
		c.watch = startWatch(c)
	}
	c.watch.programs++
	return nil
}

// unwatch says that a registered program is supervised no more. With the last one the watch ends.
func (c *guardClient) unwatch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch.programs--
	if c.watch.programs == 0 {
		c.watch.stop(c.conn)
		c.awaitWatch(c.watch)
	}
}

// awaitWatch waits for the end of a watch that was stopped. It gives up the lock meanwhile, which
// the watch may want.
func (c *guardClient) awaitWatch(w *watch) {
	c.mu.Unlock()
	<-w.ended
	c.mu.Lock()
	if c.watch == w {
		c.watch = nil
	}
}

// forget tells that nothing of the group is left.
func (c *guardClient) forget(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.leave(id)
}

// handOver leaves a group to the guard for a time, and with it the file that holds its output.
func (c *guardClient) handOver(id int, owed time.Duration, file *os.File) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ensure(context.Background()); err != nil {
		return err
	}
	rc, err := file.SyscallConn()
	if err != nil {
		return c.send(handOverMessage(id, owed), -1)
	}
	sent := false
	closed := rc.Control(func(fd uintptr) {
		sent, err = true, c.send(handOverMessage(id, owed), int(fd))
	})
	if !sent && closed != nil { // the output has ended before the program
		return c.send(handOverMessage(id, owed), -1)
	}
	return err
}

// ensure starts a guard if there is none. A new one finds in the ledger what the old one did.
func (c *guardClient) ensure(ctx context.Context) error {
	if c.conn != nil && listens(c.conn) {
		return nil
	}
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
	conn, err := startGuard(ctx, c.ledger.file)
	for range startAgain {
		if !errors.Is(err, errNotReady) {
			break
		}
		conn, err = startGuard(ctx, c.ledger.file)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) { // of /proc/self/exe
			err = fmt.Errorf("is /proc mounted? %w", err)
		}
		return fmt.Errorf("the guard, which ends programs when this process dies, can't be started: %w", exhausted(err))
	}
	c.conn = conn
	for number, file := range c.held {
		if err := c.share(number, file); err != nil {
			return err
		}
	}
	return nil
}

// Hold makes the guard keep a copy of an open file until nothing of the programs of this process is
// left, however this process ends: a lock (flock) on it lasts as long. release makes the guard
// close its copy; until then file stays open here.
func Hold(ctx context.Context, file *os.File) (release func(), err error) {
	return ourGuard.hold(ctx, file)
}

func (c *guardClient) hold(ctx context.Context, file *os.File) (release func(), err error) {
	if _, err := c.prepare(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = make(map[uint64]*os.File)
	}
	c.number++
	number := c.number
	if err := c.share(number, file); err != nil {
		return nil, err
	}
	c.held[number] = file
	return sync.OnceFunc(func() { c.drop(number) }), nil
}

func (c *guardClient) share(number uint64, file *os.File) error {
	rc, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = rc.Control(func(fd uintptr) { sent = c.send(wordHold+" "+strconv.FormatUint(number, 10), int(fd)) })
	return errors.Join(err, sent)
}

func (c *guardClient) drop(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, number)
	if c.conn != nil && listens(c.conn) {
		_ = c.send(wordDrop+" "+strconv.FormatUint(number, 10), -1) // a guard that takes no message keeps a file too many
	}
}

// listens is false when the other end of the socket is closed.
func listens(conn *os.File) bool {
	rc, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	open := false
	err = rc.Control(func(fd uintptr) {
		polls := []unix.PollFd{{Fd: int32(fd)}}
		_, err := retry(func() (int, error) { return unix.Poll(polls, 0) })
		open = err == nil && polls[0].Revents == 0
	})
	return err == nil && open
}

// send sends one message, with a descriptor where fd is not negative.
func (c *guardClient) send(message string, fd int) error {
	rc, err := c.conn.SyscallConn()
	if err != nil {
		return err
	}
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(messageWait))
	waited := rc.Write(func(conn uintptr) bool {
		_, err = retry(func() (int, error) {
			return unix.SendmsgN(int(conn), []byte(message), rights, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		})
		return err != unix.EAGAIN
	})
	if errors.Is(waited, os.ErrDeadlineExceeded) {
		return errors.New("the guard, which ends programs when this process dies, takes no message; if its process is stopped, continue it or kill it")
	}
	return errors.Join(waited, err)
}

// startGuard starts a guard that is not our child: the first stage starts the second, in a session
// of its own, and ends.
func startGuard(ctx context.Context, ledger *os.File) (*os.File, error) {
	if !guarded.Load() {
		return nil, errors.New("this program does not call process.GuardMain at its start")
	}
	markCloseOnExec()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	_ = unix.SetNonblock(ends[0], true)
	ours, theirs := os.NewFile(uintptr(ends[0]), "guard"), os.NewFile(uintptr(ends[1]), "guard")
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		ours.Close()
		theirs.Close()
		return nil, err
	}
	var random [16]byte
	_, _ = rand.Read(random[:])
	nonce := strconv.Itoa(os.Getpid()) + "-" + hex.EncodeToString(random[:]) // shows in ps whose guard it is
	first, err := startStage(stageLaunch, nonce, []*os.File{theirs, null, null, ledger})
	closeAll([]*os.File{theirs, null}) // so that the end of the guard is the end of the socket
	if err == nil {
		err = awaitStage(ctx, first, ours)
	}
	if err != nil {
		ours.Close()
		return nil, err
	}
	return ours, nil
}

// awaitStage waits until the first stage has started the second, and the second says that it is
// ready: no signal but SIGKILL ends it from then on. What went wrong comes over the socket instead.
func awaitStage(ctx context.Context, first *os.Process, conn *os.File) error {
	unhook := context.AfterFunc(ctx, func() {
		_ = first.Kill()
		_ = conn.SetReadDeadline(time.Now())
	})
	defer unhook()
	state, err := first.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	}
	message := make([]byte, 512)
	n, err := conn.Read(message)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case string(message[:n]) == wordReady:
		return nil
	case n > 0:
		return fmt.Errorf("its first stage ended with %s: %s", state, message[:n])
	}
	return fmt.Errorf("%w; its first stage ended with %s: %w", errNotReady, state, err)
}

// startStage runs the executable of this process again as a stage of the guard. GORACE keeps one
// that is built with the race detector from waiting a second before it exits.
func startStage(stage, nonce string, stdio []*os.File) (*os.Process, error) {
	forking.Lock() // the guard is not to have the mark of a program that is started at the same moment
	defer forking.Unlock()
	return os.StartProcess("/proc/self/exe", []string{guardName, stage, nonce}, &os.ProcAttr{
		Dir:   "/",
		Env:   []string{guardVar + "=" + nonce, "GOMAXPROCS=1", "GOGC=20", "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"},
		Files: stdio,
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}
