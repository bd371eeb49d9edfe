package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/internal/strictyaml"
)

// Each text is no YAML, and has one error at the mark: the first character that
// cannot be where it is, or, of what is opened and never closed or goes without
// its colon, where that begins.
func TestSyntaxErrorsHaveTheirPlace(t *testing.T) {
	tests := []struct{ name, text, says string }{
		{"tab for indentation", "version: 1\ncommands:\n§\tlist: x\n", "a tab stands here"},
		{"tab after spaces", "commands:\n  §\tlist: x\n", "a tab stands here"},
		{"tab before a list", "a:\n- b\n§\t- c\n", "a tab stands here"},
		{"tab under a value", "version: 1\na: b\n§\tc: d\n", "a tab stands here"},
		{"tab after empty lines", "a: b\n\n\n#c\n§\tc\n", "a tab stands here"},
		{"tab in a block of text", "a: |\n§\tx\n", "a tab stands here"},
		{"open double quote", "version: 1\na: §\"x\nb: 2\n", "quote is never closed"},
		{"open single quote", "version: 1\na: §'x\nb: 2\n", "quote is never closed"},
		{"open quote without a last newline", "a: 1\nb: §'x", "quote is never closed"},
		{"open quote that ends in a backslash", "a: §\"x\\\n", "quote is never closed"},
		{"open quote in a second document", "a: 1\n---\nb: §\"x\n", "quote is never closed"},
		{"quote closed by the next one", "a: \"x\nb: \"§y\"\n", "does not continue the mapping"},
		{"document in a quote", "a: \"x\n§---\nb\"\n", "document indicator"},
		{"open bracket", "version: 1\na: §[x, y\n", "[ is never closed"},
		{"open bracket with nothing in it", "version: 1\na: §[\n", "[ is never closed"},
		{"open bracket after a comma", "a: §[x,", "[ is never closed"},
		{"open bracket before a comment", "a: 1\nb: §[x, # c", "[ is never closed"},
		{"open bracket that takes the rest", "a: §[x,\nb: 2\n", "[ is never closed"},
		{"open bracket before a key", "a: [x\nb§: 2\n", "line 1, column 4"},
		{"open brace", "version: 1\na: §{x: y\n", "{ is never closed"},
		{"open brace with nothing in it", "a: §{", "{ is never closed"},
		{"open brace in an open bracket", "a: [x, §{b: c\n\n\n", "{ is never closed"},
		{"bracket too many", "a: [b]§]\n", "does not continue"},
		{"bracket alone", "a: §]\n", "a value is expected"},
		{"brace alone", "a: 1\n§}\n", "does not continue"},
		{"brace for bracket", "a: [b§}\n", "a comma or ] is missing"},
		{"bracket for brace", "a: {b§]\n", "a comma or } is missing"},
		{"no comma in a list", "a: [\"x\" §\"y\"]\n", "a comma or ] is missing"},
		{"no comma across lines", "a: [\"x\"\n   §\"y\"]\n", "a comma or ] is missing"},
		{"no comma in braces", "a: {b: \"1\" §c: 2}\n", "a comma or } is missing"},
		{"no comma in braces across lines", "a: {b: 1\n    c§: 2}\n", "a comma or } is missing"},
		{"two commas", "a: [b, §,]\n", "a value is expected"},
		{"comma first", "a: {§, b}\n", "a value is expected"},
		{"unknown escape", "a: \"x§\\q\"\n", "no such escape"},
		{"bad digits", "a: \"x\\x§zz\"\n", "hexadecimal"},
		{"too few digits", "a: \"x\\u§12\"\n", "hexadecimal"},
		{"no character", "a: \"\\U§ffffffff\"\n", "escape code"},
		{"indented too little", "a:\n    b: 1\n  §c: 2\n", "does not continue the mapping"},
		{"indented less than all", "   a: b\n  §c: d\n", "document start"},
		{"indented too much", "a: 1\n  b§: 2\n", "a colon"},
		{"text indented too little", "a: |\n    \n  §x\n", "does not continue the mapping"},
		{"list element indented too little", "a:\n  - b\n §- c\n", "does not continue the mapping"},
		{"colon in a value", "version: 1\nsummary: do§: this\n", "a colon"},
		{"colon after non-ASCII", "ä: ö§: c\n", "a colon"},
		{"colon after a mark of byte order", "\ufeffa: b§: c\n", "a colon"},
		{"colon in a file with CRLF", "a: 1\r\nb: 2\r\nc: d§: e\r\n", "a colon"},
		{"colon in a file with CR", "a: 1\rb: 2\rc: d§: e\r", "a colon"},
		{"key of two lines", "\"a\nb\"§: c\n", "a colon"},
		{"no colon", "a: 1\n§b\nc: 2\n", "no colon"},
		{"no colon at the end", "a: 1\n§b\n", "no colon"},
		{"no blank after the colon", "a: b\n§c:d\ne: f\n", "no colon"},
		{"list after a key", "a: §- b\n", "a list cannot begin here"},
		{"complex key after a key", "a: §? b\n", "mapping keys"},
		{"key in a list", "- a\n§b: 1\n", "does not continue the list"},
		{"element in a mapping", "a: 1\n§- b\n", "does not continue the mapping"},
		{"text after a quote", "a: \"x\" §y\n", "does not continue the mapping"},
		{"quote in a quote", "a: 'it'§s'\n", "does not continue the mapping"},
		{"text after a list", "a: [b, c] §d\n", "does not continue the mapping"},
		{"comment without a blank", "a: \"x\"§#y\n", "comment"},
		{"reserved @", "a: §@x\n", "no value begins"},
		{"reserved backtick", "a: §`x\n", "no value begins"},
		{"reserved %", "a: §%x\n", "no value begins"},
		{"block of text with more behind |", "a: |§x\n", "line break"},
		{"block of text without depth", "a: |§0\n", "equal to 0"},
		{"unknown alias", "a: §*x\n", "aliases (*x)"},
		{"alias without a name", "a: *§ x\n", "alphabetic"},
		{"anchor without a name", "a: &§ x\n", "alphabetic"},
		{"open tag", "a: §!<foo\n", "tags"},
		{"unknown tag", "a: §!x!y z\n", "tags"},
		{"unknown directive", "§%FOO bar\n---\na: 1\n", "directive"},
		{"bad directive", "§%YAML x\n---\na: 1\n", "directive"},
		{"version of another time", "§%YAML 9.0\n---\na: 1\n", "directive"},
		{"directive twice", "%YAML 1.1\n§%YAML 1.1\n---\na: 1\n", "directive"},
		{"directive alone", "%YAML 1.1\n§", "document start"},
		{"directive alone, no newline", "%YAML 1.1§", "document start"},
		{"text behind the end", "a: 1\n... §x\n", "document-end"},
		{"second document", "version: 1\n§---\nversion: 1\n", "a second document"},
		{"second document without a mark", "version: 1\n...\n§version: 1\n", "a second document"},
		{"nested too deeply", strings.Repeat("[", 10000) + "§" + strings.Repeat("[", 50), "depth"},
		{"control character", "a: x§\x01\n", "U+0001"},
		{"control character in a comment", "a: x # §\x7f\n", "U+007F"},
		{"NUL", "a: 1\nb: §\x00\n", "NUL"},
		{"not UTF-8", "a: ü§\xff\n", "0xff"},
		{"UTF-8 cut short", "a: ü§\xc3", "0xc3"},
		{"UTF-16", "§\xff\xfea\x00", "UTF-8"},
		{"mark of byte order inside", "a: 1\n§\ufeffb: 2\n", "U+FEFF"},
		{"line separator", "a: 1§\u2028b: 2: 3\n", "U+2028"},
		{"next line", "a: 1§\u0085b: 2: 3\n", "U+0085"},
		{"no character at all", "a: §\uffff\n", "U+FFFF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, after, _ := strings.Cut(tt.text, "§")
			text := strings.TrimPrefix(before, "\ufeff")
			line, column := strictyaml.Position([]byte(text), len(text))
			_, err := ParseManifest("f.yaml", []byte(before+after))
			var bad *ManifestError
			if !errors.As(err, &bad) || len(bad.Diagnostics) != 1 {
				t.Fatalf("error %v, want one", err)
			}
			if d := bad.Diagnostics[0]; d.Line != line || d.Column != column || !strings.Contains(d.Message, tt.says) {
				t.Errorf("want %d:%d with %q, found %v", line, column, tt.says, d)
			}
		})
	}
}

func TestPosition(t *testing.T) {
	for _, tt := range []struct {
		text         string
		line, column int
	}{
		{"", 1, 1}, {"ab", 1, 3}, {"a\n", 2, 1}, {"a\r\nb", 2, 2}, {"a\rb", 2, 2}, {"a\r", 2, 1}, {"ä\nöü", 2, 3}, {"\n\n", 3, 1},
	} {
		if line, column := strictyaml.Position([]byte(tt.text), len(tt.text)); line != tt.line || column != tt.column {
			t.Errorf("%q ends at %d:%d, want %d:%d", tt.text, line, column, tt.line, tt.column)
		}
	}
}
