package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/chant-acp/chant-acp/internal/jsondoc"
)

// ErrNoHome says that there is no place for a configuration: no variable names
// one and there is no home.
var ErrNoHome = errors.New("there is no place for the configuration: HOME is not set; set CHANT_ACP_CONFIG to the file's absolute path")

// Path is where the configuration file is, or would be: $CHANT_ACP_CONFIG, else
// $XDG_CONFIG_HOME/chant-acp/config.json, else ~/.config/chant-acp/config.json.
// Errors: ErrNoHome; a CHANT_ACP_CONFIG that is relative. A relative
// XDG_CONFIG_HOME or HOME is ignored (XDG Base Directory Specification).
func Path(env func(string) string) (string, error) {
	if file := env("CHANT_ACP_CONFIG"); filepath.IsAbs(file) {
		return filepath.Clean(file), nil
	} else if file != "" {
		return "", fmt.Errorf("CHANT_ACP_CONFIG is %q: give the file's absolute path, as what a relative one means depends on where a program starts", file)
	}
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "chant-acp", "config.json"), nil
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "chant-acp", "config.json"), nil
	}
	return "", ErrNoHome
}

// splitKey takes a dotted key apart. A part with dots in it is written as a JSON
// string: adapters."my.agent".command.
func splitKey(key string) ([]string, error) {
	if !utf8.ValidString(key) {
		return nil, fmt.Errorf("the key %q is not UTF-8 text", key)
	}
	var path []string
	for rest := key; ; {
		var part string
		if strings.HasPrefix(rest, `"`) {
			d := json.NewDecoder(strings.NewReader(rest))
			if err := d.Decode(&part); err != nil {
				return nil, fmt.Errorf("the key %s has a quotation mark without an end", key)
			}
			rest = rest[d.InputOffset():]
		} else {
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			part, rest = rest[:end], rest[end:]
			if part == "" {
				return nil, fmt.Errorf("%q is no key: it has an empty part; keys look like daemon.port", key)
			}
		}
		if path = append(path, part); len(path) > maxDepth {
			return nil, fmt.Errorf("the key has more than %d parts", maxDepth)
		}
		if rest == "" {
			return path, nil
		}
		if rest[0] != '.' {
			return nil, fmt.Errorf("%q is no key: a dot belongs after a part in quotation marks", key)
		}
		rest = rest[1:]
	}
}

// joinKey is the inverse of splitKey.
func joinKey(path []string) string {
	var b strings.Builder
	for i, part := range path {
		if i > 0 {
			b.WriteByte('.')
		}
		if part == "" || strings.ContainsAny(part, ".\"") {
			b.WriteString(jsondoc.Quote(part))
		} else {
			b.WriteString(part)
		}
	}
	return b.String()
}

// validName says whether a name may be a profile's or an adapter's:
// ^[A-Za-z0-9_][A-Za-z0-9_.-]*$.
func validName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		case i > 0 && (c == '.' || c == '-'):
		default:
			return false
		}
	}
	return s != ""
}
