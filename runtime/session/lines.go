package session

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/chant-acp/chant-acp/internal/termtext"
)

// Lines is a subscription to lines of text.
type Lines struct {
	reader *reader
	text   termtext.Lines
	rest   []byte // taken and not looked at; valid until the next take
	cut    bool   // what comes first may be the end of a line
	ended  bool
	unhook func() bool
}

// Lines subscribes to the output of a session of any kind as lines of text without escape
// sequences: those that are there, and those that come. The lines of an agent are what it says. A
// line of more than 4 KiB goes on in the next. The subscriber is held to the same pace as a
// [Watcher]. The subscription ends with ctx, too. The error is ErrEnded where nothing is left.
func (s *Session) Lines(ctx context.Context) (*Lines, error) {
	if s.feed == nil {
		return nil, ErrEnded
	}
	l := new(Lines)
	l.reader, l.cut = s.feed.subscribe(nil)
	l.unhook = context.AfterFunc(ctx, l.reader.close)
	return l, nil
}

// Next returns the next line, without its end. An unfinished one is returned at the end. The error
// is that of [Watcher.Read]. One goroutine calls Next.
func (l *Lines) Next(ctx context.Context) (string, error) {
	for {
		line, n := l.text.Next(l.rest)
		l.rest = l.rest[n:]
		if line != nil {
			return strings.TrimSuffix(string(line), "\n"), nil
		}
		if l.ended {
			return "", io.EOF
		}
		p, err := l.reader.take(ctx)
		if errors.Is(err, io.EOF) {
			l.ended = true
			if last := l.text.End(); len(last) > 0 {
				return string(last), nil
			}
		}
		if err != nil {
			return "", err
		}
		if l.cut {
			p, l.cut = termtext.AlignStart(p), false
		}
		l.rest = p
	}
}

// Close ends the subscription, and a Next under way with it. It may be called more than once.
func (l *Lines) Close() {
	l.unhook()
	l.reader.close()
}
