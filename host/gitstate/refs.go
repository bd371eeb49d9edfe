package gitstate

import (
	"encoding/hex"
	"errors"
	"os"
	"path"
	"strings"
)

// maxSymbolic is how often a ref may name another one, as in git.
const maxSymbolic = 5

// head resolves HEAD. known is false where it can't be told; a branch without a
// commit yet is known.
func (r *repository) head() (commit, branch string, known bool) {
	text, err := readFile(r.git, "HEAD", maxSmall)
	for depth := 0; err == nil; depth++ {
		line := strings.TrimRight(string(text), "\r\n \t")
		name, symbolic := strings.CutPrefix(line, "ref:")
		if !symbolic {
			return line, branch, r.isID(line)
		}
		name = strings.TrimLeft(name, " \t")
		if depth == maxSymbolic || !isRef(name) {
			return "", "", false
		}
		if short, ok := strings.CutPrefix(name, "refs/heads/"); ok && depth == 0 {
			branch = short
		}
		text, err = readFile(r.common, name, maxSmall)
		if err != nil && isNoFile(r.common, name, err) {
			commit, err := r.packed(name)
			return commit, branch, err == nil
		}
	}
	return "", "", false
}

// isNoFile says whether a ref is not there as a file: there may be a folder of its
// name.
func isNoFile(root *os.Root, name string, err error) bool {
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	info, err := root.Lstat(name)
	return err == nil && info.IsDir()
}

// isRef says whether a name is that of a ref that all work trees share, near
// enough to git-check-ref-format(1) that it leads nowhere else.
func isRef(name string) bool {
	for _, own := range []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/"} {
		if strings.HasPrefix(name, own) {
			return false
		}
	}
	return strings.HasPrefix(name, "refs/") && path.Clean(name) == name && !strings.Contains(name, "..") &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\ `, r) }) &&
		!strings.HasSuffix(name, ".lock")
}

func (r *repository) isID(text string) bool {
	id, err := hex.DecodeString(text)
	return err == nil && len(id) == r.hash.size
}

// packed looks for a ref in the file packed-refs; "" where it holds none.
func (r *repository) packed(name string) (commit string, err error) {
	text, err := readFile(r.common, "packed-refs", maxPacked)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		id, ref, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if ok && ref == name && r.isID(id) {
			return id, nil
		}
	}
	return "", nil
}
