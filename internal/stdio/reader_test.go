package stdio_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/internal/stdio"
	"github.com/chant-acp/chant-acp/internal/testenv"
)

func newReader(t *testing.T, f *os.File) *stdio.Reader {
	t.Helper()
	r, err := stdio.NewReader(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReaderReadsToTheEnd(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, in)
	defer r.Close()
	want := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	go func() {
		defer out.Close()
		_, _ = out.Write(want)
	}()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestReaderOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{{path, "hello"}, {os.DevNull, ""}} {
		f, err := os.Open(c.path)
		if err != nil {
			t.Fatal(err)
		}
		r := newReader(t, f)
		if got, err := io.ReadAll(r); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", c.path, got, err)
		}
		r.Close()
	}
}

func TestCloseEndsARead(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r := newReader(t, in)
	done := make(chan error)
	go func() {
		_, err := r.Read(make([]byte, 1))
		done <- err
	}()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, os.ErrClosed) {
		t.Errorf("the read under way: %v", err)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a read after Close: %v", err)
	}
	if err := r.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
}

func TestHungUpBeforeTheRestIsRead(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, in)
	defer r.Close()
	if _, err := out.WriteString("rest"); err != nil {
		t.Fatal(err)
	}
	if r.HungUp() {
		t.Error("hung up while the writer is there")
	}
	out.Close()
	if !r.HungUp() {
		t.Error("not hung up though the writer is gone")
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "rest" {
		t.Errorf("the rest: %q, %v", got, err)
	}
}

// The writer of a named pipe may have gone before it is opened once more.
func TestReaderOfANamedPipe(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		stays bool // until the pipe was opened
	}{
		"gone with nothing said":         {"", false},
		"gone, and what it said is left": {"rest", false},
		"goes with nothing said":         {"", true},
		"goes after a word":              {"rest", true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			both, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := both.WriteString(c.text); err != nil {
				t.Fatal(err)
			}
			first, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // what is in the pipe stays there
			if err != nil {
				t.Fatal(err)
			}
			defer first.Close()
			if !c.stays {
				both.Close()
			}
			again, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			r := newReader(t, again)
			defer r.Close()
			if c.stays {
				time.AfterFunc(0, func() { both.Close() })
			}
			if got, err := io.ReadAll(r); err != nil || string(got) != c.text {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// A client that closes what it reads, and no more, is gone; what it has written before is read
// first.
func TestReadEndsWhenNobodyReadsTheOutput(t *testing.T) {
	for _, kind := range []string{"pipe", "socket"} {
		t.Run(kind, func(t *testing.T) {
			in, client, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			reads, out := pair(t, kind)
			w, err := stdio.NewWriter(out)
			if err != nil {
				t.Fatal(err)
			}
			r, err := stdio.NewReader(in, w)
			if err != nil {
				t.Fatal(err)
			}
			ends := make(chan error)
			pieces := make(chan string)
			go func() {
				for buf := make([]byte, 10); ; {
					n, err := r.Read(buf)
					if err != nil {
						ends <- err
						return
					}
					pieces <- string(buf[:n])
				}
			}()
			if _, err := client.WriteString("one"); err != nil {
				t.Fatal(err)
			}
			if got := <-pieces; got != "one" {
				t.Errorf("read %q", got)
			}
			reads.Close()
			select {
			case err := <-ends:
				if !errors.Is(err, syscall.EPIPE) {
					t.Errorf("the read ends with %v", err)
				}
			case <-time.After(testenv.Hang):
				t.Error("the read goes on")
			}
			r.Close()
			w.Close()
		})
	}
}

// pair returns the two ends of an output.
func pair(t *testing.T, kind string) (reads, writes *os.File) {
	t.Helper()
	if kind == "pipe" {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return r, w
	}
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(ends[0]), "reads"), os.NewFile(uintptr(ends[1]), "writes")
}
