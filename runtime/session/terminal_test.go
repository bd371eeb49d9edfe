package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestTerminal(t *testing.T) {
	r, told := open(t, Options{})
	s := terminal(t, r, "echo ready; read -r x; echo got $x; stty size; exit 3")
	w := attach(t, s, 100, 30)
	expect(t, w, "ready\r\n")
	if err := w.Write(t.Context(), []byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	var rest []byte
	for {
		p, err := w.Read(t.Context())
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
		rest = append(rest, p...)
	}
	if want := "hello\r\ngot hello\r\n30 100\r\n"; string(rest) != want {
		t.Errorf("%q, want %q", rest, want)
	}
	if code, signal, ok := w.Exit(); code != 3 || signal != "" || !ok {
		t.Errorf("exit %d %q %t", code, signal, ok)
	}
	<-s.Done()
	info := s.Info()
	if info.State != StateEnded || info.Ended.IsZero() || info.ExitCode == nil || *info.ExitCode != 3 || info.Reason != "" || info.PID == 0 {
		t.Errorf("%+v", info)
	}
	if err := w.Write(t.Context(), []byte("x")); !errors.Is(err, ErrEnded) {
		t.Errorf("input to the end: %v", err)
	}
	if err := w.Resize(80, 24); !errors.Is(err, ErrEnded) {
		t.Errorf("resize of the end: %v", err)
	}
	if got := told.String(); got != "session.started session.ended" {
		t.Errorf("events %s", got)
	}
	late := attach(t, s, 80, 24)
	if got, err := late.Read(t.Context()); !strings.HasPrefix(string(got), "ready\r\nhello\r\n") || err != nil {
		t.Errorf("a late watcher: %q, %v", got, err)
	}
	if _, err := late.Read(t.Context()); err != io.EOF {
		t.Errorf("a late watcher: %v", err)
	}
}

func TestTerminalSizes(t *testing.T) {
	r, _ := open(t, Options{})
	s := terminal(t, r, "stty -echo; echo ready; while read -r x; do stty size; done")
	size := func(w *Watcher, want string) {
		t.Helper()
		if err := w.Write(t.Context(), []byte("\n")); err != nil {
			t.Fatal(err)
		}
		if got := expect(t, w, "\r\n"); got != want+"\r\n" {
			t.Errorf("size %q, want %q", got, want)
		}
	}
	reader := attach(t, s, 0, 0) // has no say
	expect(t, reader, "ready\r\n")
	size(reader, "24 80")
	big := attach(t, s, 200, 50)
	size(reader, "50 200")
	small := attach(t, s, 100, 60)
	size(reader, "50 100")
	if i := s.Info(); i.Cols != 100 || i.Rows != 50 || i.Watchers != 3 {
		t.Errorf("%+v", i)
	}
	if err := small.Resize(90, 20); err != nil {
		t.Error(err)
	}
	size(reader, "20 90")
	small.Close()
	size(reader, "50 200")
	big.Close()
	size(reader, "50 200") // nobody has a say
	for _, bad := range [][2]int{{0, 24}, {80, 0}, {-1, -1}, {100000, 100000}, {MaxSize + 1, 1}} {
		var e *BadSizeError
		if _, err := s.Attach(bad[0], bad[1]); !errors.As(err, &e) {
			t.Errorf("attach %v: %v", bad, err)
		}
		if _, err := r.StartTerminal(t.Context(), TerminalSpec{Argv: []string{"true"}, Cwd: "/", Cols: bad[0], Rows: bad[1]}); !errors.As(err, &e) {
			t.Errorf("start %v: %v", bad, err)
		}
	}
	for _, bad := range [][2]int{{0, 0}, {100000, 100000}} {
		var e *BadSizeError
		if err := reader.Resize(bad[0], bad[1]); !errors.As(err, &e) {
			t.Errorf("resize %v: %v", bad, err)
		}
	}
	size(reader, "50 200") // nothing of that did anything
}

// A line that is longer than the kernel keeps comes whole, to those who read much at once and to
// those who read byte by byte.
func TestTerminalLongLines(t *testing.T) {
	const size = 20_000
	for _, reader := range []string{"wc -c", "read -r x; echo ${#x}", "dd bs=1 count=20001 2>/dev/null | wc -c"} {
		t.Run(reader, func(t *testing.T) {
			r, _ := open(t, Options{})
			s := terminal(t, r, "stty -echo; echo ready; "+reader)
			w := attach(t, s, 0, 0)
			expect(t, w, "ready\r\n")
			if err := w.Write(t.Context(), []byte(strings.Repeat("0123456789", size/10)+"\n\x04")); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprint(size + 1)
			if strings.HasPrefix(reader, "read") {
				want = fmt.Sprint(size)
			}
			if got := expect(t, w, "\r\n"); strings.TrimSpace(got) != want {
				t.Errorf("%q, want %s", got, want)
			}
		})
	}
}

// Many lines are longer in sum than the kernel keeps: what is not read waits.
func TestTerminalPaste(t *testing.T) {
	r, _ := open(t, Options{})
	s := terminal(t, r, "stty -echo; echo ready; wc")
	w := attach(t, s, 0, 0)
	expect(t, w, "ready\r\n")
	if err := w.Write(t.Context(), []byte(strings.Repeat("0123456789 abcdef\n", 20_000)+"\x04")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(expect(t, w, "\r\n")); strings.Join(got, " ") != "20000 40000 360000" {
		t.Errorf("%q", got)
	}
}

// Input that nobody reads holds up nothing: sizes, output, and the end.
func TestTerminalInputIsNotRead(t *testing.T) {
	r, _ := open(t, Options{})
	s := terminal(t, r, "stty raw -echo; echo ready; exec sleep 999")
	w := attach(t, s, 80, 24)
	expect(t, w, "ready")
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error)
	go func() { got <- w.Write(ctx, make([]byte, 1<<20)) }()
	if err := w.Resize(90, 30); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := s.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if i := s.Info(); i.Signal != "SIGHUP" && i.Signal != "SIGTERM" || i.Reason == "" {
		t.Errorf("%+v", i)
	}
}

// Each gets a whole end of the output, however they come and go.
func TestTerminalWatchersComeAndGo(t *testing.T) {
	r, _ := open(t, Options{})
	s := terminal(t, r, "seq 200000")
	ends := make(chan error)
	const watchers = 10
	for i := range watchers {
		w := attach(t, s, 80+i, 24)
		go func() { ends <- checkNumbers(w, 200000, i%3 == 0) }()
	}
	for range watchers {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
}

// checkNumbers reads what seq prints, and closes in the middle where that is wanted.
func checkNumbers(w *Watcher, last int, leave bool) error {
	n := numberReader{}
	for {
		p, err := w.Read(context.Background())
		if err == io.EOF && n.next == last+1 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("after %d: %w", n.next-1, err)
		}
		if err := n.take(p); err != nil {
			return err
		}
		if leave && n.next > last/2 {
			w.Close()
			return nil
		}
	}
}

// numberReader checks that each line is one more than the line before it.
type numberReader struct {
	next    int // 0: any
	number  int
	skipped bool // the first line, which may be cut
	bytes   int64
}

func (n *numberReader) take(p []byte) error {
	n.bytes += int64(len(p))
	for _, c := range p {
		switch {
		case c == '\r':
		case c == '\n':
			if n.skipped || n.number == 1 {
				if n.next != 0 && n.number != n.next {
					return fmt.Errorf("%d where %d was to come", n.number, n.next)
				}
				n.next = n.number + 1
			}
			n.skipped, n.number = true, 0
		case '0' <= c && c <= '9':
			n.number = 10*n.number + int(c-'0')
		default:
			return fmt.Errorf("%q among numbers", c)
		}
	}
	return nil
}

func TestTerminalLines(t *testing.T) {
	r, _ := open(t, Options{})
	s := terminal(t, r, `printf '\033[31mred\033[0m\n10%%\r100%%\nlast'`)
	<-s.Done()
	lines, err := s.Lines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	var got []string
	for {
		line, err := lines.Next(t.Context())
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
		got = append(got, line)
	}
	if strings.Join(got, "|") != "red|100%|last" {
		t.Errorf("%q", got)
	}
	if got := string(s.ReadTerminal(4)); got != "last" {
		t.Errorf("the last 4: %q", got)
	}
}

func TestProcess(t *testing.T) {
	r, _ := open(t, Options{Env: []string{"PATH=/usr/bin:/bin", "A=1", "COLUMNS=3", "B=1"}})
	s, err := r.StartProcess(t.Context(), ProcessSpec{Argv: []string{"sh", "-c", "echo $A $B $COLUMNS; echo err >&2; cat; tty"}, Cwd: "/", Env: []string{"B=2"}})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := s.Lines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	want := []string{"1 2", "err", "typed"}
	for i, w := range want {
		if i == 2 {
			if err := s.WriteTerminal(t.Context(), []byte("typed\n")); err != nil {
				t.Fatal(err)
			}
		}
		if line, err := lines.Next(t.Context()); line != w || err != nil {
			t.Errorf("%q, %v; want %q", line, err, w)
		}
	}
	if _, err := s.Attach(80, 24); !errors.Is(err, ErrWrongKind) {
		t.Errorf("attach: %v", err)
	}
	if _, err := s.Prompt(t.Context(), "x", nil); !errors.Is(err, ErrWrongKind) {
		t.Errorf("prompt: %v", err)
	}
	if err := s.Kill(t.Context()); err != nil {
		t.Error(err)
	}
}
