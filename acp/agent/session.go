package agent

import (
	"context"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent/turn"
)

// session is one thread at one connection.
type session struct {
	*turn.Thread
	conn *conn
	// kept is how it is kept; nil without a store.
	kept    *keptThread
	created time.Time
	// loaded, of the reading goroutine alone, is closed when the load that was
	// asked for last is answered; nil without one.
	loaded chan struct{}
}

func newSession(c *conn, id, dir string) *session {
	a := c.agent
	s := &session{Thread: turn.NewThread(c.Conn, id, dir, a.host(dir), a.o.Output), conn: c, created: time.Now().UTC()}
	if a.o.Store != nil {
		s.kept = &keptThread{session: s, store: a.o.Store, o: &a.o}
		s.KeepIn(s.kept)
	}
	return s
}

// restored makes the session of a record.
func restored(c *conn, r SessionRecord) *session {
	s := newSession(c, r.ID, r.Cwd)
	s.created = r.Created
	s.Restore(r.Title, r.Typed, r.Options)
	return s
}

// record is what is kept of the session beside its events.
func (s *session) record() SessionRecord {
	title, typed, dir, options := s.State()
	return SessionRecord{ID: s.ID, Cwd: dir, Title: title, Typed: typed, Options: options, Created: s.created, Updated: time.Now().UTC()}
}

// follow looks at the allow-list anew, and goes where the session was opened
// since, when its directory is gone.
func (s *session) follow() {
	allow := s.Refresh()
	dir := s.Dir()
	if s.kept == nil || allow.ManifestDir == dir || syscall.Access(dir, 1 /* X_OK */) == nil {
		return
	}
	if rec, err := s.kept.store.Get(context.Background(), s.ID); err == nil && checkDir(rec.Cwd) == nil {
		s.MoveTo(rec.Cwd, s.conn.agent.host(rec.Cwd))
		s.Refresh()
	}
}
