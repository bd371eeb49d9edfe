// Package allow keeps what a person has allowed a project to run.
//
// A clone brings commands, and nobody has looked at them yet. What a person allows
// is each command as it is then (host.Offer), by its bytes: its entry in the
// manifest or its Op's sources, and the programs and files of the project that
// these name. It is kept below the state root, by the repository: in another
// worktree of it the same commands are allowed. One file holds one repository.
//
// Begin at [Open]; [Store.Look] says whether a command is allowed, [Store.Allow] keeps that it is.
package allow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/internal/durable"
	"github.com/chant-acp/chant-acp/internal/stateroot"
)

const (
	format  = "chant-acp allowed"
	version = 1
	maxFile = 64 << 20 // bytes of a file
	// maxForms is how many forms of one command are kept: worktrees may have
	// different ones. The one that was allowed first goes first.
	maxForms = 16
)

// Store is where it is kept.
type Store struct {
	dir string
	now func() time.Time

	mu    sync.Mutex
	known map[string]seen // by project
}

// seen is what was read of a file, which is good as long as the file is the same.
type seen struct {
	file fs.FileInfo
	kept kept
}

// Open is the store below a state root. Nothing is read or made yet.
func Open(stateDir string) *Store {
	return &Store{dir: filepath.Join(stateDir, "allow"), now: time.Now, known: map[string]seen{}}
}

// form is a command in one form that was allowed.
type form struct {
	At      time.Time       `json:"at"`
	Text    string          `json:"text,omitempty"`
	Subject subject.Subject `json:"subject"`
}

// kept is a file of the store.
type kept struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Project string `json:"project"` // what Place found
	// Whole says that a person has looked at all that the project offered, and not
	// only at the command of a line.
	Whole    bool              `json:"whole"`
	Commands map[string][]form `json:"commands"`
	// Sources are the task runners whose tasks the person takes as commands.
	Sources []source `json:"sources,omitempty"`
}

// source is a task runner that was taken.
type source struct {
	At    time.Time `json:"at"`
	Tool  string    `json:"tool"`
	Names []string  `json:"names,omitempty"` // of its tasks; none for all
}

func (s *Store) path(project string) string {
	sum := sha256.Sum256([]byte(project))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json")
}

// read reads what is kept of a project; nothing where there is nothing.
func (s *Store) read(project string) (kept, error) {
	k := kept{Format: format, Version: version, Project: project, Commands: map[string][]form{}}
	path := s.path(project)
	text, err := durable.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return k, fmt.Errorf("what was allowed can't be read: %w", err)
	}
	var there kept
	if err := json.Unmarshal(text, &there); err != nil || there.Format != format || there.Project != project {
		return k, fmt.Errorf("what was allowed can't be read: %s is not what this program wrote; remove it, and allow the project again", path)
	}
	if there.Version > version {
		return k, fmt.Errorf("what was allowed can't be read: %s was written by a newer chant-acp; use that one", path)
	}
	if there.Commands == nil {
		there.Commands = map[string][]form{}
	}
	return there, nil
}

// lookUp is read for those who only look. The file is replaced as a whole by each
// write, so that another one is another file.
func (s *Store) lookUp(project string) (kept, error) {
	file, err := os.Lstat(s.path(project))
	if err != nil {
		return s.read(project)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, there := s.known[project]; there && os.SameFile(was.file, file) && was.file.ModTime().Equal(file.ModTime()) && was.file.Size() == file.Size() {
		return was.kept, nil
	}
	k, err := s.read(project)
	if err == nil {
		s.known[project] = seen{file, k}
	}
	return k, err
}

// Look says whether a command may run in the project of the folder root, as it is
// offered.
func (s *Store) Look(root string, o host.Offer) (host.Allowance, error) {
	project, err := Place(root)
	if err != nil {
		return host.Allowance{}, err
	}
	k, err := s.lookUp(project)
	if err != nil {
		return host.Allowance{}, err
	}
	a := host.Allowance{Project: k.Whole}
	forms := k.Commands[o.Name]
	if len(forms) == 0 {
		return a, nil
	}
	digest := o.Subject.Digest()
	for _, f := range forms {
		if f.Subject.Digest() == digest {
			a.Allowed = true
			return a, nil
		}
	}
	last := forms[len(forms)-1]
	a.Before = last.At
	a.Changed = subject.Compare(last.Subject, o.Subject, last.At, "it was allowed")
	a.Difference = difference(last.Text, o.Text)
	return a, nil
}

// Allow keeps a person's yes to commands as they are offered, whole to all that the
// project offers.
func (s *Store) Allow(root string, offers []host.Offer, whole bool) error {
	return s.change(root, func(k *kept) bool {
		k.Whole = k.Whole || whole
		for _, o := range offers {
			digest := o.Subject.Digest()
			forms := slices.DeleteFunc(k.Commands[o.Name], func(f form) bool { return f.Subject.Digest() == digest })
			forms = append(forms, form{s.now().UTC(), o.Text, o.Subject})
			k.Commands[o.Name] = forms[max(0, len(forms)-maxForms):]
		}
		return true
	})
}

// Taken implements project.Taken.
func (s *Store) Taken(root string) ([]command.Source, error) {
	project, err := Place(root)
	if err != nil {
		return nil, err
	}
	k, err := s.lookUp(project)
	var list []command.Source
	for _, taken := range k.Sources {
		list = append(list, command.Source{Tool: taken.Tool, Names: taken.Names})
	}
	return list, err
}

// Take implements project.Taken.
func (s *Store) Take(root string, taken command.Source) error {
	return s.change(root, func(k *kept) bool {
		k.drop(taken.Tool)
		k.Sources = append(k.Sources, source{s.now().UTC(), taken.Tool, taken.Names})
		return true
	})
}

// Drop implements project.Taken.
func (s *Store) Drop(root, tool string) (was bool, err error) {
	err = s.change(root, func(k *kept) bool {
		was = k.drop(tool)
		return was
	})
	return was, err
}

func (k *kept) drop(tool string) bool {
	before := len(k.Sources)
	k.Sources = slices.DeleteFunc(k.Sources, func(s source) bool { return s.Tool == tool })
	return len(k.Sources) < before
}

// change writes what edit makes of what is kept of a project; edit returns false to
// leave it as it is.
func (s *Store) change(root string, edit func(*kept) bool) error {
	project, err := Place(root)
	if err != nil {
		return err
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	k, err := s.read(project)
	if err != nil || !edit(&k) {
		return err
	}
	text, err := json.Marshal(k)
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it has more than %d MiB", maxFile>>20)
	}
	if err == nil {
		err = durable.Write(s.path(project), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("what was allowed can't be kept: %w", err)
	}
	return nil
}

// Forget takes back all that was allowed to a project. It says whether there was
// anything.
func (s *Store) Forget(root string) (bool, error) {
	project, err := Place(root)
	if err != nil {
		return false, err
	}
	return remove(s.path(project))
}

func (s *Store) makeDir() error {
	if err := stateroot.Make(filepath.Dir(s.dir)); err != nil {
		return err
	}
	return stateroot.Make(s.dir)
}
