package command

import (
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	m := mustManifest(t, `version: 1
environments: {dev: {}, prod: {protected: true}}
commands:
  plan: {summary: Plan it, exec: [x, "{env}", "{target}"], params: {env: {position: 1, required: true}, target: {flag: --target, enum: [web, worker], repeat: true}}}
  db migrate: {summary: Migrate, exec: [x]}
  db reset: {summary: Reset, exec: [x, "{env}", "{force}"], params: {env: {position: 1}, force: {flag: --force, type: bool, as: [-f]}}}
  show: {summary: Show, exec: [cat, "{file}"], params: {file: {position: 1, type: path}}}
  free: {summary: Free, exec: [x, "{a}"], params: {a: {position: 1}}}
`)
	r := NewRegistry(RegistryOptions{Root: t.TempDir(), Manifest: m})
	for _, tt := range []struct{ line, want string }{
		{"pl", "plan"},
		{"d", "db"},
		{"db ", "migrate reset"},
		{"db m", "migrate"},
		{"plan ", "dev prod"},
		{"plan p", "prod"},
		{"plan dev ", "--target"},
		{"plan dev --", "--target"},
		{"plan dev --target ", "web worker"},
		{"plan dev --target wo", "worker"},
		{"plan dev --target=w", "--target=web --target=worker"},
		{"plan dev --target web --t", "--target"},
		{"plan nothing --target ", "web worker"},
		{"db reset dev --force --f", ""},
		{"db reset --force=", "--force=true --force=false"},
		{"show ", "FILES"},
		{"show --", ""},
		{"free ", ""},
		{"help d", "db"},
		{"explain plan ", "dev prod"},
		{"/plan d", "dev"},
		{"nothing ", ""},
		{"exp", "explain"},
	} {
		i := strings.LastIndex(tt.line, " ") + 1
		list, files := r.Complete(strings.Fields(tt.line[:i]), tt.line[i:])
		var words []string
		for _, c := range list {
			words = append(words, c.Word)
		}
		if files {
			words = append(words, "FILES")
		}
		if got := strings.Join(words, " "); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.line, got, tt.want)
		}
	}
	if list, _ := r.Complete(nil, "plan"); len(list) != 1 || list[0].Description != "Plan it" {
		t.Errorf("got %+v", list)
	}
}
