package shape

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chant-acp/chant-acp/internal/termtext"
	"pgregory.net/rapid"
)

var fragments = []string{
	"a", "word ", "é", "—", "😀", "\n", "\n\n", "\r", "\r\n", "\b", "\t", " ", "   ", "`", "```", "````````", "`````````", "~~~", "\x00", "\xff", "\xe2\x80",
	"\x1b[31m", "\x1b[", "\x1b]0;t\a", "\x1b]0;", "\x1b[K", "\"", "\\", "\u2028", "<b>", "# h\n", "- \n",
}

func drawShapeInput(t *rapid.T) []byte {
	var b bytes.Buffer
	for _, f := range rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 80).Draw(t, "fragments") {
		b.WriteString(f)
		if rapid.IntRange(0, 30).Draw(t, "long") == 0 {
			b.WriteString(strings.Repeat(rapid.SampledFrom([]string{"x", "`", "\"", "\n"}).Draw(t, "of"), rapid.IntRange(1, 10_000).Draw(t, "run")))
		}
	}
	return b.Bytes()
}

// checkUnderBudget shapes input that is shown whole, in chunks.
func checkUnderBudget(t testingT, in []byte, chunks [][]byte) {
	t.Helper()
	reference := string(termtext.Clean(in))
	pieces, st := shapeAll(Config{}, chunks...)
	checkPieces(t, pieces)
	if got := strings.Join(pieces, ""); got != wholeLines(reference) {
		t.Fatalf("%q became %q, want %q", in, got, wholeLines(reference))
	}
	if (reference == "") != (len(pieces) == 0) {
		t.Fatalf("%q gave the updates %q", in, pieces)
	}
	if st.Shown != int64(len(reference)) || st.Truncated {
		t.Fatalf("stats %+v of %d bytes", st, len(reference))
	}
	pieces, _ = shapeAll(Config{Mode: Terminal}, chunks...)
	checkPieces(t, pieces)
	whole, _ := shapeAll(Config{Mode: Terminal}, in)
	if a, b := strings.Join(pieces, ""), strings.Join(whole, ""); a != b {
		t.Fatalf("terminal: %q in chunks, %q at once", a, b)
	}
	for i, p := range pieces[:max(0, len(pieces)-1)] {
		if strings.HasSuffix(p, "\r") && strings.HasPrefix(pieces[i+1], "\n") {
			t.Fatalf("a CRLF is parted: %q", pieces)
		}
	}
}

func TestShaperShowsEverythingUnderBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawShapeInput(t)
		if len(in) > maxTail {
			t.Skip("over budget")
		}
		var chunks [][]byte
		for p := in; len(p) > 0; {
			n := rapid.IntRange(1, min(len(p), 9000)).Draw(t, "chunk")
			chunks, p = append(chunks, p[:n]), p[n:]
		}
		checkUnderBudget(t, in, chunks)
	})
}

// step is one thing that happens to a Shaper: output, a wait, or else
// another update.
type step struct {
	output []byte
	wait   time.Duration
}

func drawShapeStep(t *rapid.T) step {
	switch rapid.IntRange(0, 4).Draw(t, "step") {
	case 0:
		return step{}
	case 1:
		return step{wait: rapid.SampledFrom([]time.Duration{50, 100, 500, 5000}).Draw(t, "ms") * time.Millisecond}
	}
	in := drawShapeInput(t)
	if rapid.IntRange(0, 5).Draw(t, "big") == 0 {
		in = append(in, numbered(3000, 100)...)
	}
	return step{output: in}
}

// TestShaperLeavesRoom lets a program, a clock and other updates come in any order:
// another update finds itself at the start of a line.
func TestShaperLeavesRoom(t *testing.T) {
	const other = "a line of the agent\n"
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(drawShapeStep), 1, 12).Draw(rt, "steps")
		var pieces []string
		var st Stats
		synctest.Test(t, func(*testing.T) {
			pieces, st = runShapeSteps(steps, other)
		})
		checkPieces(rt, pieces)
		text := strings.Join(pieces, "")
		if text != "" && !strings.HasSuffix(text, "\n") {
			rt.Fatalf("the last line is unfinished: %q", pieces)
		}
		for before, after, found := strings.Cut(text, other); found; before, after, found = strings.Cut(after, other) {
			if before != "" && !strings.HasSuffix(before, "\n") {
				rt.Fatalf("another update follows an unfinished line: %q", pieces)
			}
		}
		size := 0
		for _, step := range steps {
			size += len(step.output)
		}
		if st.Bytes != int64(size) {
			rt.Fatalf("stats %+v of %d bytes", st, size)
		}
	})
}

func runShapeSteps(steps []step, other string) ([]string, Stats) {
	var sink sink
	s := New(Config{Emit: sink.emit})
	for _, step := range steps {
		switch {
		case step.output != nil:
			s.Write(step.output)
		case step.wait > 0:
			time.Sleep(step.wait)
			synctest.Wait()
		default:
			s.Break()
			sink.emit(other)
		}
	}
	rest := s.Finish()
	return append(sink.take(), rest...), s.Stats()
}

func FuzzShaper(f *testing.F) {
	for _, s := range fragments {
		f.Add([]byte("x\n"+s+s+"\ny"), 2)
	}
	f.Add([]byte("10%\r20%\r\n   ````````` \t\n\xe2\x80\x94 \"quoted\"\x1b]0;t\a"), 3)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		if len(in) > maxTail {
			in = in[:maxTail]
		}
		checkUnderBudget(t, in, inChunks(in, max(size, 1)))
	})
}
