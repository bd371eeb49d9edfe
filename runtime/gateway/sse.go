package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/runtime/session"
)

// pace is the least time between two writes of events: what happens in between
// goes out at once. It is what makes many readers affordable.
const pace = 20 * time.Millisecond

// sse is a stream of server-sent events to one client.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	times   times
}

// streams opens and ends streams of server-sent events.
type streams struct {
	log   zerolog.Logger
	times times
}

// open begins a stream.
func (t streams) open(w http.ResponseWriter) (*sse, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // for proxies that would collect it
	s := &sse{w, http.NewResponseController(w), t.times}
	w.WriteHeader(http.StatusOK)
	return s, s.send([]byte(": here\n\n"))
}

// errStalled is why a reader is closed who takes nothing.
var errStalled = errors.New("the reader took nothing for too long")

// send writes texts and sees them on their way.
func (s *sse) send(texts ...[]byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.times.write)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	for _, text := range texts {
		if _, err := s.w.Write(text); err != nil {
			return stalled(err)
		}
	}
	return stalled(s.control.Flush())
}

func stalled(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errStalled
	}
	return err
}

// eventRoutes tell what happens, as it happens.
type eventRoutes struct {
	hub     *hub
	streams streams
}

func (e eventRoutes) routes() []route {
	return []route{{"GET", "/events", needRead, true, e.events}}
}

// events serves GET /events.
func (e eventRoutes) events(w http.ResponseWriter, r *http.Request) error {
	cursor, missed := e.hub.from(r.Header.Get("Last-Event-ID"))
	s, err := e.streams.open(w)
	if err == nil && missed != nil {
		var text []byte
		if text, err = gapFrame(missed); err == nil {
			err = s.send(text)
		}
	}
	if err == nil {
		err = e.follow(r.Context(), s, cursor)
	}
	e.streams.end(r, s, err)
	return nil
}

// follow sends events until the stream can't go on, and returns why.
func (e eventRoutes) follow(ctx context.Context, s *sse, cursor uint64) error {
	quiet := time.NewTimer(s.times.keepAlive)
	defer quiet.Stop()
	rest := time.NewTimer(pace)
	defer rest.Stop()
	var buffer [][]byte
	for {
		events, next, more, err := e.hub.take(cursor, buffer[:0])
		if err != nil {
			return err
		}
		cursor, buffer = next, events
		if len(events) == 0 {
			select {
			case <-more:
			case <-quiet.C:
				if err := s.send([]byte(": still here\n\n")); err != nil {
					return err
				}
				quiet.Reset(s.times.keepAlive)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			continue
		}
		if err := s.send(events...); err != nil {
			return err
		}
		clear(events) // lets go of events that the ring drops meanwhile
		quiet.Reset(s.times.keepAlive)
		rest.Reset(pace)
		select {
		case <-rest.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// end says why a stream ends, to its reader where it can still take it, and
// to the log where that is worth knowing.
func (t streams) end(r *http.Request, s *sse, why error) {
	if why == nil {
		return
	}
	if errors.Is(why, errLagging) || errors.Is(why, errStalled) || errors.Is(why, session.ErrStalled) {
		t.log.Warn().Err(why).Str("route", r.Pattern).Str("from", r.RemoteAddr).Msg("a slow reader was closed")
	}
	if !errors.Is(why, errStalled) {
		_ = s.send(closing(why)) // one that is gone is not told
	}
}

func gapFrame(missed *gap) ([]byte, error) {
	raw, err := json.Marshal(missed)
	if err != nil {
		return nil, fmt.Errorf("telling a gap: %w", err)
	}
	return sseFrame("", "gap", string(raw)), nil
}
