package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-acp/chant-acp/internal/trust"
)

// foreign refuses a program of the project that another user could have written:
// the file, links followed, and the folders above it up to the project's.
func (rt *Runtime) foreign(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("the program %s: %w", path, err)
	}
	for _, name := range []string{path, real} {
		rel, err := filepath.Rel(rt.o.Root, name)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		at := rt.o.Root
		for _, part := range append([]string{"."}, strings.Split(rel, string(filepath.Separator))...) {
			at = filepath.Join(at, part)
			info, err := os.Stat(at)
			if err != nil {
				return fmt.Errorf("the program %s: %w", path, err)
			}
			if reason := trust.Reason(at, info); reason != "" {
				return fmt.Errorf("the program %s is not used, because of %s: %s", path, at, reason)
			}
		}
	}
	return nil
}
