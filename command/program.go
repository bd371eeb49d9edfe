package command

import (
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
	path := filepath.Join(root, rel)
	target, err := filepath.EvalSymlinks(path)
	if err != nil || !within(real, target) || DistrustBelow(root, rel) != "" {
		return ""
	}
	start, err := os.Stat(real)
	if err != nil {
		return ""
	}
	info, err := os.Stat(target)
	if err != nil || info.Mode().Perm()&0o111 == 0 || !info.Mode().IsRegular() || !trust.SameFileSystem(info, start) {
		return ""
	}
	return path
}

// DistrustBelow says why the file rel below root must not be used: another user
// could have put it there, because of the file, links followed, or a folder
// between root and it. It returns "" where nothing speaks against the file,
// or it is not there. A link may lead out of the project: what lies there is the
// system's, or the user's own.
func DistrustBelow(root, rel string) string {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "the project's root cannot be resolved: " + err.Error()
	}
	target, err := filepath.EvalSymlinks(filepath.Join(real, rel))
	if err != nil {
		return ""
	}
	if reason := distrustFolders(real, rel); reason != "" {
		return reason
	}
	inside, err := filepath.Rel(real, target)
	if err != nil || !filepath.IsLocal(inside) {
		return ""
	}
	if reason := distrustFolders(real, inside); reason != "" {
		return reason
	}
	info, err := os.Stat(target)
	if err != nil {
		return "it cannot be read: " + err.Error()
	}
	return trust.Reason(target, info)
}

// distrustFolders checks root and the folders from it to the file rel. A link on
// the way is as good as what it leads to.
func distrustFolders(root, rel string) string {
	folder := root
	for _, name := range append([]string{"."}, strings.Split(filepath.Dir(rel), string(filepath.Separator))...) {
		folder = filepath.Join(folder, name)
		info, err := os.Stat(folder)
		if err != nil {
			return "the folder " + folder + " cannot be read: " + err.Error()
		}
		if reason := trust.Reason(folder, info); reason != "" {
			return "because of the folder " + folder + ": " + reason
		}
	}
	return ""
}
