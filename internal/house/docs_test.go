package house_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host/op"
)

// pages lists what people read.
func pages(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	decisions, err := filepath.Glob("docs/decisions/*.md")
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, decisions...)
	return append(list, "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
}

func page(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// block is a fenced code block of a page.
type block struct {
	language, text string
	line           int // of its opening fence
}

func blocks(text string) []block {
	var list []block
	inside := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case !inside && strings.HasPrefix(line, "```"):
			inside = true
			list = append(list, block{language: strings.TrimPrefix(line, "```"), line: i + 1})
		case inside && line == "```":
			inside = false
		case inside:
			list[len(list)-1].text += line + "\n"
		}
	}
	return list
}

// whole makes a manifest of a block, which may be commands only.
func whole(text string) string {
	if strings.Contains("\n"+text, "\nversion:") || strings.Contains("\n"+text, "\nenvironments:") {
		return text
	}
	var b strings.Builder
	b.WriteString("version: 1\ncommands:\n")
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// TestManifestsInDocuments parses every yaml block. One that a text block
// follows is an example of errors or warnings, and has to give just those. One
// with phases is an Op.
func TestManifestsInDocuments(t *testing.T) {
	atRoot(t)
	checked := 0
	for _, file := range pages(t) {
		list := blocks(page(t, file))
		for i, b := range list {
			if b.language != "yaml" {
				continue
			}
			checked++
			if strings.Contains("\n"+b.text, "\nphases:") {
				if _, err := op.Decode("page.op.yaml", []byte(b.text)); err != nil {
					t.Errorf("%s:%d: this Op is none:\n%v", file, b.line, err)
				}
				continue
			}
			var want []string
			if i+1 < len(list) && list[i+1].language == "text" {
				want = strings.Split(strings.TrimSuffix(list[i+1].text, "\n"), "\n")
			}
			got := findings(t, b.text, len(want) > 0 && strings.HasPrefix(want[0], command.ManifestName+":"))
			if !slices.Equal(got, want) {
				t.Errorf("%s:%d: this manifest gives\n%s\nand the page says\n%s", file, b.line, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d manifests were found in the documents", checked)
	}
}

// findings are the errors of a manifest, else its warnings, with their places
// where that is asked for.
func findings(t *testing.T, text string, places bool) []string {
	t.Helper()
	m, err := command.ParseManifest(command.ManifestName, []byte(whole(text)))
	var list []command.Diagnostic
	var bad *command.ManifestError
	switch {
	case errors.As(err, &bad):
		list = bad.Diagnostics
	case err != nil:
		t.Fatal(err)
	default:
		list = m.Warnings()
	}
	var found []string
	for _, d := range list {
		if places {
			found = append(found, d.String())
		} else {
			found = append(found, d.Message)
		}
	}
	return found
}

// TestManifestKeysAreDocumented looks for every key that a manifest may have in
// the reference. The keys come from the parser, which lists them for whoever
// uses another.
func TestManifestKeysAreDocumented(t *testing.T) {
	atRoot(t)
	reference := page(t, "docs/manifest.md")
	keys := 0
	for _, text := range []string{
		"version: 1\nzzzzzzzzzzzz: 1\n",
		"version: 1\ncommands: {a: {summary: A, exec: [a], zzzzzzzzzzzz: 1}}\n",
		"version: 1\ncommands: {a: {summary: A, exec: [a], params: {p: {flag: --p, zzzzzzzzzzzz: 1}}}}\n",
		"version: 1\nenvironments: {a: {zzzzzzzzzzzz: 1}}\n",
	} {
		found := strings.Join(findings(t, text, false), "\n")
		_, list, ok := strings.Cut(found, "; it may have: ")
		if !ok {
			t.Fatalf("the parser says %q, and not which keys there are", found)
		}
		for key := range strings.SplitSeq(strings.TrimSpace(list), ", ") {
			keys++
			if !strings.Contains(reference, "`"+key+"`") {
				t.Errorf("docs/manifest.md does not explain the key %s", key)
			}
		}
	}
	if keys < 20 {
		t.Errorf("only %d keys were found", keys)
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinks(t *testing.T) {
	atRoot(t)
	for _, file := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(page(t, file), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := filepath.Join(filepath.Dir(file), target)
			if target == "" {
				path = file
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(page(t, path)), anchor) {
				t.Errorf("%s links to %s, and %s has no such heading", file, m[1], path)
			}
		}
	}
}

var notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)

// anchors are the names that a page's headings have in links.
func anchors(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if heading := strings.TrimLeft(line, "#"); heading != line && strings.HasPrefix(heading, " ") {
			name := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			list = append(list, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return list
}

var (
	inlineCode = regexp.MustCompile(`\x60([^\x60\n]+)\x60`)
	mention    = regexp.MustCompile(`^(?:.*/)?chant-acp ([a-z]+)( .*)?$`)
)

// commandLines are what a page shows to be typed: in shell blocks, and inline.
func commandLines(text string) []string {
	var lines []string
	for _, b := range blocks(text) {
		if b.language == "sh" {
			lines = append(lines, strings.Split(b.text, "\n")...)
		}
	}
	for _, m := range inlineCode.FindAllStringSubmatch(text, -1) {
		lines = append(lines, m[1])
	}
	for i, line := range lines {
		lines[i], _, _ = strings.Cut(line, "  #")
	}
	return lines
}

// TestCommandsInDocuments wants every sub-command and flag that a page shows to
// exist. The help of each command is a file, which a test of the command line
// compares with what the program prints.
func TestCommandsInDocuments(t *testing.T) {
	atRoot(t)
	help := make(map[string]string)
	checked := 0
	for _, file := range pages(t) {
		for _, line := range commandLines(page(t, file)) {
			m := mention.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				continue
			}
			checked++
			name, ask := m[1], func(name string) string {
				if help[name] == "" {
					out, err := os.ReadFile("cmd/chant-acp/testdata/help/chant-acp-" + strings.ReplaceAll(name, " ", "-") + ".txt")
					help[name] = string(out)
					if err != nil || !strings.Contains(string(out), "chant-acp "+name+" ") {
						t.Errorf("%s shows chant-acp %s, and there is no such command", file, name)
					}
				}
				return help[name]
			}
			if words := strings.Fields(m[2]); len(words) > 0 && !strings.HasPrefix(words[0], "-") && strings.Contains(ask(name), "chant-acp "+name+" [command]") {
				name += " " + words[0]
			}
			for word := range strings.FieldsSeq(m[2]) {
				flag := strings.TrimRight(word, ".,;:)]")
				if strings.HasPrefix(flag, "--") && !strings.Contains(ask(name), flag) {
					t.Errorf("%s shows chant-acp %s with %s, and there is no such flag", file, name, flag)
				}
			}
			ask(name)
		}
	}
	if checked < 10 {
		t.Errorf("only %d command lines were found in the documents", checked)
	}
}
