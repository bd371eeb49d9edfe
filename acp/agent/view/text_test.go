package view

import (
	"errors"
	"fmt"
	"testing"

	"github.com/chant-acp/chant-acp/command"
)

// What is aligned is shown as it is; a sentence is a sentence.
func TestRefusalText(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&command.Refusal{Reason: "there is no command x"}, "There is no command x. `help` lists everything that can be run here."},
		{
			&command.Refusal{Reason: "there is no command x", Suggestions: []command.Suggestion{{Name: "a", Summary: "do a"}, {Name: "bcd", Summary: "do b"}}},
			"There is no command x.\n\n```\nDid you mean:\n  a    do a\n  bcd  do b\n```\n\n`help` lists everything that can be run here.",
		},
		{
			fmt.Errorf("wrapped: %w", &command.Refusal{Reason: "a: env is missing", Usage: "a <env>", Topic: "a"}),
			"a: env is missing.\n\n```\nUsage: a <env>\n```\n\n`help a` says more; `help` lists everything that can be run here.",
		},
		{errors.New("nothing was run"), "Nothing was run."},
	} {
		if got := Refusal(c.err); got != c.want {
			t.Errorf("\n got %q\nwant %q", got, c.want)
		}
	}
}

// Text of a project inside a sentence shows as it is, and does nothing.
func TestProse(t *testing.T) {
	for text, want := range map[string]string{
		"Ship it?":              "Ship it?",
		"![x](http://e.org/a)":  `!\[x\](http\://e.org/a)`,
		"<img src=x> &amp;":     `\<img src=x> \&amp;`,
		"**now** `rm` _a_":      "\\*\\*now\\*\\* \\`rm\\` \\_a\\_",
		"see www.e.org a@e.org": `see www\.e.org a\@e.org`,
		"a\n# b\u202ec":         `a # b\u202ec`,
	} {
		if got := Prose(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestLineBreaksAreShown(t *testing.T) {
	for in, want := range map[string]string{"say 'a\nb'": "`say 'a\\nb'`", "a\u2028b\u2029c": "`a\\u2028b\\u2029c`"} {
		if got := Code(in); got != want {
			t.Errorf("Code(%q) = %s, want %s", in, got, want)
		}
	}
	if got := Title(&command.Invocation{Line: "say 'a\nb\u2028c'"}); got != `say 'a\nb\u2028c'` {
		t.Errorf("Title gives %q", got)
	}
}
