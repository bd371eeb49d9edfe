package local

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/durable"
	"github.com/chant-acp/chant-acp/internal/flock"
)

// queries answers which runs a project has, and what is known of them. It reads what
// is kept; that of a run which can't be understood it sets aside, and it changes
// nothing else. It is safe for concurrent use.
type queries struct {
	dir string // of the project's runs
	now func() time.Time
}

func (q *queries) folder(id string) folder { return folder{filepath.Join(q.dir, id)} }

// load reads a run. That it can't be understood is no error, but a problem of the
// run; that there is none is fs.ErrNotExist.
func (q *queries) load(id string) (*kept, error) {
	if !validID(id) {
		return nil, fs.ErrNotExist
	}
	k := &kept{folder: q.folder(id)}
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

// all loads the project's runs, the newest first.
func (q *queries) all() (runs []*kept, err error) {
	err = q.each(func(k *kept) bool {
		runs = append(runs, k)
		return true
	})
	return runs, err
}

// each loads the project's runs, the newest first, until yield returns false. What
// was asked is written once, so the time of its file is that of the run.
func (q *queries) each(yield func(*kept) bool) error {
	ids, err := q.ids()
	if err != nil {
		return err
	}
	for _, id := range ids {
		k, err := q.load(id)
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
func (q *queries) ids() ([]string, error) {
	entries, err := os.ReadDir(q.dir)
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
		began[e.Name()] = q.folder(e.Name()).made()
	}
	return slices.SortedFunc(maps.Keys(began), func(a, b string) int {
		return cmp.Or(began[b].Compare(began[a]), cmp.Compare(a, b))
	}), nil
}

// made is when what was asked was written, also where it was set aside since.
func (f folder) made() time.Time {
	for _, path := range append([]string{f.record()}, setAside(f.record())...) {
		if st, err := os.Lstat(path); err == nil {
			return st.ModTime()
		}
	}
	return time.Time{}
}

// newest is the run that an identity stands for: the one that is named, or the
// one begun last; nil where there is none.
func (q *queries) newest(identity, named string) (*kept, error) {
	if named == "" {
		text, err := durable.Read(filepath.Join(q.dir, ".open", identity), 100)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("looking for an open run: %w", err)
		}
		named = strings.TrimSpace(string(text))
	}
	k, err := q.load(named)
	if errors.Is(err, fs.ErrNotExist) { // a crash came between the pointer and the run, or the pointer is damaged
		return q.openOf(identity)
	}
	return k, err
}

// openOf looks for the open run of an identity among all runs.
func (q *queries) openOf(identity string) (open *kept, err error) {
	err = q.each(func(k *kept) bool {
		if k.state().Open() && k.identity() == identity {
			open = k
		}
		return open == nil
	})
	return open, err
}

// resolve finds the run that a line means: the one it names, or the one open run
// that fits.
func (q *queries) resolve(ref host.RunRef) (*kept, error) {
	if ref.ID != "" {
		return q.named(ref)
	}
	runs, err := q.all()
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
		return nil, &host.OpRefusal{Reason: "More than one open run fits. Say which one with --run and its id.", Runs: q.infos(fit)}
	}
	reason := "No run of this project is open."
	if len(open) > 0 {
		reason = "No open run of this project fits. These are open:"
	}
	return nil, &host.OpRefusal{Reason: reason, Runs: q.infos(open)}
}

func (q *queries) named(ref host.RunRef) (*kept, error) {
	k, err := q.load(ref.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noRun(ref.ID)
	}
	if err != nil {
		return nil, err
	}
	if k.problem == "" && !k.fits(ref) {
		return nil, &host.OpRefusal{Reason: fmt.Sprintf("The run %s is another one than the line says.", ref.ID), Runs: q.infos([]*kept{k})}
	}
	return k, nil
}

func noRun(id string) *host.OpRefusal {
	return &host.OpRefusal{Reason: fmt.Sprintf("There is no run %s of this project.", quote(id)), Lines: []string{"run list"}, Missing: true}
}

// lookUp is resolve for those who only look.
func (q *queries) lookUp(ref host.RunRef) (*kept, error) {
	k, err := q.resolve(ref)
	var refusal *host.OpRefusal
	if err == nil || ref.ID != "" || !errors.As(err, &refusal) {
		return k, err
	}
	if slices.ContainsFunc(refusal.Runs, func(i host.RunInfo) bool { return ref.Op == "" || i.Op == ref.Op }) {
		return nil, err // an open one of another Op is not in the way
	}
	listErr := q.each(func(last *kept) bool {
		if k == nil && last.fits(ref) {
			k = last
		}
		return k == nil
	})
	if k == nil {
		return nil, errors.Join(err, listErr)
	}
	return k, nil
}

func (q *queries) request(id string) (*kept, host.OpWait, error) {
	unknown := &host.OpRefusal{Reason: fmt.Sprintf("No run of this project asked %s.", quote(id)), Lines: []string{"run list"}}
	run, _, _ := strings.Cut(id, ".")
	k, err := q.resolve(host.RunRef{ID: run})
	var refusal *host.OpRefusal
	if run == "" || errors.As(err, &refusal) {
		return nil, host.OpWait{}, unknown
	}
	if err != nil {
		return nil, host.OpWait{}, err
	}
	if k.problem != "" {
		return nil, host.OpWait{}, q.over(k)
	}
	s := k.history.steps[pauseOf(id)]
	if s == nil || s.asked != id {
		return nil, host.OpWait{}, unknown
	}
	w := k.folder.wait(k.record, s, q.now())
	if w.Kind != host.WaitGate {
		return nil, host.OpWait{}, unknown
	}
	return k, w, nil
}

func (q *queries) over(k *kept) error {
	if k.problem != "" {
		return fmt.Errorf("the run %s is unreadable: %s", k.id(), k.problem)
	}
	return &host.OpRefusal{Reason: fmt.Sprintf("The run %s is over: it is %s.", k.id(), k.state()), Runs: q.infos([]*kept{k})}
}

// toUndo finds the run that a line means to undo: the one run of the Op that has
// stopped with something to undo, and is the last one of what it is.
func (q *queries) toUndo(ref host.RunRef) (*kept, error) {
	var newest *kept
	var fit []*kept
	seen := make(map[string]bool)
	err := q.each(func(k *kept) bool {
		if k.problem != "" || !k.fits(ref) || seen[k.identity()] {
			return true
		}
		seen[k.identity()] = true
		if newest == nil {
			newest = k
		}
		if stopped := k.state() == host.RunInterrupted || k.state() == host.RunCancelled; stopped && (k.history.undoable() || k.history.failing != nil) {
			fit = append(fit, k)
		}
		return true
	})
	switch {
	case err != nil:
		return nil, err
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		return nil, &host.OpRefusal{Reason: "More than one run fits that can be undone. Say which one with --run and its id.", Runs: q.infos(fit)}
	case newest != nil:
		return newest, nil // and hear why it can't be
	}
	return nil, &host.OpRefusal{Reason: fmt.Sprintf("There is no run of %s in this project.", quote(ref.Op)), Lines: []string{"run list"}}
}

// isLast refuses a run after which another one of its identity was begun: what it
// left is that one's.
func (q *queries) isLast(k *kept) error {
	id := k.identity()
	last, err := q.newest(id, "")
	if err == nil && last == nil { // the pointer is lost
		err = q.each(func(other *kept) bool {
			if other.problem == "" && other.identity() == id {
				last = other
			}
			return last == nil
		})
	}
	if err != nil || last == nil || last.id() == k.id() {
		return err
	}
	return &host.OpRefusal{
		Reason: fmt.Sprintf("The run %s of %s was begun after the run %s, so what %s left can't be resumed or undone by itself any more.", last.id(), k.Op, k.id(), k.id()),
		Lines:  []string{"run status --run " + last.id()}, Runs: q.infos([]*kept{last, k}),
	}
}
