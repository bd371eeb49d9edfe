// Package project is the real host: one directory, its manifest, the chant
// program found there, and the programs they allow.
//
// [New] makes it of a directory. Lines go in as a command.Invocation by [Project.Start]; a host.Run
// comes out. Ops are behind [Project.Ops].
package project

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/local"
	"github.com/chant-acp/chant-acp/host/tasks"
)

// Options are what a Project needs from the process it lives in.
type Options struct {
	// Env is the environment that programs inherit, "NAME=value".
	Env []string
	// LogDir is where the logs of turns go; "" for nowhere.
	LogDir string
	// LogMax bounds one log in bytes; 0 for 1 GiB.
	LogMax int64
	// LogFloor is the free disk, in bytes, that a log leaves; 0 for 512 MiB.
	LogFloor int64
	// Chant is the chant program to use, absolute; "" to look for one.
	Chant string
	// Runs is where the runs of Ops are kept, absolute; "" for nowhere: then
	// there are none.
	Runs string
	// OpCache is where what was read of *.op.ts is kept; "" for nowhere.
	OpCache string
	// Taken keeps whose task runners' tasks are commands, beside those that manifests
	// name; nil: nobody's.
	Taken Taken
}

// Taken keeps which task runners of projects a person takes commands from.
// Implementations are safe for concurrent use.
type Taken interface {
	// Taken lists those of the project in a folder.
	Taken(root string) ([]command.Source, error)
	// Take adds one, in the place of another of the same tool.
	Take(root string, s command.Source) error
	// Drop removes one; false where it was not there.
	Drop(root, tool string) (bool, error)
}

// Project is a host bound to the directory of a session. It implements
// host.Host and is safe for concurrent use.
type Project struct {
	dir string
	o   Options

	mu       sync.Mutex
	seen     fingerprint
	searched time.Time
	root     string
	allow    host.AllowList
	manifest string                    // digest of the manifest in use, "" for none
	listed   []tasks.Seen              // files that commands of task runners depend on
	runtimes map[string]*local.Runtime // by root
}

// New makes the host of a session in dir, which is absolute and exists. Nothing
// is read yet.
func New(dir string, o Options) *Project {
	if o.LogMax <= 0 {
		o.LogMax = 1 << 30
	}
	if o.LogFloor <= 0 {
		o.LogFloor = 512 << 20
	}
	return &Project{dir: dir, o: o}
}

// fingerprint identifies the files that an allow-list is made of, well enough
// to notice a change without reading them.
type fingerprint struct {
	manifest, root, chant string
	problem, taken        string
	size                  int64
	modified, changed     int64 // contents, and anything at all
	inode                 uint64
	set                   bool
}

// Dir is the project root: the manifest's folder, else the repository's root,
// else the session's directory.
func (p *Project) Dir() string {
	p.mu.Lock()
	known := p.root
	p.mu.Unlock()
	if known == "" {
		p.AllowList()
		return p.Dir()
	}
	return known
}

// searchFor is how long a search counts that found something: where the
// manifest is, and the chant program. The search looks at every folder up to the
// repository's root and at those of PATH; the manifest itself is looked at each
// time.
const searchFor = time.Second

// AllowList looks whether the manifest or the chant program changed and reads
// them anew where they did.
func (p *Project) AllowList() host.AllowList {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen.manifest != "" && time.Now().Before(p.searched.Add(searchFor)) {
		now := p.seen
		if now.stat(); now == p.seen && p.sameTasks() {
			return p.allow
		}
	}
	path, root, err := command.FindManifest(p.dir)
	now := fingerprint{manifest: path, root: root, chant: p.findChant(root), set: true}
	if err != nil {
		now.problem = err.Error()
	}
	now.stat()
	taken, takenErr := p.taken(root)
	now.taken = fmt.Sprint(taken, takenErr)
	p.searched = time.Now()
	if now != p.seen || !p.sameTasks() {
		p.seen, p.root = now, root
		p.allow, p.manifest = p.readAllowList(now, err, taken, takenErr, p.allow.Version+1)
	}
	return p.allow
}

// readAllowList reads what the fingerprint stands for. problem is why there is
// no manifest to read, or nil; takenErr why it is not known what was taken.
func (p *Project) readAllowList(f fingerprint, problem error, taken []command.Source, takenErr error, version int) (allow host.AllowList, digest string) {
	allow = host.AllowList{Problem: problem, Version: version}
	if f.inode != 0 { // it was there, whatever it holds
		allow.ManifestDir = filepath.Dir(f.manifest)
	}
	o := command.RegistryOptions{Root: f.root, Chant: f.chant}
	if f.manifest != "" {
		m, err := command.ReadManifest(f.manifest)
		if err != nil {
			allow.Problem = err
		} else {
			o.Manifest, allow.Environments, digest = m, m.Environments(), m.Digest()
		}
	}
	var notTaken []string
	if takenErr != nil {
		notTaken = []string{takenErr.Error()}
	}
	if allow.Problem == nil {
		o.Listed, notTaken = p.readTasks(f.root, o.Manifest, taken, notTaken)
	}
	if problem == nil {
		o.Lacking = func() string { return p.lacking(f, taken, notTaken) }
	}
	allow.Registry = command.NewRegistry(o)
	return allow, digest
}

func (f *fingerprint) stat() {
	if f.manifest == "" {
		return
	}
	var st unix.Stat_t // of each prompt: without what os.Stat makes around it
	err := unix.Stat(f.manifest, &st)
	for errors.Is(err, unix.EINTR) { // some file systems let a signal in
		err = unix.Stat(f.manifest, &st)
	}
	if err != nil {
		f.problem = (&os.PathError{Op: "stat", Path: f.manifest, Err: err}).Error()
		return
	}
	f.size, f.modified = st.Size, st.Mtim.Nano()
	f.changed, f.inode = st.Ctim.Nano(), st.Ino
}

// findChant looks for the chant program: the project's own, then PATH.
func (p *Project) findChant(root string) string {
	if p.o.Chant != "" {
		return p.o.Chant
	}
	if own := command.TrustedProgram(root, filepath.Join("node_modules", ".bin", "chant")); own != "" && isProgram(own) {
		return own
	}
	for _, dir := range filepath.SplitList(lookup(p.o.Env, "PATH")) {
		if path := filepath.Join(dir, "chant"); filepath.IsAbs(dir) && isProgram(path) {
			return path
		}
	}
	return ""
}

// isProgram says whether path can be executed and is not this very binary,
// which would ask itself for ever.
func isProgram(path string) bool {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || st.Mode().Perm()&0o111 == 0 {
		return false
	}
	self, err := os.Stat("/proc/self/exe")
	return err != nil || !os.SameFile(st, self)
}

// lookup returns the value of a variable, the last one counting.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := cutName(env[i], name); ok {
			return v
		}
	}
	return ""
}
