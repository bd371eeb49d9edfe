package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// hostileText is what would act in each place that shows text: an image, links,
// HTML, marks of CommonMark, direction marks, characters of no width, and line
// separators. hostileControls is that with controls, which a manifest may not hold.
const (
	hostileText     = "# \u202ex ![i](http://e.example/i) [l](http://e.example/l) <img src=x onerror=y> </details> https://e.example/a www.e.example/b me@e.example &lt; `c` ``` \u200b\u2066\u2028y"
	hostileControls = hostileText + "\u001b]8;;http://e.example\u0007\u001b[31m\u009b1m\u0085\r\u0000z"
)

// hostileProject has hostile text in all that its files may hold.
func hostileProject(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	quote := func(s string) string {
		raw, err := json.Marshal(s) // which is YAML, too
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	h, c := quote(hostileText), quote(strings.ReplaceAll(hostileControls, "\x00", ""))
	for name, file := range map[string]string{
		"chant-acp.yaml": "version: 1\nenvironments: {dev: {}, prod: {protected: true}}\ncommands:\n" +
			"  a: {summary: " + h + ", exec: [echo, '{x}'], params: {x: {position: 1, enum: [ok, " + h + "], description: " + h + "}}}\n" +
			"  b c: {summary: " + h + ", exec: [true, " + h + "], confirm: retype, params: {y: {flag: --y, pattern: " + h + ", description: " + h + "}}}\n" +
			"  gone: {summary: " + h + ", exec: [" + h + "], env: {X: " + h + "}}\n",
		"rel.op.yaml": "name: rel\noverview: " + c + "\nphases:\n" +
			"  - {name: " + c + ", steps: [{shell: " + quote("true # "+hostileText) + "}, {exec: ['true', " + h + "]}]}\n" +
			"  - {name: " + h + ", steps: [{gate: ship, description: " + c + "}, {shell: 'false', profile: fastIdempotent}]}\n" +
			"onFailure: [{name: " + h + ", steps: [{shell: " + quote("true # "+hostileText) + "}]}]\n",
		"fails.op.yaml":                "name: fails\nphases: [{name: " + h + ", steps: [{exec: ['false', " + h + "]}]}]\nonFailure: [{name: " + h + ", steps: [{shell: " + quote("false # "+hostileText) + "}]}]\n",
		"waits.op.yaml":                "name: waits\nphases: [{name: P, steps: [{waitForEvent: paid, description: " + c + "}]}]\n",
		"bad.op.yaml":                  "name: " + c + "\n" + h + ": 1\nphases: []\n",
		"![i](x) <img> \u202e.op.yaml": "name: rel\nphases: []\n",
		"throws.op.ts":                 "throw new Error(" + c + ");\n",
		"sub/chant-acp.yaml":           "version: 1\n" + h + ": 1\ncommands:\n  " + h + ": {summary: " + h + "}\n",
		"HEARTBEAT.md":                 "```chant\nevery: 1h\na '" + strings.NewReplacer("`", "", "\u2028", "", "'", "").Replace(hostileText) + "'\n" + "nope " + h + "\n```\n",
	} {
		write(t, filepath.Join(dir, name), file)
	}
	return dir
}

// What a project says acts nowhere: not at a client, in whatever field of whatever
// message, and not on a terminal.
func TestNothingOfAProjectActs(t *testing.T) {
	t.Parallel()
	dir, state := hostileProject(t), t.TempDir()
	command := func(args ...string) string {
		c := program(t, args...)
		c.Env = append(c.Env, "CHANT_ACP_STATE="+state, "CHANT_ACP_TOKEN=")
		out, _ := c.CombinedOutput() // some are refused, which says the most
		return string(out)
	}
	for _, args := range [][]string{{"serve", "--gates", "durable"}, {"serve", "--allow", "always"}} {
		c := program(t, args...)
		c.Env = append(c.Env, "CHANT_ACP_STATE="+state)
		s := serveWith(t, c, dir)
		lines := []string{
			"help", "help a", "help b", "explain a ok", "explain b c", "a ok", "a ok", "a nope", "a", "b c --y z", "b c", "gone", "ops", "ops --json", "run rel", "run rel",
			"run fails", "run fails", "run waits", "run waits", "run list", "run status rel", "run status fails", "run status waits", "run log rel", "run verify", "run throws", "run nope", "run bad",
			"approve rel nope", "approve rel ship --note '" + strings.ReplaceAll(hostileText, "\u2028", "") + "'", "run rel", "reject rel ship", "run status rel", "history", "again 9", "nope", "a && gone", "run cancel waits",
		}
		checkMessage(t, "session/new", s.open("session/new", ""))
		for _, line := range lines {
			s.prompt(line)
			for {
				m := s.next()
				checkMessage(t, line, m.raw)
				if string(m.ID) == `"turn"` {
					break
				}
			}
		}
		checkMessage(t, "session/load", s.open("session/load", s.session))
		s.dir = filepath.Join(dir, "sub")
		checkMessage(t, "session/new in sub", s.open("session/new", ""))
		for _, line := range []string{"help", "x"} {
			s.prompt(line)
			for {
				m := s.next()
				checkMessage(t, "in sub, "+line, m.raw)
				if string(m.ID) == `"turn"` {
					break
				}
			}
		}
	}
	for _, args := range [][]string{
		{"check", dir}, {"check", "-v", dir}, {"check", filepath.Join(dir, "sub")}, {"ops", dir}, {"allow", "--yes", dir}, {"sessions", "list"},
		{"heartbeat", "--workspace", dir}, {"heartbeat", "status", "--workspace", dir}, {"heartbeat", "trust", "--yes", "--workspace", dir},
		{"prompt", "--cwd", dir, "help"}, {"prompt", "--cwd", dir, "help a"}, {"prompt", "--cwd", dir, "explain b c"}, {"prompt", "--cwd", dir, "run rel"},
		{"prompt", "--cwd", dir, "run fails"}, {"prompt", "--cwd", dir, "run list"}, {"prompt", "--cwd", dir, "run status rel"}, {"prompt", "--cwd", dir, "a nope"}, {"prompt", "--cwd", dir, "ops"},
		{"prompt", "--cwd", filepath.Join(dir, "sub"), "help"},
	} {
		if out := command(args...); acts(out) != "" {
			t.Errorf("chant-acp %q prints %s:\n%q", args, acts(out), out)
		}
	}
}

// acts says what in a text would act wherever it is shown.
func acts(s string) string {
	for _, r := range s {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}

// checkMessage looks at all strings of messages, one a line, and at those that
// clients read as markdown for what acts there.
func checkMessage(t *testing.T, line, raw string) {
	t.Helper()
	for one := range strings.Lines(raw) {
		var m any
		if err := json.Unmarshal([]byte(one), &m); err != nil {
			t.Fatal(err)
		}
		eachString(m, "", func(path, s string) {
			if strings.Contains(path, "user_message") {
				return // what the person typed comes back as it was
			}
			if what := acts(s); what != "" {
				t.Errorf("after %q, %s holds %s: %q", line, path, what, s)
			}
			if strings.HasSuffix(path, ".content.text") || strings.HasSuffix(path, ".entries[].content") {
				if what := marksUp(s); what != "" {
					t.Errorf("after %q, %s holds %s:\n%s", line, path, what, s)
				}
			}
		})
	}
}

// eachString calls f for each string in v, with its path.
func eachString(v any, path string, f func(path, s string)) {
	switch v := v.(type) {
	case string:
		f(path, v)
	case []any:
		for _, e := range v {
			eachString(e, path+"[]", f)
		}
	case map[string]any:
		if kind, is := v["sessionUpdate"].(string); is {
			path += "." + strings.TrimSuffix(kind, "_chunk")
		}
		for k, e := range v {
			f(path, k)
			eachString(e, path+"."+k, f)
		}
	}
}

// marksUp says what in a text of markdown is an image, a link or HTML.
func marksUp(s string) (what string) {
	source := []byte(s)
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker returns no error
		switch n.Kind() {
		case ast.KindImage, ast.KindLink, ast.KindAutoLink, ast.KindRawHTML, ast.KindHTMLBlock, ast.KindHeading:
			what = n.Kind().String()
		}
		return ast.WalkContinue, nil
	})
	return what
}
