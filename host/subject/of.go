package subject

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/chant-acp/chant-acp/internal/trust"
)

// Limits of what is read.
const (
	MaxNamed = 16 << 20 // bytes of a file that a command names; a larger one does not count by its content
	MaxBound = 1 << 30  // bytes of all files that bind and evidence name
	maxFiles = 10000    // files that bind may name
)

// Text is something that counts as it is written.
type Text struct {
	Name  string // how a person knows it, such as "the parameter tag"
	Value string
}

// Command is one program that would run.
type Command struct {
	// Shown is the command line for people.
	Shown string
	// Argv is the program and its arguments; nil where Shell is set.
	Argv []string
	// Shell is a line for /bin/sh, whose words count as those of an argv do.
	Shell string
	// Code are folders that the program loads code from, absolute; only those in the
	// project count.
	Code []string
	// Dir is where it runs, absolute.
	Dir string
	// Look finds the file of a program by the PATH that the command gets.
	Look func(name string) (string, error)
}

// Work is what a subject is made of.
type Work struct {
	Root     string // the project's folder, absolute
	Texts    []Text
	Commands []Command
	Steps    []string // titles of the steps; nil: the commands' own
	Sources  []string // paths of files below Root that count whatever names them
	Bind     []string // globs of files below Root; ** is any number of folders
	Evidence []string // paths of files below Root
}

// Of reads the files that work names and makes its subject. Nothing is started.
// The error says what can't be read of what Bind and Evidence name.
func Of(work Work) (Subject, error) {
	root, err := filepath.EvalSymlinks(work.Root)
	if err != nil {
		return Subject{}, fmt.Errorf("the project's folder: %w", err)
	}
	folder, err := os.OpenRoot(root)
	if err != nil {
		return Subject{}, fmt.Errorf("the project's folder: %w", err)
	}
	defer folder.Close()
	m := &maker{root: root, folder: folder, read: map[string]Part{}, words: map[string]bool{}, interpreters: map[string]bool{}}
	for _, t := range work.Texts {
		m.parts = append(m.parts, Part{Kind: KindText, Name: t.Name, SHA256: sum([]byte(t.Value)), Size: int64(len(t.Value))})
	}
	for _, c := range work.Commands {
		m.command(c)
	}
	if err := m.bind(work.Bind); err != nil {
		return Subject{}, err
	}
	for _, path := range work.Sources {
		if err := m.explicit(KindBound, filepath.Clean(filepath.FromSlash(path))); err != nil {
			return Subject{}, fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, path := range work.Evidence {
		if err := m.explicit(KindEvidence, filepath.Clean(filepath.FromSlash(path))); err != nil {
			return Subject{}, fmt.Errorf("the evidence %s: %w", path, err)
		}
	}
	s := Subject{Parts: order(m.parts), Steps: work.Steps}
	if s.Steps == nil {
		for _, c := range work.Commands {
			s.Steps = append(s.Steps, c.Shown)
		}
	}
	return s, nil
}

// maker collects the parts of a subject.
type maker struct {
	root   string // real
	folder *os.Root
	parts  []Part
	read   map[string]Part // what was read, by limit and path below root
	words  map[string]bool // words of commands that were looked at, as absolute paths
	// interpreters are those of scripts that were added, as they are named there.
	interpreters map[string]bool
	bound        int64 // bytes that bind and evidence named
}

func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

// command adds the program of a command and the files that its words name.
func (m *maker) command(c Command) {
	for _, folder := range c.Code {
		m.code(folder)
	}
	if c.Argv == nil {
		m.program("/bin/sh", c)
		for _, w := range shellWords(c.Shell) {
			if w.program {
				m.program(w.text, c)
			}
			m.named(w.text, c.Dir)
		}
		return
	}
	m.program(c.Argv[0], c)
	for _, w := range c.Argv[1:] {
		m.named(w, c.Dir)
	}
}

// program adds a program: where it lies, and what it holds where that is in the
// project.
func (m *maker) program(name string, c Command) {
	p := Part{Kind: KindProgram, Name: m.shown(name, c.Dir)}
	path, err := c.Look(name)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		if c.Argv == nil && name != "/bin/sh" {
			return // a word of the shell's own, such as cd
		}
		p.Lacks = notThere
		m.parts = append(m.parts, p)
		return
	}
	p.Path = path
	if rel, inside := m.below(path); inside {
		content := m.content(rel, -1)
		p.SHA256, p.Size, p.Lacks, p.Changed = content.SHA256, content.Size, content.Lacks, content.Changed
		m.interpreter(rel, c)
	}
	m.parts = append(m.parts, p)
}

// interpreter adds what the first line of a script of the project names (#!, see
// execve(2)), where that lies in the project, too: the kernel starts it. What env(1)
// is told to start is named there as well.
func (m *maker) interpreter(script string, c Command) {
	name, words := m.firstLine(script)
	for _, name := range append([]string{name}, words...) {
		if name == "" || name[0] == '-' || m.interpreters[name] {
			continue
		}
		path, err := c.Look(name)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			continue
		}
		if rel, inside := m.below(path); inside && rel != script {
			m.interpreters[name] = true
			m.program(name, c)
		}
	}
}

// maxFirstLine is what the kernel reads of a script's first line, in bytes.
const maxFirstLine = 256

// firstLine is the interpreter that a script names, and what follows where that is
// env.
func (m *maker) firstLine(script string) (name string, words []string) {
	f, err := m.folder.OpenFile(script, os.O_RDONLY|trust.OpenNonblock, 0)
	if err != nil {
		return "", nil
	}
	defer f.Close()
	text := make([]byte, maxFirstLine)
	n, _ := io.ReadFull(f, text) // shorter files are usual; what can't be read names nothing
	line, found := strings.CutPrefix(string(text[:n]), "#!")
	line, _, _ = strings.Cut(line, "\n")
	words = strings.Fields(line)
	if !found || len(words) == 0 {
		return "", nil
	}
	if filepath.Base(words[0]) != "env" {
		return words[0], nil
	}
	return words[0], words[1:]
}

// shown is a program as people know it: by its path below the project's folder,
// where it has one.
func (m *maker) shown(name, dir string) string {
	if !strings.ContainsRune(name, '/') {
		return name
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	if rel, inside := m.below(filepath.Clean(name)); inside {
		return filepath.ToSlash(rel)
	}
	return name
}

// below is the path below the project's folder of a path without links.
func (m *maker) below(path string) (string, bool) {
	rel, err := filepath.Rel(m.root, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// maxWord is the longest word that may be a path, in bytes (PATH_MAX).
const maxWord = 4096

// named adds the file of the project that a word is the path of. Where there is
// none yet, that counts: one that comes is not what was looked at.
func (m *maker) named(word, dir string) {
	if word == "" || word[0] == '-' || len(word) > maxWord || strings.ContainsAny(word, "\x00\n") {
		return
	}
	if !filepath.IsAbs(word) {
		word = filepath.Join(dir, word)
	}
	if m.words[word] {
		return
	}
	m.words[word] = true
	path, err := filepath.EvalSymlinks(word)
	if err != nil {
		path = filepath.Clean(word)
	}
	rel, inside := m.below(path)
	if !inside || rel == "." {
		return
	}
	p := m.content(rel, MaxNamed)
	if p.Lacks == notFile { // a folder is as good as none: what is in it does not count
		p.Lacks = notThere
	}
	p.Kind, p.Name = KindFile, filepath.ToSlash(rel)
	m.parts = append(m.parts, p)
}

// content reads a file below the project's folder; limit is the most that is read
// of it, negative for all. It has no kind and no name yet.
func (m *maker) content(rel string, limit int64) Part {
	key := fmt.Sprint(limit, rel)
	if p, known := m.read[key]; known {
		return p
	}
	p, err := m.hash(rel, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		p = Part{Lacks: notThere}
	case err != nil:
		p = Part{Lacks: "not readable"}
	}
	m.read[key] = p
	return p
}

// hash reads a file of the project. A limit below zero is none.
func (m *maker) hash(rel string, limit int64) (Part, error) {
	f, err := m.folder.OpenFile(rel, os.O_RDONLY|trust.OpenNonblock, 0)
	if err != nil {
		return Part{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Part{}, err
	}
	p := Part{Size: info.Size(), Changed: changed(info)}
	switch {
	case !info.Mode().IsRegular():
		return Part{Lacks: notFile}, nil
	case limit >= 0 && info.Size() > limit:
		p.Lacks = "larger than is looked at"
		return p, nil
	}
	h := sha256.New()
	if p.Size, err = io.Copy(h, f); err != nil {
		return Part{}, err
	}
	p.SHA256 = hex.EncodeToString(h.Sum(nil))
	return p, nil
}

// explicit adds a file that is to count in any case: one that is too large is an
// error.
func (m *maker) explicit(kind Kind, rel string) error {
	if !filepath.IsLocal(rel) {
		return errors.New("it must lie inside the project")
	}
	if info, err := m.folder.Stat(rel); err == nil {
		if m.bound += info.Size(); info.Mode().IsRegular() && m.bound > MaxBound {
			return fmt.Errorf("it and the files before it have more than %d MiB, the most that bind and evidence may name", MaxBound>>20)
		}
	}
	p, err := m.hash(rel, -1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p = Part{Lacks: notThere}
	case err != nil:
		return err
	}
	p.Kind, p.Name = kind, filepath.ToSlash(rel)
	m.parts = append(m.parts, p)
	return nil
}
