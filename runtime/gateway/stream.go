package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/runtime/session"
)

// aheadLines is how many lines are read ahead of a reader: they go out together.
const aheadLines = 256

// stream serves GET /sessions/{id}/stream: the output of a session of any kind as
// lines of text, and how it ended.
func (o outputRoutes) stream(w http.ResponseWriter, r *http.Request) error {
	found, err := find(o.registry, r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	lines, err := found.Lines(ctx)
	if err != nil {
		return err
	}
	defer lines.Close()
	ahead := make(chan string, aheadLines)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel(nil)
	var ended error // why there are no more lines; set before ahead is closed
	reading.Go(func() {
		defer close(ahead)
		for {
			line, err := lines.Next(ctx)
			if err != nil {
				ended = err
				return
			}
			select {
			case ahead <- line:
			case <-ctx.Done():
				ended = context.Cause(ctx)
				return
			}
		}
	})
	s, err := o.streams.open(w)
	if err == nil {
		if err = s.lines(ahead); err == nil {
			err = ended
		}
	}
	if errors.Is(err, io.EOF) {
		_ = s.send(exitFrame(found.Info()))
		return nil
	}
	o.streams.end(r, s, err)
	return nil
}

// lines sends lines until there are no more. A reader who takes nothing is an
// error.
func (s *sse) lines(ahead <-chan string) error {
	quiet := time.NewTimer(s.times.keepAlive)
	defer quiet.Stop()
	for {
		var texts [][]byte
		select {
		case line, ok := <-ahead:
			if !ok {
				return nil
			}
			texts = append(texts, sseFrame("", "", line))
			for more := len(ahead); more > 0; more-- {
				if line, ok = <-ahead; ok {
					texts = append(texts, sseFrame("", "", line))
				}
			}
		case <-quiet.C:
			texts = append(texts, []byte(": still here\n\n"))
		}
		if err := s.send(texts...); err != nil {
			return err
		}
		quiet.Reset(s.times.keepAlive)
	}
}

// exitFrame is the last event of a session that has ended.
func exitFrame(info session.Info) []byte {
	raw, _ := json.Marshal(struct {
		ExitCode *int   `json:"exitCode"`
		Signal   string `json:"signal,omitempty"`
		Reason   string `json:"reason,omitempty"`
	}{info.ExitCode, info.Signal, info.Reason})
	return sseFrame("", "exit", string(raw))
}
