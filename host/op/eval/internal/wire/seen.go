package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/chant-acp/chant-acp/host/op"
)

// Seen is what the answer for a file depends on in the project: failures to read
// are facts as well, and as long as they are the same so is the answer.
type Seen struct {
	// Files are those that were read below the root: the SHA-256 of each, or why
	// it could not be read.
	Files map[string]string `json:"files,omitempty"`
	// Paths are those that an import may have meant: where each leads, "" for
	// nowhere, or why it cannot be used.
	Paths map[string]string `json:"paths,omitempty"`
}

// Add takes over what another has seen.
func (s *Seen) Add(other Seen) {
	for name, state := range other.Files {
		s.File(name, state)
	}
	for name, state := range other.Paths {
		s.Path(name, state)
	}
}

func (s *Seen) File(name, state string) {
	if s.Files == nil {
		s.Files = make(map[string]string)
	}
	s.Files[name] = state
}

func (s *Seen) Path(name, state string) {
	if s.Paths == nil {
		s.Paths = make(map[string]string)
	}
	s.Paths[name] = state
}

// ReadSource reads a file of the project. state is what Seen.Files holds of it.
func ReadSource(root *os.Root, name string) (data []byte, state string, err error) {
	data, err = op.ReadFile(root, name)
	if err != nil {
		var bad *op.FileError
		if errors.As(err, &bad) {
			err = errors.New(bad.Findings[0].Message)
		}
		return nil, "unread: " + err.Error(), err
	}
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:]), nil
}

// Endings are those of the files that are opened, in the order in which they are
// tried where an import leaves the ending out.
var Endings = []string{".ts", ".js", ".mjs", ".json"}

// Follow resolves the links of a path, and returns where the file really is,
// below the root. state is what Seen.Paths holds of it. The error is
// fs.ErrNotExist where there is no file.
func Follow(root *os.Root, name string) (real, state string, err error) {
	real, err = inside(root, name)
	switch {
	case err == nil:
		return real, real, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", "", fs.ErrNotExist
	}
	return "", "unusable: " + err.Error(), err
}

func inside(root *os.Root, name string) (string, error) {
	real, err := filepath.EvalSymlinks(filepath.Join(root.Name(), filepath.FromSlash(name)))
	if errors.Is(err, syscall.ENOTDIR) {
		return "", fs.ErrNotExist
	}
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root.Name(), real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", errors.New("it lies outside the project")
	}
	if info, err := os.Lstat(real); err == nil && info.IsDir() {
		return "", fs.ErrNotExist
	}
	if !slices.Contains(Endings, path.Ext(rel)) {
		return "", fmt.Errorf("it is the file %s, and only files that end in %s are read", rel, strings.Join(Endings, ", "))
	}
	return filepath.ToSlash(rel), nil
}
