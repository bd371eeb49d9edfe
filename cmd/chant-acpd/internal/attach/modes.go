package attach

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chant-acp/chant-acp/internal/termtext"
)

// modes remembers which of a terminal's private modes (DECSET, CSI ? n h) what was
// printed has changed: the other screen, the mouse, pasted text in brackets, a
// hidden cursor. A program that goes on elsewhere does not set them back here.
type modes struct {
	dec     termtext.Decoder
	changed map[int]bool // to whether it is set now
}

// onAtFirst are the modes that a terminal has set to begin with: wrapping of lines,
// repeated keys, and the cursor.
func onAtFirst(mode int) bool { return mode == 7 || mode == 8 || mode == 25 }

// printed looks at output.
func (m *modes) printed(p []byte) {
	for len(p) > 0 {
		t, n := m.dec.Next(p)
		p = p[n:]
		if t.Kind == termtext.CSI {
			m.sequence(string(t.Bytes))
		}
	}
}

// sequence looks at one control sequence.
func (m *modes) sequence(seq string) {
	list, ok := strings.CutPrefix(seq, "\x1b[?")
	if !ok {
		return
	}
	list, on := strings.CutSuffix(list, "h")
	if !on {
		if list, ok = strings.CutSuffix(list, "l"); !ok {
			return
		}
	}
	for number := range strings.SplitSeq(list, ";") {
		mode, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		delete(m.changed, mode)
		const most = 64 // no terminal has more that matter
		if on != onAtFirst(mode) && len(m.changed) < most {
			if m.changed == nil {
				m.changed = make(map[int]bool)
			}
			m.changed[mode] = on
		}
	}
}

// reset is what sets back the modes, the colours, and the keys of the keypad.
func (m *modes) reset() string { return m.set(false) + "\x1b[0m\x1b>" }

// again is what changes the modes again, after a reset.
func (m *modes) again() string { return m.set(true) }

// set writes the changed modes as they are now, or as they were at first.
func (m *modes) set(changed bool) string {
	var b strings.Builder
	for _, mode := range slices.Sorted(maps.Keys(m.changed)) {
		final := "l"
		if m.changed[mode] == changed {
			final = "h"
		}
		b.WriteString("\x1b[?" + strconv.Itoa(mode) + final)
	}
	return b.String()
}
