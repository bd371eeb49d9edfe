// Package conversation is the markdown form of a thread: a file a person can
// read, diff and edit, of the format conversation/v1. A file is front matter and
// one block a turn:
//
//	---
//	schema: conversation/v1
//	id: sess_1
//	agent: chant-acp
//	started: 2026-11-01T12:00:00.000Z
//	status: open
//	---
//
//	## user — 2026-11-01T12:00:00.000Z (zed)
//
//	what was said
//
// A line of content that would read as the heading of a turn gets a backslash in
// front, which markdown does not show: nothing that is said can pass for a turn of its
// own, here or for other readers of the format.
//
// Begin with turnReader, which makes markdown of the events of one turn. [Append] adds
// the [Turns] of events to a file; [Document] writes a whole thread.
package conversation

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// Status says whether a conversation goes on.
type Status string

// The states of a conversation.
const (
	Open   Status = "open"
	Closed Status = "closed"
)

// Role says who speaks in a turn.
type Role string

// The roles of the format.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	System    Role = "system"
)

// Meta is a conversation's front matter.
type Meta struct {
	ID      string
	Agent   string    // "unknown" if nobody is named
	Started time.Time // zero if it is not said; kept to the millisecond
	Status  Status
}

// Turn is what one side said at once.
type Turn struct {
	Role        Role
	At          time.Time // zero if it can't be read; kept to the millisecond
	Attribution string    // who it was, as a client's name; one line without parentheses
	Content     string    // markdown without white space around it
}

// errNoFrontMatter says that a file is not a conversation.
var errNoFrontMatter = errors.New("the file does not start with the front matter of a conversation")

const (
	unknownAgent = "unknown"
	stamp        = "2006-01-02T15:04:05.000Z"
)

func (m Meta) canonical() Meta {
	m.Agent = oneLine(m.Agent)
	if m.Agent == "" {
		m.Agent = unknownAgent
	}
	m.Started = millis(m.Started)
	if m.Status != Closed {
		m.Status = Open
	}
	return m
}

func (t Turn) canonical() Turn {
	switch t.Role {
	case User, Assistant:
	default:
		t.Role = System
	}
	t.At = millis(t.At)
	t.Attribution = oneLine(strings.NewReplacer("(", "[", ")", "]").Replace(t.Attribution))
	t.Content = trim(plainLines(t.Content))
	return t
}

// plainLines is text that is UTF-8, in lines that end in \n.
func plainLines(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if !strings.ContainsAny(s, "\r\x00") { // nearly always
		return s
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\ufffd").Replace(s)
}

func millis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// oneLine is a name that stays in its line.
func oneLine(s string) string {
	return trim(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || space(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd")))
}

// space is white space as the format's first implementation knows it
// (ECMAScript's \s and trim).
func space(r rune) bool { return r != '\u0085' && (unicode.IsSpace(r) || r == '\ufeff') }

func trim(s string) string { return strings.TrimFunc(s, space) }

func (m Meta) writeMeta(b io.Writer) {
	m = m.canonical()
	started := ""
	if !m.Started.IsZero() {
		started = m.Started.Format(stamp)
	}
	fmt.Fprintf(b, "---\nschema: conversation/v1\nid: %s\nagent: %s\nstarted: %s\nstatus: %s\n---\n\n", m.ID, m.Agent, started, m.Status)
}

func (t Turn) write(w io.Writer) {
	t = t.canonical()
	t.writeHeading(w)
	l := lines{w: w}
	l.write(t.Content)
	l.end()
}

func (t Turn) writeHeading(w io.Writer) {
	fmt.Fprintf(w, "## %s — %s", t.Role, t.At.Format(stamp))
	if t.Attribution != "" {
		fmt.Fprintf(w, " (%s)", t.Attribution)
	}
	_, _ = io.WriteString(w, "\n\n") // w remembers its errors
}

// parseMeta reads the front matter and returns what follows it. What it leaves out is
// filled in; id, the file's, also stands in for one that could not be a file's.
func parseMeta(id string, raw []byte) (m Meta, body string, err error) {
	text := strings.TrimPrefix(string(raw), "\ufeff")
	if strings.HasPrefix(text, "---\r\n") { // from an editor that ends lines so
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	text, ok := strings.CutPrefix(text, "---\n")
	front, body, end := strings.Cut(text, "\n---\n")
	if !ok || !end {
		return Meta{}, "", errNoFrontMatter
	}
	m = Meta{ID: id, Agent: unknownAgent, Status: Open}
	for line := range strings.SplitSeq(front, "\n") {
		key, value, ok := strings.Cut(line, ":")
		if !ok || key == "" {
			continue
		}
		value = trim(value)
		switch trim(key) {
		case "id":
			m.ID = value
		case "agent":
			m.Agent = value
		case "started":
			m.Started = parseTime(value)
		case "status":
			m.Status = Status(value)
		}
	}
	if !validID(m.ID) {
		m.ID = id
	}
	if m.Agent == "" {
		m.Agent = unknownAgent
	}
	if m.Status != Closed {
		m.Status = Open
	}
	return m, body, nil
}

func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

const dash = "—"

// headingLike is true of every line that a reader of the format takes for the heading
// of a turn, and of some more.
func headingLike(line string) bool {
	_, _, ok := cutHeading(line)
	return ok
}

// cutHeading splits "## role —" off.
func cutHeading(line string) (Role, string, bool) {
	rest, ok := strings.CutPrefix(line, "##")
	if !ok || !startsWithSpace(rest) {
		return "", "", false
	}
	rest = strings.TrimLeftFunc(rest, space)
	for _, role := range []Role{User, Assistant, System} {
		after, ok := strings.CutPrefix(rest, string(role))
		if !ok || !startsWithSpace(after) {
			continue
		}
		after, ok = strings.CutPrefix(strings.TrimLeftFunc(after, space), dash)
		return role, after, ok
	}
	return "", "", false
}

func startsWithSpace(s string) bool {
	for _, r := range s {
		return space(r)
	}
	return false
}
