package op

import (
	"fmt"
	"path"
	"path/filepath"
)

// CheckGlob says what is wrong with a pattern of a gate's bind: slash-separated,
// below the project's folder, each part as [path.Match] has it, or ** for any number
// of folders.
func CheckGlob(pattern string) error {
	if err := CheckPath(pattern); err != nil {
		return err
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("%q is no pattern: %w", pattern, err)
	}
	return nil
}

// CheckPath says what is wrong with a path of a gate's evidence.
func CheckPath(name string) error {
	if name == "" || path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("%q must be a path below the project's folder", name)
	}
	return nil
}
