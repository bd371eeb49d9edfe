package session

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/chant-acp/chant-acp/acp"
)

// RequestPermission keeps a question of the agent until it is answered. Nothing is ever answered by
// itself.
func (a *agentSide) RequestPermission(ctx context.Context, ask acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	r := a.open(ask)
	select {
	case option := <-r.answer:
		return permission(option), nil
	case <-ctx.Done():
	}
	a.session.change(func(i *Info) []notice {
		notices := a.closeRequests(func(open *request) bool { return open == r })
		a.show(i)
		return notices
	})
	return permission(<-r.answer), nil // an answer may have come at the same moment
}

func permission(option string) acp.RequestPermissionResponse {
	outcome := acp.PermissionOutcome{Outcome: acp.OutcomeCancelled}
	if option != "" {
		outcome = acp.PermissionOutcome{Outcome: acp.OutcomeSelected, OptionID: option}
	}
	return acp.RequestPermissionResponse{Outcome: outcome}
}

// open lists a request, or cancels it: one of another session, of a turn that was cancelled, or one
// too many.
func (a *agentSide) open(ask acp.RequestPermissionRequest) *request {
	r := &request{answer: make(chan string, 1)}
	a.session.change(func(i *Info) []notice {
		r.turn = a.turn
		if a.leaving || ask.SessionID != a.id || len(a.requests) >= maxRequests || r.turn != nil && r.turn.cancelled {
			r.answer <- ""
			return nil
		}
		a.asked++
		r.PermissionRequest = PermissionRequest{ID: "r" + strconv.Itoa(a.asked), ToolCall: ask.ToolCall, Options: ask.Options, Since: time.Now(), Meta: ask.Meta}
		if r.turn != nil {
			r.Turn = r.turn.number
		}
		a.requests = append(a.requests, r)
		a.show(i)
		return []notice{{EventRequestOpened, r.PermissionRequest}}
	})
	return r
}

// closeRequests cancels those that which says; the caller holds the lock.
func (a *agentSide) closeRequests(which func(*request) bool) (notices []notice) {
	a.requests = slices.DeleteFunc(a.requests, func(r *request) bool {
		if !which(r) {
			return false
		}
		r.answer <- ""
		notices = append(notices, notice{EventRequestClosed, RequestClosed{ID: r.ID}})
		return true
	})
	return notices
}

// Requests returns the open permission requests, the oldest first.
func (s *Session) Requests() []PermissionRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agent == nil {
		return nil
	}
	open := make([]PermissionRequest, len(s.agent.requests))
	for i, r := range s.agent.requests {
		open[i] = r.PermissionRequest
	}
	return open
}

// Answer answers an open permission request. The error is ErrNoSuchRequest, a *BadOptionError, or
// ErrWrongKind.
func (s *Session) Answer(id, optionID string) (err error) {
	a := s.agent
	if a == nil {
		return s.notAnAgent()
	}
	s.change(func(i *Info) []notice {
		at := slices.IndexFunc(a.requests, func(r *request) bool { return r.ID == id })
		if at < 0 {
			err = ErrNoSuchRequest
			return nil
		}
		r := a.requests[at]
		if err = r.check(optionID); err != nil {
			return nil
		}
		a.requests = slices.Delete(a.requests, at, at+1)
		r.answer <- optionID
		a.show(i)
		return []notice{{EventRequestClosed, RequestClosed{ID: id, OptionID: optionID}}}
	})
	return err
}

func (r *request) check(optionID string) error {
	bad := &BadOptionError{Request: r.ID, Option: optionID}
	for _, o := range r.Options {
		if o.OptionID == optionID && optionID != "" {
			return nil
		}
		bad.Options = append(bad.Options, o.OptionID)
	}
	return bad
}
