package shape

import (
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/internal/termtext"
)

// block composes updates: whole lines as far as possible, and each within maxText.
type block struct {
	atStart  bool // at the start of a line
	terminal bool
	buf      []byte
	encoded  int // bytes of buf once it is JSON
	emit     func(text string)
}

// text adds program text: a line, or a part of one.
func (b *block) text(unit []byte) {
	b.append(unit)
	if len(b.buf) >= batchBytes {
		b.flush()
	}
}

// close ends the line.
func (b *block) close() {
	if !b.terminal && !b.atStart {
		b.append([]byte{'\n'})
	}
}

// note adds a line of the agent's own, told apart from what the program printed.
func (b *block) note(text string) {
	if b.terminal {
		b.append([]byte("\x1b[0m\n\x1b[2m" + text + "\x1b[0m\n"))
		return
	}
	b.close()
	b.append([]byte("[" + text + "]\n"))
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
		note += " The last: " + shorten(line)
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
	return note + " The whole is in " + path
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
