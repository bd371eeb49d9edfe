package gitstate

import (
	"errors"
	"strconv"
	"strings"
)

// A config is one or several files of configuration, see "Syntax" in git-config(1).
type config struct {
	values   map[string]string // by section.key, or section.subsection.key
	includes bool              // other files belong to it
}

var errConfig = errors.New("the repository's configuration can't be read")

// parseConfig reads one file. Of a key that is there twice the last value counts.
func parseConfig(text string) (config, error) {
	c := config{values: make(map[string]string)}
	section := ""
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	for text != "" {
		text = strings.TrimLeft(text, " \t\n")
		switch {
		case text == "":
		case text[0] == '#' || text[0] == ';':
			_, text, _ = strings.Cut(text, "\n")
		case text[0] == '[':
			var err error
			if section, text, err = configSection(text[1:]); err != nil {
				return config{}, err
			}
			c.includes = c.includes || section == "include" || strings.HasPrefix(section, "includeif.")
		default:
			n := strings.IndexFunc(text, func(r rune) bool { return !isKey(r) })
			if n < 0 {
				n = len(text)
			}
			if section == "" || n == 0 {
				return config{}, errConfig
			}
			key := section + "." + strings.ToLower(text[:n])
			value := "true"
			text = strings.TrimLeft(text[n:], " \t")
			if rest, ok := strings.CutPrefix(text, "="); ok {
				var err error
				if value, text, err = configValue(rest); err != nil {
					return config{}, err
				}
			} else if text != "" && !strings.ContainsRune("\n#;", rune(text[0])) {
				return config{}, errConfig
			}
			c.values[key] = value
		}
	}
	return c, nil
}

func isKey(r rune) bool {
	return r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// configSection reads what follows a "[".
func configSection(text string) (section, rest string, err error) {
	n := strings.IndexAny(text, "] \t\n")
	if n <= 0 {
		return "", "", errConfig
	}
	section = strings.ToLower(text[:n])
	text = strings.TrimLeft(text[n:], " \t")
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		var sub strings.Builder
		i := 0
		for ; i < len(quoted) && quoted[i] != '"'; i++ {
			if quoted[i] == '\\' {
				i++
			}
			if i == len(quoted) || quoted[i] == '\n' {
				return "", "", errConfig
			}
			sub.WriteByte(quoted[i])
		}
		if i == len(quoted) {
			return "", "", errConfig
		}
		section, text = section+"."+sub.String(), quoted[i+1:]
	}
	rest, ok := strings.CutPrefix(text, "]")
	if !ok {
		return "", "", errConfig
	}
	return section, rest, nil
}

// configValue reads what follows a "=", to the end of its line.
func configValue(text string) (value, rest string, err error) {
	text = strings.TrimLeft(text, " \t")
	var b strings.Builder
	quoted, comment, kept := false, false, 0 // kept: what is not blanks at the end
	i := 0
	for ; i < len(text) && text[i] != '\n'; i++ {
		c := text[i]
		switch {
		case comment:
			continue
		case c == '"':
			quoted = !quoted
			kept = b.Len()
			continue
		case !quoted && (c == '#' || c == ';'):
			comment = true
			continue
		case c == '\\':
			i++
			if i == len(text) {
				return "", "", errConfig
			}
			switch text[i] {
			case '\n':
				continue
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case '"', '\\':
				c = text[i]
			default:
				return "", "", errConfig
			}
			b.WriteByte(c)
			kept = b.Len()
			continue
		}
		b.WriteByte(c)
		if quoted || c != ' ' && c != '\t' {
			kept = b.Len()
		}
	}
	if quoted {
		return "", "", errConfig
	}
	return b.String()[:kept], text[i:], nil
}

func (c config) get(key string) (value string, ok bool) {
	value, ok = c.values[key]
	return value, ok
}

// boolean reads a value as git does. ok is false where it is none.
func (c config) boolean(key string, byDefault bool) (value, ok bool) {
	text, set := c.values[key]
	if !set {
		return byDefault, true
	}
	switch strings.ToLower(text) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off", "":
		return false, true
	}
	n, err := strconv.Atoi(text)
	return n != 0, err == nil
}

// names are the keys below a prefix, without it.
func (c config) names(prefix string) []string {
	var names []string
	for key := range c.values {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			names = append(names, name)
		}
	}
	return names
}

// add takes over what a later file says.
func (c *config) add(later config) {
	for key, value := range later.values {
		c.values[key] = value
	}
	c.includes = c.includes || later.includes
}
