package activity

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What an activity's program loads counts beside the program: the package that does
// it, what that builds on, and what npm reads.
func TestCode(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"@intentius/chant", "@intentius/chant-lexicon-aws", "tsx"} {
		dir := filepath.Join(root, "node_modules", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := &Project{Root: root}
	for fn, want := range map[string][]string{
		"awsApply": {"@intentius/chant", "tsx", "@intentius/chant-lexicon-aws"},
		"flyApply": {"@intentius/chant", "tsx"}, // its own package is not installed, which is told when it is run
		"shellCmd": nil,
	} {
		var got []string
		for _, folder := range p.Code(fn) {
			rel, err := filepath.Rel(filepath.Join(root, "node_modules"), folder)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rel)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s loads %q, want %q", fn, got, want)
		}
	}
	if got := p.Scripts("chantBuild", json.RawMessage(`{"path": "sub"}`)); !slices.Equal(got, []string{"sub/package.json", "sub/.npmrc"}) {
		t.Errorf("npm reads %q", got)
	}
	if got := p.Scripts("awsApply", nil); got != nil {
		t.Errorf("awsApply reads %q", got)
	}
}
