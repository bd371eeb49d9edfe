package shape

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/internal/termtext"
)

const minFence = 8 // backticks; programs that print markdown rarely use as many

// fencePosition is where a reader of the text stands.
type fencePosition struct {
	fence   int  // backticks of the open code block; 0: none is open
	atStart bool // at the start of a line
}

// block composes updates: it keeps program text inside code blocks that it
// can't end itself, and every update within maxText.
type block struct {
	fencePosition
	terminal, plain bool
	buf             []byte
	encoded         int // bytes of buf once it is JSON
	emit            func(text string)
}

func (b *block) fenced() bool { return !b.terminal && !b.plain }

// text adds program text: a line, or a part of one that mayFence denies.
func (b *block) text(unit []byte) {
	if b.fenced() && (b.fence == 0 || b.atStart) {
		need := minFence
		if n := backticks(unit); n >= need {
			need = n + 1
		}
		if b.fence < need {
			b.close()
			b.open(need)
		}
	}
	b.append(unit)
	if len(b.buf) >= batchBytes {
		b.flush()
	}
}

// backticks is the number of backticks of a line that holds nothing else
// but blanks, otherwise 0. CommonMark 0.31 (4.5) closes a code block at such a
// line when it is indented by at most three spaces; other renderers are laxer.
func backticks(line []byte) int {
	line = bytes.Trim(line, " \t\n")
	if len(bytes.Trim(line, "`")) > 0 {
		return 0
	}
	return len(line)
}

// mayFence tells whether an unfinished line could still become one that closes
// the code block; once a part of it is sent it would be too late.
func (b *block) mayFence(pending []byte) bool {
	return b.fenced() && (b.fence == 0 || b.atStart) && len(bytes.Trim(pending, " \t`")) == 0
}

func (b *block) open(fence int) {
	// The text before may be somebody else's and not end with its line.
	b.append([]byte("\n" + strings.Repeat("`", fence) + "\n"))
	b.fence = fence
}

// close ends the code block, and in plain text the line.
func (b *block) close() {
	if b.terminal {
		return
	}
	var end string
	if !b.atStart {
		end = "\n"
	}
	if b.fence > 0 {
		end += strings.Repeat("`", b.fence) + "\n"
	}
	b.append([]byte(end))
	b.fence = 0
}

// note adds a line of the agent's own, told apart from what the program printed.
func (b *block) note(text string) {
	switch {
	case b.terminal:
		b.append([]byte("\x1b[0m\n\x1b[2m" + text + "\x1b[0m\n"))
	case b.plain:
		b.close()
		b.append([]byte("[" + text + "]\n"))
	default:
		b.close()
		b.append([]byte("\n" + text + "\n"))
	}
}

func (b *block) append(text []byte) {
	if len(text) == 0 {
		return
	}
	n := termtext.JSONLen(text)
	if b.encoded+n > maxText {
		b.flush()
	}
	b.buf = append(b.buf, text...)
	b.encoded += n
	b.atStart = text[len(text)-1] == '\n'
}

func (b *block) empty() bool { return len(b.buf) == 0 }

func (b *block) flush() {
	if b.empty() {
		return
	}
	text := string(b.buf)
	b.drop()
	b.emit(text)
}

func (b *block) drop() { b.buf, b.encoded = b.buf[:0], 0 }

func (s *Shaper) progressNote() string {
	note := fmt.Sprintf("%s so far, %d lines.", size(s.bytes), s.newlines)
	raw := s.last.bytes()
	if over := len(raw) - 2*termtext.MaxLine; over > 0 {
		raw = termtext.AlignStart(raw[over:])
	}
	if line := strings.TrimSpace(termtext.LastLines(raw, 1, termtext.MaxLine)); line != "" {
		note += " The last: " + s.quote(shorten(line))
	}
	return note
}

func (s *Shaper) leftOutNote() string {
	note := fmt.Sprintf("%s of %s left out here.", size(s.leftOut), size(s.bytes))
	var path string
	if s.cfg.LogPath != nil {
		path = s.cfg.LogPath()
	}
	if path == "" {
		return note + " There is no log of the whole."
	}
	return note + " The whole is in " + s.quote(path)
}

// quote sets off text that is not ours; in markdown as a code span that the text
// can't end (CommonMark 0.31, 6.1).
func (s *Shaper) quote(text string) string {
	if !s.block.fenced() {
		return text
	}
	run, longest := 0, 0
	for _, c := range []byte(text) {
		if c != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	delimiter := strings.Repeat("`", longest+1)
	if longest > 0 {
		text = " " + text + " "
	}
	return delimiter + text + delimiter
}

// shorten cuts a line between two runes.
func shorten(line string) string {
	if len(line) <= progressText {
		return line
	}
	end := 0
	for i := range line {
		if i > progressText {
			break
		}
		end = i
	}
	return line[:end] + "…"
}

func size(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/(1<<10), 0
	for size >= 1<<10 && unit < 3 {
		size /= 1 << 10
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGT"[unit])
}
