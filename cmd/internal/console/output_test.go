package console

import (
	"io"
	"syscall"
	"testing"
)

func TestOutputRemembersItsFirstError(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		quiet bool
	}{{"full", syscall.ENOSPC, false}, {"nobody reads", syscall.EPIPE, true}} {
		w := &failing{errs: []error{nil, c.err, nil}}
		o := &Output{to: w}
		if _, err := io.WriteString(o, "a"); err != nil || o.Lost() != nil {
			t.Errorf("%s: %v, %v before anything failed", c.name, err, o.Lost())
		}
		for range 2 {
			if n, err := io.WriteString(o, "b"); n != 0 || err == nil || err != o.Lost() {
				t.Errorf("%s: %d, %v, but %v is remembered", c.name, n, err, o.Lost())
			}
		}
		if w.calls != 2 {
			t.Errorf("%s: written %d times, and the second failed", c.name, w.calls)
		}
		if err := withLost(nil, o.Lost()); (err.Error() == "") != c.quiet {
			t.Errorf("%s: it says %q", c.name, err)
		}
	}
}

// failing is a writer whose writes end in turn with errs.
type failing struct {
	errs  []error
	calls int
}

func (f *failing) Write(p []byte) (int, error) {
	f.calls++
	if err := f.errs[f.calls-1]; err != nil {
		return 0, err
	}
	return len(p), nil
}
