package agent

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/host"
)

// Error codes of our own for stored sessions. None of them, and no text of
// theirs, is one that makes a client start a fresh session and say nothing.
const (
	codeOtherCwd   = 1001 // the session belongs to another directory
	codeUnreadable = 1002 // what is kept of it can't be read
	codeNewer      = 1003 // a newer version wrote it
)

// capabilities are what works.
func (a *Agent) capabilities() acp.AgentCapabilities {
	yes := &struct{}{}
	c := acp.AgentCapabilities{SessionCapabilities: &acp.SessionCapabilities{Close: yes}}
	if a.o.Store != nil {
		c.LoadSession = true
		c.SessionCapabilities.List, c.SessionCapabilities.Resume, c.SessionCapabilities.Delete = yes, yes, yes
	}
	return c
}

// handleStored answers the requests about sessions of the store.
func (c *conn) handleStored(r *acp.Request) error {
	switch r.Method {
	case acp.MethodSessionList:
		return c.listSessions(r)
	case acp.MethodSessionDelete:
		return c.deleteSession(r)
	}
	return c.openSession(r)
}

// openSession is session/load and session/resume. The session is there when the
// next message is read; a replay, which takes its time, is made elsewhere.
func (c *conn) openSession(r *acp.Request) error {
	var req acp.LoadSessionRequest
	if err := r.Decode(&req); err != nil {
		return err
	}
	s, err := c.restore(req.SessionID, req.Cwd)
	if err != nil {
		return err
	}
	if r.Method == acp.MethodSessionResume {
		s.endLast()
		b := c.Batch()
		s.opened(b, r)
		b.Send()
		return nil
	}
	client, before, done := s.Seen(), s.loaded, make(chan struct{})
	s.loaded = done
	c.background(func() { // bounded by what a replay may hold
		defer close(done)
		if before != nil {
			<-before
		}
		c.load(s, r, client)
	})
	return nil
}

// restore finds a session: the live one, whose turn goes on, or that of the
// store.
func (c *conn) restore(id, cwd string) (*session, error) {
	if err := checkDir(cwd); err != nil {
		return nil, acp.Errorf(acp.CodeInvalidParams, "cwd %w", err).With("cwd", cwd)
	}
	rec, err := c.agent.o.Store.Get(context.Background(), id)
	if err != nil {
		return nil, storeError(id, err)
	}
	cwd = filepath.Clean(cwd)
	if checkDir(rec.Cwd) != nil {
		rec.Cwd, rec.Updated = cwd, time.Now().UTC() // its folder is gone, or was moved here
		if err := c.agent.o.Store.Update(context.Background(), rec); err != nil {
			c.agent.o.Log.Warn().Err(err).Msg("the new folder of a session was not kept")
		}
	} else if !sameDir(rec.Cwd, cwd) {
		return nil, acp.Errorf(codeOtherCwd, "this session belongs to %s, and was asked for in %s: open it there", rec.Cwd, cwd).With("sessionId", id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if live := c.sessions[id]; live != nil {
		live.MoveTo(rec.Cwd, c.agent.host(rec.Cwd))
		return live, nil
	}
	s := restored(c, rec)
	c.sessions[id] = s
	return s, nil
}

// sameDir compares directories after symlinks.
func sameDir(a, b string) bool {
	ra, errA := filepath.EvalSymlinks(a)
	rb, errB := filepath.EvalSymlinks(b)
	return errA == nil && errB == nil && ra == rb
}

func storeError(id string, err error) error {
	var e *acp.Error
	switch {
	case errors.Is(err, ErrUnknownSession):
		e = acp.Errorf(acp.CodeResourceNotFound, "session %q is not known here: start one with session/new", id)
	case errors.Is(err, ErrNewerSession):
		e = acp.Errorf(codeNewer, "this session was written by a newer chant-acp, and this one can't open it (%w)", err)
	default:
		e = acp.Errorf(codeUnreadable, "what is kept of this session can't be read (%w); its file was left as it is", err)
	}
	return e.With("sessionId", id)
}

// opened adds the answer to a load or resume, and what a client should know then.
func (s *session) opened(b *acp.Batch, r *acp.Request) {
	s.Refresh()
	b.Reply(r, acp.LoadSessionResponse{ConfigOptions: s.ConfigOptions()})
	s.Notify(b, s.Commands())
}

// load replays the thread, then answers. What the open turn sends meanwhile
// waits: it comes after the answer, and nothing is lost or doubled.
func (c *conn) load(s *session, r *acp.Request, client view.Client) {
	s.Wire.Lock()
	defer s.Wire.Unlock()
	var p view.Past
	turns := 0
	_, err := c.agent.o.Store.Read(context.Background(), s.ID, 0, func(Event) error { turns++; return nil }, EventPrompt)
	var next int64
	if err == nil {
		next, err = c.agent.o.Store.Read(context.Background(), s.ID, RecentTurns, p.Add)
	}
	p.Of(turns)
	if err == nil {
		err = s.endInterrupted(context.Background(), &p, next)
	}
	if err != nil {
		c.unload(s)
		r.Fail(storeError(s.ID, err))
		return
	}
	s.kept.noteRead(nil)
	s.NoteCancelled(p.Events)
	b := c.Batch()
	view.Replay(client, p, s.Running(), func(u acp.SessionUpdate) { s.Notify(b, u) })
	s.opened(b, r)
	b.Send()
}

// unload takes a session back that could not be loaded, unless a turn of it
// runs: what is damaged is not written to.
func (c *conn) unload(s *session) {
	idle := s.Running() == ""
	c.mu.Lock()
	defer c.mu.Unlock()
	if idle && c.sessions[s.ID] == s {
		delete(c.sessions, s.ID)
	}
}

// listSessions answers with a page of the store's list, without sessions in which
// nothing was asked.
func (c *conn) listSessions(r *acp.Request) error {
	var req acp.ListSessionsRequest
	if r.Params != nil {
		if err := r.Decode(&req); err != nil {
			return err
		}
	}
	if req.Cwd != "" && !filepath.IsAbs(req.Cwd) {
		return acp.Errorf(acp.CodeInvalidParams, "cwd is %q: it must be an absolute path", req.Cwd)
	}
	records, next, err := c.agent.o.Store.List(context.Background(), req.Cwd, req.Cursor)
	if errors.Is(err, ErrBadCursor) {
		return acp.Errorf(acp.CodeInvalidParams, "cursor is not one that this list gave: begin without one")
	}
	if err != nil {
		return acp.Errorf(codeUnreadable, "the sessions can't be listed: %w", err)
	}
	resp := acp.ListSessionsResponse{Sessions: []acp.SessionInfo{}, NextCursor: next}
	for _, rec := range records {
		if rec.Title == "" {
			continue // nothing was asked in it
		}
		resp.Sessions = append(resp.Sessions, acp.SessionInfo{
			SessionID: rec.ID, Cwd: rec.Cwd, Title: rec.Title, UpdatedAt: rec.Updated.UTC().Format(time.RFC3339),
		})
	}
	r.Reply(resp)
	return nil
}

// deleteSession ends the session's turn and removes what is kept. One that is
// not there is no error.
func (c *conn) deleteSession(r *acp.Request) error {
	var req acp.SessionRequest
	if err := r.Decode(&req); err != nil {
		return err
	}
	c.mu.Lock()
	s := c.sessions[req.SessionID]
	delete(c.sessions, req.SessionID)
	c.mu.Unlock()
	remove := func() {
		if err := c.agent.o.Store.Delete(context.Background(), req.SessionID); err != nil {
			r.Fail(acp.Errorf(codeUnreadable, "the session was not deleted: %w", err).With("sessionId", req.SessionID))
			return
		}
		r.Reply(struct{}{})
	}
	// It may have to wait for another process's turn.
	if s == nil {
		c.background(remove)
		return nil
	}
	s.Stop(host.StopCancelled)
	s.WhenIdle(func() {
		c.background(func() {
			if s.kept != nil {
				s.kept.closed()
			}
			remove()
		})
	})
	return nil
}
