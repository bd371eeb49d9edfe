package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-acp/chant-acp/internal/trust"
)

// TrustedProgram returns the path of an executable file that comes with a
// project, rel below root, if nobody but this user and root can have put it
// there: neither the file, links followed, nor any folder on the way to it, and
// it lies inside root and on its file system. Else it returns "".
func TrustedProgram(root, rel string) string {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return ""
	}
	start, err := os.Stat(real)
	if err != nil {
		return ""
	}
	path := filepath.Join(root, rel)
	target, err := filepath.EvalSymlinks(path)
	if err != nil || !within(real, target) || !trustedBelow(real, rel, start) {
		return ""
	}
	inside, err := filepath.Rel(real, target)
	if err != nil || !trustedBelow(real, inside, start) {
		return ""
	}
	info, err := os.Stat(target)
	if err != nil || info.Mode().Perm()&0o111 == 0 || distrustFile(info) != "" || !trust.SameFileSystem(info, start) {
		return ""
	}
	return path
}

// trustedBelow checks root and the folders from it to the file rel. A link on
// the way is as good as what it leads to, which the caller checks too.
func trustedBelow(root, rel string, start fs.FileInfo) bool {
	if distrustFolder(root, start) != "" {
		return false
	}
	folder := root
	for _, name := range strings.Split(filepath.Dir(rel), string(filepath.Separator)) {
		folder = filepath.Join(folder, name)
		if real, err := filepath.EvalSymlinks(folder); err != nil || distrustFolder(real, start) != "" {
			return false
		}
	}
	return true
}
