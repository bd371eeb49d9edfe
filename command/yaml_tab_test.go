package command

import (
	"errors"
	"testing"
)

func TestATabIsCalledATab(t *testing.T) {
	_, err := ParseManifest("m.yaml", []byte("version: 1\ncommands:\n\tlist: {summary: s, exec: [ls]}\n"))
	var bad *ManifestError
	if !errors.As(err, &bad) || len(bad.Diagnostics) != 1 {
		t.Fatalf("got %v", err)
	}
	const want = "m.yaml:3:1: a tab stands here, and YAML is indented with spaces only; replace it"
	if got := bad.Diagnostics[0].String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
