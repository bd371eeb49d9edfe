package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/durable"
)

// kept is a run as it is on disk.
type kept struct {
	folder
	record
	history *history
	live    bool
	problem string // why it can't be read; then record or history may be empty
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
			k.Op, k.Env = k.history.segment.Op, k.history.segment.Env
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
	for _, path := range setAside(k.journal()) {
		if read == nil || read.segments == 0 {
			read, _ = readJournal(path) // what can't be read says nothing
		}
	}
	if read == nil || read.segments == 0 {
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
func setAside(path string) []string {
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
	if found := setAside(path); len(found) > 0 {
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

// isOver says whether the journal holds the end of a run, whatever else is lost.
func (k *kept) isOver() bool {
	return k.history != nil && k.history.over()
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

// hasContext refuses keys that the run was not begun with.
func (k *kept) hasContext(keys map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		want, err := json.Marshal(keys[key])
		if err != nil {
			return err
		}
		var own json.RawMessage
		if k.Context != nil {
			own, _ = k.Context.Get(key)
		}
		if !bytes.Equal(own, want) {
			return &host.OpRefusal{
				Reason: fmt.Sprintf("The run %s of %s is open, and was begun with another %s in its context, or with none.", k.id(), k.Op, key),
				Lines:  []string{"run " + quote(k.Op) + " --run " + k.id()},
			}
		}
	}
	return nil
}
