package attach

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestKeys(t *testing.T) {
	for name, c := range map[string]struct {
		typed  []string
		rest   string
		detach bool
	}{
		"nothing special":      {[]string{"ls\r"}, "ls\r", false},
		"detach":               {[]string{"\x1dd"}, "", true},
		"in two reads":         {[]string{"\x1d", "d"}, "", true},
		"what comes before":    {[]string{"ab\x1ddcd"}, "ab", true},
		"twice is one":         {[]string{"\x1d\x1d"}, "\x1d", false},
		"twice, then d":        {[]string{"\x1d\x1dd"}, "\x1dd", false},
		"three times, then d":  {[]string{"\x1d\x1d\x1dd"}, "\x1d", true},
		"another key":          {[]string{"\x1dx"}, "\x1dx", false},
		"another, two reads":   {[]string{"\x1d", "x"}, "\x1dx", false},
		"another, then detach": {[]string{"\x1dx\x1d", "d"}, "\x1dx", true},
		"d alone":              {[]string{"d", "dd"}, "ddd", false},
		"held at the end":      {[]string{"a\x1d"}, "a", false},
		"Ctrl-C":               {[]string{"\x03\x1a\x1c"}, "\x03\x1a\x1c", false},
	} {
		t.Run(name, func(t *testing.T) {
			var k keys
			var rest []byte
			detach := false
			for _, p := range c.typed {
				part, end := k.filter([]byte(p))
				rest, detach = append(rest, part...), detach || end
			}
			if string(rest) != c.rest || detach != c.detach {
				t.Errorf("%q, %v; want %q, %v", rest, detach, c.rest, c.detach)
			}
		})
	}
}

// FuzzRunes wants the same bytes, none lost, and no rune parted that is one.
func FuzzRunes(f *testing.F) {
	f.Add([]byte("aé€😀b"), byte(1))
	f.Add([]byte("\xff\xc3\xe2\x82\xf0\x9f\x98"), byte(2))
	f.Fuzz(func(t *testing.T, text []byte, step byte) {
		var r runes
		var all []byte
		for p := range slices.Chunk(text, max(1, int(step))) {
			part := r.whole(p)
			if len(r.part) >= utf8.UTFMax {
				t.Fatalf("%q is held back", r.part)
			}
			if utf8.Valid(text) && !utf8.Valid(part) {
				t.Fatalf("%q is cut", part)
			}
			all = append(all, part...)
		}
		if all = append(all, r.end()...); !bytes.Equal(all, text) {
			t.Fatalf("%q became %q", text, all)
		}
	})
}

func TestRunesAreNotHeldLong(t *testing.T) {
	var r runes
	if got := r.whole([]byte("\xc3")); len(got) != 0 {
		t.Errorf("half a rune was sent: %q", got)
	}
	if got := r.whole([]byte("\xa9x\xff")); string(got) != "éx\xff" { // 0xff begins nothing
		t.Errorf("%q", got)
	}
	if got := r.whole([]byte("\xe2x")); string(got) != "\xe2x" {
		t.Errorf("what can't be completed is held: %q", got)
	}
}

// TestModes wants what a program changed to be set back, and nothing else
// (xterm's control sequences: DECSET, DECRST).
func TestModes(t *testing.T) {
	const plain = "\x1b[0m\x1b>"
	for name, c := range map[string]struct{ printed, reset, again string }{
		"nothing":           {"hello\x1b[31mred\x1b[2J", "", ""},
		"other screen":      {"\x1b[?1049h", "\x1b[?1049l", "\x1b[?1049h"},
		"and back":          {"\x1b[?1049hx\x1b[?1049l", "", ""},
		"several":           {"\x1b[?1000;1006h\x1b[?2004h", "\x1b[?1000l\x1b[?1006l\x1b[?2004l", "\x1b[?1000h\x1b[?1006h\x1b[?2004h"},
		"hidden cursor":     {"\x1b[?25l", "\x1b[?25h", "\x1b[?25l"},
		"shown again":       {"\x1b[?25l\x1b[?25h", "", ""},
		"lines not wrapped": {"\x1b[?7l", "\x1b[?7h", "\x1b[?7l"},
		"set as it was":     {"\x1b[?7h\x1b[?25h\x1b[?2004l", "", ""},
		"not private":       {"\x1b[4h\x1b[?5n\x1b[>4;1m\x1b[?h\x1b[?x;5h", "", ""},
		"twice":             {"\x1b[?5h\x1b[?5h", "\x1b[?5l", "\x1b[?5h"},
	} {
		t.Run(name, func(t *testing.T) {
			var whole, bytewise modes
			whole.printed([]byte(c.printed))
			for i := range len(c.printed) {
				bytewise.printed([]byte{c.printed[i]})
			}
			for _, m := range []*modes{&whole, &bytewise} {
				if m.reset() != c.reset+plain || m.again() != c.again {
					t.Errorf("%q and %q, want %q and %q", m.reset(), m.again(), c.reset+plain, c.again)
				}
			}
		})
	}
	var many modes
	for range 3 {
		for i := 1; i < 10_000; i++ {
			many.printed([]byte("\x1b[?" + strings.Repeat("1", 1+i%40) + "h"))
		}
	}
	if len(many.changed) > 64 {
		t.Errorf("%d modes are remembered", len(many.changed))
	}
}
