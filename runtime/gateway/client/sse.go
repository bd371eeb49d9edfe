package client

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// maxBlock is the longest event that is read, in bytes.
const maxBlock = 1 << 20

// errLongEvent is why a stream is not read on.
var errLongEvent = errors.New("an event is longer than 1 MiB")

// block is one event of a stream of server-sent events.
type block struct {
	id   string // the last that was given, of this event or an earlier one
	kind string // "message" where none is given
	data string
}

// sseReader reads server-sent events as the HTML standard says, section 9.2.6.
type sseReader struct {
	in    *bufio.Reader
	begun bool
	cr    bool          // the last line ended with a carriage return: a line feed belongs to it
	id    string        // the last event's that is whole
	given string        // the one that the event under way has so far
	retry time.Duration // how long to wait before the next try, where the server says so
}

func newSSEReader(r io.Reader) *sseReader { return &sseReader{in: bufio.NewReaderSize(r, 16<<10)} }

// begin sets the id that counts until an event gives another.
func (s *sseReader) begin(id string) { s.id, s.given = id, id }

// next returns the next event. An event that the end cuts short is none: the error
// then is io.EOF, as it is after the last one.
func (s *sseReader) next() (block, error) {
	var kind string
	var data strings.Builder
	some := false
	for {
		line, err := s.line(maxBlock - data.Len())
		if err != nil {
			return block{}, err
		}
		if line == "" {
			s.id = s.given
			if some {
				if kind == "" {
					kind = "message"
				}
				return block{s.id, kind, strings.TrimSuffix(data.String(), "\n")}, nil
			}
			kind = ""
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			if !strings.ContainsRune(value, 0) {
				s.given = value
			}
		case "event":
			kind = value
		case "data":
			some = true
			data.WriteString(value + "\n")
		case "retry":
			s.setRetry(value)
		}
	}
}

// setRetry takes a number of milliseconds, up to a minute.
func (s *sseReader) setRetry(value string) {
	if ms, err := strconv.ParseUint(value, 10, 32); err == nil {
		s.retry = min(time.Duration(ms)*time.Millisecond, time.Minute)
	}
}

// line reads a line of at most limit bytes, without its end: CR LF, LF, or CR.
func (s *sseReader) line(limit int) (string, error) {
	var line []byte
	for {
		c, err := s.in.ReadByte()
		if err != nil {
			return "", err
		}
		after := s.cr
		s.cr = c == '\r'
		switch {
		case c == '\n' && after:
			continue
		case c == '\n', c == '\r':
			text := string(line)
			if !s.begun {
				text, s.begun = strings.TrimPrefix(text, "\ufeff"), true
			}
			return text, nil
		case len(line) >= limit:
			return "", errLongEvent
		}
		line = append(line, c)
	}
}
