package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
// path "" and an error that says why; root is then as without a manifest.
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
	folders, stop, repository := climb(at, start)
	root = dir
	if repository != "" && repository != at {
		root = repository
	}
	for _, folder := range folders {
		name := filepath.Join(folder, ManifestName)
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if reason := distrustManifest(name, start); reason != "" {
			return "", root, fmt.Errorf("%s is not used: %s", name, reason)
		}
		if folder == at {
			return filepath.Join(dir, ManifestName), dir, nil
		}
		return name, folder, nil
	}
	if stop.folder != "" {
		name := filepath.Join(stop.folder, ManifestName)
		if _, err := os.Lstat(name); err == nil {
			return "", root, fmt.Errorf("%s is not used, because of the folder %s: %s", name, stop.folder, stop.reason)
		}
	}
	return "", root, nil
}

// A stop is a folder that ends the search, and why.
type stop struct{ folder, reason string }

// climb lists the folders to search, from at upwards, and the root of the
// repository when every folder up to it can be trusted. A folder that ends the
// search is only reported where it belongs to the search.
func climb(at string, start fs.FileInfo) (folders []string, end stop, repository string) {
	for folder := at; ; folder = filepath.Dir(folder) {
		reason := distrustFolder(folder, start)
		if reason != "" {
			end = stop{folder, reason}
		} else {
			folders = append(folders, folder)
		}
		_, err := os.Lstat(filepath.Join(folder, ".git"))
		inRepository := err == nil
		if inRepository && reason == "" {
			repository = folder
		}
		if inRepository {
			return folders, end, repository
		}
		if reason != "" || folder == filepath.Dir(folder) {
			break
		}
	}
	// Outside a repository only the session's own directory counts.
	if end.folder != at {
		return []string{at}, stop{}, ""
	}
	return nil, end, ""
}

func distrustFolder(folder string, start fs.FileInfo) string {
	info, err := os.Lstat(folder)
	switch {
	case err != nil:
		return "it cannot be read: " + err.Error()
	case !sameFileSystem(info, start):
		return "it lies on another file system than the session's directory"
	}
	return distrust(info)
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
	case !sameFileSystem(info, start):
		return "it lies on another file system than the session's directory"
	}
	return distrustFile(info)
}

// distrustFile says why a file must not be used as a manifest, or "".
func distrustFile(info fs.FileInfo) string {
	if !info.Mode().IsRegular() {
		return "it is not a regular file"
	}
	return distrust(info)
}
