package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/chant-acp/chant-acp/internal/termtext"
)

// sink records what a Shaper emits.
type sink struct {
	mu    sync.Mutex
	texts []string
}

func (k *sink) emit(text string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.texts = append(k.texts, text)
	return nil
}

func (k *sink) take() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	texts := k.texts
	k.texts = nil
	return texts
}

// shapeAll shapes chunks in one go and returns all updates.
func shapeAll(cfg Config, chunks ...[]byte) ([]string, Stats) {
	var sink sink
	cfg.Emit = sink.emit
	s := New(cfg)
	for _, c := range chunks {
		s.Write(c)
	}
	rest := s.Finish()
	return append(sink.take(), rest...), s.Stats()
}

type testingT interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// checkPieces holds every update against what a client may be sent.
func checkPieces(t testingT, pieces []string) {
	t.Helper()
	for _, p := range pieces {
		if p == "" || !utf8.ValidString(p) {
			t.Fatalf("an update is empty or not UTF-8: %.100q", p)
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(p); err != nil || b.Len() > maxText+len("\"\"\n") {
			t.Fatalf("an update of %d encoded bytes: %.100q, %v", b.Len(), p, err)
		}
	}
}

func wholeLines(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

func TestShaperText(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"nothing but controls", "\x00\x1b[31m\x1b]0;t\a", ""},
		{"a line", "hello\n", "hello\n"},
		{"no last line feed", "hello", "hello\n"},
		{"colour and a bar", "\x1b[1mgo\x1b[m\n10%\r100%\r\n", "go\n100%\n"},
		{"fences are text", "```go\n```\n", "```go\n```\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pieces, st := shapeAll(Config{}, []byte(tt.in))
			if got := strings.Join(pieces, ""); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			checkPieces(t, pieces)
			if want := wholeLines(string(termtext.Clean([]byte(tt.in)))); tt.want != want {
				t.Errorf("termtext makes %q of it", want)
			}
			if st.Bytes != int64(len(tt.in)) || st.LeftOut != 0 || st.Truncated {
				t.Errorf("stats %+v", st)
			}
		})
	}
}

func TestShaperModes(t *testing.T) {
	in := "a\x1b[31mb\x1b[m\x1b]0;t\a\n```````````\n10%\r20%"
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "ab\n```````````\n20%\n"},
		{Config{Mode: Terminal}, "a\x1b[31mb\x1b[m\n```````````\n10%\r20%"},
		{Config{Quiet: true}, ""},
		{Config{Quiet: true, Full: true}, ""},
		{Config{Quiet: true, Mode: Terminal}, ""},
	} {
		pieces, st := shapeAll(tt.cfg, []byte(in))
		if got := strings.Join(pieces, ""); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.cfg, got, tt.want)
		}
		if st.Bytes != int64(len(in)) || st.Lines != 3 {
			t.Errorf("%+v: stats %+v, want %d bytes in 3 lines", tt.cfg, st, len(in))
		}
	}
}

func TestShaperBreak(t *testing.T) {
	var sink sink
	s := New(Config{Emit: sink.emit})
	if err := s.Break(); err != nil || len(sink.take()) != 0 {
		t.Errorf("Break before output: %v, %q", err, sink.texts)
	}
	s.Write([]byte("a\nb"))
	if err := s.Break(); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(sink.take(), ""), "a\nb\n"; got != want {
		t.Errorf("at Break: %q, want %q", got, want)
	}
	s.Break()
	if got := sink.take(); len(got) != 0 {
		t.Errorf("a second Break sent %q", got)
	}
	s.Write([]byte("\rc\n")) // b is on the wire: it can't be replaced
	got := strings.Join(append(sink.take(), s.Finish()...), "")
	if want := "c\n"; got != want {
		t.Errorf("after Break: %q, want %q", got, want)
	}
	if again := s.Finish(); again != nil {
		t.Errorf("a second Finish returned %q", again)
	}
	s.Write([]byte("late\n"))
	if st := s.Stats(); len(sink.take()) != 0 || st.Bytes != int64(len("a\nb\rc\n")) {
		t.Errorf("a Write after Finish had an effect: %+v", st)
	}
}

// numbered is n lines that name themselves, each of size bytes.
func numbered(n, size int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "line %0*d\n", size-len("line \n"), i)
	}
	return b.Bytes()
}

func inChunks(p []byte, size int) (out [][]byte) {
	for len(p) > 0 {
		n := min(size, len(p))
		out, p = append(out, p[:n]), p[n:]
	}
	return out
}

func TestShaperBudget(t *testing.T) {
	const log = "/tmp/turn `1`.log"
	in := numbered(100_000, 100) // 10 MB
	for _, mode := range []Config{{}, {Mode: Terminal}} {
		for _, chunk := range []int{100, 4096, 32 << 10, 256 << 10, len(in)} {
			cfg := mode
			cfg.LogPath = func() string { return log }
			pieces, st := shapeAll(cfg, inChunks(in, chunk)...)
			checkPieces(t, pieces)
			text := strings.Join(pieces, "")
			note := fmt.Sprintf("%s of 9.5 MiB left out here. The whole is in ", size(st.LeftOut))
			head, tail, ok := strings.Cut(text, note)
			if !ok || !strings.Contains(text, log) {
				t.Fatalf("chunks of %d: nothing says %q with the log", chunk, note)
			}
			if len(head) > maxHead+100 || len(head) < maxHead-2*maxUnit {
				t.Errorf("chunks of %d: a head of %d bytes", chunk, len(head))
			}
			if !strings.Contains(head, string(in[:120<<10])) || !strings.Contains(tail, string(in[len(in)-63<<10:])) {
				t.Errorf("chunks of %d: head or tail incomplete", chunk)
			}
			if st.LeftOut+st.Shown != st.Bytes || st.Bytes != int64(len(in)) || st.Lines != 100_000 || !st.Truncated {
				t.Errorf("chunks of %d: stats %+v do not add up", chunk, st)
			}
			if len(pieces) > 40 {
				t.Errorf("chunks of %d: %d updates", chunk, len(pieces))
			}
			if shown := len(text) - len("[") - len(note+log+"]\n"); mode.Mode == Text && int64(shown) != st.Shown {
				t.Errorf("chunks of %d: %d bytes and a note were shown, and %+v", chunk, shown, st)
			}
		}
	}
}

// TestShaperBudgetEdges: what fits head and tail is shown whole.
func TestShaperBudgetEdges(t *testing.T) {
	for _, lines := range []int{1, 1200, 1270, 1280, 1300, 1800, 1860, 1880, 1900, 1920, 1940, 2200} {
		in := numbered(lines, 100)
		pieces, st := shapeAll(Config{}, inChunks(in, 7777)...)
		text := strings.Join(pieces, "")
		if len(in) <= maxHead+maxTail-2*maxUnit && (text != string(in) || st.LeftOut != 0) {
			t.Errorf("%d lines fit the budget: %+v", lines, st)
		}
		if len(in) > maxHead+maxTail && st.LeftOut == 0 {
			t.Errorf("%d lines do not fit the budget: %+v", lines, st)
		}
		if st.Shown+st.LeftOut != st.Bytes || st.LeftOut == 0 && int64(len(text)) != st.Shown {
			t.Errorf("%d lines: %+v do not add up to what is read, %d", lines, st, len(text))
		}
	}
}

func TestShaperFull(t *testing.T) {
	in := numbered(20_000, 100)
	for _, cfg := range []Config{{Full: true}, {Full: true, Mode: Terminal}} {
		pieces, st := shapeAll(cfg, inChunks(in, 32<<10)...)
		checkPieces(t, pieces)
		text := strings.Join(pieces, "")
		if text != string(in) || st.LeftOut != 0 || st.Shown != int64(len(in)) {
			t.Errorf("%+v: %+v", cfg, st)
		}
	}
}

// TestShaperHard feeds output that breaks simple shapers.
func TestShaperHard(t *testing.T) {
	random := make([]byte, 1<<20)
	r := rand.NewChaCha8([32]byte{})
	r.Read(random)
	inputs := map[string][]byte{
		"one line of 1 MiB":    bytes.Repeat([]byte("0123456789abcdef"), 1<<16),
		"random bytes":         random,
		"zeros":                make([]byte, 1<<20),
		"bad bytes apart":      bytes.Repeat([]byte("\xffa"), 1<<19),
		"quotes":               bytes.Repeat([]byte("\"\\"), 1<<19),
		"line separators":      bytes.Repeat([]byte("\u2028"), 1<<18),
		"empty lines":          bytes.Repeat([]byte{'\n'}, 1<<20),
		"only carriage return": bytes.Repeat([]byte{'\r'}, 1<<20),
		"bars":                 bytes.Repeat([]byte("[====>   ] 50%\r"), 1<<16),
		"short colours":        bytes.Repeat([]byte("\x1b[m"), 1<<18),
		"backspaces":           bytes.Repeat([]byte("|\b/\b"), 1<<18),
		"backticks":            bytes.Repeat([]byte("`"), 1<<18),
		"unfinished osc":       append([]byte("\x1b]0;"), bytes.Repeat([]byte("x"), 1<<20)...),
		"unfinished dcs":       append([]byte("\x1bP"), bytes.Repeat([]byte("x\n"), 1<<19)...),
	}
	for name, in := range inputs {
		for _, cfg := range []Config{{}, {Mode: Terminal}} {
			for _, chunk := range []int{1021, 256 << 10} {
				pieces, st := shapeAll(cfg, inChunks(in, chunk)...)
				checkPieces(t, pieces)
				text := strings.Join(pieces, "")
				// Every second byte ill-formed makes the tail twice as long.
				if len(pieces) > 80 || len(text) > 4*(maxHead+maxTail) {
					t.Errorf("%s %+v: %d updates of %d bytes", name, cfg, len(pieces), len(text))
				}
				if st.Bytes != int64(len(in)) || st.LeftOut < 0 || st.LeftOut > st.Bytes {
					t.Errorf("%s: stats %+v", name, st)
				}
			}
		}
	}
}

// TestShaperMemory: what a Shaper holds does not depend on what is printed.
func TestShaperMemory(t *testing.T) {
	for _, in := range [][]byte{numbered(40_000, 100), make([]byte, 4<<20), bytes.Repeat([]byte("`"), 4<<20), append([]byte("\x1bP"), make([]byte, 4<<20)...)} {
		for _, cfg := range []Config{{}, {Full: true}, {Quiet: true}, {Mode: Terminal, Full: true}} {
			cfg.Emit = func(string) error { return nil }
			s := New(cfg)
			for _, c := range inChunks(in, 256<<10) {
				s.Write(c)
			}
			if held := cap(s.last.buf) + cap(s.block.buf) + cap(s.src.Pending()); held > 512<<10 {
				t.Errorf("%+v holds %d bytes", cfg.Mode, held)
			}
			s.Finish()
		}
	}
}

func TestShaperLongBarIsNotLeftOut(t *testing.T) {
	in := append(bytes.Repeat([]byte("[====>   ] 50%\r"), 1<<16), "done\n"...)
	var pieces []string
	var st Stats
	synctest.Test(t, func(*testing.T) { pieces, st = shapeAll(Config{}, inChunks(in, 4096)...) })
	if got := strings.Join(pieces, ""); got != "done\n" || st.LeftOut != 0 {
		t.Errorf("a megabyte of one progress bar: %.200q, %+v", got, st)
	}
}

func TestShaperClientGone(t *testing.T) {
	gone := errors.New("broken pipe")
	var calls int
	s := New(Config{Emit: func(string) error {
		if calls++; calls > 1 {
			return gone
		}
		return nil
	}})
	for range 100 {
		s.Write(numbered(100, 100))
	}
	if err := s.Break(); !errors.Is(err, gone) {
		t.Errorf("Break says %v", err)
	}
	if calls != 2 {
		t.Errorf("%d updates, want none after the error", calls)
	}
	pieces := s.Finish()
	if st := s.Stats(); st.Bytes != 1_000_000 || st.Lines != 10_000 || !st.Truncated {
		t.Errorf("output is not counted any more: %+v", st)
	}
	if len(pieces) != 0 {
		t.Errorf("Finish returned %q after whole lines", pieces)
	}
}

func TestShaperTail(t *testing.T) {
	for _, cfg := range []Config{{}, {Quiet: true}, {Mode: Terminal}} {
		cfg.Emit = func(string) error { return nil }
		s := New(cfg)
		if got := s.Tail(3); got != "" {
			t.Errorf("Tail without output: %q", got)
		}
		s.Write(numbered(5000, 100))
		s.Write([]byte("compile\n\x1b[31merror:\x1b[m 1\r\nerror: 2"))
		want := "compile\nerror: 1\nerror: 2"
		if got := s.Tail(3); got != want {
			t.Errorf("Tail(3) = %q, want %q", got, want)
		}
		s.Finish()
		if got := s.Tail(3); got != want {
			t.Errorf("Tail(3) after Finish = %q, want %q", got, want)
		}
		if got := s.Tail(1000); len(got) > tailText || !strings.HasSuffix(got, want) || !strings.HasPrefix(got, "line ") {
			t.Errorf("Tail(1000) is %d bytes: %.40q…", len(got), got)
		}
		s.Abandon()
	}
}

func TestShapeLast(t *testing.T) {
	for _, size := range []int{1, 100, 4096, maxTail - 1, maxTail, maxTail + 1, 256 << 10} {
		var l tail
		in := numbered(5000, 100)
		for _, c := range inChunks(in, size) {
			l.write(c)
		}
		if got := l.bytes(); !bytes.Equal(got, in[len(in)-maxTail:]) {
			t.Errorf("chunks of %d: not the last %d bytes", size, maxTail)
		}
		if cap(l.buf) > 3*maxTail {
			t.Errorf("chunks of %d: holds %d bytes", size, cap(l.buf))
		}
	}
}

func TestShapeSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 10 << 20: "10.0 MiB", 3 << 30: "3.0 GiB", 5 << 40: "5.0 TiB", 7 << 50: "7168.0 TiB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestShapeShorten(t *testing.T) {
	for _, line := range []string{strings.Repeat("é", 300), strings.Repeat("x", 161), "x" + strings.Repeat("😀", 100)} {
		got := shorten(line)
		if kept := strings.TrimSuffix(got, "…"); len(kept) > progressText || len(kept) < progressText-3 || !strings.HasPrefix(line, kept) {
			t.Errorf("%d bytes became %d: %q", len(line), len(got), got)
		}
	}
	if got := shorten("short"); got != "short" {
		t.Errorf("got %q", got)
	}
}

// A program that prints what gives no text must not be read for text without
// end: that is a tenth as fast as the pipe.
func TestShaperHeadEndsWithoutText(t *testing.T) {
	var shown strings.Builder
	s := New(Config{Emit: func(text string) error {
		shown.WriteString(text)
		return nil
	}})
	zeros := make([]byte, 256<<10)
	for range 64 {
		s.Write(zeros)
	}
	s.Write([]byte("the end\n"))
	for _, piece := range s.Finish() {
		shown.WriteString(piece)
	}
	if !s.headFull {
		t.Error("16 MiB of zeros did not fill the head")
	}
	if st := s.Stats(); !st.Truncated || st.LeftOut == 0 {
		t.Errorf("nothing was left out: %+v", st)
	}
	if !strings.Contains(shown.String(), "the end") {
		t.Errorf("the end is not shown: %q", shown.String())
	}
}
