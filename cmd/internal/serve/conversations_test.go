package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
)

func TestConversationsOf(t *testing.T) {
	for name, c := range map[string]struct {
		make []string // folders; "a -> b" is a link
		cwd  string
		want string
	}{
		"none":                  {[]string{"p/sub"}, "p/sub", ""},
		"of the directory":      {[]string{"p/.chant-acp/conversations"}, "p", "p"},
		"of the project":        {[]string{"p/.git", "p/sub/deep", "p/.chant-acp/conversations"}, "p/sub/deep", "p"},
		"the nearer one":        {[]string{"p/.git", "p/.chant-acp/conversations", "p/sub/.chant-acp/conversations"}, "p/sub", "p/sub"},
		"above the project":     {[]string{"p/.git", ".chant-acp/conversations"}, "p", ""},
		"above, no project":     {[]string{"p/sub", "p/.chant-acp/conversations"}, "p/sub", ""},
		"a link":                {[]string{"elsewhere", "p/.chant-acp", "p/.chant-acp/conversations -> elsewhere"}, "p", ""},
		"a folder by a link":    {[]string{"elsewhere/conversations", "p", "p/.chant-acp -> elsewhere"}, "p", ""},
		"the directory is gone": {nil, "p", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range c.make {
				if err := makePath(root, path); err != nil {
					t.Fatal(err)
				}
			}
			want := c.want
			if want != "" {
				want = filepath.Join(root, want, ".chant-acp", "conversations")
			}
			if got := conversationsOf(filepath.Join(root, c.cwd)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func makePath(root, path string) error {
	if link, to, ok := strings.Cut(path, " -> "); ok {
		return os.Symlink(filepath.Join(root, to), filepath.Join(root, link))
	}
	return os.MkdirAll(filepath.Join(root, path), 0o755)
}

// A conversation is closed with its session, and open again with the next turn.
func TestConversationsClose(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	c := newConversations(zerolog.Nop(), dir)
	s := agent.SessionRecord{ID: "sess_1", Cwd: t.TempDir()}
	turn := []agent.Event{{Kind: agent.EventPrompt, Turn: "t", Prompt: []acp.ContentBlock{acp.Text("hello")}}}
	c.sessionEnded(s) // of which nothing was written
	for _, want := range []string{"status: open\n", "status: closed\n", "status: open\n"} {
		if strings.Contains(want, "closed") {
			c.sessionEnded(s)
		} else {
			c.turnEnded(s, turn)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "sess_1.md")); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("want %q: %s %v", want, text, err)
		}
	}
}
