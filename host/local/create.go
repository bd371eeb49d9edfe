package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/pause"
	"github.com/chant-acp/chant-acp/internal/durable"
	"github.com/chant-acp/chant-acp/internal/flock"
)

// firstLeg begins a journal.
func firstSegment(r record, p plan, by host.Actor) entry {
	return entry{Kind: entrySegment, Segment: 1, PID: os.Getpid(), User: osUser(), Client: by.Client, Steps: p.count(), Op: r.Op, Env: r.Env}
}

// create makes the folder of a run, with the beginning of its journal: beside its
// place first, so that a run that is seen is whole.
func (rt *Runtime) create(r *record, identity string, begun entry, p plan) (folder, error) {
	for {
		r.ID = newID()
		if _, err := os.Lstat(rt.folder(r.ID).dir); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	r.Context = &contextRecord{r.Context.Child(r.ID, r.Op)}
	text, err := json.Marshal(r)
	if err != nil {
		return folder{}, fmt.Errorf("writing down a run: %w", err)
	}
	begun.Time = r.Created
	lines, err := journalFormat.Begin(journalHeader{Run: r.ID, Record: sumOf(text), Phases: shapes(p.phases), Undo: shapes(p.undo)}, begun)
	if err != nil {
		return folder{}, fmt.Errorf("writing down a run: %w", err)
	}
	made := folder{filepath.Join(rt.dir, "."+r.ID+".new")}
	err = os.Mkdir(made.dir, 0o700)
	for _, write := range []func() error{
		func() error { return durable.Write(made.record(), text) },
		func() error { return durable.Write(made.journal(), lines) },
		func() error { return durable.Write(filepath.Join(rt.dir, ".open", identity), []byte(r.ID+"\n")) },
		func() error { return os.Rename(made.dir, rt.folder(r.ID).dir) },
		func() error { return durable.SyncDir(rt.dir) },
	} {
		if err == nil {
			err = write()
		}
	}
	if err != nil {
		_ = os.RemoveAll(made.dir)
		return folder{}, fmt.Errorf("writing down a run: %w", err)
	}
	return rt.folder(r.ID), nil
}

// context is what the run's own context is a child of: what the process that asked
// was given, and the line's keys over it. What a run is, is taken only from a run
// that this process is a step of; notice says that it was not.
func (rt *Runtime) context(user map[string]string) (c *contextRecord, notice string, err error) {
	given := new(pause.Context)
	for _, entry := range rt.o.Env {
		if text, ok := strings.CutPrefix(entry, pause.ContextVar+"="); ok && text != "" {
			if given, err = pause.ParseContext([]byte(text)); err != nil {
				return nil, "", &host.OpRefusal{Reason: fmt.Sprintf("The variable %s holds no request context: %s. Correct it, or remove it.", pause.ContextVar, rt.mask.Text(err.Error()))}
			}
		}
	}
	if !rt.isStepOf(given.Reserved()) {
		if r := given.Reserved(); r.RunID != "" || r.TeamID != "" || r.FactoryID != nil || r.ParentRunID != nil || len(r.APIKeyScopes) > 0 {
			notice = fmt.Sprintf("What %s says of a team, a run and scopes is ignored: this line comes from no step of a run. Its user keys count.", pause.ContextVar)
		}
		given = given.UserOnly()
	}
	for _, key := range slices.Sorted(maps.Keys(user)) {
		if err := given.Set(key, user[key]); err != nil {
			return nil, "", &host.OpRefusal{Reason: err.Error()}
		}
	}
	return &contextRecord{given}, notice, nil
}

// isStepOf says whether what a context claims to be is what a run, of any project,
// gives to its steps right now.
func (rt *Runtime) isStepOf(claim pause.Reserved) bool {
	if !validID(claim.RunID) {
		return false
	}
	projects, _ := os.ReadDir(rt.o.State) // no folder, no run
	for _, project := range projects {
		f := folder{filepath.Join(rt.o.State, project.Name(), claim.RunID)}
		r, err := f.readRecord()
		if err != nil || r.Context == nil || !reflect.DeepEqual(r.Context.Reserved(), claim) {
			continue
		}
		if live, err := flock.Held(f.lockFile()); err == nil && live {
			return true
		}
	}
	return false
}
