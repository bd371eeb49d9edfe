package command

import (
	"strings"

	"github.com/chant-acp/chant-acp/internal/near"
)

// A template is one element of exec: literal text and parameters. An element
// yields one element of the argv, or, where it is a parameter as a whole, as
// many as the parameter's values give.
type template []templatePart

// A templatePart is literal text, or a parameter when param is set.
type templatePart struct {
	text  string
	param *param
}

// whole returns the parameter that the element consists of, or nil.
func (t template) whole() *param {
	if len(t) == 1 {
		return t[0].param
	}
	return nil
}

// literal returns the element's text when no parameter is in it.
func (t template) literal() (string, bool) {
	switch {
	case len(t) == 0:
		return "", true
	case len(t) == 1 && t[0].param == nil:
		return t[0].text, true
	}
	return "", false
}

// parseTemplate reads one element of exec. {name} is a parameter, {{name}} the
// literal text {name}, and braces around anything but a name are themselves.
// resolve finds a parameter; where it has none it reports that and returns nil.
func parseTemplate(s string, resolve func(name string) *param) template {
	var t template
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			t = append(t, templatePart{text: text.String()})
			text.Reset()
		}
	}
	for i := 0; i < len(s); {
		if name, n := bracedName(s[i:]); n > 0 {
			if p := resolve(name); p != nil {
				flush()
				t = append(t, templatePart{param: p})
			}
			i += n
			continue
		}
		if s[i] == '{' {
			if name, n := bracedName(s[i+1:]); n > 0 && i+1+n < len(s) && s[i+1+n] == '}' {
				text.WriteString("{" + name + "}")
				i += n + 2
				continue
			}
		}
		text.WriteByte(s[i])
		i++
	}
	flush()
	return t
}

// bracedName reads {name} at the start of s and returns its length, or 0.
func bracedName(s string) (string, int) {
	if s == "" || s[0] != '{' {
		return "", 0
	}
	end := strings.IndexByte(s, '}')
	if end < 0 || !isName(s[1:end]) {
		return "", 0
	}
	return s[1:end], end + 1
}

// isName says whether s can name a parameter: a letter or underscore, then
// letters, digits, underscores and hyphens.
func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return s != "" && len(s) <= near.Max
}

// An asPiece is one argv element that a value becomes: the literals around the
// places where the value goes. One literal means no place at all.
type asPiece []string

// parseAs reads one piece of `as`: {} is the value, {{}} the literal text {}.
func parseAs(s string) asPiece {
	piece := asPiece{""}
	for s != "" {
		last := len(piece) - 1
		switch {
		case strings.HasPrefix(s, "{{}}"):
			piece[last] += "{}"
			s = s[4:]
		case strings.HasPrefix(s, "{}"):
			piece = append(piece, "")
			s = s[2:]
		default:
			piece[last] += s[:1]
			s = s[1:]
		}
	}
	return piece
}

// fill puts the value in its places.
func (a asPiece) fill(value string) string { return strings.Join(a, value) }

// begins says whether the value would begin the element.
func (a asPiece) begins() bool { return len(a) > 1 && a[0] == "" }
