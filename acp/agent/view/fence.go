package view

import (
	"strings"
)

// textFence reads text output for the code block that is open at its end
// (CommonMark 0.31, 4.5).
type textFence struct {
	fence int
	line  string // the unfinished last line, as much of it as counts
}

func (f *textFence) read(text string) {
	for part := range strings.Lines(text) {
		if f.line += Cut(part, FieldBytes); !strings.HasSuffix(part, "\n") {
			return
		}
		line := strings.TrimRight(f.line, " \t\n")
		f.line = ""
		n := len(line) - len(strings.TrimLeft(line, "`"))
		switch {
		case n < len(line) || n < 3:
		case f.fence == 0:
			f.fence = n
		case n >= f.fence:
			f.fence = 0
		}
	}
}

// end is what closes the block; "" where none is open.
func (f *textFence) end() (text string) {
	if f.fence > 0 {
		if f.line != "" {
			text = "\n"
		}
		text += strings.Repeat("`", f.fence) + "\n"
	}
	*f = textFence{}
	return text
}
