package conversation

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/runtime/thread"
)

// someEvents makes events of turns that overlap and come in pieces.
func someEvents() *rapid.Generator[[]thread.Event] {
	one := rapid.Custom(func(t *rapid.T) thread.Event {
		e := thread.Event{
			Kind:     agent.EventKind(rapid.SampledFrom([]string{"prompt", "say", "say", "call", "output", "output", "output", "result", "end", "gap", "used", "new"}).Draw(t, "kind")),
			Time:     t0.Add(time.Duration(rapid.IntRange(0, 9).Draw(t, "at")) * time.Second),
			Turn:     rapid.SampledFrom([]string{"", "1", "1", "1", "2", "2", "3"}).Draw(t, "turn"),
			CallID:   rapid.SampledFrom([]string{"", "c", "d"}).Draw(t, "call"),
			Terminal: rapid.Bool().Draw(t, "terminal"),
		}
		words := rapid.OneOf(text(), rapid.SampledFrom([]string{"", "\n", "`", "````", "\n```\n", "\r", "\x1b[31m", "a\bb", "## ", "user ", "— t", "\\", " "}))
		e.Text = plainUTF8(words.Draw(t, "text"))
		switch e.Kind {
		case thread.EventPrompt:
			e.Prompt = []acp.ContentBlock{acp.Text(plainUTF8(text().Draw(t, "line")))}
		case thread.EventCall:
			e.Call = &agent.CallEvent{Title: e.Text}
		case thread.EventResult:
			e.Result = &agent.ResultEvent{Content: e.Text}
		case thread.EventEnd:
			e.End = &agent.EndEvent{State: rapid.SampledFrom([]string{"completed", "interrupted"}).Draw(t, "state")}
		}
		return e
	})
	return rapid.SliceOfN(one, 0, 25)
}

// plainUTF8 is what a thread, which is JSON, can hold.
func plainUTF8(s string) string { return string([]rune(s)) }

func seq(events []thread.Event) iter.Seq2[thread.Event, error] {
	return func(yield func(thread.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// A document is what the whole thread in memory would be, however its turns
// overlap and its text is cut.
func TestDocument(t *testing.T) {
	r := thread.Record{ID: "s1", Created: t0}
	rapid.Check(t, func(t *rapid.T) {
		events := someEvents().Draw(t, "events")
		read := events
		d, err := NewDocument(r, func(yield func(thread.Event, error) bool) { seq(read)(yield) })
		if err != nil {
			t.Fatal(err)
		}
		read = append(events[:len(events):len(events)], thread.Event{Kind: thread.EventSay, Turn: "9", Text: "since then"})
		var b bytes.Buffer
		if err := d.Write(&b); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(FromThread(r, events).Markdown()), b.String()); d != "" {
			t.Fatal(d)
		}
	})
}

func TestDocumentErrors(t *testing.T) {
	bad := errors.New("bad")
	events := []thread.Event{{Kind: thread.EventSay, Turn: "1", Text: "a"}, {Kind: thread.EventSay, Turn: "1", Text: "b"}}
	var failure error
	var left []thread.Event
	source := func(yield func(thread.Event, error) bool) {
		for _, e := range left {
			if !yield(e, nil) {
				return
			}
		}
		if failure != nil {
			yield(thread.Event{}, failure)
		}
	}
	failure = bad
	if _, err := NewDocument(thread.Record{}, source); !errors.Is(err, bad) {
		t.Errorf("an error at the first reading: %v", err)
	}
	failure, left = nil, events
	d, err := NewDocument(thread.Record{}, source)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Write(failingWriter{bad}); !errors.Is(err, bad) {
		t.Errorf("an error of the writer: %v", err)
	}
	left = events[:1]
	if err := d.Write(&bytes.Buffer{}); !errors.Is(err, errChanged) {
		t.Errorf("a thread that was cut: %v", err)
	}
	failure = bad
	if err := d.Write(&bytes.Buffer{}); !errors.Is(err, bad) {
		t.Errorf("an error at the second reading: %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// However long a turn, what is kept of it is little, even where all of it has to
// be held back because it is white space.
func TestDocumentKeepsLittle(t *testing.T) {
	const pieces, size, most = 128, 64 << 10, 2 << 20
	for name, e := range map[string]thread.Event{
		"output":      {Kind: thread.EventOutput, CallID: "c", Terminal: true, Text: strings.Repeat("some words\n", size/11)},
		"text":        {Kind: thread.EventOutput, CallID: "c", Text: strings.Repeat("some words\n", size/11)},
		"one line":    {Kind: thread.EventSay, Text: strings.Repeat("word", size/4)},
		"line feeds":  {Kind: thread.EventSay, Text: strings.Repeat("\n", size)},
		"white space": {Kind: thread.EventSay, Text: strings.Repeat(" ", size)},
	} {
		var before, now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		d, err := NewDocument(thread.Record{}, func(yield func(thread.Event, error) bool) {
			for i := range pieces {
				if i == pieces-1 {
					runtime.GC()
					runtime.ReadMemStats(&now)
					if now.HeapAlloc > before.HeapAlloc+most {
						t.Errorf("%s: %d bytes are kept", name, now.HeapAlloc-before.HeapAlloc)
					}
				}
				if !yield(e, nil) {
					return
				}
			}
		})
		if err == nil {
			err = d.Write(io.Discard)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
