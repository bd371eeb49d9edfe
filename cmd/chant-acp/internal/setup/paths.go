package setup

import (
	"fmt"
	"os"
	"path/filepath"
)

// inHome is a path below the home directory.
func inHome(o Options, elem ...string) (string, error) {
	if !filepath.IsAbs(o.Home) {
		return "", fmt.Errorf("the file is %s, but HOME is not set to an absolute path; set it, or paste what setup prints into that file", filepath.Join(append([]string{"~"}, elem...)...))
	}
	return filepath.Join(append([]string{o.Home}, elem...)...), nil
}

// inConfig is a path below the XDG configuration directory. A relative
// XDG_CONFIG_HOME counts as unset (XDG Base Directory Specification 0.8).
func inConfig(o Options, elem ...string) (string, error) {
	if dir := o.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(append([]string{dir}, elem...)...), nil
	}
	return inHome(o, append([]string{".config"}, elem...)...)
}

// appData is a path below the roaming settings directory of Windows.
func appData(o Options, elem ...string) (string, error) {
	dir := o.getenv("APPDATA")
	if dir == "" {
		return "", fmt.Errorf("the file is %s, but APPDATA is not set; set it, or paste what setup prints into that file", filepath.Join(append([]string{"%APPDATA%"}, elem...)...))
	}
	return filepath.Join(append([]string{dir}, elem...)...), nil
}

// exists reports whether there is anything at path, a dangling link included.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
