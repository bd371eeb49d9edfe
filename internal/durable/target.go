package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Target is the path behind links, for files that people keep elsewhere and
// link to. The last of them may lead to a file that is not there yet.
func Target(path string) (string, error) {
	const most = 40 // as the kernel follows (path_resolution(7))
	for range most {
		real, err := filepath.EvalSymlinks(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return real, err
		}
		to, err := os.Readlink(path)
		if err != nil { // it is no link, so it is the file that is not there
			return path, nil
		}
		if !filepath.IsAbs(to) { // from the folder that it really lies in
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", fmt.Errorf("%s is a link that leads nowhere", path)
}
