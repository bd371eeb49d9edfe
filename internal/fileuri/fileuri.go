// Package fileuri reads and writes the addresses of files of this machine (RFC 8089).
//
// It is not net/url, which does the same and much else, because of when that is
// initialised: see cmd/chant-acp/internal/early.
package fileuri

import (
	"errors"
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
	if strings.ContainsFunc(uri, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return "", ErrSyntax
	}
	scheme, rest, found := strings.Cut(uri, ":")
	if !found || !strings.EqualFold(scheme, "file") {
		return "", ErrNotLocal
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		host := after
		rest = ""
		if i := strings.IndexByte(after, '/'); i >= 0 {
			host, rest = after[:i], after[i:]
		}
		if host != "" && !strings.EqualFold(host, "localhost") {
			return "", ErrNotLocal
		}
	} else if !strings.HasPrefix(rest, "/") {
		return "", ErrNotLocal
	}
	return decode(rest)
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

// decode resolves percent encodings (RFC 3986, section 2.1).
func decode(s string) (string, error) {
	if !strings.Contains(s, "%") {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", ErrSyntax
		}
		high, low := digit(s[i+1]), digit(s[i+2])
		if high < 0 || low < 0 {
			return "", ErrSyntax
		}
		b = append(b, byte(high<<4|low))
		i += 2
	}
	return string(b), nil
}

// digit is the value of a hexadecimal digit, or -1.
func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
