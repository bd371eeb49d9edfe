package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-acp/chant-acp/host/op"
)

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	sent := []Answer{
		{Config: []byte(`{"a":"\u003c"}`), Seen: Seen{Files: map[string]string{"x": "y"}, Paths: map[string]string{"z": ""}}, More: true},
		{Findings: []op.Finding{{File: "f", At: op.Position{Line: 1, Column: 2}, Message: "m"}}, Environ: true, Reads: []string{"A", "B"}, Spent: true},
		{},
	}
	for _, a := range sent {
		if err := WriteFrame(&b, a); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range sent {
		var got Answer
		if err := ReadFrame(&b, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	var got Answer
	if err := ReadFrame(&b, &got); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if err := WriteFrame(io.Discard, make([]byte, maxFrame)); err == nil {
		t.Error("a message that is too large is written")
	}
}

func TestBadFrames(t *testing.T) {
	for _, in := range []string{"\x00", "\x00\x00\x00\x02{", "\x00\x00\x00\x01{", "\xff\xff\xff\xff", "\x00\x00\x00\x00", "\x00\x00\x00\x02[]"} {
		var a Answer
		if err := ReadFrame(bytes.NewReader([]byte(in)), &a); err == nil || err == io.EOF {
			t.Errorf("%q: error %v", in, err)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Add([]byte("\x00\x00\x00\x15{\"config\":{},\"x\":null}"))
	f.Add([]byte("\x7f\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var a Answer
		if ReadFrame(bytes.NewReader(in), &a) != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteFrame(&b, a); err != nil {
			t.Fatal(err)
		}
		var again Answer
		if err := ReadFrame(&b, &again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(a, again); d != "" {
			t.Error(d)
		}
	})
}
