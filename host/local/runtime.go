package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/local/activity"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/durable"
	"github.com/chant-acp/chant-acp/internal/envmask"
	"github.com/chant-acp/chant-acp/internal/flock"
)

// Options are what a Runtime needs of the project and of the process it lives in.
type Options struct {
	// Root is the project's folder, absolute.
	Root string
	// State is the folder of runs, absolute; it is made when the first run is.
	State string
	// Find reads an Op as it is now, with the variables vars ("NAME=value") over
	// the environment. Its error says what else there is.
	Find func(ctx context.Context, name string, vars []string) (*op.Op, error)
	// Env is the environment that this process inherited. Its values are shown by
	// their names.
	Env []string
	// Environ is the environment of programs; nil for Env.
	Environ func(color bool) []string
	// Chant is the path of the chant program, "" where there is none. It may be
	// nil.
	Chant func() string
	// ManifestDigest identifies the manifest in use, "" where there is none. It
	// may be nil.
	ManifestDigest func() string
	// LogMax bounds what is kept of what the steps of a run print, and LogFloor is
	// the free disk that it leaves, in bytes; 0 for 1 GiB and 512 MiB.
	LogMax, LogFloor int64
	// Now is the clock; nil for time.Now.
	Now func() time.Time
}

// Runtime implements host.Runtime.
type Runtime struct {
	o    Options
	dir  string // of the project's runs
	mask *envmask.Mask
	// activities are what the steps of Ops may run.
	activities *activity.Project
	// sleep waits for a time, or returns the cause of a context that ends first.
	sleep func(context.Context, time.Duration) error

	mu sync.Mutex
	// left is what the programs of each run that is open may have left behind.
	left map[string][]process.Remnant
}

var _ host.Runtime = (*Runtime)(nil)

// New makes the runtime of a project. Nothing is made or read but the links of
// the root.
func New(o Options) (*Runtime, error) {
	root, err := filepath.EvalSymlinks(o.Root)
	if err != nil {
		return nil, fmt.Errorf("the project's folder: %w", err)
	}
	o.Root = root
	if !filepath.IsAbs(o.Root) || !filepath.IsAbs(o.State) {
		return nil, fmt.Errorf("the project's folder %q and the folder of runs %q must be absolute", o.Root, o.State)
	}
	if o.Environ == nil {
		o.Environ = func(bool) []string { return o.Env }
	}
	if o.Chant == nil {
		o.Chant = func() string { return "" }
	}
	if o.ManifestDigest == nil {
		o.ManifestDigest = func() string { return "" }
	}
	o.LogMax, o.LogFloor = cmp.Or(o.LogMax, 1<<30), cmp.Or(o.LogFloor, 512<<20)
	if o.Now == nil {
		o.Now = time.Now
	}
	dir := filepath.Join(o.State, digest(root)[:keyLen])
	activities := &activity.Project{
		Root: root, Chant: o.Chant, Environ: func() []string { return newEnviron(o.Environ(false)).list },
	}
	return &Runtime{
		o: o, dir: dir, mask: envmask.New(o.Env), activities: activities, sleep: sleep, left: make(map[string][]process.Remnant),
	}, nil
}

func (rt *Runtime) folder(id string) folder { return folder{filepath.Join(rt.dir, id)} }

// kept is a run as it is on disk.
type kept struct {
	folder
	record
	history *history
	live    bool
	problem string // why it can't be read; then record or history may be empty
}

// load reads a run. That it can't be understood is no error, but a problem of the
// run; that there is none is fs.ErrNotExist.
func (rt *Runtime) load(id string) (*kept, error) {
	if !validID(id) {
		return nil, fs.ErrNotExist
	}
	k := &kept{folder: rt.folder(id)}
	if _, err := os.Lstat(k.dir); err != nil {
		return nil, err
	}
	live, err := flock.Held(k.lockFile())
	if err != nil {
		return nil, err
	}
	k.read(live)
	if !live && k.problem == "" && k.history.status == nil {
		// Somebody may have taken it up between the two looks.
		if k.live, err = flock.Held(k.lockFile()); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// read reads what is kept. What is damaged is set aside, unless a process lives
// that may know better; the rest of the run is told of all the same.
func (k *kept) read(live bool) {
	k.live, k.problem = live, ""
	r, err := k.readRecord()
	k.record = r
	lost := k.lost(k.folder.record(), err)
	k.history, err = readJournal(k.journal())
	if other := new(damageError); err == nil && errors.As(k.history.isOf(k.folder, r), &other) {
		if other.path == k.journal() {
			err = other
		} else {
			lost = k.lost(other.path, other)
		}
	}
	k.problem = strings.Join(slices.DeleteFunc([]string{lost, k.lost(k.journal(), err)}, func(s string) bool { return s == "" }), "; ")
	if err != nil {
		k.history = k.before(k.history)
	}
	if lost != "" {
		k.record = record{ID: k.id()}
		if k.history != nil {
			k.Op, k.Env = k.history.leg.Op, k.history.leg.Env
		}
	}
}

// lost says what became of a file that could not be read, "" of one that was.
func (k *kept) lost(path string, err error) string {
	var damage *damageError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return path + " changed while it was read"
		}
		return path + " is gone" + asidesOf(path)
	case errors.As(err, &damage):
		if damage.intact || k.live {
			return damage.Error()
		}
		return damage.Error() + asideOf(damage.path)
	}
	return err.Error() // one run that can't be read hides no other
}

// before is what a damaged journal says up to its damage: read, or kept aside.
// nil where that is nothing.
func (k *kept) before(read *history) *history {
	for _, path := range asides(k.journal()) {
		if read == nil || read.legs == 0 {
			read, _ = readJournal(path) // what can't be read says nothing
		}
	}
	if read == nil || read.legs == 0 {
		return nil
	}
	return read
}

// asideOf sets a damaged file aside, and says where it is.
func asideOf(path string) string {
	aside, err := durable.SetAside(path)
	if err != nil {
		return fmt.Sprintf(" (%v)", err)
	}
	return "; it is kept as " + aside
}

// asides are what was set aside of a file before, sorted.
func asides(path string) []string {
	entries, _ := os.ReadDir(filepath.Dir(path)) // a folder that can't be read holds nothing to tell of
	var found []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+".corrupt-") {
			found = append(found, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return found
}

func asidesOf(path string) string {
	if found := asides(path); len(found) > 0 {
		return "; what was there is kept as " + strings.Join(found, ", ")
	}
	return ""
}

func (k *kept) state() host.RunState {
	switch {
	case k.problem != "":
		return host.RunUnreadable
	case k.live:
		return host.RunRunning
	case k.history.status != nil:
		return host.RunState(k.history.status.State)
	}
	return host.RunInterrupted
}

// all loads the project's runs, the newest first.
func (rt *Runtime) all() (runs []*kept, err error) {
	err = rt.each(func(k *kept) bool {
		runs = append(runs, k)
		return true
	})
	return runs, err
}

// each loads the project's runs, the newest first, until yield returns false. What
// was asked is written once, so the time of its file is that of the run.
func (rt *Runtime) each(yield func(*kept) bool) error {
	ids, err := rt.ids()
	if err != nil {
		return err
	}
	for _, id := range ids {
		k, err := rt.load(id)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil:
			return err
		case !yield(k):
			return nil
		}
	}
	return nil
}

// ids are the project's runs, the newest first.
func (rt *Runtime) ids() ([]string, error) {
	entries, err := os.ReadDir(rt.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the runs of this project: %w", err)
	}
	began := make(map[string]time.Time, len(entries))
	for _, e := range entries {
		if !e.IsDir() || !validID(e.Name()) {
			continue
		}
		began[e.Name()] = rt.folder(e.Name()).made()
	}
	return slices.SortedFunc(maps.Keys(began), func(a, b string) int {
		return cmp.Or(began[b].Compare(began[a]), cmp.Compare(a, b))
	}), nil
}

// made is when what was asked was written, also where it was set aside since.
func (f folder) made() time.Time {
	for _, path := range append([]string{f.record()}, asides(f.record())...) {
		if st, err := os.Lstat(path); err == nil {
			return st.ModTime()
		}
	}
	return time.Time{}
}

// fits says whether a run may be the one that a line means.
func (k *kept) fits(ref host.RunRef) bool {
	if ref.ID != "" && ref.ID != k.id() || ref.Op != "" && ref.Op != k.Op || ref.Env != "" && ref.Env != k.Env {
		return false
	}
	for name, value := range ref.Params {
		if own, given := k.Params[name]; !given || own != value {
			return false
		}
	}
	return true
}

// resolve finds the run that a line means: the one it names, or the one open run
// that fits.
func (rt *Runtime) resolve(ref host.RunRef) (*kept, error) {
	if ref.ID != "" {
		return rt.named(ref)
	}
	runs, err := rt.all()
	if err != nil {
		return nil, err
	}
	var open, fit []*kept
	for _, k := range runs {
		if !k.state().Open() {
			continue
		}
		open = append(open, k)
		if k.fits(ref) {
			fit = append(fit, k)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		return nil, &host.OpRefusal{Reason: "More than one open run fits. Say which one with --run and its id.", Runs: rt.infos(fit)}
	}
	reason := "No run of this project is open."
	if len(open) > 0 {
		reason = "No open run of this project fits. These are open:"
	}
	return nil, &host.OpRefusal{Reason: reason, Runs: rt.infos(open)}
}

func (rt *Runtime) named(ref host.RunRef) (*kept, error) {
	k, err := rt.load(ref.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noRun(ref.ID)
	}
	if err != nil {
		return nil, err
	}
	if k.problem == "" && !k.fits(ref) {
		return nil, &host.OpRefusal{Reason: fmt.Sprintf("The run %s is another one than the line says.", ref.ID), Runs: rt.infos([]*kept{k})}
	}
	return k, nil
}

func noRun(id string) *host.OpRefusal {
	return &host.OpRefusal{Reason: fmt.Sprintf("There is no run %s of this project.", quote(id)), Lines: []string{"run list"}, Missing: true}
}

func sortTitles(keyed []string) []string {
	slices.Sort(keyed)
	for i, t := range keyed {
		keyed[i], _, _ = strings.Cut(t, "\x00")
	}
	return keyed
}
