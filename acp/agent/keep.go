package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/command"
)

// keptPrompt bounds what is kept of the texts of a prompt, in bytes of JSON. A
// command line is never longer; what is, was refused.
const keptPrompt = 64 << 10

// codesNotKept marks the codes that no other process can come to know; the
// caller holds the session's lock.
func (s *session) codesNotKept(events []Event) {
	for _, e := range events {
		if e.Code == nil {
			continue
		}
		if p, ok := s.pending[e.Code.Code]; ok {
			p.unkept = true
			s.pending[e.Code.Code] = p
		}
	}
}

// use keeps, before it returns, that a code is used up.
func (t *turn) use(code string) error { return t.writeNow(Event{Kind: EventUsed, Text: code}) }

// tell passes the turns that ended on to who wants to know, in their order.
func (s *session) tell() {
	s.telling.Lock()
	defer s.telling.Unlock()
	for {
		s.mu.Lock()
		if len(s.untold) == 0 {
			s.mu.Unlock()
			return
		}
		turn, r := s.untold[0], s.record()
		s.untold = s.untold[1:]
		s.mu.Unlock()
		s.conn.agent.o.TurnEnded(r, turn)
	}
}

// promptEvent is what is kept of the prompt.
func (t *turn) promptEvent() Event {
	blocks, room := slices.Clone(t.blocks[:min(len(t.blocks), 64)]), keptPrompt
	for i := range blocks {
		blocks[i].Text = view.Cut(blocks[i].Text, max(room, len("…")))
		room -= view.JSONLen(blocks[i].Text)
		blocks[i].Data, blocks[i].Resource = "", shortResource(blocks[i].Resource)
		for _, field := range []*string{&blocks[i].URI, &blocks[i].Name, &blocks[i].Title, &blocks[i].MimeType} {
			*field = view.Cut(*field, view.FieldBytes)
		}
		blocks[i].Meta = nil
	}
	return Event{Kind: EventPrompt, Prompt: blocks, Client: t.client.Name}
}

// shortResource keeps the name of an embedded resource, which is refused anyway.
func shortResource(r *acp.EmbeddedResource) *acp.EmbeddedResource {
	if r == nil {
		return nil
	}
	empty := ""
	return &acp.EmbeddedResource{URI: view.Cut(r.URI, view.FieldBytes), Text: &empty}
}

// later leaves the rest of the turn to its goroutine, which has the thread for
// itself: no other process runs a turn of it meanwhile. inv is the command, nil
// where that is not known yet.
func (t *turn) later(inv *command.Invocation, next func() end) end {
	return t.aside(func() end {
		store := t.conn.agent.o.Store
		if store == nil {
			return next()
		}
		release, err := store.Lock(t.context(), t.session.id)
		if err == nil {
			t.release = release
			t.session.bar(&t.session.keeping.unlocked, nil)
		}
		var held *SessionHeldError
		switch {
		case t.context().Err() != nil && inv != nil:
			return t.stoppedBeforeStart(inv.Line).of(inv)
		case t.context().Err() != nil:
			return t.stoppedBeforeStart("")
		case errors.As(err, &held):
			return t.refuse(fmt.Errorf("nothing was run: process %d runs a command in this thread. Wait for it to end, or start a new thread", held.PID))
		case err != nil:
			t.session.bar(&t.session.keeping.unlocked, err)
		}
		return next()
	})
}

// aside leaves the rest of the turn to its goroutine. The prompt is kept before
// that waits for anything; where nothing waits, all is kept at once.
func (t *turn) aside(next func() end) end {
	t.Flush()
	t.next = next
	return end{}
}

// catchUp takes note of what other processes did in this thread. An error leaves
// things as they are known.
func (s *session) catchUp(ctx context.Context) {
	store := s.conn.agent.o.Store
	if store == nil {
		return
	}
	s.mu.Lock()
	from := s.position
	s.mu.Unlock()
	next, err := store.Read(ctx, s.id, from, func(e Event) error {
		if !s.own(e.Turn) {
			s.apply(e)
		}
		return nil
	})
	if err == nil || ctx.Err() == nil {
		s.bar(&s.keeping.unread, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.position = next
	s.sortHistory()
}

// own says whether this session object ran the turn: what it did it knows
// without reading. A session that was closed and opened again is another.
func (s *session) own(turn string) bool {
	count, ok := strings.CutPrefix(turn, s.conn.instance()+".")
	n, err := strconv.ParseUint(count, 10, 64)
	return ok && err == nil && n > s.after
}

// apply takes an event of the past into what is known of the session.
func (s *session) apply(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Kind == EventEnd && e.End != nil && e.End.Line != "":
		s.history = append(s.history, entry{line: e.End.Line, state: e.End.State, ran: e.End.Ran, at: e.Time, took: e.End.Took, client: e.Client})
		if len(s.history) > 2*maxHistory {
			s.sortHistory()
		}
	case e.Kind == EventCode && e.Code != nil && e.Code.Subject != nil:
		s.guesses = 0
		s.pending[e.Code.Code] = pendingConfirm{
			words: e.Code.Words, env: e.Code.Environment, asked: asked{*e.Code.Subject, e.Time}, until: e.Code.Until,
		}
	case e.Kind == EventUsed:
		s.use(e.Text)
	}
}

// record is what is kept of the session beside its events; the caller holds the
// session's lock.
func (s *session) record() SessionRecord {
	env := s.env
	if env == "" {
		env = noEnvironment
	}
	return SessionRecord{
		ID: s.id, Cwd: s.dir, Title: s.title, Options: map[string]string{"env": env, "output": s.output},
		Created: s.created, Updated: time.Now().UTC(),
	}
}

// update keeps a changed record.
func (s *session) update() {
	store := s.conn.agent.o.Store
	if store == nil {
		return
	}
	s.mu.Lock()
	r := s.record()
	s.mu.Unlock()
	if kept, err := store.Get(context.Background(), s.id); err == nil {
		r.Cwd = kept.Cwd                      // another process may have found the folder elsewhere,
		r.Title = cmp.Or(kept.Title, r.Title) // or run the first command
	}
	if err := store.Update(context.Background(), r); err != nil {
		s.missed(err)
	}
}
