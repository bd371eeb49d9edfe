package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host/project"
	"github.com/chant-acp/chant-acp/host/subject"
)

// A question about a command is about its entry, the words, the program by PATH,
// and the project's files among them.
func TestTheSubjectOfACommand(t *testing.T) {
	const text = "version: 1\nenvironments: {prod: {}}\ncommands:\n  ship: {summary: s, exec: [./ship, plan], env: {TO: here}, rest: any}\n  look: {summary: s, exec: [hostname]}\n"
	p, dir := open(t, text, project.Options{Env: []string{"PATH=" + t.TempDir() + ":" + os.Getenv("PATH")}})
	write(t, filepath.Join(dir, "ship"), "#!/bin/sh\n")
	write(t, filepath.Join(dir, "plan"), "one")
	of := func(line string) subject.Subject {
		t.Helper()
		s, err := p.Subject(t.Context(), parse(t, p, line))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		name, line, says string
		change           func()
	}{
		{"nothing", "ship", "", func() {}},
		{"its program", "ship", "ship changed", func() { write(t, filepath.Join(dir, "ship"), "#!/bin/sh\nrm\n") }},
		{"a file that it names", "ship", "plan changed", func() { write(t, filepath.Join(dir, "plan"), "two") }},
		{"the manifest around it", "ship", "", func() { write(t, filepath.Join(dir, command.ManifestName), text+"\n# more\n") }},
		{"the protection of its environment", "ship", "", func() {
			write(t, filepath.Join(dir, command.ManifestName), strings.Replace(text, "prod: {}", "prod: {protected: true}", 1))
		}},
		{"its entry", "ship", "the variable TO changed", func() {
			write(t, filepath.Join(dir, command.ManifestName), strings.Replace(text, "here", "there", 1))
		}},
	} {
		was := of(c.line)
		c.change()
		if got := subject.Compare(was, of(c.line), time.Time{}, "the question"); !strings.Contains(got, c.says) || (got == "") != (c.says == "") {
			t.Errorf("%s: it says %q, want %q", c.name, got, c.says)
		}
	}
	if a, b := of("ship a"), of("ship b"); a.Digest() == b.Digest() {
		t.Error("two lines are one question")
	}
}

// A program that comes first in PATH later is another one.
func TestAProgramInFrontOfAnother(t *testing.T) {
	front := t.TempDir()
	p, _ := open(t, "version: 1\ncommands: {look: {summary: s, exec: [sh]}}\n", project.Options{Env: []string{"PATH=" + front + ":/bin:/usr/bin"}})
	inv := parse(t, p, "look")
	was, err := p.Subject(t.Context(), inv)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(front, "sh"), "#!/bin/sh\n")
	is, err := p.Subject(t.Context(), inv)
	if err != nil {
		t.Fatal(err)
	}
	if got := subject.Compare(was, is, time.Time{}, "the question"); !strings.Contains(got, "the program sh is "+front+"/sh now, and was /") {
		t.Errorf("it says %q", got)
	}
}
