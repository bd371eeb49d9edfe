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

// tellWait bounds one message to the guard. A guard that takes none for so long has been stopped.
const tellWait = time.Second

// keeper is our side of the guard.
type keeper struct {
	mu     sync.Mutex
	conn   *os.File // our end of the socket; the guard acts when it closes
	signs  signs    // of this process's programs; set once
	serial uint64
	ledger ledger
	held   map[uint64]*os.File // by their numbers; a new guard gets them all
	number uint64              // of the last of them
	watch  *watch              // while programs run under the guard
}

var keep keeper

// ready makes sure that a guard listens, and returns the serial number for the next program.
func (k *keeper) ready(ctx context.Context) (uint64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.signs.prefix == "" {
		if err := k.open(); err != nil {
			return 0, fmt.Errorf("the ledger of the guard, which ends programs when this process dies, can't be made: %w", exhausted(err))
		}
	}
	if err := k.ensure(ctx); err != nil {
		return 0, err
	}
	k.serial = (k.serial + 1) & (1<<serialBits - 1)
	return k.serial, nil
}

func (k *keeper) open() error {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails; crypto/rand ends the process instead
	session, err := unix.Getsid(0)
	if err != nil {
		return err
	}
	s := newSigns(hex.EncodeToString(random[:]), session)
	if err := k.ledger.open(s); err != nil {
		return err
	}
	k.signs = s
	return nil
}

// tell makes a group known to the guard, and has the guard watched until done is called for it.
func (k *keeper) tell(id int, serial, start uint64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.ledger.enter(id, serial, start); err != nil {
		return err
	}
	for k.watch != nil && k.watch.programs == 0 { // it is about to end
		k.leave(k.watch)
	}
	if k.watch == nil {
		k.watch = startWatch(k)
	}
	k.watch.programs++
	return nil
}

// done says that a program that was told of is supervised no more. With the last one the watch ends.
func (k *keeper) done() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watch.programs--
	if k.watch.programs == 0 {
		k.watch.stop(k.conn)
		k.leave(k.watch)
	}
}

// leave waits for the end of a watch that was stopped. It gives up the lock meanwhile, which the watch may want.
func (k *keeper) leave(w *watch) {
	k.mu.Unlock()
	<-w.ended
	k.mu.Lock()
	if k.watch == w {
		k.watch = nil
	}
}

// forget tells that nothing of the group is left.
func (k *keeper) forget(id int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ledger.leave(id)
}

// hand leaves a group to the guard for a time, and with it the file that holds its output.
func (k *keeper) hand(id int, owed time.Duration, file *os.File) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.ensure(context.Background()); err != nil {
		return err
	}
	rc, err := file.SyscallConn()
	if err != nil {
		return k.send(handMessage(id, owed), -1)
	}
	told := false
	closed := rc.Control(func(fd uintptr) {
		told, err = true, k.send(handMessage(id, owed), int(fd))
	})
	if !told && closed != nil { // the output has ended before the program
		return k.send(handMessage(id, owed), -1)
	}
	return err
}

// ensure starts a guard if there is none. A new one finds in the ledger what the old one did.
func (k *keeper) ensure(ctx context.Context) error {
	if k.conn != nil && listens(k.conn) {
		return nil
	}
	if k.conn != nil {
		k.conn.Close()
		k.conn = nil
	}
	conn, err := startGuard(ctx, k.ledger.file)
	for range startAgain {
		if !errors.Is(err, errNotReady) {
			break
		}
		conn, err = startGuard(ctx, k.ledger.file)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) { // of /proc/self/exe
			err = fmt.Errorf("is /proc mounted? %w", err)
		}
		return fmt.Errorf("the guard, which ends programs when this process dies, can't be started: %w", exhausted(err))
	}
	k.conn = conn
	for number, file := range k.held {
		if err := k.share(number, file); err != nil {
			return err
		}
	}
	return nil
}

// Hold makes the guard keep a copy of an open file until nothing of the programs of this process is left, however this
// process ends: a lock (flock) on it lasts as long. release makes the guard close its copy; until then file stays open here.
func Hold(ctx context.Context, file *os.File) (release func(), err error) {
	return keep.hold(ctx, file)
}

func (k *keeper) hold(ctx context.Context, file *os.File) (release func(), err error) {
	if _, err := k.ready(ctx); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil {
		k.held = make(map[uint64]*os.File)
	}
	k.number++
	number := k.number
	if err := k.share(number, file); err != nil {
		return nil, err
	}
	k.held[number] = file
	return sync.OnceFunc(func() { k.drop(number) }), nil
}

func (k *keeper) share(number uint64, file *os.File) error {
	rc, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = rc.Control(func(fd uintptr) { sent = k.send(wordHold+" "+strconv.FormatUint(number, 10), int(fd)) })
	return errors.Join(err, sent)
}

func (k *keeper) drop(number uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, number)
	if k.conn != nil && listens(k.conn) {
		_ = k.send(wordDrop+" "+strconv.FormatUint(number, 10), -1) // a guard that takes no message keeps a file too many
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
func (k *keeper) send(message string, fd int) error {
	rc, err := k.conn.SyscallConn()
	if err != nil {
		return err
	}
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	_ = k.conn.SetWriteDeadline(time.Now().Add(tellWait))
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

// startGuard starts a guard that is not our child: the first stage starts the second, in a session of its own, and ends.
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

// awaitStage waits until the first stage has started the second, and the second says that it is ready: no signal but SIGKILL ends it from then on. What went
// wrong comes over the socket instead.
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
	said := make([]byte, 512)
	n, err := conn.Read(said)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case string(said[:n]) == wordReady:
		return nil
	case n > 0:
		return fmt.Errorf("its first stage ended with %s: %s", state, said[:n])
	}
	return fmt.Errorf("%w; its first stage ended with %s: %w", errNotReady, state, err)
}

// startStage runs the executable of this process again as a stage of the guard. GORACE keeps one that is built with the race
// detector from waiting a second before it exits.
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
