package fileuri_test

import (
	"errors"
	"testing"

	"github.com/chant-acp/chant-acp/internal/fileuri"
)

func TestOf(t *testing.T) {
	for path, want := range map[string]string{
		"/a/b.go":       "file:///a/b.go",
		"/a b/(c)[d].x": "file:///a%20b/%28c%29%5Bd%5D.x",
		"/a?b#c%d":      "file:///a%3Fb%23c%25d",
		"/é\n":          "file:///%C3%A9%0A",
	} {
		got := fileuri.Of(path)
		if got != want {
			t.Errorf("%q became %q, want %q", path, got, want)
		}
		if back, err := fileuri.Path(got); back != path || err != nil {
			t.Errorf("%q came back as %q, %v", path, back, err)
		}
	}
}

func TestPath(t *testing.T) {
	for uri, want := range map[string]struct {
		path string
		err  error
	}{
		// RFC 8089, appendix B.
		"file:///path/to/file":          {"/path/to/file", nil},
		"file:/path/to/file":            {"/path/to/file", nil},
		"file://localhost/path/to/file": {"/path/to/file", nil},
		"file://host.example.com/path":  {"", fileuri.ErrNotLocal},

		"FILE:///a":               {"/a", nil},
		"file://LocalHost/a":      {"/a", nil},
		"file:///a%20b%2Fc%C3%A9": {"/a b/cé", nil},
		"file:///a%2fb":           {"/a/b", nil},
		"file:///a%00b":           {"/a\x00b", nil},
		"file:///a?b#c":           {"/a", nil},
		"file:///a#%zz":           {"/a", nil},
		"file:///a%3Fb%23c":       {"/a?b#c", nil},
		"file:///é b":             {"/é b", nil},
		"file://":                 {"", nil},
		"file://localhost":        {"", nil},
		"file:///":                {"/", nil},
		"file:":                   {"", fileuri.ErrNotLocal},
		"file:a":                  {"", fileuri.ErrNotLocal},
		"file://user@localhost/a": {"", fileuri.ErrNotLocal},
		"file://localhost:8080/a": {"", fileuri.ErrNotLocal},
		"http://localhost/a":      {"", fileuri.ErrNotLocal},
		"/a":                      {"", fileuri.ErrNotLocal},
		"":                        {"", fileuri.ErrNotLocal},
		"file:///a%":              {"", fileuri.ErrSyntax},
		"file:///a%2":             {"", fileuri.ErrSyntax},
		"file:///a%zz":            {"", fileuri.ErrSyntax},
		"file:///a\nb":            {"", fileuri.ErrSyntax},
		"file:///a\x7fb":          {"", fileuri.ErrSyntax},
	} {
		path, err := fileuri.Path(uri)
		if path != want.path || !errors.Is(err, want.err) {
			t.Errorf("%q gives %q, %v; want %q, %v", uri, path, err, want.path, want.err)
		}
	}
}
