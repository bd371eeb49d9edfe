package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whoever may not decide keeps chant's verbs inside the project, by every
// argument and flag that chant takes for a path.
func TestVerbsKeepToTheProject(t *testing.T) {
	r := sample(t, chantProgram)
	if err := os.Symlink("/etc", filepath.Join(r.root, "out")); err != nil {
		t.Fatal(err)
	}
	program := ParseOptions{NoPerson: "this turn came over MCP"}
	for _, row := range verbRows() {
		v := parseVerb(row)
		for outside, says := range map[string]string{
			"/etc": "leads out of the project, to /etc", "../x": "leads out of the project", "out/passwd": "leads out of the project, to /etc/passwd",
			"a/../../x": "leads out of the project", "file:///etc": "outside the project", ".git/config": "leads into .git",
		} {
			for _, line := range pathLines(v, outside) {
				words := append(strings.Fields("chant "+row.name), line...)
				words = append(words, missing(v, line)...)
				if _, err := r.Parse(words, ParseOptions{}); err != nil {
					t.Fatalf("%q: a person is refused: %v", words, err)
				}
				_, err := r.Parse(words, program)
				if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "this turn came over MCP") ||
					!strings.Contains(err.Error(), "chant-acp prompt --cwd "+r.root+" ") {
					t.Errorf("%q: %v", words, err)
				}
			}
		}
		for _, line := range pathLines(v, "inside/a.yaml") {
			words := append(strings.Fields("chant "+row.name), line...)
			words = append(words, missing(v, line)...)
			if _, err := r.Parse(words, program); err != nil {
				t.Errorf("%q: %v", words, err)
			}
		}
	}
	inv, err := r.Parse([]string{"build", "later"}, program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(r.root, "later")); err != nil {
		t.Fatal(err)
	}
	if err := inv.CheckPaths(); err == nil {
		t.Error("a link that came after the line was read is followed out of the project")
	}
}

// pathLines are the ways to give a verb a path.
func pathLines(v *verb, path string) (lines [][]string) {
	for i, p := range v.positionals {
		if p.path {
			lines = append(lines, append(slices.Repeat([]string{"x"}, i), path))
		}
	}
	for _, f := range v.flags {
		if f.path {
			lines = append(lines, []string{"--" + f.name, path}, []string{"--" + f.name + "=" + path})
		}
	}
	return lines
}

// missing is what a line of pathLines needs so that it is whole.
func missing(v *verb, line []string) (words []string) {
	given := 0
	if !strings.HasPrefix(line[0], "-") {
		given = len(line)
	}
	for i, p := range v.positionals {
		if p.required && i >= given {
			words = append(words, "x")
		}
	}
	for _, f := range v.flags {
		if f.required {
			words = append(words, "--"+f.name)
			words = append(words, slices.Repeat([]string{"x"}, f.values)...)
		}
	}
	return words
}

// Of each flag of chant with a free value it is known whether chant opens it: a new
// one has to be put where it belongs.
func TestVerbPathsAreKnown(t *testing.T) {
	names := "actor approver at base between compare-to component digest env generate git-sha head layout-engine lens lexicon " +
		"live-name name namespace param projection run-id select show stack tier to type"
	for _, row := range verbRows() {
		for _, f := range parseVerb(row).flags {
			name := slices.Contains(strings.Fields(names), f.name) || f.name == "from" && row.name == "import"
			if f.values > 0 && f.enum == nil && f.path == name {
				t.Errorf("%s --%s: a path %t, a name %t", row.name, f.name, f.path, name)
			}
		}
	}
}

// Nobody who may not decide names who approved, and none is led to it.
func TestVerbsVouchForNobody(t *testing.T) {
	r := sample(t, chantProgram)
	program := ParseOptions{NoPerson: "this turn was started by HEARTBEAT.md"}
	const release = "components release dev --component api --digest sha256:0"
	for _, flag := range []string{" --actor me", " --approver=me"} {
		if _, err := parse(t, r, release+flag, ParseOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := parse(t, r, release+flag, program); err == nil || !strings.Contains(err.Error(), "a person's to say, and this turn was started by HEARTBEAT.md") {
			t.Errorf("%s: %v", flag, err)
		}
	}
	if _, err := parse(t, r, release, program); err != nil {
		t.Error(err)
	}
	_, unknown := parse(t, r, release+" --zzzzzzzz", program)
	for _, text := range []string{unknown.Error(), r.Help([]string{"components", "release"}, program)} {
		if strings.Contains(text, "actor") || strings.Contains(text, "approver") {
			t.Errorf("it is suggested:\n%s", text)
		}
	}
}

// What is refused to callers who may not decide is not offered to them either.
func TestDecidingIsNotOffered(t *testing.T) {
	r := sample(t, "")
	program := ParseOptions{NoPerson: "this turn came over MCP"}
	offered := func(o ParseOptions) string {
		var b strings.Builder
		for _, ad := range r.Advertised(o) {
			b.WriteString("/" + ad.Name + " " + ad.Description + " " + ad.Hint + "\n")
		}
		return b.String() + r.Help(nil, o) + r.Help([]string{"run"}, o)
	}
	_, err := parse(t, r, "aprove x", program)
	person, text := offered(ParseOptions{}), offered(program)+err.Error()
	for _, w := range []string{"approve", "reject", "signal", "confirm <code>", "allow <code>", "cancel", "run undo", "--restart", "--no-depends"} {
		if !strings.Contains(person, w) {
			t.Errorf("a person is not offered %q:\n%s", w, person)
		}
		if strings.Contains(text, w) {
			t.Errorf("%q is offered:\n%s", w, text)
		}
	}
}

func TestDecides(t *testing.T) {
	r := sample(t, "")
	for line, want := range map[string]bool{
		"approve a b": true, "reject a b": true, "signal k": true, "confirm abc": true, "allow abc": true, "run cancel a": true, "run undo a": true,
		"run a --restart": true, "run a --no-depends": true, "run a": false, "run a --resume": false, "run status a": false, "help": false, "ops": false,
	} {
		if inv := mustParse(t, r, line); inv.Decides() != want {
			t.Errorf("%s decides: %t", line, !want)
		}
	}
}
