package client

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// readBlocks reads events to the end.
func readBlocks(r io.Reader) (list []block, reader *sseReader, err error) {
	reader = newSSEReader(r)
	for {
		b, err := reader.next()
		if err != nil {
			return list, reader, err
		}
		list = append(list, b)
	}
}

// TestSSE holds the rules of the HTML standard, 9.2.6, and its examples.
func TestSSE(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []block
	}{
		"nothing":                   {"", nil},
		"one":                       {"id: 1\nevent: add\ndata: x\n\n", []block{{"1", "add", "x"}}},
		"without a type":            {"data: x\n\n", []block{{"", "message", "x"}}},
		"several lines":             {"data: YHOO\ndata: +2\ndata: 10\n\n", []block{{"", "message", "YHOO\n+2\n10"}}},
		"the standard's comments":   {": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n", []block{{"1", "message", "first event"}, {"", "message", "second event"}}},
		"empty data, two and one":   {"data\n\ndata\ndata\n\ndata:", []block{{"", "message", ""}, {"", "message", "\n"}}},
		"with a space and without":  {"data:test\n\ndata: test\n\n", []block{{"", "message", "test"}, {"", "message", "test"}}},
		"CR LF":                     {"data: x\r\ndata: y\r\n\r\n", []block{{"", "message", "x\ny"}}},
		"CR":                        {"data: x\rdata: y\r\r", []block{{"", "message", "x\ny"}}},
		"mixed ends":                {"data: x\r\n\rdata: y\n\r\n", []block{{"", "message", "x"}, {"", "message", "y"}}},
		"an id stays":               {"id: 7\ndata: x\n\ndata: y\n\n", []block{{"7", "message", "x"}, {"7", "message", "y"}}},
		"an id without data":        {"id: 7\n\ndata: y\n\n", []block{{"7", "message", "y"}}},
		"an id with NUL is ignored": {"id: 7\nid: a\x00b\ndata: x\n\n", []block{{"7", "message", "x"}}},
		"a type does not stay":      {"event: a\n\ndata: x\n\n", []block{{"", "message", "x"}}},
		"unknown fields":            {"foo: bar\ndata: x\nid2: 4\n\n", []block{{"", "message", "x"}}},
		"cut short":                 {"data: x\n\ndata: y\n", []block{{"", "message", "x"}}},
		"a byte order mark":         {"\ufeffdata: x\n\n\ufeffdata: y\n\n", []block{{"", "message", "x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{"at once": strings.NewReader(c.text), "by bytes": iotest.OneByteReader(strings.NewReader(c.text))} {
				got, _, err := readBlocks(r)
				if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(block{})); diff != "" || err != io.EOF {
					t.Errorf("%s: %v\n%s", how, err, diff)
				}
			}
		})
	}
}

func TestSSERetry(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"retry: 1500\n\n": 1500 * time.Millisecond, "retry: 10000000\n\n": time.Minute, "retry: 1e3\n\n": 0, "retry: -1\n\n": 0, "retry\n\n": 0,
	} {
		if _, r, _ := readBlocks(strings.NewReader(text)); r.retry != want {
			t.Errorf("%q: %v, want %v", text, r.retry, want)
		}
	}
}

func TestSSETooLong(t *testing.T) {
	for name, text := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", maxBlock+1),
		"many lines": strings.Repeat("data: "+strings.Repeat("x", maxBlock/4)+"\n", 5),
	} {
		if list, _, err := readBlocks(strings.NewReader(text)); !errors.Is(err, errLongEvent) || list != nil {
			t.Errorf("%s: %d events, %v", name, len(list), err)
		}
	}
}

// FuzzSSE wants what is read not to depend on how it arrives, and nothing that the
// format can't say.
func FuzzSSE(f *testing.F) {
	f.Add("id: 1\nevent: add\ndata: x\r\n\r\n: c\n\ndata\ndata: \n\n")
	f.Add("\ufeffdata:\rretry: 9\r\rid\x00: 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		whole, _, err := readBlocks(strings.NewReader(text))
		if err != io.EOF {
			t.Fatal(err)
		}
		bytewise, _, _ := readBlocks(iotest.OneByteReader(strings.NewReader(text)))
		if diff := cmp.Diff(whole, bytewise, cmp.AllowUnexported(block{})); diff != "" {
			t.Fatal(diff)
		}
		for _, b := range whole {
			if strings.ContainsAny(b.id, "\r\n\x00") || strings.ContainsAny(b.kind, "\r\n") || strings.Contains(b.data, "\r") || b.kind == "" {
				t.Fatalf("%q holds what it can't", b)
			}
		}
	})
}
