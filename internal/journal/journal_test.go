package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var testFormat = Format{Name: "test", Version: 2, MaxLine: 200, MaxSize: 4000}

type item struct {
	Text string `json:"text"`
}

// begun is the path of a new file.
func begun(t testing.TB, objects ...any) string {
	t.Helper()
	b, err := testFormat.Begin(item{"head"}, objects...)
	if err != nil {
		t.Fatal(err)
	}
	return written(t, b)
}

func written(t testing.TB, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, path string) (*Log, error) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	l, _, err := Open(f, testFormat)
	return l, err
}

func (l *Log) add(texts ...string) error {
	if err := l.Settle(); err != nil {
		return err
	}
	return l.Append(0, len(texts), func(i int, b []byte) ([]byte, error) {
		text, err := json.Marshal(item{texts[i]})
		return append(b, text...), err
	})
}

func (l *Log) all() (texts []string, err error) {
	end, err := l.Extent()
	if err != nil {
		return nil, err
	}
	_, err = l.Lines(l.First(), end, func(_ int64, object []byte) error {
		var i item
		if err := json.Unmarshal(object, &i); err != nil {
			return err
		}
		texts = append(texts, i.Text)
		return nil
	})
	return texts, err
}

func TestLines(t *testing.T) {
	path := begun(t, item{"a"})
	l, err := open(t, path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := open(t, path) // as another process has it
	if err != nil {
		t.Fatal(err)
	}
	for i, to := range []*Log{l, other, l, l, other} {
		if err := to.add(fmt.Sprint(i), "x"); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"a", "0", "x", "1", "x", "2", "x", "3", "x", "4", "x"}
	if got, err := l.all(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if err := errors.Join(l.Settle(), other.Verify()); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var v struct{ Sum string }
		if err := json.Unmarshal([]byte(line), &v); err != nil || len(v.Sum) != 16 {
			t.Errorf("%s is no object with a sum: %v", line, err)
		}
	}
	// From the middle, and as far as f takes them.
	stop := errors.New("enough")
	from := int64(strings.Index(string(text), `{"text":"1"`))
	at, err := l.Lines(from, int64(len(text)), func(at int64, object []byte) error {
		if string(object) == `{"text":"2"}` {
			return stop
		}
		return nil
	})
	if err != stop || at != int64(strings.Index(string(text), `{"text":"2"`)) {
		t.Errorf("%d, %v", at, err)
	}
	if _, err := l.Lines(from+1, int64(len(text)), nil); err == nil {
		t.Error("the middle of a line is none")
	}
}

func TestFirstLine(t *testing.T) {
	good, err := testFormat.Begin(item{"head"})
	if err != nil {
		t.Fatal(err)
	}
	other := testFormat
	other.Name = "other"
	another, _ := other.Begin(item{"head"})
	for text, want := range map[string]string{
		string(good):               "",
		"":                         "has no end",
		"{":                        "has no end",
		string(another):            `is not the beginning of a "test"`,
		"\n":                       `is not the beginning of a "test"`,
		"\x00\x00\n":               `is not the beginning of a "test"`,
		`{"format":"test"}\n`:      "has no end",
		`{"format":"test"}` + "\n": `is not the beginning`,
		`{"format":"test","version":1,"text":"x"}` + "\n": "before the first release",
		`{"format":"test","version":3,"text":{}}` + "\n":  "update chant-acp",
		`{"format":"test","version":2,"text":"x"}` + "\n": "is not what was written",
		strings.Replace(string(good), "head", "heat", 1):  "is not what was written",
		strings.Repeat("x", 5000):                         "has no end",
	} {
		_, err := open(t, written(t, []byte(text)))
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.80q: %v, want %q", text, err, want)
		}
	}
}

func TestBounds(t *testing.T) {
	l, err := open(t, begun(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.add("a", strings.Repeat("x", 200)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a line of any length is taken: %v", err)
	}
	n := 0
	for ; err == nil; n++ {
		err = l.add("0123456789")
	}
	if !errors.Is(err, ErrFull) || n < 50 {
		t.Errorf("%d lines, then %v", n, err)
	}
	if got, err := l.all(); err != nil || len(got) != n-1 {
		t.Errorf("%d of %d lines, %v", len(got), n-1, err)
	}
	if st, err := l.f.Stat(); err != nil || st.Size() > testFormat.MaxSize {
		t.Errorf("%v, %v", st, err)
	}
	if err := l.Append(testFormat.MaxSize, 1, func(_ int, b []byte) ([]byte, error) { return append(b, `{"a":1}`...), nil }); !errors.Is(err, ErrFull) {
		t.Errorf("what is kept free is used: %v", err)
	}
}

// sample is a file of a few lines, and where each of them ends.
func sample(t *testing.T) (text []byte, ends []int) {
	text, err := testFormat.Begin(item{"head"}, item{"a"}, item{`b "} ,"sum":"`}, item{"c"}, item{"d"})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range text {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	return text, ends
}

var sampleTexts = []string{"a", `b "} ,"sum":"`, "c", "d"}

// A process that dies in a write leaves a part of it. Whatever part that is, what
// was acknowledged is there, nothing else is, and the next one goes on.
func TestDiesAtEveryPoint(t *testing.T) {
	text, ends := sample(t)
	for cut := ends[0]; cut <= len(text); cut++ {
		for _, rest := range []string{"", "\x00\x00\x00"} { // which a power cut leaves in the place of data
			whole := 0
			for _, end := range ends[1:] {
				if end <= cut {
					whole++
				}
			}
			l, err := open(t, written(t, append(slices.Clone(text[:cut]), rest...)))
			if err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			want := slices.Clone(sampleTexts[:whole])
			if got, err := l.all(); err != nil || !slices.Equal(got, want) {
				t.Fatalf("cut at %d: %q, %v", cut, got, err)
			}
			if err := l.add("next"); err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			if got, err := l.all(); err != nil || !slices.Equal(got, append(want, "next")) {
				t.Fatalf("cut at %d, and gone on with: %q, %v", cut, got, err)
			}
		}
	}
}

// No bit can be changed unseen, and what is damaged is not written to.
func TestEveryBit(t *testing.T) {
	text, ends := sample(t)
	for i := range text {
		for bit := range 8 {
			flipped := slices.Clone(text)
			flipped[i] ^= 1 << bit
			path := written(t, flipped)
			l, err := open(t, path)
			if err == nil {
				_, err = l.all()
			}
			var damage *Damage
			if !errors.As(err, &damage) && !errors.As(err, new(*VersionError)) {
				t.Fatalf("bit %d of byte %d: %v", bit, i, err)
			}
			if number := slices.IndexFunc(ends, func(end int) bool { return i < end }) + 1; damage != nil && damage.Line > number {
				t.Errorf("bit %d of byte %d is in line %d: %v", bit, i, number, err)
			}
			if l != nil {
				if err := l.add("next"); err == nil {
					t.Fatalf("bit %d of byte %d: gone on with", bit, i)
				}
			}
			if got, err := os.ReadFile(path); err != nil || !slices.Equal(got, flipped) {
				t.Fatalf("bit %d of byte %d: the file was changed", bit, i)
			}
		}
	}
}

// Each line holds the one before.
func TestLinesAreBound(t *testing.T) {
	text, _ := sample(t)
	lines := slices.Collect(strings.Lines(string(text)))
	other, err := testFormat.Begin(item{"another head"}, item{"a"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][]string{
		"removed":      slices.Delete(slices.Clone(lines), 2, 3),
		"twice":        slices.Insert(slices.Clone(lines), 2, lines[1]),
		"exchanged":    {lines[0], lines[2], lines[1], lines[3], lines[4]},
		"of another":   {lines[0], slices.Collect(strings.Lines(string(other)))[1]},
		"an empty one": slices.Insert(slices.Clone(lines), 2, "\n"),
	} {
		l, err := open(t, written(t, []byte(strings.Join(c, ""))))
		if err != nil {
			t.Fatal(name, err)
		}
		var damage *Damage
		if _, err := l.all(); !errors.As(err, &damage) || damage.Line < 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file that shrinks while it is open is damage too, also at the end of a line.
func TestCutWhileOpen(t *testing.T) {
	text, ends := sample(t)
	path := written(t, text)
	l, err := open(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Verify(); err != nil {
		t.Fatal(err)
	}
	for _, to := range []int{ends[2], ends[2] - 3, 0} {
		if err := os.Truncate(path, int64(to)); err != nil {
			t.Fatal(err)
		}
		if err := l.add("x"); !errors.As(err, new(*Damage)) {
			t.Errorf("cut to %d: %v", to, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	good, err := testFormat.Begin(item{"head"}, item{"a"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := open(t, written(t, text))
		if err != nil {
			return
		}
		before, err := l.all()
		if err != nil {
			return
		}
		if err := l.add("next"); err != nil && !errors.Is(err, ErrFull) {
			t.Fatalf("what can be read can't be gone on with: %v", err)
		} else if err == nil {
			if after, err := l.all(); err != nil || !slices.Equal(after, append(before, "next")) {
				t.Fatalf("%q, then %q, %v", before, after, err)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	f := testFormat
	f.MaxSize, f.MaxLine = 1<<40, 1<<20
	text, err := f.Begin(item{"head"})
	if err != nil {
		b.Fatal(err)
	}
	file, err := os.OpenFile(written(b, text), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	l, _, err := Open(file, f)
	if err != nil {
		b.Fatal(err)
	}
	object := []byte(`{"text":"` + strings.Repeat("x", 400) + `"}`)
	b.SetBytes(int64(len(object)))
	for b.Loop() {
		if err := l.Append(0, 1, func(_ int, b []byte) ([]byte, error) { return append(b, object...), nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLines(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := testFormat
			f.MaxSize, f.MaxLine = 1<<40, 1<<20
			objects := slices.Repeat([]any{item{strings.Repeat("x", 400)}}, n)
			text, err := f.Begin(item{"head"}, objects...)
			if err != nil {
				b.Fatal(err)
			}
			file, err := os.Open(written(b, text))
			if err != nil {
				b.Fatal(err)
			}
			defer file.Close()
			l, _, err := Open(file, f)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := l.Lines(l.First(), int64(len(text)), func(int64, []byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
