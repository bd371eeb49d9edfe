package acptest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Transcript is a conversation to replay: a txtar archive whose files are
// called "client" and "agent", in turn. The comment before the first says which
// rule the transcript pins. Empty lines are left out.
//
// Each line of a client section is sent, as it stands but for names: the JSON
// string "<name>" stands for the value of that name. Then the lines of the
// agent section must come, in order. They are patterns:
//
//   - "<any>" matches any value;
//   - any other "<name>" matches any value the first time and the same value
//     from then on, in client sections too;
//   - "…" within a string matches any text there;
//   - the member "…" of an object allows further members, which are otherwise
//     an error, and "…" at the end of an array allows further elements,
//     wherever they are;
//   - a line … allows any number of updates before the next line.
//
// Updates of session state (commands, options, title, mode, usage) may come at
// any time and are skipped where no pattern asks for them.
//
// The names "<cwd>", "<ok>", "<fail>", "<hello>", "<refused>", "<slow>", "<big>"
// and "<ask>" are what Agent says; a transcript that uses one which is not given is
// skipped.
type Transcript struct {
	// Rule is the comment.
	Rule  string
	parts []part
}

// part is a run of lines that one side sends.
type part struct {
	agent bool
	lines []string
}

// ReadTranscript reads a transcript from a file.
func ReadTranscript(path string) (Transcript, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Transcript{}, fmt.Errorf("a transcript can't be read: %w", err)
	}
	tr, err := parseTranscript(raw)
	if err != nil {
		return tr, fmt.Errorf("%s: %w", path, err)
	}
	return tr, nil
}

// parseTranscript reads the sections of a txtar archive.
func parseTranscript(raw []byte) (Transcript, error) {
	archive := txtar.Parse(raw)
	tr := Transcript{Rule: strings.TrimSpace(string(archive.Comment))}
	if tr.Rule == "" {
		return tr, errors.New("the comment before the first section must say which rule the transcript pins")
	}
	for _, f := range archive.Files {
		if f.Name != "client" && f.Name != "agent" {
			return tr, fmt.Errorf("section %q is neither client nor agent", f.Name)
		}
		p := part{agent: f.Name == "agent"}
		for text := range strings.Lines(string(f.Data)) {
			if text = strings.TrimRight(text, "\n"); strings.TrimSpace(text) != "" {
				p.lines = append(p.lines, text)
			}
		}
		tr.parts = append(tr.parts, p)
	}
	if len(tr.parts) == 0 {
		return tr, errors.New("there are no sections")
	}
	return tr, nil
}

// transcriptChecks makes a check of every transcript of a directory.
func transcriptChecks(dir string) ([]check, error) {
	if dir == "" {
		return nil, nil
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, fmt.Errorf("acptest: Agent.Transcripts: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("acptest: Agent.Transcripts: %s holds no *.txtar", dir)
	}
	var all []check
	for _, path := range paths {
		tr, err := ReadTranscript(path)
		if err != nil {
			return nil, err
		}
		name := "transcript/" + strings.TrimSuffix(filepath.Base(path), ".txtar")
		all = append(all, check{name, tr.Rule, func(p *probe) { tr.replay(p) }})
	}
	return all, nil
}

func (tr Transcript) replay(p *probe) {
	names := tr.names(p)
	c := p.dial()
	for _, part := range tr.parts {
		for i := 0; i < len(part.lines); i++ {
			switch text := part.lines[i]; {
			case !part.agent:
				c.line(c.fill(text, names))
			case text == "…":
				if i++; i == len(part.lines) {
					c.failf("the transcript has … at the end of a section: it must say what ends the updates")
				}
				c.expect(part.lines[i], names, true)
			default:
				c.expect(text, names, false)
			}
		}
	}
}

// names are the values that Agent gives, as JSON.
func (tr Transcript) names(p *probe) map[string]string {
	names := map[string]string{}
	for name, value := range map[string]string{
		"cwd": p.Cwd, "ok": p.OK, "fail": p.Fail, "hello": p.Hello, "refused": p.Refused, "slow": p.Slow, "big": p.Big, "ask": p.Ask,
	} {
		if value != "" {
			names[name] = quote(value)
		} else if tr.uses(name) {
			panic(skipped{`the transcript uses "<` + name + `>", which Agent does not give`})
		}
	}
	return names
}

func (tr Transcript) uses(name string) bool {
	for _, part := range tr.parts {
		for _, text := range part.lines {
			if strings.Contains(text, `"<`+name+`>"`) {
				return true
			}
		}
	}
	return false
}

// fill puts values in the place of names.
func (c *client) fill(text string, names map[string]string) string {
	for name, value := range names {
		text = strings.ReplaceAll(text, `"<`+name+`>"`, value)
	}
	if _, after, ok := strings.Cut(text, `"<`); ok && strings.Contains(after, `>"`) {
		c.failf("the transcript sends a name that nothing has given a value yet: %s", text)
	}
	return text
}

// expect reads up to a line that matches.
func (c *client) expect(pattern string, names map[string]string, skip bool) {
	for {
		m := c.next()
		err := matchLine(pattern, m.Raw, names)
		if err == nil {
			return
		}
		if m.Method != methodUpdate || !skip && !isSessionState(updateKind(m)) {
			c.failf("the transcript has  %s\nthere came          %s\n%v", pattern, clip(m.Raw), err)
		}
	}
}
