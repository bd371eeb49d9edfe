package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
