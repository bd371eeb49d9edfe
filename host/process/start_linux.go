package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// start starts the program under the guard, with one goroutine each for its end, its output and its supervision.
func start(ctx context.Context, spec Spec) (*Process, error) {
	if !filepath.IsAbs(spec.Path) {
		return nil, fmt.Errorf("the path of the program, %q, is not absolute; look it up first", spec.Path)
	}
	if !filepath.IsAbs(spec.Dir) {
		return nil, fmt.Errorf("%s can't be started in %q: the working directory must be an absolute path", spec.Path, spec.Dir)
	}
	unignore()
	serial, err := keep.ready(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s was not started: %w", spec.Path, err)
	}
	p := &Process{spec: spec, serial: serial, orders: make(chan Cause), settled: make(chan struct{}), done: make(chan struct{})}
	ours, stdio, err := openOutput(spec)
	if err != nil {
		return nil, fmt.Errorf("%s was not started: %w", spec.Path, err)
	}
	p.started = time.Now()
	err = keep.signs.marking(serial, func() (err error) {
		p.os, err = os.StartProcess(spec.Path, argv(spec), attributes(spec, stdio, p.token()))
		return err
	})
	closeAll(stdio)
	if err != nil {
		closeAll(ours)
		return nil, explain(spec, err)
	}
	leader, _ := readStat(p.PID()) // not reaped yet, so it is there
	if err := keep.tell(p.PID(), serial, leader.start); err != nil {
		closeAll(ours)
		_ = unix.Kill(-p.PID(), unix.SIGKILL)
		_, _ = p.os.Wait()
		return nil, fmt.Errorf("%s was ended at once, because nothing would end it after a crash: %w", spec.Path, err)
	}
	p.out = newOutput(ours[0], spec.TTY, spec.Output)
	ended := make(chan struct{})
	go p.out.run()
	if len(ours) > 1 {
		p.errs = newOutput(ours[1], false, spec.Errors)
		go p.errs.run()
	}
	go awaitEnd(p.PID(), ended)
	go p.supervise(leader.start, ended)
	return p, nil
}

func (p *Process) token() string { return keep.signs.prefix + "." + p.number() }

func (p *Process) number() string { return strconv.FormatUint(p.serial, 10) }

// awaitEnd closes ended when the leader has ended. It leaves the zombie, which keeps the number of the process and of its group from being given to others.
func awaitEnd(pid int, ended chan<- struct{}) {
	defer close(ended)
	_, _ = retry(func() (int, error) {
		return 0, unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	})
}

// openOutput returns our ends of the program's output, one or two, and its standard descriptors.
func openOutput(spec Spec) (ours, stdio []*os.File, err error) {
	markCloseOnExec()
	if spec.TTY {
		master, stdio, err := openTerminal(spec)
		return []*os.File{master}, stdio, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	read, write, err := openPipe()
	if err != nil {
		null.Close()
		return nil, nil, err
	}
	if spec.Errors == nil {
		return []*os.File{read}, []*os.File{null, write, write}, nil
	}
	readErrs, writeErrs, err := openPipe()
	if err != nil {
		closeAll([]*os.File{null, read, write})
		return nil, nil, err
	}
	return []*os.File{read, readErrs}, []*os.File{null, write, writeErrs}, nil
}

// openPipe returns a pipe for a program's output.
func openPipe() (read, write *os.File, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("no pipe for its output: %w", err)
	}
	// Best effort: unprivileged users may run into a limit of their own for large pipes.
	_, _ = unix.FcntlInt(uintptr(ends[0]), unix.F_SETPIPE_SZ, pipeSize)
	_ = unix.SetNonblock(ends[0], true) // our end alone; the program's end must block
	return os.NewFile(uintptr(ends[0]), "program output"), os.NewFile(uintptr(ends[1]), "program output"), nil
}

// openTerminal duplicates the master: the pty package makes the descriptor that it sets the size through a blocking one, on which neither deadlines
// nor Close end a Read.
func openTerminal(spec Spec) (ours *os.File, stdio []*os.File, err error) {
	master, tty, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("no terminal for it; is /dev/pts mounted? %w", err)
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
		return nil, nil, fmt.Errorf("no terminal for it: %w", err)
	}
	return os.NewFile(uintptr(fd), master.Name()), []*os.File{tty, tty, tty}, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // the output is there twice or more; closing again fails and does no harm
	}
}

// markCloseOnExec covers descriptors that we inherited, or that foreign code in this process opened. Kernels before 5.11 lack the call.
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
	env := make([]string, 0, len(spec.Env)+1)
	for _, entry := range spec.Env {
		if !strings.HasPrefix(entry, TokenVar+"=") {
			env = append(env, entry)
		}
	}
	return &os.ProcAttr{
		Dir:   spec.Dir,
		Env:   append(env, TokenVar+"="+token),
		Files: stdio,
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
	return fmt.Errorf("%s can't be started: %w", spec.Path, err)
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
