package gitstate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/chant-acp/chant-acp/internal/gitignore"
)

// treeID is the id of the tree object that entries below prefix would make. ok is
// false where they make none.
func treeID(h hashKind, entries []entry, prefix string) (id []byte, ok bool) {
	var body bytes.Buffer
	for len(entries) > 0 {
		e := entries[0]
		name, below, inFolder := strings.Cut(e.name[len(prefix):], "/")
		mode, object, n := e.mode, e.id, 1
		switch {
		case inFolder && below == "": // all of a folder, in a sparse index
			if mode != modeFolder {
				return nil, false
			}
		case inFolder:
			folder := prefix + name + "/"
			n = countBelow(entries, folder)
			if object, ok = treeID(h, entries[:n], folder); !ok {
				return nil, false
			}
			mode = modeFolder
		}
		fmt.Fprintf(&body, "%o %s\x00", mode, name)
		body.Write(object)
		entries = entries[n:]
	}
	sum := h.new()
	fmt.Fprintf(sum, "tree %d\x00", body.Len())
	sum.Write(body.Bytes())
	return sum.Sum(nil), true
}

// countBelow is how many entries at the beginning are in a folder.
func countBelow(entries []entry, folder string) int {
	n := 0
	for n < len(entries) && strings.HasPrefix(entries[n].name, folder) {
		n++
	}
	return n
}

func holds(entries []entry, name string) bool {
	_, ok := slices.BinarySearchFunc(entries, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
	return ok
}

const (
	// maxDepth is how many folders deep a work tree is walked.
	maxDepth = 128
	// maxFile is the largest file whose content is compared, in bytes.
	maxFile = 16 << 20
)

// A walk compares the files of a work tree with the index.
type walk struct {
	ctx       context.Context
	r         *repository
	fileMode  bool // whether a file's permission to be executed counts
	untracked bool // whether files that are not in the index count
	excludes  bool // whether a file outside the repository may ignore some
}

func newWalk(ctx context.Context, r *repository) *walk {
	w := &walk{ctx: ctx, r: r}
	w.fileMode, _ = r.config.boolean("core.filemode", true)
	shown, _ := r.config.get("status.showuntrackedfiles")
	w.untracked = shown != "no" && shown != "false"
	_, w.excludes = r.config.get("core.excludesfile")
	return w
}

// folder compares one folder with the entries that are in it, prefix being its path
// with a slash at the end. What is known to be ignored and of attributes comes from
// the folders above.
func (w *walk) folder(dir *os.Root, prefix string, entries []entry, ignored []gitignore.Patterns, attrs attributes) answer {
	if w.ctx.Err() != nil || strings.Count(prefix, "/") > maxDepth {
		return unknown
	}
	files, err := list(dir)
	if err != nil {
		return unknown
	}
	found := same
	if e := files[".gitignore"]; e != nil {
		if text, err := readFile(dir, ".gitignore", maxSmall); err == nil && e.Type().IsRegular() {
			ignored = append(slices.Clip(ignored), gitignore.Parse(strings.TrimSuffix(prefix, "/"), text))
		} else {
			found = unknown
		}
	}
	if e := files[".gitattributes"]; e != nil {
		text, err := readFile(dir, ".gitattributes", maxSmall)
		attrs = attrs.with(text)
		attrs.programs = attrs.programs || err != nil
	}
	for _, name := range []string{".gitignore", ".gitattributes"} {
		if files[name] == nil && holds(entries, prefix+name) { // git reads that of the index
			found, attrs.programs = unknown, true
		}
	}
	for len(entries) > 0 && found != differs {
		name, below, inFolder := strings.Cut(entries[0].name[len(prefix):], "/")
		n := 1
		file := files[name]
		delete(files, name)
		switch {
		case inFolder && below == "": // of a sparse index
			if file != nil {
				found = unknown
			}
		case inFolder:
			n = countBelow(entries, prefix+name+"/")
			found = max(found, w.sub(dir, file, prefix, name, entries[:n], ignored, attrs))
		default:
			found = max(found, w.file(dir, file, name, &entries[0], attrs))
		}
		entries = entries[n:]
	}
	if found == differs || !w.untracked {
		return found
	}
	return max(found, w.besides(dir, prefix, files, ignored, attrs))
}

// list lists a folder by name.
func list(dir *os.Root) (map[string]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	files := make(map[string]fs.DirEntry, len(entries))
	for _, e := range entries {
		files[e.Name()] = e
	}
	return files, nil
}

// sub compares a folder that the index has files of.
func (w *walk) sub(dir *os.Root, file fs.DirEntry, prefix, name string, entries []entry, ignored []gitignore.Patterns, attrs attributes) answer {
	if file == nil || !file.IsDir() {
		// Where none of the files has to be there, that is as it should be.
		if file == nil && !slices.ContainsFunc(entries, func(e entry) bool { return !e.assumeUnchanged() && !e.skipWorktree() }) {
			return same
		}
		return differs
	}
	path := prefix + name
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return unknown
	}
	defer sub.Close()
	if isIgnored(ignored, path, true) { // what is in it and not in the index is ignored, too
		inner := *w
		inner.untracked = false
		w = &inner
	}
	return w.folder(sub, path+"/", entries, ignored, attrs)
}

// file compares one file with its entry.
func (w *walk) file(dir *os.Root, file fs.DirEntry, name string, e *entry, attrs attributes) answer {
	switch {
	case e.assumeUnchanged():
		return same
	case file == nil:
		return match(e.skipWorktree())
	}
	info, err := dir.Lstat(name)
	if err != nil {
		return unknown
	}
	found := w.lookAt(dir, info, name, e, attrs)
	if e.skipWorktree() && found == differs { // versions of git differ in what they say
		return unknown
	}
	return found
}

// lookAt compares a file, link or submodule with its entry of the index.
func (w *walk) lookAt(dir *os.Root, info fs.FileInfo, name string, e *entry, attrs attributes) answer {
	mode := info.Mode()
	switch e.mode & modeType {
	case modeModule:
		return compareModule(dir, mode, name)
	case modeLink:
		if mode.Type() != fs.ModeSymlink {
			return differs
		}
		if w.unchanged(info, e) {
			return same
		}
		target, err := dir.Readlink(name)
		if err != nil {
			return unknown
		}
		return match(bytes.Equal(blobID(w.r.hash, []byte(target)), e.id))
	case modeRegular:
		if !mode.IsRegular() || w.fileMode && (mode&modeExec != 0) != (e.mode&modeExec != 0) {
			return differs
		}
		if w.unchanged(info, e) {
			return same
		}
		return w.content(dir, info, name, e, attrs)
	}
	return unknown
}

// compareModule looks at a submodule. What is in one only its own repository tells.
func compareModule(dir *os.Root, mode fs.FileMode, name string) answer {
	if !mode.IsDir() {
		return differs
	}
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return unknown
	}
	defer sub.Close()
	if files, err := list(sub); err == nil && len(files) == 0 { // the submodule was not fetched
		return same
	}
	return unknown
}

// unchanged says whether a file is surely the one that the index was written with:
// each time, number and size is the same, and the file is a second older than the
// index, as git has it (what is written in the same moment may be another content).
func (w *walk) unchanged(info fs.FileInfo, e *entry) bool {
	stat, ok := statOf(info)
	if !ok {
		return false
	}
	stat[device] = e.stat[device] // device numbers change between boots, and git ignores them
	return stat == e.stat && w.r.written.Unix() > info.ModTime().Unix()
}

// content compares what is in a file. Attributes may say that it is not kept as it
// is: line endings are known here, what else there is is not.
func (w *walk) content(dir *os.Root, info fs.FileInfo, name string, e *entry, attrs attributes) answer {
	if attrs.programs || info.Size() > maxFile || w.ctx.Err() != nil {
		return unknown
	}
	data, err := readFile(dir, name, maxFile)
	if err != nil {
		return unknown
	}
	equal := bytes.Equal(blobID(w.r.hash, data), e.id)
	if !bytes.Contains(data, []byte("\r\n")) || equal && !attrs.any {
		return match(equal)
	}
	lines := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if !equal && !bytes.Equal(blobID(w.r.hash, lines), e.id) {
		return differs
	}
	return unknown
}

func blobID(h hashKind, data []byte) []byte {
	sum := h.new()
	_, _ = io.WriteString(sum, "blob "+strconv.Itoa(len(data))+"\x00")
	sum.Write(data)
	return sum.Sum(nil)
}

// besides looks for files that are neither in the index nor ignored. Folders count
// by what is in them.
func (w *walk) besides(dir *os.Root, prefix string, files map[string]fs.DirEntry, ignored []gitignore.Patterns, attrs attributes) answer {
	found := same
	for name, file := range files {
		path := prefix + name
		switch {
		case name == ".git":
			if prefix != "" { // a repository in this one, perhaps
				found = max(found, unknown)
			}
		case isIgnored(ignored, path, file.IsDir()):
		case file.IsDir():
			sub, err := dir.OpenRoot(name)
			if err != nil {
				found = max(found, unknown)
				continue
			}
			found = max(found, w.folder(sub, path+"/", nil, ignored, attrs))
			_ = sub.Close()
		case file.Type().IsRegular() || file.Type() == fs.ModeSymlink:
			if !w.excludes {
				return differs
			}
			found = max(found, unknown)
		}
		if found == differs {
			break
		}
	}
	return found
}

func isIgnored(patterns []gitignore.Patterns, path string, dir bool) bool {
	for _, p := range slices.Backward(patterns) {
		if ignored, decided := p.Match(path, dir); decided {
			return ignored
		}
	}
	return false
}

// attributes are what is known of gitattributes(5) for the files of a folder.
type attributes struct {
	any      bool // there are some: line endings may be converted
	programs bool // a file may be kept as something else: a filter, another encoding
}

// with adds what a file of attributes says. Patterns are not looked at: what one
// file may have, all may.
func (a attributes) with(text []byte) attributes {
	a.any = true
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, word := range []string{"filter", "ident", "working-tree-encoding", "[attr]"} {
			a.programs = a.programs || strings.Contains(line, word)
		}
	}
	return a
}
