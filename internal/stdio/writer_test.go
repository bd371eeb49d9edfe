package stdio_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/chant-acp/chant-acp/internal/stdio"
)

// pipe returns a Writer into a pipe, as Takeover leaves one, and its other end.
func pipe(t *testing.T) (*stdio.Writer, *os.File) {
	t.Helper()
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	in := os.NewFile(uintptr(fds[0]), "in")
	w, err := stdio.NewWriter(os.NewFile(uintptr(fds[1]), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = w.Close() // some have closed it
	})
	return w, in
}

// fill writes until nothing goes any more, and returns how much went.
func fill(t *testing.T, w *stdio.Writer) int {
	t.Helper()
	for total := 0; ; {
		n, err := w.TryWrite(make([]byte, 10_000))
		if err != nil {
			t.Fatal(err)
		}
		if total += n; n == 0 {
			return total
		}
	}
}

func TestTryWriteTakesWhatThereIsRoomFor(t *testing.T) {
	w, in := pipe(t)
	total := fill(t, w)
	if total == 0 {
		t.Fatal("an empty pipe takes nothing")
	}
	if _, err := io.ReadFull(in, make([]byte, total)); err != nil {
		t.Fatal(err)
	}
	if n, err := w.TryWrite([]byte("again")); n != 5 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestWriteWaitsForRoom(t *testing.T) {
	w, in := pipe(t)
	before := fill(t, w)
	want := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	done := make(chan error)
	go func() {
		n, err := w.Write(want)
		if n != len(want) && err == nil {
			err = io.ErrShortWrite
		}
		done <- errors.Join(err, w.Close())
	}()
	got, err := io.ReadAll(in)
	if err != nil || !bytes.Equal(got[before:], want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCloseEndsAWrite(t *testing.T) {
	w, _ := pipe(t)
	fill(t, w)
	done := make(chan error)
	go func() {
		_, err := w.Write([]byte("x"))
		done <- err
	}()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, os.ErrClosed) {
		t.Errorf("the write under way: %v", err)
	}
	if _, err := w.TryWrite([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a write after Close: %v", err)
	}
	if err := w.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
}

func TestWriteWithoutAReader(t *testing.T) {
	for name, write := range map[string]func(*stdio.Writer) (int, error){
		"Write":    func(w *stdio.Writer) (int, error) { return w.Write([]byte("x")) },
		"TryWrite": func(w *stdio.Writer) (int, error) { return w.TryWrite([]byte("x")) },
	} {
		w, in := pipe(t)
		in.Close()
		if _, err := write(w); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A reader that goes while a write waits ends it.
func TestTheReaderGoesWhileAWriteWaits(t *testing.T) {
	w, in := pipe(t)
	fill(t, w)
	done := make(chan error)
	go func() {
		_, err := w.Write([]byte("x"))
		done <- err
	}()
	in.Close()
	if err := <-done; !errors.Is(err, syscall.EPIPE) {
		t.Error(err)
	}
}
