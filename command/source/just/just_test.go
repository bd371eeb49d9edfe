package just_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/command/source"
	"github.com/chant-acp/chant-acp/command/source/just"
)

func listing(t *testing.T) *source.Listing {
	t.Helper()
	dump, err := os.ReadFile("testdata/dump.json")
	if err != nil {
		t.Fatal(err)
	}
	l, err := just.Parse(dump, "justfile")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// shape writes what a task takes: "name word? …".
func shape(t source.Task) string {
	if t.Left != "" {
		return "left: " + t.Left
	}
	var b strings.Builder
	for _, p := range t.Params {
		fmt.Fprintf(&b, "%s%s", p.Flag, p.Name)
		switch {
		case p.Switch:
			b.WriteString(" switch")
		case p.Enum != nil:
			b.WriteString(" " + strings.Join(p.Enum, "|"))
		case p.Word:
			b.WriteString(" word")
		default:
			b.WriteString(" text")
		}
		if p.Pattern != "" {
			b.WriteString(" " + p.Pattern)
		}
		if !p.Required {
			b.WriteString("?")
		}
		if p.Repeat {
			b.WriteString("…")
		}
		b.WriteString("; ")
	}
	for _, l := range t.Lost {
		b.WriteString("without " + l + "; ")
	}
	if t.Confirm {
		b.WriteString("asks; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func TestParse(t *testing.T) {
	const name, number = "it stands where the name of a command stands", "it is worked out as a number"
	want := map[string]string{
		"build":            "target word?; flags word?…",
		"deploy":           "env dev|prod; REGION text; version word?; asks",
		"lint":             "files text…",
		"count":            "files word…",
		"quoted":           "x text",
		"quoted-twice":     "x word",
		"position":         "left: its parameter x takes any text, and " + name,
		"number":           "left: its parameter x takes any text, and " + number,
		"optional":         "a word?; without b: " + name,
		"python":           "left: its parameter x takes any text, and it becomes text of a program that is not a shell's",
		"shebang":          "x word",
		"through":          "left: its parameter x takes any text, and " + name,
		"through-default":  "left: its parameter x takes any text, and eval reads it as more than a word",
		"through-literal":  "x word",
		"through-function": "left: its parameter x takes any text, and it goes through an expression that can't be followed",
		"runs":             "left: its parameter x takes any text, and sh reads it as more than a word",
		"exported":         "x word",
		"evaluated":        "left: its parameter x takes any text, and eval reads it as more than a word",
		"here":             "left: its parameter x takes any text, and " + name,
		"unused":           "x text",
		"options":          "--namen word; --verbosev switch?; without c: eval reads it as more than a word",
		"narrowed":         "x word [a-z]+",
		"listed":           "x up|down",
	}
	l := listing(t)
	for _, task := range l.Tasks {
		if got := shape(task); got != want[task.Name] {
			t.Errorf("%s: %s\nwant %s", task.Name, got, want[task.Name])
		}
		delete(want, task.Name)
	}
	for name := range want {
		t.Errorf("%s is not listed", name)
	}
}

func TestManifest(t *testing.T) {
	text, _, _, err := source.Manifest([]*source.Listing{listing(t)}, command.NameError)
	if err != nil {
		t.Fatal(err)
	}
	m, err := command.ParseManifest("justfile", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r := command.NewRegistry(command.RegistryOptions{Root: t.TempDir(), Manifest: m})
	for line, want := range map[string]string{
		"build":                      "just build",
		"build app":                  "just build app",
		"build app a b":              "just build app a b",
		"build 'a;b'":                "",
		"build $(id)":                "",
		"build app --release":        "",
		"deploy prod eu":             "just --yes deploy prod eu",
		"deploy qa eu":               "",
		"lint 'a b' '$(id)'":         "just lint 'a b' '$(id)'",
		"lint":                       "",
		"options --name x --verbose": "just options --name=x --verbose",
		"narrowed A":                 "",
		"position ls":                "",
	} {
		words, err := command.Split(line)
		if err != nil {
			t.Fatal(err)
		}
		inv, err := r.Parse(words, command.ParseOptions{})
		switch {
		case want == "" && err == nil:
			t.Errorf("%s runs %q", line, inv.Argv)
		case want != "" && (err != nil || command.Quote(inv.Argv) != want):
			t.Errorf("%s: %v, %+v, want %s", line, err, inv, want)
		}
	}
}
