package strictyaml_test

import (
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/internal/strictyaml"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, in     string
		line, column int
		message      string // "" for none
	}{
		{"plain", "a: 1\nb: [x]\n", 0, 0, ""},
		{"byte order mark", "\ufeffa: 1\n", 0, 0, ""},
		{"empty", "", 0, 0, ""},
		{"comment", "# nothing\n", 0, 0, ""},
		{"not UTF-8", "a: 1\nb: \xff\n", 2, 4, "it holds a byte that is not UTF-8 (0xff)"},
		{"NUL", "a\x00", 1, 2, "it holds a NUL byte"},
		{"anchor", "a: &x 1\n", 1, 4, "anchors (&x)"},
		{"alias", "a: &x 1\nb: *x\n", 1, 4, "anchors (&x)"},
		{"tag", "a: !!str 1\n", 1, 4, "tags (!!str)"},
		{"two documents", "a: 1\n---\nb: 2\n", 2, 1, "a second document begins here; it is one document"},
		{"tab", "a:\n\tb: 1\n", 2, 1, "a tab stands here"},
		{"syntax", "a: [1\n", 1, 4, "[ is never closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, problems := strictyaml.Parse([]byte(c.in), "it")
			if c.message == "" {
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				return
			}
			if root != nil || len(problems) == 0 {
				t.Fatalf("got %v, %v", root, problems)
			}
			p := problems[0]
			if p.Line != c.line || p.Column != c.column || !strings.Contains(p.Message, c.message) {
				t.Errorf("got %d:%d %s", p.Line, p.Column, p.Message)
			}
		})
	}
}
