package conversation

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chant-acp/chant-acp/runtime/thread"
)

var t0 = time.Date(2026, 11, 1, 12, 0, 0, 123_000_000, time.UTC)

// The headings that the format's first implementation takes, written down from
// the format: its \s is wider than Go's.
var original = regexp.MustCompile(`^##[\s\v\p{Z}\x{feff}]+(user|assistant|system)[\s\v\p{Z}\x{feff}]+—[\s\v\p{Z}\x{feff}]+([^\s\v\p{Z}\x{feff}]+)(?:[\s\v\p{Z}\x{feff}]+\(([^)]+)\))?[\s\v\p{Z}\x{feff}]*$`)

func TestMarkdown(t *testing.T) {
	c := Conversation{
		Meta: Meta{ID: "s1", Agent: "chant-acp", Started: t0, Status: Open},
		Turns: []Turn{
			{Role: User, At: t0, Attribution: "zed", Content: "make all  \n"},
			{Role: Assistant, At: t0.Add(time.Second), Content: "# Done\n\n## user — 2026-11-01T12:00:00.000Z\n## Results"},
		},
	}
	want := `---
schema: conversation/v1
id: s1
agent: chant-acp
started: 2026-11-01T12:00:00.123Z
status: open
---

## user — 2026-11-01T12:00:00.123Z (zed)

make all

## assistant — 2026-11-01T12:00:01.123Z

# Done

\## user — 2026-11-01T12:00:00.000Z
## Results

`
	if d := cmp.Diff(want, string(c.Markdown())); d != "" {
		t.Error(d)
	}
}

func TestParse(t *testing.T) {
	head := "---\nschema: conversation/v1\nid: a\nagent: x\nstarted: 2026-11-01T12:00:00.123Z\nstatus: closed\n---\n\n"
	meta := Meta{ID: "a", Agent: "x", Started: t0, Status: Closed}
	for name, c := range map[string]struct {
		text string
		want Conversation
	}{
		"no turns":       {head, Conversation{Meta: meta}},
		"empty front":    {"---\n\n---\n", Conversation{Meta: Meta{ID: "file", Agent: "unknown", Status: Open}}},
		"odd front":      {"---\nnonsense\n: x\nagent: a: b \nagent:  c\nstatus: Closed\nid: ../../etc/x\n---\n", Conversation{Meta: Meta{ID: "file", Agent: "c", Status: Open}}},
		"before a turn":  {head + "dropped\n", Conversation{Meta: meta}},
		"a turn":         {head + "## user — 2026-11-01T12:00:00.123Z (me, here)\n\n hi \n\n", Conversation{meta, []Turn{{User, t0, "me, here", "hi"}}}},
		"loose spaces":   {head + "##   system\u00a0—\t2026-11-01T12:00:00.123Z   (me)  \r\nx", Conversation{meta, []Turn{{System, t0, "me", "x"}}}},
		"a strange time": {head + "## user — yesterday\n\nx", Conversation{meta, []Turn{{User, time.Time{}, "", "x"}}}},
		"not headings": {head + "## user — t\n# user — t\n## root — t\n##user — t\n## user - t\n## user —t\n ## user — t\n## user — t (a) b\n## user — t ()\n## user — t (a)b)",
			Conversation{meta, []Turn{{User, time.Time{}, "", "# user — t\n## root — t\n##user — t\n## user - t\n## user —t\n ## user — t\n## user — t (a) b\n## user — t ()\n## user — t (a)b)"}}}},
		"escaped":     {head + "## user — t\n\\## user — t\n\\\\## user — t\n\\# x\n\\## x", Conversation{meta, []Turn{{User, time.Time{}, "", "## user — t\n\\## user — t\n\\# x\n\\## x"}}}},
		"from DOS":    {strings.ReplaceAll(head+"## user — 2026-11-01T12:00:00.123Z\n\na\nb\n", "\n", "\r\n"), Conversation{meta, []Turn{{User, t0, "", "a\nb"}}}},
		"rule inside": {head + "## user — 2026-11-01T12:00:00.123Z\n\na\n---\nb\n", Conversation{meta, []Turn{{User, t0, "", "a\n---\nb"}}}},
	} {
		got, err := parse("file", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for _, bad := range []string{"", "---", "---\n", "---\n---\n", "x\n---\n\n---\n", "---\nid: x\n--- \n", "---\nid: x\n---"} {
		if _, err := parse("file", []byte(bad)); !errors.Is(err, errNoFrontMatter) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// text is likely to hold what matters to the format.
func text() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom([]string{"\n", "\r", "\r\n", "\\", "##", " ", "\t", "\u00a0", "\ufeff", "\u0085", "\u2028", "user", "assistant", "system", "—", "(", ")", "x",
				"---", ":", "\x00", "\xff", "## user — 2026-11-01T12:00:00.000Z (a)", "\n## system — t\n", "\n---\n"}),
			rapid.String(),
		), 0, 12).Draw(t, "parts")
		return strings.Join(parts, "")
	})
}

func conversations() *rapid.Generator[Conversation] {
	return rapid.Custom(func(t *rapid.T) Conversation {
		at := func(name string) time.Time {
			return t0.Add(time.Duration(rapid.Int64Range(-1e18, 1e18).Draw(t, name)))
		}
		c := Conversation{Meta: Meta{
			ID:    rapid.StringMatching(`[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}`).Draw(t, "id"),
			Agent: text().Draw(t, "agent"), Started: at("started"),
			Status: Status(rapid.SampledFrom([]string{"open", "closed", "x"}).Draw(t, "status")),
		}}
		for range rapid.IntRange(0, 5).Draw(t, "turns") {
			c.Turns = append(c.Turns, Turn{
				Role: Role(rapid.SampledFrom([]string{"user", "assistant", "system", "root\n"}).Draw(t, "role")),
				At:   at("at"), Attribution: text().Draw(t, "attribution"), Content: text().Draw(t, "content"),
			})
		}
		return c
	})
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := conversations().Draw(t, "c")
		raw := c.Markdown()
		got, err := parse(c.ID, raw)
		if err != nil {
			t.Fatal(err)
		}
		want := c.Canonical()
		if len(want.Turns) == 0 {
			want.Turns = nil
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%q: %s", raw, d)
		}
		if again := got.Markdown(); !bytes.Equal(raw, again) {
			t.Fatalf("written again: %q, was %q", again, raw)
		}
		// Other readers of the format see the same turns.
		n := 0
		for line := range strings.SplitSeq(string(raw), "\n") {
			if original.MatchString(line) {
				n++
			}
		}
		if n != len(c.Turns) {
			t.Fatalf("%q: %d headings, want %d", raw, n, len(c.Turns))
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("---\nid: x\n---\n\n## user — 2026-11-01T12:00:00.123Z (me)\n\nhi\n\\## user — t\n"))
	f.Add([]byte("---\r\nid: x\r\n---\r\n## user — t\r\n"))
	f.Add([]byte("---\n\n---\n##\u00a0user — \xff (\xff)\n\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := parse("file", raw)
		if err != nil {
			return
		}
		if !validID(c.ID) {
			t.Errorf("id %q", c.ID)
		}
		again, err := parse("file", c.Markdown())
		if err != nil {
			t.Fatal(err)
		}
		want := c.Canonical()
		if len(want.Turns) == 0 {
			want.Turns = nil
		}
		if d := cmp.Diff(want, again); d != "" {
			t.Error(d)
		}
	})
}

// Conversation is a whole file.
type Conversation struct {
	Meta
	Turns []Turn
}

// parse reads a file as another reader of the format would. Text before the first
// turn is dropped.
func parse(id string, raw []byte) (Conversation, error) {
	m, body, err := parseMeta(id, raw)
	if err != nil {
		return Conversation{}, err
	}
	c := Conversation{Meta: m}
	var lines []string
	finish := func() {
		if n := len(c.Turns); n > 0 {
			c.Turns[n-1].Content = trim(strings.Join(lines, "\n"))
		}
		lines = lines[:0]
	}
	for line := range strings.SplitSeq(body, "\n") {
		if t, ok := parseHeading(line); ok {
			finish()
			c.Turns = append(c.Turns, t)
			continue
		}
		if rest, ok := strings.CutPrefix(line, `\`); ok && headingLike(strings.TrimLeft(rest, `\`)) {
			line = rest
		}
		lines = append(lines, line)
	}
	finish()
	return c, nil
}

// parseHeading reads "## role — time (attribution)", with white space as it
// comes; anything else is content.
func parseHeading(line string) (Turn, bool) {
	role, rest, ok := cutHeading(line)
	if !ok {
		return Turn{}, false
	}
	if !startsWithSpace(rest) {
		return Turn{}, false
	}
	at := strings.TrimLeftFunc(rest, space)
	rest = ""
	if i := strings.IndexFunc(at, space); i >= 0 {
		at, rest = at[:i], trim(at[i:])
	}
	if at == "" {
		return Turn{}, false
	}
	t := Turn{Role: role, At: parseTime(at)}
	if rest == "" {
		return t, true
	}
	inner, opened := strings.CutPrefix(rest, "(")
	inner, closed := strings.CutSuffix(inner, ")")
	if !opened || !closed || inner == "" || strings.Contains(inner, ")") {
		return Turn{}, false
	}
	t.Attribution = inner
	return t, true
}

// Canonical is what a conversation is after it was written and read: times in
// milliseconds, lines that end in \n, text that is UTF-8, and nothing in a name
// that could end it.
func (c Conversation) Canonical() Conversation {
	c.Meta = c.Meta.canonical()
	turns := make([]Turn, 0, len(c.Turns))
	for _, t := range c.Turns {
		turns = append(turns, t.canonical())
	}
	c.Turns = turns
	return c
}

// FromThread is a thread as a conversation.
func FromThread(r thread.Record, events []thread.Event) Conversation {
	return Conversation{Meta: metaOf(r), Turns: Turns(events)}.Canonical()
}

// Markdown is the file of a conversation, written at once.
func (c Conversation) Markdown() []byte {
	var b bytes.Buffer
	c.writeMeta(&b)
	for _, t := range c.Turns {
		t.write(&b)
	}
	return b.Bytes()
}
