package session

import (
	"cmp"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/host/process"
)

// adoptedRest is how long the output of an adopted child that has ended is read on, before it is
// closed.
const adoptedRest = time.Second

// Register lists a child that somebody else started. The error is a *BadNameError or ErrShutdown;
// the child is asked to end where it can't be listed.
func (r *Registry) Register(a Adopted) (*Session, error) {
	if err := checkName(a.Name); err != nil {
		return nil, err
	}
	if a.Wait == nil || a.Stop == nil {
		return nil, errors.New("a child without Wait and Stop can't be seen to")
	}
	if err := r.begin(); err != nil {
		return nil, err
	}
	s := r.newSession(cmp.Or(a.Kind, KindProcess), a.Name, a.Argv, a.Cwd)
	s.info.MCP = a.MCP
	if err := s.adopt(&adopted{Adopted: a, feed: s.feed}, a.Input); err != nil {
		return nil, err
	}
	return s, nil
}

// adopted makes a child of what somebody else started.
type adopted struct {
	Adopted
	feed *feed
}

func (a *adopted) PID() int { return a.Adopted.PID }

func (a *adopted) Stop(process.Cause) { a.Adopted.Stop() }

// Wait implements child: the child's end, and the rest of its output for a moment
// longer.
func (a *adopted) Wait() process.Exit {
	began := time.Now()
	var reading sync.WaitGroup
	read := make(chan struct{})
	reading.Go(func() { // ends with the output, which is closed below
		defer close(read)
		if a.Output != nil {
			_, _ = io.Copy(feedWriter{a.feed}, a.Output)
		}
	})
	code, signal := a.Adopted.Wait()
	if closer, ok := a.Output.(io.Closer); ok {
		limit := time.NewTimer(adoptedRest)
		defer limit.Stop()
		select {
		case <-read:
		case <-limit.C:
		}
		_ = closer.Close()
	}
	reading.Wait()
	return process.Exit{Code: code, Signal: signal, Duration: time.Since(began)}
}

// feedWriter makes an io.Writer of a feed.
type feedWriter struct{ feed *feed }

func (w feedWriter) Write(p []byte) (int, error) {
	w.feed.write(p)
	return len(p), nil
}
