//go:build unix

package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// programs makes a project with a command whose program is scripts/ship, which
// is there under scripts/real/ship.
func programs(t *testing.T) (r *Registry, root string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "scripts", "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "scripts", "real", "ship"), "#!/bin/sh\n")
	chmod(t, filepath.Join(root, "scripts", "real", "ship"), 0o755)
	if err := os.Symlink("real/ship", filepath.Join(root, "scripts", "ship")); err != nil {
		t.Fatal(err)
	}
	m := mustManifest(t, header+"  ship: {summary: s, exec: [scripts/ship]}\n")
	return NewRegistry(RegistryOptions{Root: root, Manifest: m}), root
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestProgramsThatOthersCouldHaveWritten(t *testing.T) {
	for _, tt := range []struct {
		name string
		rel  string // what is changed
		mode os.FileMode
		gid  int
		says string // "" for a program that runs
	}{
		{"own", "scripts/real/ship", 0o755, -1, ""},
		{"writable by the own group", "scripts/real/ship", 0o775, -1, ""},
		{"writable by everyone", "scripts/real/ship", 0o757, -1, "everyone may write to it"},
		{"folder of the file", "scripts/real", 0o757, -1, "because of the folder"},
		{"folder of the link", "scripts", 0o757, -1, "because of the folder"},
		{"root", ".", 0o757, -1, "because of the folder"},
		{"another group", "scripts/real/ship", 0o775, 12345, "gid 12345"},
		{"another group's folder", "scripts", 0o775, 12345, "gid 12345"},
		{"another group that may not write", "scripts/real/ship", 0o755, 12345, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, root := programs(t)
			path := filepath.Join(root, tt.rel)
			if tt.gid >= 0 {
				if err := os.Chown(path, -1, tt.gid); err != nil {
					t.Skip("only root gives files away")
				}
			}
			chmod(t, path, tt.mode)
			_, err := parse(t, r, "ship", ParseOptions{})
			if tt.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "its program scripts/ship is not used") || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
			m := mustManifest(t, header+"  ship: {summary: s, exec: [scripts/ship]}\n")
			list := m.Lacking(root, func(string, []string) error { return nil })
			if len(list) != 1 || !strings.Contains(list[0].Message, tt.says) {
				t.Errorf("check says %v", list)
			}
		})
	}
}

func TestProgramOutsideTheProjectIsNotJudged(t *testing.T) {
	r, root := programs(t)
	outside := filepath.Join(t.TempDir(), "ship")
	write(t, outside, "#!/bin/sh\n")
	chmod(t, outside, 0o757)
	link := filepath.Join(root, "scripts", "ship")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	mustParse(t, r, "ship")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	mustParse(t, r, "ship") // what is not there is told of when it is started
}

func TestPathsAreCheckedAgain(t *testing.T) {
	m := mustManifest(t, header+"  show: {summary: s, exec: [cat, '{file}'], params: {file: {position: 1, type: path}}}\n")
	root := t.TempDir()
	inv := mustParse(t, NewRegistry(RegistryOptions{Root: root, Manifest: m}), "show a/b")
	if err := inv.CheckPaths(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	if err := inv.CheckPaths(); err == nil || !strings.Contains(err.Error(), `file cannot be "a/b": it leads out of the project`) {
		t.Errorf("a link that came later: %v", err)
	}
}
