// Package fileuri reads and writes the addresses of files of this machine (RFC 8089): [Path] takes
// a URI, [Of] makes one.
package fileuri

import (
	"errors"
	"net/url"
	"strings"
)

// Errors of Path.
var (
	// ErrSyntax: it is no URI at all.
	ErrSyntax = errors.New("not a URI")
	// ErrNotLocal: it is a URI of something else than a file of this machine.
	ErrNotLocal = errors.New("not a file of this machine")
)

// Path returns the path of a file: URI, as it is written there with its percent
// encodings decoded. It is empty where the URI has none, and may be anything
// else, too: what a path may hold is for the caller to decide. A query and a
// fragment are left out.
func Path(uri string) (string, error) {
	uri, _, _ = strings.Cut(uri, "#") // which may be anything
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return "", ErrSyntax
	case u.Scheme != "file", !strings.HasPrefix(uri[len("file:"):], "/"),
		u.User != nil, u.Host != "" && !strings.EqualFold(u.Host, "localhost"):
		return "", ErrNotLocal
	}
	return u.Path, nil
}

// Of returns the file: URI of an absolute path. Whatever could end the URI, or the
// brackets of Markdown around it, is encoded (RFC 3986, section 2.3: unreserved
// characters are not).
func Of(path string) string {
	const hex = "0123456789ABCDEF"
	b := []byte("file://")
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b = append(b, c)
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}
