package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host"
)

// A program of the project that anybody could have written does not run, nor one in
// a folder that anybody may write to.
func TestAProgramThatOthersCouldHaveWritten(t *testing.T) {
	for name, c := range map[string]struct {
		open string
		mode os.FileMode
	}{
		"the file": {"tools/run", 0o757}, "its folder": {"tools", 0o777}, "the project": {".", 0o777},
		"what a link leads to": {"lib/real", 0o757}, "nothing": {"tools", 0o755},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "name: deploy\nphases: [{name: P, steps: [{exec: [./tools/run]}, {exec: [./tools/link]}]}]\n")
			r.file("tools/run", "#!/bin/sh\necho ran >> log\n", 0o755)
			r.file("lib/real", "#!/bin/sh\necho ran >> log\n", 0o755)
			if err := os.Symlink("../lib/real", filepath.Join(r.root, "tools/link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(r.root, c.open), c.mode); err != nil {
				t.Fatal(err)
			}
			res, _ := r.run(named("deploy"))
			if name == "nothing" {
				if res.Run.State != host.RunCompleted || r.read("log") != "ran\nran\n" {
					t.Errorf("%+v, log %q", res, r.read("log"))
				}
				return
			}
			if res.Failed == nil || !strings.Contains(res.Failed.Err, "is not used") || strings.Count(r.read("log"), "ran") > 1 {
				t.Errorf("%+v, log %q", res, r.read("log"))
			}
		})
	}
}
