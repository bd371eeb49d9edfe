package session

import (
	"context"
	"sync"
)

// Watcher is one who watches a terminal.
type Watcher struct {
	session    *Session
	reader     *reader
	cols, rows int // under the session's lock; 0: no size of its own
	closing    sync.Once
}

// Attach makes a watcher of a terminal: what is there and what comes are taken under one lock, so
// that nothing is missed or doubled. The terminal takes the smallest size of its watchers, and
// keeps the last one when they are gone. Both 0: the watcher has no size of its own. A terminal
// that has ended can be watched too: what is left of it, then the end. The error is a
// *BadSizeError, ErrWrongKind, or ErrEnded where nothing is left.
func (s *Session) Attach(cols, rows int) (*Watcher, error) {
	if cols != 0 || rows != 0 {
		if err := checkSize(cols, rows); err != nil {
			return nil, err
		}
	}
	switch {
	case s.kind != KindTerminal:
		return nil, ErrWrongKind
	case s.feed == nil:
		return nil, ErrEnded
	}
	w := &Watcher{session: s, cols: cols, rows: rows}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registry.version.Add(1)
	w.reader, _ = s.feed.subscribe(w.leave)
	if s.watchers == nil {
		s.watchers = make(map[*Watcher]struct{})
	}
	s.watchers[w] = struct{}{}
	s.resize()
	return w, nil
}

// resize gives the terminal the smallest size of its watchers; the caller holds the lock.
func (s *Session) resize() {
	cols, rows := 0, 0
	for w := range s.watchers {
		if w.cols != 0 && (cols == 0 || w.cols < cols) {
			cols = w.cols
		}
		if w.rows != 0 && (rows == 0 || w.rows < rows) {
			rows = w.rows
		}
	}
	if cols == 0 || rows == 0 || cols == s.info.Cols && rows == s.info.Rows || s.info.State == StateEnded {
		return
	}
	sized, ok := s.child.(interface{ Resize(cols, rows uint16) error })
	if ok && sized.Resize(uint16(cols), uint16(rows)) == nil { // it fails when the terminal has just ended
		s.info.Cols, s.info.Rows = cols, rows
	}
}

// leave takes the watcher's size away.
func (w *Watcher) leave() {
	s := w.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registry.version.Add(1)
	delete(s.watchers, w)
	s.resize()
}

// Read returns the next bytes, at least one, valid until the next Read: first what was there, then
// what comes. A rune is never split, as far as the output is UTF-8. The error is io.EOF after the
// end of the terminal and its output, ErrStalled when the watcher was dropped, or the cause of ctx.
// One goroutine reads.
func (w *Watcher) Read(ctx context.Context) ([]byte, error) { return w.reader.take(ctx) }

// Progress says that a part of what Read returned has arrived: who takes a little at a time is
// slow, and not dropped for taking nothing.
func (w *Watcher) Progress() { w.reader.progress() }

// Write is [Session.WriteTerminal].
func (w *Watcher) Write(ctx context.Context, p []byte) error { return w.session.WriteTerminal(ctx, p) }

// Resize changes the watcher's size. The error is a *BadSizeError, or ErrEnded.
func (w *Watcher) Resize(cols, rows int) error {
	if err := checkSize(cols, rows); err != nil {
		return err
	}
	s := w.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.info.State == StateEnded {
		return ErrEnded
	}
	s.registry.version.Add(1)
	w.cols, w.rows = cols, rows
	s.resize()
	return nil
}

// Exit tells how the terminal's program ended. ok is false while it runs, and when the end was not
// seen.
func (w *Watcher) Exit() (code int, signal string, ok bool) {
	info := w.session.Info()
	if info.ExitCode == nil {
		return 0, "", false
	}
	return *info.ExitCode, info.Signal, true
}

// Close ends the watch, and a Read under way with it. It may be called more than once.
func (w *Watcher) Close() {
	w.closing.Do(func() {
		w.reader.close()
		w.leave()
	})
}

func checkSize(cols, rows int) error {
	if cols < 1 || rows < 1 || cols > MaxSize || rows > MaxSize {
		return &BadSizeError{Cols: cols, Rows: rows}
	}
	return nil
}
