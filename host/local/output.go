package local

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/internal/caplog"
)

const (
	tailLines = 20
	maxLine   = 4 << 10 // of a line that is held until it is whole
	maxPrefix = 40      // runes of a title before each line of a parallel step
)

// openLog opens the log of what the steps of the run print, to go on with it.
// Whoever follows the run finds it there.
func (l *segment) openLog() *caplog.Log {
	log := caplog.New(func() (*os.File, error) {
		return os.OpenFile(l.output(), os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	}, l.rt.o.LogMax, l.rt.o.LogFloor)
	_, _ = log.Write(nil) // which opens it
	return log
}

// stepOutput is where all that a step prints goes: to the log, to the events, and
// the end of it into the result.
type stepOutput struct {
	segment *segment
	id      string
	prefix  []byte // of each line; nil where the step runs alone

	mu    sync.Mutex
	lines *lineJoiner // nil where the step runs alone
	last  [][]byte    // whole lines, at most tailLines
	rest  []byte      // of a line that is not whole
}

func (l *segment) newOutput(s *step) *stepOutput {
	o := &stepOutput{segment: l, id: l.info(s).ID}
	if s.phase.parallel {
		o.prefix = []byte("[" + brief.Runes(s.title, maxPrefix) + "] ")
		o.lines = newJoiner(o.give)
	}
	return o
}

// header tells apart, in the log, what the attempts of steps print.
func (o *stepOutput) header(s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.segment.log.Write([]byte(s))
}

// Write takes what a step prints, as it comes. It never fails.
func (o *stepOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.remember(p)
	if o.lines != nil {
		o.lines.add(0, p)
	} else {
		o.give(p)
	}
	return len(p), nil
}

// say prints a sentence of ours, on a line of its own.
func (o *stepOutput) say(format string, args ...any) {
	_, _ = o.Write([]byte(o.segment.mask().Text(fmt.Sprintf(format, args...)) + "\n"))
}

// give passes on what may be shown.
func (o *stepOutput) give(p []byte) {
	if o.prefix != nil {
		p = slices.Concat(o.prefix, p)
	}
	_, _ = o.segment.log.Write(p)
	o.segment.report(&host.StepOutput{StepID: o.id, Data: p})
}

// flush passes on a line that was never ended.
func (o *stepOutput) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lines != nil {
		o.lines.flush()
	}
}

// remember keeps the last lines.
func (o *stepOutput) remember(p []byte) {
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		p = rest
		if room := maxLine - len(o.rest); room > 0 {
			o.rest = append(o.rest, line[:min(room, len(line))]...)
		}
		if whole {
			o.last = append(o.last, o.rest)
			o.rest = nil
			if len(o.last) > tailLines {
				o.last = slices.Delete(o.last, 0, len(o.last)-tailLines)
			}
		}
	}
}

// tail is the end of what was printed.
func (o *stepOutput) tail() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := o.last
	if len(o.rest) > 0 {
		lines = append(slices.Clone(lines), o.rest)
	}
	lines = lines[max(0, len(lines)-tailLines):]
	var text []string
	for _, line := range lines {
		text = append(text, string(bytes.ToValidUTF8(bytes.TrimSuffix(line, []byte("\r")), []byte("\uFFFD"))))
	}
	return text
}

// lineJoiner puts several streams together by whole lines. A line that grows too
// long is ended.
type lineJoiner struct {
	give  func([]byte)
	parts [2][]byte
}

func newJoiner(give func([]byte)) *lineJoiner { return &lineJoiner{give: give} }

// add takes a piece of one stream.
func (j *lineJoiner) add(stream int, p []byte) {
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		part := &j.parts[stream]
		room := maxLine - len(*part)
		if len(line) > room {
			*part = append(*part, p[:room]...)
			p, whole = p[room:], true
		} else {
			*part = append(*part, line...)
			p = rest
		}
		if whole {
			j.end(stream)
		}
	}
}

func (j *lineJoiner) end(stream int) {
	line := append(j.parts[stream], '\n')
	j.parts[stream] = nil
	j.give(line)
}

// flush ends the lines that are not whole.
func (j *lineJoiner) flush() {
	for stream := range j.parts {
		if len(j.parts[stream]) > 0 {
			j.end(stream)
		}
	}
}
