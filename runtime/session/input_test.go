package session

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// slowWriter takes what is written when it is told to, and fails once it is closed.
type slowWriter struct {
	take   chan int
	closed chan struct{}
	got    bytes.Buffer
}

func (w *slowWriter) Write(p []byte) (int, error) {
	select {
	case <-w.take:
		return w.got.Write(p)
	case <-w.closed:
		return 0, errors.New("closed")
	}
}

func (w *slowWriter) Close() error {
	close(w.closed)
	return nil
}

func TestInputIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{take: make(chan int), closed: make(chan struct{})}
		in := newInput(w)
		end := make(chan struct{})
		go in.run(end)
		want := bytes.Repeat([]byte("0123456789abcdef"), inputSize/16)
		if err := in.put(t.Context(), want); err != nil {
			t.Error(err)
		}
		began := time.Now()
		if err := in.put(t.Context(), []byte("x")); !errors.Is(err, ErrInputFull) || time.Since(began) != inputWait {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := in.put(ctx, []byte("x")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		for range inputSize / inputPiece {
			w.take <- 1
		}
		synctest.Wait()
		if !bytes.Equal(w.got.Bytes(), want) {
			t.Errorf("%d bytes were written", w.got.Len())
		}
		if err := in.put(t.Context(), want); err != nil {
			t.Error(err)
		}
		waiting := make(chan error)
		go func() { waiting <- in.put(t.Context(), []byte("x")) }()
		synctest.Wait()
		w.Close()
		if err := <-waiting; !errors.Is(err, ErrEnded) {
			t.Errorf("%v", err)
		}
		if err := in.put(t.Context(), []byte("x")); !errors.Is(err, ErrEnded) {
			t.Errorf("%v", err)
		}
	})
}

// lineTerminal is a terminal that collects lines.
type lineTerminal struct{ slowWriter }

func (*lineTerminal) LineMode() (byte, bool) { return 4, true }

// A line is handed over only after a byte that is part of it: elsewhere the character means the end
// of the input.
func TestInputHandsLinesOver(t *testing.T) {
	long := bytes.Repeat([]byte("a"), lineLimit)
	for name, c := range map[string]struct {
		in  []byte
		n   int
		eof byte
	}{
		"short":                   {[]byte("abc"), 3, 0},
		"short lines":             {bytes.Repeat([]byte("ab\n"), lineLimit), 3 * lineLimit, 0},
		"long":                    {append(bytes.Clone(long), "bc"...), lineLimit, 4},
		"an edit at the limit":    {append(bytes.Clone(long[1:]), "\x15b"...), lineLimit + 1, 4},
		"nothing but edits":       {bytes.Repeat([]byte("\x7f"), 2*lineLimit), 2 * lineLimit, 0},
		"a new line at the limit": {append(bytes.Clone(long[1:]), "\nb"...), lineLimit + 1, 0},
	} {
		in := newInput(new(lineTerminal))
		if n, eof := in.untilHandOver(c.in); n != c.n || eof != c.eof {
			t.Errorf("%s: %d %d, want %d %d", name, n, eof, c.n, c.eof)
		}
	}
}
