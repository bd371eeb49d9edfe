package stdio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// childVar makes the test binary take its own standard input and output over and report on them.
const childVar = "STDIO_TEST_CHILD"

// noSleep keeps children built with the race detector from waiting a second before they exit.
const noSleep = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// child answers each line of its input, and says on standard error what else a test wants to know.
func child() int {
	in, out, restore, err := Takeover()
	if err != nil {
		fmt.Fprintln(os.Stderr, "takeover:", err)
		return 3
	}
	defer restore()
	fmt.Println("stray line")
	fmt.Fprintln(os.Stderr, "deadlines:", in.SetReadDeadline(time.Time{}) == nil, out.SetWriteDeadline(time.Time{}) == nil)
	ls := exec.Command("ls", "/proc/self/fd")
	ls.Stdin, ls.Stdout, ls.Stderr = os.Stdin, os.Stderr, os.Stderr
	if err := ls.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "ls:", err)
	}
	for fd := range 3 {
		link, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		kind, _, _ := strings.Cut(link, ":")
		fmt.Fprintf(os.Stderr, "fd %d %s\n", fd, kind)
	}
	fmt.Fprintln(os.Stderr, "private:", in.Fd() > 2, out.Fd() > 2)
	_ = unix.SetNonblock(int(in.Fd()), true) // Fd may have made it blocking
	return answer(in, out)
}

func answer(in io.Reader, out io.Writer) int {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if _, err := fmt.Fprintf(out, "got %s\n", lines.Text()); err != nil {
			fmt.Fprintln(os.Stderr, "write:", errors.Is(err, unix.EPIPE))
			return 0
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "read:", err)
		return 5
	}
	if _, err := fmt.Fprintln(out, "end"); err != nil {
		fmt.Fprintln(os.Stderr, "write:", errors.Is(err, unix.EPIPE))
	}
	return 0
}

// start starts a child with the given descriptors and returns what it prints on standard error when
// it has ended.
func start(t *testing.T, in, out *os.File) (stderr func() string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childVar+"=1", noSleep)
	return launch(t, cmd, in, out)
}

func launch(t *testing.T, cmd *exec.Cmd, in, out *os.File) (stderr func() string) {
	t.Helper()
	var text strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{in, out} {
		if f != nil {
			f.Close()
		}
	}
	return func() string {
		if err := cmd.Wait(); err != nil {
			t.Errorf("the child ended with %v, and says %s", err, text.String())
		}
		return text.String()
	}
}

func pipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return read, write
}

func socketpair(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
}

func file(t *testing.T, text string) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	return f
}

func null(t *testing.T, flag int) *os.File {
	t.Helper()
	f, err := os.OpenFile(os.DevNull, flag, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTakeover(t *testing.T) {
	const answers = "got a\ngot b\nend\n"
	tests := []struct {
		name      string
		in, out   func(t *testing.T) (child *os.File, ours *os.File)
		want      string
		deadlines string
		says      []string
	}{
		{"pipes", inPipe, outPipe, answers, "true true", nil},
		{"sockets", inSocket, outSocket, answers, "true true", nil},
		{"file, pipe", inFile, outPipe, answers, "false true", nil},
		{"file, file", inFile, outFile, answers, "false false", nil},
		{"null device, pipe", inNull, outPipe, "end\n", "false true", nil},
		{"pipe, null device", inPipe, outNull, "", "true false", nil},
		{"pipe, null device as the runtime opens it", inPipe, outNullReadWrite, "", "true true", []string{"write: true"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in, feed := test.in(t)
			out, read := test.out(t)
			stderr := start(t, in, out)
			if feed != nil {
				if _, err := feed.WriteString("a\nb\n"); err != nil {
					t.Error(err)
				}
				hangUp(feed)
			}
			got := collect(t, read)
			checkReport(t, stderr(), test.deadlines, test.says)
			if got == "" { // a file is complete only when the child has ended
				got = collect(t, read)
			}
			if got != test.want {
				t.Errorf("the client got %q, want %q", got, test.want)
			}
		})
	}
}

func inPipe(t *testing.T) (child, ours *os.File)   { child, ours = pipe(t); return }
func outPipe(t *testing.T) (child, ours *os.File)  { ours, child = pipe(t); return }
func inSocket(t *testing.T) (child, ours *os.File) { ours, child = socketpair(t); return }
func outSocket(t *testing.T) (child, ours *os.File) {
	ours, child = socketpair(t)
	return
}
func inFile(t *testing.T) (child, ours *os.File)  { return file(t, "a\nb\n"), nil }
func inNull(t *testing.T) (child, ours *os.File)  { return null(t, os.O_RDONLY), nil }
func outNull(t *testing.T) (child, ours *os.File) { return null(t, os.O_WRONLY), nil }
func outNullReadWrite(t *testing.T) (child, ours *os.File) {
	return null(t, os.O_RDWR), nil
}
func outFile(t *testing.T) (child, ours *os.File) {
	child = file(t, "")
	ours, err := os.Open(child.Name())
	if err != nil {
		t.Fatal(err)
	}
	return child, ours
}

// hangUp ends what the child reads, on a socket too.
func hangUp(f *os.File) {
	_ = unix.Shutdown(int(f.Fd()), unix.SHUT_WR)
	f.Close()
}

func collect(t *testing.T, f *os.File) string {
	t.Helper()
	if f == nil {
		return ""
	}
	got, err := io.ReadAll(f)
	if err != nil {
		t.Error(err)
	}
	return string(got)
}

// checkReport reads what the child says on standard error.
func checkReport(t *testing.T, report, deadlines string, says []string) {
	t.Helper()
	lines := strings.Split(report, "\n")
	want := append([]string{
		"stray line", "deadlines: " + deadlines, "private: true true",
		"fd 0 /dev/null", "fd 1 pipe", "fd 2 pipe", // standard error is a pipe
	}, says...)
	for _, line := range want {
		if !slices.Contains(lines, line) {
			t.Errorf("the child does not say %q, but %q", line, report)
		}
	}
	for _, line := range lines {
		if fd, err := strconv.Atoi(line); err == nil && fd > 3 { // 3 is the directory that ls reads
			t.Errorf("a child of it has descriptor %s", line)
		}
	}
}

// The shell closes what the child is started with. The Go runtime opens the null device in its
// place before any of our code runs.
func TestClosedAtStart(t *testing.T) {
	tests := []struct {
		name, closing string
		want          string
		says          []string
	}{
		{"stdin", "<&-", "end\n", []string{"stray line", "fd 0 /dev/null"}},
		{"stdout", ">&-", "", []string{"stray line", "write: true"}},
		{"stderr", "2>&-", "got a\nend\n", nil},
		{"stdin and stdout", "<&- >&-", "", []string{"write: true"}},
		{"all", "<&- >&- 2>&-", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", `"$0" `+test.closing+`; [ $? != 3 ]`, "/proc/self/exe")
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Args[3] = exe
			cmd.Env = append(os.Environ(), childVar+"=1", noSleep)
			in, feed := pipe(t)
			read, out := pipe(t)
			stderr := launch(t, cmd, in, out)
			_, _ = feed.WriteString("a\n") // nobody may be there to read it
			feed.Close()
			if got := collect(t, read); got != test.want {
				t.Errorf("the client got %q, want %q", got, test.want)
			}
			report := stderr()
			for _, want := range test.says {
				if !strings.Contains(report, want) {
					t.Errorf("the child does not say %q, but %q", want, report)
				}
			}
		})
	}
}

// Who holds the other references to our end of a pipe sees no change; a socket's flags are set
// back.
func TestSharedFlags(t *testing.T) {
	for _, test := range []struct {
		name string
		pair func(t *testing.T) (child, ours *os.File)
	}{{"pipe", inPipe}, {"socket", inSocket}} {
		t.Run(test.name, func(t *testing.T) {
			child, feed := test.pair(t)
			kept, err := unix.FcntlInt(child.Fd(), unix.F_DUPFD_CLOEXEC, 3)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(kept)
			read, out := pipe(t)
			stderr := start(t, child, out)
			hangUp(feed)
			collect(t, read)
			stderr()
			flags, err := unix.FcntlInt(uintptr(kept), unix.F_GETFL, 0)
			if err != nil || flags&unix.O_NONBLOCK != 0 {
				t.Errorf("flags %#x, %v", flags, err)
			}
		})
	}
}
