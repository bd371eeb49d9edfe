package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chant-acp/chant-acp/internal/trust"
)

// FindManifest looks for the manifest of a session in dir: from dir up to the
// root of its repository, or only in dir outside a repository. The search ends
// at a folder that is not this user's or root's, is world-writable, or lies on
// another file system than dir.
//
// root is the project root: the folder of the manifest; without one, the
// repository's root where that can be trusted; else dir. path is "" when there
// is no manifest. A manifest that is there and must not be used (owner, mode,
// file system, a link that leads out of its folder, not a regular file) gives
// path "" and an error that says why, and so does one behind a folder at which
// the search ends; root is then as without a manifest.
func FindManifest(dir string) (path, root string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", dir, fmt.Errorf("the session's directory cannot be resolved: %w", err)
	}
	// Physical parents: the folders above a link are not above the project.
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", dir, fmt.Errorf("the session's directory cannot be resolved: %w", err)
	}
	start, err := os.Stat(at)
	if err != nil {
		return "", dir, fmt.Errorf("the session's directory cannot be read: %w", err)
	}
	folders, repository := searched(at)
	root = dir
	if repository != "" && repository != at && trusted(folders, start) {
		root = repository
	}
	for i, folder := range folders {
		name := filepath.Join(folder, ManifestName)
		found := there(name)
		if reason := distrustFolder(folder, start); reason != "" {
			if !found {
				return "", root, behind(folders[i+1:], folder, reason)
			}
			return "", root, fmt.Errorf("%s is not used, because of the folder %s: %s", name, folder, reason)
		}
		if !found {
			continue
		}
		if reason := distrustManifest(name, start); reason != "" {
			return "", root, fmt.Errorf("%s is not used: %s", name, reason)
		}
		if folder == at {
			// Under the name that the session knows the folder by.
			return filepath.Join(dir, ManifestName), dir, nil
		}
		return name, folder, nil
	}
	return "", root, nil
}

// there says whether anything has the name, or may have.
func there(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// behind tells of a manifest in one of the folders that are not searched any
// more because of the one below them.
func behind(folders []string, last, reason string) error {
	for _, folder := range folders {
		if name := filepath.Join(folder, ManifestName); there(name) {
			return fmt.Errorf("%s is not used, because the search ends before it, at the folder %s: %s", name, last, reason)
		}
	}
	return nil
}

// searched lists the folders that can hold the manifest, from at upwards, and
// the repository's root, "" outside one.
func searched(at string) (folders []string, repository string) {
	for folder := at; ; folder = filepath.Dir(folder) {
		folders = append(folders, folder)
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return folders, folder
		}
		if folder == filepath.Dir(folder) {
			return []string{at}, ""
		}
	}
}

func trusted(folders []string, start fs.FileInfo) bool {
	for _, folder := range folders {
		if distrustFolder(folder, start) != "" {
			return false
		}
	}
	return true
}

func distrustFolder(folder string, start fs.FileInfo) string {
	info, err := os.Lstat(folder)
	switch {
	case err != nil:
		return "it cannot be read: " + err.Error()
	case !trust.SameFileSystem(info, start):
		return "it lies on another file system than the session's directory"
	}
	return trust.Reason(folder, info)
}

// distrustManifest checks the file under a manifest's name, following a link
// only inside the folder.
func distrustManifest(name string, start fs.FileInfo) string {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "it cannot be read: " + err.Error()
	}
	if !within(filepath.Dir(name), target) {
		return fmt.Sprintf("it is a link that leads out of its folder, to %s; put the file itself there", target)
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		return "it cannot be read: " + err.Error()
	case !trust.SameFileSystem(info, start):
		return "it lies on another file system than the session's directory"
	}
	return distrustFile(target, info)
}

// distrustFile says why a file must not be used as a manifest, or "".
func distrustFile(path string, info fs.FileInfo) string {
	if !info.Mode().IsRegular() {
		return "it is not a regular file"
	}
	return trust.Reason(path, info)
}
