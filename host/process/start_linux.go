package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// start starts the program under the guard, with one goroutine each for its end, its output and its
// supervision.
func start(ctx context.Context, spec Spec) (*Process, error) {
	if !filepath.IsAbs(spec.Path) {
		return nil, fmt.Errorf("the path of the program, %q, is not absolute; look it up first", spec.Path)
	}
	if !filepath.IsAbs(spec.Dir) {
		return nil, fmt.Errorf("%s can't be started in %q: the working directory must be an absolute path", spec.Path, spec.Dir)
	}
	unignore()
	serial, err := ourGuard.prepare(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s was not started: %w", spec.Path, err)
	}
	p := &Process{
		spec: spec, serial: serial, orders: make(chan Cause), settled: make(chan struct{}), done: make(chan struct{}),
		broken: make(chan struct{}, 2), // one for each output
	}
	var std *standard
	var unopened error
	err = ourGuard.tags.withMark(serial, func() (err error) {
		// While another program is forked, nobody may have this one's side of its pipes open: the
		// other one would have it too, until some time after its execution has begun, and the
		// output would seem to be held.
		if std, unopened = openStandard(spec); unopened != nil {
			return unopened
		}
		defer closeAll(std.program)
		p.started = time.Now()
		p.os, err = os.StartProcess(spec.Path, argv(spec), attributes(spec, std.program, p.token()))
		return err
	})
	if unopened != nil {
		return nil, fmt.Errorf("%s was not started: %w", spec.Path, exhausted(unopened))
	}
	if err != nil {
		std.close()
		return nil, explain(spec, err)
	}
	leader, _ := readStat(p.PID()) // not reaped yet, so it is there
	if err := ourGuard.register(p.PID(), serial, leader.start); err != nil {
		std.close()
		_ = unix.Kill(-p.PID(), unix.SIGKILL)
		_, _ = p.os.Wait()
		return nil, fmt.Errorf("%s was ended at once, because nothing would end it after a crash: %w", spec.Path, err)
	}
	p.start = leader.start
	p.out = newOutput(std.out, spec.TTY, p.broken, spec.Output, spec.OutputEnd)
	if std.errs != nil {
		p.errs = newOutput(std.errs, false, p.broken, spec.Errors, nil)
		go p.errs.run()
	}
	if std.in != nil {
		p.in = &Input{file: std.in, tty: spec.TTY}
	}
	ended := make(chan struct{})
	go p.out.run()
	go awaitEnd(p.PID(), ended)
	go p.supervise(leader.start, ended)
	return p, nil
}

func (p *Process) token() string { return ourGuard.tags.prefix + "." + p.number() }

func (p *Process) number() string { return strconv.FormatUint(p.serial, 10) }

// awaitEnd closes ended when the leader has ended. It leaves the zombie, which keeps the number of
// the process and of its group from being given to others.
func awaitEnd(pid int, ended chan<- struct{}) {
	defer close(ended)
	_, _ = retry(func() (int, error) {
		return 0, unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	})
}

// standard are the two sides of a program's standard descriptors. Ours are non-blocking; the
// program's must block.
type standard struct {
	program       []*os.File // 0, 1 and 2
	out, errs, in *os.File   // errs and in may be nil; a terminal is out and in at once
}

func (s *standard) close() {
	for _, f := range []*os.File{s.out, s.errs, s.in} {
		if f != nil {
			_ = f.Close() // the terminal is there twice
		}
	}
}

// openStandard opens what spec asks for.
func openStandard(spec Spec) (*standard, error) {
	markCloseOnExec()
	if spec.TTY {
		return openTerminal(spec)
	}
	s := new(standard)
	if err := s.openPipes(spec); err != nil {
		s.close()
		closeAll(s.program)
		return nil, err
	}
	return s, nil
}

func (s *standard) openPipes(spec Spec) error {
	in, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if spec.Input && err == nil {
		in.Close()
		in, s.in, err = pipe("program input", 1)
	}
	if err != nil {
		return fmt.Errorf("no standard input for it: %w", err)
	}
	s.program = append(s.program, in)
	var out *os.File
	if s.out, out, err = pipe("program output", 0); err != nil {
		return fmt.Errorf("no pipe for its output: %w", err)
	}
	s.program = append(s.program, out)
	if !spec.Input {
		// Best effort, and not for who answers and is not captured: unprivileged users may run into
		// a limit of their own for large pipes.
		_ = control(s.out, func(fd int) error {
			_, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, pipeSize)
			return err
		})
	}
	if spec.Errors == nil {
		s.program = append(s.program, out)
		return nil
	}
	var errs *os.File
	if s.errs, errs, err = pipe("program errors", 0); err != nil {
		return fmt.Errorf("no pipe for its standard error: %w", err)
	}
	s.program = append(s.program, errs)
	return nil
}

// pipe makes a pipe of which one end, ours, is non-blocking.
func pipe(name string, ours int) (read, write *os.File, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	_ = unix.SetNonblock(ends[ours], true)
	return os.NewFile(uintptr(ends[0]), name), os.NewFile(uintptr(ends[1]), name), nil
}

// openTerminal duplicates the master: the pty package makes the descriptor that it sets the size
// through a blocking one, on which neither deadlines nor Close end a Read.
func openTerminal(spec Spec) (*standard, error) {
	master, tty, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("no terminal for it; is /dev/pts mounted? %w", err)
	}
	defer master.Close()
	size := pty.Winsize{Cols: spec.Cols, Rows: spec.Rows}
	if size.Cols == 0 {
		size.Cols = 80
	}
	if size.Rows == 0 {
		size.Rows = 24
	}
	err = pty.Setsize(master, &size)
	fd := -1
	if err == nil {
		fd, err = unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		tty.Close()
		return nil, fmt.Errorf("no terminal for it: %w", err)
	}
	s := &standard{out: os.NewFile(uintptr(fd), master.Name()), program: []*os.File{tty, tty, tty}}
	if spec.Input {
		s.in = s.out
	}
	return s, nil
}

func closeAll(stdio []*os.File) {
	for _, f := range stdio {
		_ = f.Close() // the output is there twice or more; closing again fails and does no harm
	}
}

// markCloseOnExec covers descriptors that we inherited, or that foreign code in this process
// opened. Kernels before 5.11 lack the call.
func markCloseOnExec() {
	_ = unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
}

func argv(spec Spec) []string {
	if len(spec.Argv) == 0 {
		return []string{spec.Path}
	}
	return spec.Argv
}

func attributes(spec Spec, stdio []*os.File, token string) *os.ProcAttr {
	files := stdio
	if spec.Extra != nil {
		files = append(slices.Clip(stdio), spec.Extra)
	}
	env := make([]string, 0, len(spec.Env)+1)
	for _, entry := range spec.Env {
		if !strings.HasPrefix(entry, TokenVar+"=") {
			env = append(env, entry)
		}
	}
	return &os.ProcAttr{
		Dir:   spec.Dir,
		Env:   append(env, TokenVar+"="+token),
		Files: files,
		// A session is a process group too; Setpgid beside it fails.
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: spec.TTY, Ctty: 0},
	}
}

// explain finds out what the kernel's one error number, for a start of many steps, was about.
func explain(spec Spec, err error) error {
	var number syscall.Errno
	errors.As(err, &number)
	if dirErr := enterable(spec.Dir); dirErr != nil {
		return fmt.Errorf("%s can't be started in %s: %w; make the directory, or name another one", spec.Path, spec.Dir, dirErr)
	}
	size := 0
	for _, s := range append(argv(spec), spec.Env...) {
		size += len(s) + 1
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("%s can't be started: an argument or an environment entry holds a NUL byte: %w", spec.Path, number)
		}
	}
	info, statErr := os.Stat(spec.Path)
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
		return &NotFoundError{Name: spec.Path, Path: spec.Path}
	case statErr == nil && info.IsDir():
		return fmt.Errorf("%s can't be started: it is a directory, not a program: %w", spec.Path, number)
	}
	switch number {
	case syscall.ENOENT:
		return fmt.Errorf("%s can't be started: the interpreter or loader that it names is missing; look at its first line, or run ldd on it: %w", spec.Path, number)
	case syscall.EACCES:
		return fmt.Errorf("%s can't be executed: run chmod +x on it, and check that its directories may be entered and that its file system is not mounted noexec: %w", spec.Path, number)
	case syscall.ENOEXEC:
		return fmt.Errorf("%s is neither a program for this machine nor a script whose first line names its interpreter (#!): %w", spec.Path, number)
	case syscall.E2BIG:
		return fmt.Errorf("%s can't be started: its arguments and environment take %d bytes, or one of them more than 128 KiB, and the system takes no more; pass a file instead: %w", spec.Path, size, number)
	}
	return fmt.Errorf("%s can't be started: %w", spec.Path, exhausted(err))
}

// exhausted says what to do where the system has no more of something to give.
func exhausted(err error) error {
	switch {
	case errors.Is(err, unix.EMFILE):
		var limit unix.Rlimit
		_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) // 0 would be shown
		return fmt.Errorf("%w: this process may have no more than %d descriptors open; raise that limit (ulimit -n)", err, limit.Cur)
	case errors.Is(err, unix.ENFILE):
		return fmt.Errorf("%w: the whole system has no descriptors left; end programs, or raise fs.file-max", err)
	case errors.Is(err, unix.EAGAIN):
		return fmt.Errorf("%w: there may be no more processes; end some, or raise that limit (ulimit -u)", err)
	}
	return err
}

// enterable returns nil for a directory that can be a working directory.
func enterable(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			return path.Err
		}
		return err
	}
	if !info.IsDir() {
		return unix.ENOTDIR
	}
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.X_OK, unix.AT_EACCESS)
}
