package conversation

import (
	"io"
	"strings"

	"github.com/chant-acp/chant-acp/internal/termtext"
)

// blocks puts the parts of an answer, which come in pieces, one below the other.
// What a fence around output must be is known only when all of the output is: a
// first pass, without write, notes it in marks, a second one takes it from there.
type blocks struct {
	write func(string)
	marks []int // of each output: the length of its fence, 0 if there is nothing to show

	part     part // the open one, without its text
	open     bool
	shown    bool // something of the open one
	before   bool // something of another
	newlines int  // held back: they may be the last ones
	lines    *termtext.Lines
	mark     int
}

func (b *blocks) add(p part) {
	if !b.open || !p.continues(b.part) {
		b.end()
		b.start(p)
	}
	if !p.output {
		b.text(p.text)
		return
	}
	for raw := []byte(p.text); ; {
		line, n := b.lines.Next(raw)
		if line == nil {
			return
		}
		b.printed(string(line))
		raw = raw[n:]
	}
}

func (b *blocks) start(p part) {
	p.text = ""
	b.part, b.open, b.shown, b.newlines, b.mark = p, true, false, 0, 0
	if !p.output {
		return
	}
	b.lines = &termtext.Lines{}
	if b.write != nil {
		b.mark, b.marks = b.marks[0], b.marks[1:]
	}
}

func (b *blocks) text(s string) {
	if !b.shown {
		if s = strings.TrimLeft(s, "\n"); s == "" {
			return
		}
		b.begin()
	}
	b.show(s)
}

// printed takes a line of output.
func (b *blocks) printed(line string) {
	if b.write == nil {
		if strings.Trim(line, "\n") != "" {
			b.mark = max(3, b.mark, longestRun(line)+1)
		}
		return
	}
	if !b.shown && strings.Trim(line, "\n") != "" {
		b.begin()
		b.write(strings.Repeat("`", b.mark) + "\n")
	}
	b.show(line)
}

func (b *blocks) begin() {
	if b.shown = true; b.before && b.write != nil {
		b.write("\n\n")
	}
}

func (b *blocks) show(s string) {
	if b.write == nil {
		return
	}
	text := strings.TrimRight(s, "\n")
	if text != "" {
		repeat(b.write, "\n", b.newlines)
		b.newlines = 0
		b.write(text)
	}
	b.newlines += len(s) - len(text)
}

// end ends the open part.
func (b *blocks) end() {
	if b.open && b.part.output {
		b.printed(string(b.lines.End()))
		b.lines = nil
		if b.write == nil {
			b.marks = append(b.marks, b.mark)
		} else if b.shown {
			b.write("\n" + strings.Repeat("`", b.mark))
		}
	}
	b.before = b.before || b.shown
	b.open = false
}

// repeat writes s n times, and never much at once.
func repeat(write func(string), s string, n int) {
	const most = 4 << 10
	for ; n > 0; n -= most {
		write(strings.Repeat(s, min(n, most)))
	}
}

// content writes text as Turn.canonical has it. White space is held back until
// there is something behind it, in little memory also where there is much of it.
type content struct {
	lines lines
	begin func() // called before the first that is written
	begun bool
	cr    bool // a carriage return is held back: a line feed may follow
	held  []run
}

// run is a rune n times.
type run struct {
	r rune
	n int
}

// write writes the content of a turn as it comes. Blanks at its end are held back: the
// file has none there.
func (c *content) write(s string) {
	if c.cr {
		s = "\r" + s
	}
	if s, c.cr = strings.CutSuffix(s, "\r"); s == "" {
		return
	}
	s = plainLines(s)
	if !c.begun {
		if s = strings.TrimLeftFunc(s, space); s == "" {
			return
		}
		c.begun = true
		c.begin()
	}
	text := strings.TrimRightFunc(s, space)
	if text != "" {
		for _, h := range c.held {
			repeat(c.lines.write, string(h.r), h.n)
		}
		c.held = c.held[:0]
		c.lines.write(text)
	}
	for _, r := range s[len(text):] {
		if n := len(c.held); n > 0 && c.held[n-1].r == r {
			c.held[n-1].n++
		} else {
			c.held = append(c.held, run{r, 1})
		}
	}
}

func (c *content) end() {
	if c.begun {
		c.lines.end()
	}
}

// lines writes text so that none of its lines is the heading of a turn. w
// remembers its errors.
type lines struct {
	w       io.Writer
	start   []byte // of a line, until it is known whether it could be a heading
	decided bool
}

// longStart is how much of a line is looked at. White space and backslashes of
// that length are taken for the start of a heading: a backslash more does not
// hurt, and a heading that is none would.
const longStart = 64 << 10

func (l *lines) write(s string) {
	for s != "" {
		line, rest, ended := strings.Cut(s, "\n")
		if l.decided {
			_, _ = io.WriteString(l.w, line)
		} else if l.start = append(l.start, line...); ended || len(l.start) > longStart {
			l.decide()
		}
		if ended {
			_, _ = io.WriteString(l.w, "\n")
			l.decided = false
		}
		s = rest
	}
}

func (l *lines) decide() {
	text := strings.TrimLeft(string(l.start), `\`)
	if headingLike(text) || len(l.start) > longStart && trim(strings.TrimLeft(text, "#")) == "" {
		_, _ = l.w.Write([]byte{'\\'})
	}
	_, _ = l.w.Write(l.start)
	l.start, l.decided = l.start[:0], true
}

// end ends the text, and leaves a line empty.
func (l *lines) end() {
	if !l.decided {
		l.decide()
	}
	_, _ = io.WriteString(l.w, "\n\n")
}
