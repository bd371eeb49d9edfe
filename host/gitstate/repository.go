package gitstate

import (
	"crypto/sha1" //nolint:gosec // git's names of objects
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/internal/gitignore"
	"github.com/chant-acp/chant-acp/internal/trust"
)

// Bounds of files, in bytes. Larger ones count as unreadable.
const (
	maxSmall  = 1 << 20 // HEAD, refs, config, .gitignore, .gitattributes
	maxPacked = 64 << 20
	maxIndex  = 64 << 20
)

// A repository is one that was found, with its folders open.
type repository struct {
	tree   string   // the work tree
	git    *os.Root // HEAD and the index
	common *os.Root // all else; the same as git but in a linked work tree
	config config
	hash   hashKind
	// written is when the index was, once it has been read.
	written time.Time
	// opaque says that git may see the files otherwise than this package does.
	opaque bool
}

// A hashKind is what names objects.
type hashKind struct {
	size int // in bytes
	new  func() hash.Hash
}

var (
	sha1Names   = hashKind{sha1.Size, sha1.New}
	sha256Names = hashKind{sha256.Size, sha256.New}
)

var errNone = errors.New("there is no repository")

// find looks for the repository of dir, in it and in the folders above. Only what
// is called .git counts: a folder that looks like a bare repository is none.
func find(dir string) (*repository, error) {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(dir, ".git"))
		switch {
		case err == nil && info.IsDir():
			return open(dir, filepath.Join(dir, ".git"), false)
		case err == nil && info.Mode().IsRegular():
			git, err := linked(dir)
			if err != nil {
				return nil, err
			}
			return open(dir, git, true)
		case err == nil: // a link leads anywhere
			return nil, errNone
		case dir == filepath.Dir(dir):
			return nil, errNone
		}
	}
}

// linked reads a file .git, which names the repository's folder.
func linked(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	text, err := readFile(root, ".git", maxSmall)
	if err != nil {
		return "", err
	}
	git, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok || git == "" || strings.ContainsAny(git, "\x00\n") {
		return "", errNone
	}
	return absolute(dir, git), nil
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// open opens the repository in the folder git. Where a file led there, the
// repository has to name the work tree in turn: a .git file that came with a
// project can't lend it another repository.
func open(tree, git string, isLinked bool) (*repository, error) {
	r := &repository{tree: tree}
	var err error
	if r.git, err = os.OpenRoot(git); err != nil {
		return nil, err
	}
	r.common = r.git
	err = r.fill(isLinked)
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// fill finds the common folder of a linked work tree and reads the configuration. It
// refuses a folder that does not belong to this work tree: anybody could have put it
// there.
func (r *repository) fill(isLinked bool) error {
	back, err := readFile(r.git, "gitdir", maxSmall)
	linkedTree := isLinked && err == nil
	if linkedTree {
		if !samePath(absolute(r.git.Name(), strings.TrimSpace(string(back))), filepath.Join(r.tree, ".git")) {
			return errNone
		}
		text, err := readFile(r.git, "commondir", maxSmall)
		if err != nil {
			return err
		}
		common := absolute(r.git.Name(), strings.TrimSpace(string(text)))
		if filepath.Dir(filepath.Dir(r.git.Name())) != common { // gitrepository-layout: worktrees/<id>
			return errNone
		}
		if r.common, err = os.OpenRoot(common); err != nil {
			r.common = r.git
			return err
		}
	}
	if err := r.readConfig(linkedTree); err != nil {
		return err
	}
	worktree, moved := r.config.get("core.worktree")
	switch {
	case linkedTree: // core.worktree is the main tree's
	case isLinked: // a submodule
		if !moved || !samePath(absolute(r.git.Name(), worktree), r.tree) {
			return errNone
		}
	case moved && !samePath(absolute(r.git.Name(), worktree), r.tree):
		return errNone
	}
	return nil
}

func samePath(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func (r *repository) close() {
	if r.common != r.git {
		_ = r.common.Close()
	}
	_ = r.git.Close()
}

// knownExtensions are those of the configuration that change nothing of what is
// read here, or that are looked at.
var knownExtensions = []string{"noop", "partialclone", "preciousobjects", "worktreeconfig", "relativeworktrees", "objectformat", "refstorage"}

// readConfig reads the configuration of the repository, and of this work tree where it
// has one of its own.
func (r *repository) readConfig(linkedTree bool) error {
	text, err := readFile(r.common, "config", maxSmall)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if r.config, err = parseConfig(string(text)); err != nil {
		return err
	}
	if own, _ := r.config.boolean("extensions.worktreeconfig", false); own {
		text, err := readFile(r.git, "config.worktree", maxSmall)
		if err == nil {
			var more config
			if more, err = parseConfig(string(text)); err == nil {
				r.config.add(more)
			}
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := r.checkFormat(); err != nil {
		return err
	}
	if bare, ok := r.config.boolean("core.bare", false); (bare || !ok) && !linkedTree {
		return errNone
	}
	links, ok := r.config.boolean("core.symlinks", true)
	// An include may say anything of what is compared, and lies elsewhere.
	r.opaque = !links || !ok || r.config.includes
	return nil
}

// checkFormat refuses what this package does not read, see gitrepository-layout(5)
// and "extensions" in git-config(1).
func (r *repository) checkFormat() error {
	r.hash = sha1Names
	switch version, _ := r.config.get("core.repositoryformatversion"); version {
	case "", "0":
		return nil
	case "1":
	default:
		return fmt.Errorf("the repository's format is %q", version)
	}
	for _, name := range r.config.names("extensions.") {
		if !slices.Contains(knownExtensions, name) {
			return fmt.Errorf("the repository uses the extension %s", name)
		}
	}
	if refs, ok := r.config.get("extensions.refstorage"); ok && refs != "files" {
		return fmt.Errorf("the repository keeps its refs as %s", refs)
	}
	switch names, ok := r.config.get("extensions.objectformat"); {
	case names == "sha256":
		r.hash = sha256Names
	case ok && names != "sha1":
		return fmt.Errorf("the repository's object format is %s", names)
	}
	return nil
}

// outerPatterns are what is ignored beside the files .gitignore.
func (r *repository) outerPatterns() []gitignore.Patterns {
	text, err := readFile(r.common, "info/exclude", maxSmall)
	if err != nil {
		return nil
	}
	return []gitignore.Patterns{gitignore.Parse("", text)}
}

// outerAttributes are what is set beside the files .gitattributes.
func (r *repository) outerAttributes() attributes {
	var a attributes
	for _, name := range []string{"core.autocrlf", "core.eol", "core.attributesfile"} {
		if _, set := r.config.get(name); set {
			a.any = true
		}
	}
	if _, set := r.config.get("core.attributesfile"); set {
		a.programs = true
	}
	if text, err := readFile(r.common, "info/attributes", maxSmall); err == nil {
		a = a.with(text)
	} else if !errors.Is(err, os.ErrNotExist) {
		a.programs = true
	}
	return a
}

// readFile reads a regular file below root. Nothing is waited for: a named pipe is
// no file.
func readFile(root *os.Root, name string, most int64) ([]byte, error) {
	text, _, err := readDated(root, name, most)
	return text, err
}

// readDated says as well when the file was written.
func readDated(root *os.Root, name string, most int64) ([]byte, time.Time, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|trust.OpenNonblock, 0)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, time.Time{}, fmt.Errorf("%s is no file of at most %d bytes", name, most)
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is no file of at most %d bytes", name, most)
	}
	return text, info.ModTime(), err
}
