package termtext

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"blank lines", "\n\na\n\n", "\n\na\n\n"},
		{"crlf", "a\r\nb\r\n", "a\nb\n"},
		{"two carriage returns before the line feed", "a\r\r\nb", "a\nb"},
		{"progress bar", "10%\r50%\r100%\ndone\n", "100%\ndone\n"},
		{"progress bar ending in a carriage return", "10%\r50%\r", "50%"},
		{"shorter replacement", "a long line\rok\n", "ok\n"},
		{"first column", "⠋ load\x1b[1G⠙ load\x1b[G⠹ done\n", "⠹ done\n"},
		{"other column", "a\x1b[12Gb", "ab"},
		{"overstrike bold", "N\bNA\bAM\bME\bE", "NAME"},
		{"overstrike underline", "_\bf_\bo", "fo"},
		{"spinner", "|\b/\b-\b\\\b done\n", " done\n"},
		{"percent by backspaces", "10%\b\b\b20%\b\b\b\n", "20%\n"},
		{"more backspaces than text", "a\nb\b\b\b\bc", "a\nc"},
		{"backspace over a rune", "é\be", "e"},
		{"colour", "\x1b[1;31mred\x1b[0m \x1b[38:2::1:2:3mx\x1b[m", "red x"},
		{"private mode", "\x1b[?25lx\x1b[?1049h", "x"},
		{"csi with intermediate", "\x1b[2 qx", "x"},
		{"title, BEL", "\x1b]0;title\aafter", "after"},
		{"title, ST", "\x1b]2;title\x1b\\after", "after"},
		{"hyperlink", "\x1b]8;;http://x/\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"clipboard", "\x1b]52;c;aGVsbG8=\aafter", "after"},
		{"dcs", "\x1bPq#0;2;0\nmore\x1b\\after", "after"},
		{"bel does not end a dcs", "\x1bPa\ab\x1b\\after", "after"},
		{"apc, pm, sos", "\x1b_Gx\x1b\\a\x1b^x\x1b\\b\x1bXx\x1b\\c", "abc"},
		{"tmux passthrough", "\x1bPtmux;\x1b\x1b]52;c;eA==\a\x1b\\after", "after"},
		{"string ended by CAN and SUB", "\x1b]0;x\x18a\x1bPx\x1ab", "ab"},
		{"escape ends a string and begins anew", "\x1b]0;x\x1b[31mred", "red"},
		{"osc given up at a line feed", "\x1b]0;lost\nkept\n", "\nkept\n"},
		{"charset, keypad, reset", "\x1b(Ba\x1b=b\x1bcd", "abd"},
		{"two escapes", "\x1b\x1b[31mx", "x"},
		{"line feed inside a csi ends it", "\x1b[3\n1mx", "\n1mx"},
		{"text inside a csi ends it", "\x1b[31é", "é"},
		{"unfinished csi", "a\x1b[31", "a"},
		{"unfinished escape", "a\x1b", "a"},
		{"csi too long", "\x1b[" + strings.Repeat("1", maxCSI+2) + "mx", "11mx"},
		{"csi just short enough", "\x1b[" + strings.Repeat("1", maxCSI) + "mx", "x"},
		{"too many intermediates", "\x1b" + strings.Repeat(" ", 40), strings.Repeat(" ", 40-maxIntermediates)},
		{"string too long", "\x1bP" + strings.Repeat("x", maxString) + "kept", "kept"},
		{"other c0 and del", "a\x00\x01\x05\a\v\f\x0e\x1f\x7fb", "ab"},
		{"c1 controls", "a\u0080\u0085\u009b31m\u009fb\u00a0", "a31mb\u00a0"},
		{"one bad byte", "a\xffb", "a\uFFFDb"},
		{"a run of bad bytes", "a\xff\xfe\x80\xc0b", "a\uFFFDb"},
		{"two runs", "\xffa\xff", "\uFFFDa\uFFFD"},
		{"rune cut short by text", "\xe2\x80A", "\uFFFDA"},
		{"rune cut short by the end", "a\xf0\x9f\x98", "a\uFFFD"},
		{"surrogate", "\xed\xa0\x80", "\uFFFD"},
		{"overlong", "\xc0\xaf\xe0\x80\xaf", "\uFFFD"},
		{"beyond U+10FFFF", "\xf4\x90\x80\x80", "\uFFFD"},
		{"a real U+FFFD keeps apart", "\xff\uFFFD\xff", "\uFFFD\uFFFD\uFFFD"},
		{"escape inside a rune", "\xe2\x1b[m\x80\x94", "\uFFFD\uFFFD"},
		{"full line is not folded", long + "\n", long + "\n"},
		{"folded", long + "y\n", long + "\ny\n"},
		{"folded between runes", long[1:] + "é\n", long[1:] + "\né\n"},
		{"full line replaced", long + "\rok", "ok"},
		{"folded line stays", long + "y\rok", long + "\nok"},
		{"full line, then a rune cut short", long + "\xe2", long},
		{"line separators stay", "a\u2028b\u2029", "a\u2028b\u2029"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(Clean([]byte(tt.in))); got != tt.want {
				t.Errorf("Clean(%.80q)\n got %.200q\nwant %.200q", tt.in, got, tt.want)
			}
			for _, size := range []int{1, 2, 3} {
				if got := clean(chunks([]byte(tt.in), size)); got != tt.want {
					t.Errorf("in chunks of %d: got %.200q, want %.200q", size, got, tt.want)
				}
			}
		})
	}
}

func TestStream(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"carriage returns and backspaces", "10%\r20%\r\nx\b\b", "10%\r20%\r\nx\b\b"},
		{"colour", "\x1b[1;31mr\x1b[0m\x1b[m\x1b[38:2::1:2:3m", "\x1b[1;31mr\x1b[0m\x1b[m\x1b[38:2::1:2:3m"},
		{"cursor", "\x1b[2A\x1b[3;4H\x1b[G\x1b[s\x1b[u\x1b[5d", "\x1b[2A\x1b[3;4H\x1b[G\x1b[s\x1b[u\x1b[5d"},
		{"erase", "\x1b[K\x1b[2J\x1b[3X", "\x1b[K\x1b[2J\x1b[3X"},
		{"device attributes", "a\x1b[c\x1b[0c\x1b[>c\x1b[=cb", "ab"},
		{"status reports", "a\x1b[5n\x1b[6n\x1b[?6nb", "ab"},
		{"window reports", "a\x1b[21t\x1b[14tb", "ab"},
		{"modes", "a\x1b[?25l\x1b[?1049h\x1b[4h\x1b[?2004hb", "ab"},
		{"keyboard and key modifiers", "a\x1b[>1u\x1b[?u\x1b[>4;2mb", "ab"},
		{"margins and save with parameters", "a\x1b[1;5r\x1b[1;5sb", "ab"},
		{"repeat", "a\x1b[99999bb", "ab"},
		{"soft reset, cursor shape", "a\x1b[!p\x1b[2 qb", "ab"},
		{"title and clipboard", "a\x1b]0;t\a\x1b]52;c;eA==\x1b\\b", "ab"},
		{"dcs, apc, pm, sos", "a\x1bP$qm\x1b\\\x1b_G\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\b", "ab"},
		{"escapes that are not csi", "a\x1bZ\x1bc\x1b(0\x1b7\x1b8\x05b", "ab"},
		{"c1", "a\u009b6n\u009d0;t\u009cb", "a6n0;tb"},
		{"colour too long to hold", "a\x1b[" + strings.Repeat("1;", keptCSI) + "1mb", "ab"},
		{"bad bytes", "a\xff\x9bb\xe2\x80", "a\uFFFDb\uFFFD"},
		{"last carriage return", "a\r", "a\r"},
		{"unfinished colour", "a\x1b[31", "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 1 << 20} {
				if got := pass(t, chunks([]byte(tt.in), size)); got != tt.want {
					t.Errorf("in chunks of %d: got %q, want %q", size, got, tt.want)
				}
			}
		})
	}
}

func TestStreamUnits(t *testing.T) {
	var s Stream
	var got []string
	p := []byte("a\r\nb\rc\r\rd\n\x1b[31mrest\r")
	for {
		unit, n := s.Next(p)
		if unit == nil {
			break
		}
		got, p = append(got, string(unit)), p[n:]
	}
	want := []string{"a\r\n", "b\r", "c\r", "\r", "d\n"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("units %q, want %q", got, want)
	}
	if p := string(s.Pending()); p != "\x1b[31mrest" {
		t.Errorf("pending %q: a carriage return waits for its line feed", p)
	}
	s.MarkSent()
	if unit, _ := s.Next([]byte("\n")); string(unit) != "\r\n" {
		t.Errorf("after MarkSent: %q, want CRLF in one piece", unit)
	}
}

func TestLinesSentText(t *testing.T) {
	var l Lines
	step := func(in, wantLine, wantPending string) {
		t.Helper()
		line, n := l.Next([]byte(in))
		if string(line) != wantLine {
			t.Errorf("%q: line %q, want %q", in, line, wantLine)
		}
		if line != nil {
			if again, _ := l.Next([]byte(in)[n:]); again != nil {
				t.Errorf("%q: a second line %q", in, again)
			}
		}
		if p := string(l.Pending()); p != wantPending {
			t.Errorf("%q: pending %q, want %q", in, p, wantPending)
		}
	}
	step("50%", "", "50%")
	l.MarkSent()
	step(" more", "", " more")
	step("\r75%", "\n", "75%") // what was sent stays
	l.MarkSent()
	step("\b\b\b\b80", "", "80") // and can't be erased
	step("\r\n", "80\n", "")
	step("x", "", "x")
	l.MarkSent()
	step("\n", "\n", "")
	step("y", "", "y")
	l.MarkSent()
	l.Break()
	step("\rz\n", "z\n", "")
}

func TestLinesSentCountsForFolding(t *testing.T) {
	var l Lines
	l.Next(bytes.Repeat([]byte{'x'}, MaxLine-1))
	l.MarkSent()
	if line, n := l.Next([]byte("yz")); string(line) != "y\n" || n != 1 {
		t.Errorf("got %q after %d bytes, want the line to end after 4096", line, n)
	}
}

func TestLastLines(t *testing.T) {
	tests := []struct {
		in       string
		n, limit int
		want     string
	}{
		{"", 3, 100, ""},
		{"a\nb\nc\n", 2, 100, "b\nc"},
		{"a\nb\nc", 5, 100, "a\nb\nc"},
		{"a\nb\n\n \n", 1, 100, "b"},
		{"a\n\nb\n", 2, 100, "\nb"},
		{"10%\r\x1b[32m100%\x1b[m\r\n", 1, 100, "100%"},
		{"abc\ndefg\n", 2, 6, "defg"},
		{"ééé", 1, 5, "éé"},
		{"a\nb", 0, 100, ""},
	}
	for _, tt := range tests {
		if got := LastLines([]byte(tt.in), tt.n, tt.limit); got != tt.want {
			t.Errorf("LastLines(%q, %d, %d) = %q, want %q", tt.in, tt.n, tt.limit, got, tt.want)
		}
	}
}

func TestAlignStart(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for _, tt := range []struct{ in, want string }{
		{"rest\nline\n", "line\n"}, {"rest\n", "rest\n"}, {"\x80\x94abc", "abc"}, {"abc", "abc"}, {"", ""}, {long + "\na", long + "\na"},
	} {
		if got := string(AlignStart([]byte(tt.in))); got != tt.want {
			t.Errorf("AlignStart(%.20q) = %.20q, want %.20q", tt.in, got, tt.want)
		}
	}
}

// TestSequencesAreBounded feeds strings and sequences that never end.
func TestSequencesAreBounded(t *testing.T) {
	for _, intro := range []string{"\x1b]0;", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1b[", "\x1b "} {
		var l Lines
		l.Next([]byte(intro))
		chunk := bytes.Repeat([]byte{'0'}, 32<<10)
		shown := 0
		for range 64 {
			for p := chunk; ; {
				line, n := l.Next(p)
				if line == nil {
					break
				}
				shown, p = shown+len(line), p[n:]
			}
		}
		if total := 64 * len(chunk); shown < total-maxString-MaxLine-len(intro) {
			t.Errorf("%q swallowed all but %d of %d bytes", intro, shown, total)
		}
		if cap(l.line) > 4*MaxLine {
			t.Errorf("%q: the line grew to %d bytes", intro, cap(l.line))
		}
	}
}

// fragments is what the property tests build their input of.
var fragments = []string{
	"a", "bc ", "é", "—", "😀", "\u2028", "\uFFFD", "\n", "\r", "\r\n", "\b", "\t", "\x00", "\a", "\x7f", "\u0085", "\u009b",
	"\xff", "\x80", "\xe2", "\xe2\x80", "\xf0\x9f", "\xc0", "\x1b", "\x1b[", "\x1b[31m", "\x1b[0;1", "\x1b[G", "\x1b[2K", "\x1b[6n", "\x1b[?25h",
	"\x1b]0;t", "\x1b]52;c;x\a", "\x1b\\", "\x1bP", "\x1b(", "\x18", "0", ";", "m", "`", "\\", "\"",
}

func drawInput(t *rapid.T) []byte {
	var b bytes.Buffer
	for _, f := range rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 60).Draw(t, "fragments") {
		b.WriteString(f)
		if rapid.IntRange(0, 40).Draw(t, "long") == 0 {
			b.WriteString(strings.Repeat("x", rapid.IntRange(MaxLine-3, 2*MaxLine).Draw(t, "run")))
		}
	}
	return b.Bytes()
}

func drawChunks(t *rapid.T, p []byte) (out [][]byte) {
	for len(p) > 0 {
		n := rapid.IntRange(1, min(len(p), 2*MaxLine)).Draw(t, "chunk")
		out, p = append(out, p[:n]), p[n:]
	}
	return out
}

func TestChunkingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		parts := drawChunks(t, in)
		whole := [][]byte{in}
		if a, b := clean(parts), clean(whole); a != b {
			t.Fatalf("lines: %q in chunks, %q at once", a, b)
		}
		if a, b := pass(t, parts), pass(t, whole); a != b {
			t.Fatalf("stream: %q in chunks, %q at once", a, b)
		}
	})
}

// TestCleanAgainstReference compares with the plainest way to do it, on input
// without escapes.
func TestCleanAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := bytes.ReplaceAll(drawInput(t), []byte{esc}, nil)
		if got, want := string(Clean(in)), reference(in); got != want {
			t.Fatalf("Clean(%q)\n got %q\nwant %q", in, got, want)
		}
	})
}

func reference(in []byte) string {
	var out, line []rune
	size := 0
	emit := func(r rune) { out = append(append(out, line...), r); line = nil; size = 0 }
	back, all := 0, false
	for _, r := range strings.ToValidUTF8(string(in), "\uFFFD") {
		switch {
		case r == '\n':
			emit('\n')
			back, all = 0, false
		case r == '\r':
			all = true
		case r == '\b':
			back++
		case r == '\t' || r >= ' ' && r < 0x7f || r >= 0xa0:
			if all {
				back = len(line)
			}
			for ; back > 0 && len(line) > 0; back-- {
				size -= utf8.RuneLen(line[len(line)-1])
				line = line[:len(line)-1]
			}
			back, all = 0, false
			if size+utf8.RuneLen(r) > MaxLine {
				emit('\n')
			}
			line = append(line, r)
			size += utf8.RuneLen(r)
		}
	}
	return string(append(out, line...))
}

func TestOutputIsTame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkTame(t, drawInput(t)) })
}

var passed = regexp.MustCompile(`\x1b\[[0-9:;]*[ABCDEFGHIZadefm` + "`" + `JKXsu]`)

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkTame(t fataler, in []byte) {
	t.Helper()
	text := string(Clean(in))
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return isControl(r) && r != '\n' && r != '\t' }) {
		t.Fatalf("Clean(%q) = %q", in, text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) > MaxLine {
			t.Fatalf("a line of %d bytes", len(line))
		}
	}
	if again := string(Clean([]byte(text))); again != text {
		t.Fatalf("cleaning %q twice gave %q", text, again)
	}
	out := pass(t, [][]byte{in})
	rest := passed.ReplaceAllString(out, "")
	if !utf8.ValidString(out) || strings.ContainsFunc(rest, func(r rune) bool { return isControl(r) && !strings.ContainsRune("\n\t\r\b", r) }) {
		t.Fatalf("the stream of %q is %q", in, out)
	}
	if again := pass(t, [][]byte{[]byte(out)}); again != out {
		t.Fatalf("passing %q twice gave %q", out, again)
	}
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

func FuzzStrip(f *testing.F) {
	for _, s := range fragments {
		f.Add([]byte("x"+s+"y"), 1)
	}
	f.Add([]byte("10%\r20%\x1b[K\r\n\xe2\x80\x94\x1b]0;t\adone\b\b"), 3)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		checkTame(t, in)
		parts := chunks(in, max(size, 1))
		if a, b := clean(parts), string(Clean(in)); a != b {
			t.Fatalf("%q in chunks, %q at once", a, b)
		}
		if a, b := pass(t, parts), pass(t, [][]byte{in}); a != b {
			t.Fatalf("stream: %q in chunks, %q at once", a, b)
		}
	})
}

func TestJSONLen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text") + rapid.StringOf(rapid.RuneFrom([]rune("\u2028\u2029\u202a<>&\"\\\n\r\t\b\f\x00\x1b\x7f"))).Draw(t, "special")
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
		if got, want := JSONLen([]byte(text)), b.Len()-len("\"\"\n"); got != want {
			t.Fatalf("JSONLen(%q) = %d, want %d", text, got, want)
		}
	})
}

func chunks(p []byte, size int) (out [][]byte) {
	for len(p) > 0 {
		n := min(size, len(p))
		// A copy that ends where the chunk ends: nothing may look beyond it.
		out, p = append(out, bytes.Clone(p[:n:n])), p[n:]
	}
	return out
}

func clean(parts [][]byte) string {
	var l Lines
	var out []byte
	for _, part := range parts {
		p := bytes.Clone(part)
		for {
			line, n := l.Next(p)
			if line == nil {
				break
			}
			out, p = append(out, line...), p[n:]
		}
		clear(p) // nothing may be kept of it
	}
	return string(append(out, l.End()...))
}

func pass(t fataler, parts [][]byte) string {
	t.Helper()
	var s Stream
	var out []byte
	for _, p := range parts {
		for {
			unit, n := s.Next(p)
			if unit == nil {
				break
			}
			if len(unit) > MaxLine+len("\r\n") || !utf8.Valid(unit) {
				t.Fatalf("a unit of %d bytes: %q", len(unit), unit)
			}
			out, p = append(out, unit...), p[n:]
		}
	}
	return string(append(out, s.End()...))
}

func BenchmarkClean(b *testing.B) {
	in := bytes.Repeat([]byte("\x1b[32mok\x1b[0m  github.com/example/project/package\t0.123s — cached\n"), 1000)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		Clean(in)
	}
}
