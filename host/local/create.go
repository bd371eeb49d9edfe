package local

import (
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
	"github.com/chant-acp/chant-acp/host/pause"
	"github.com/chant-acp/chant-acp/internal/durable"
)

// firstLeg begins a journal.
func firstLeg(r record, p plan, by host.Actor) entry {
	return entry{Kind: entryLeg, Leg: 1, PID: os.Getpid(), User: osUser(), Client: by.Client, Steps: p.count(), Op: r.Op, Env: r.Env}
}

// create makes the folder of a run, with the beginning of its journal: beside its
// place first, so that a run that is seen is whole.
func (rt *Runtime) create(r *record, identity string, begun entry) (folder, error) {
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
	line, err := json.Marshal(begun)
	if err != nil {
		return folder{}, fmt.Errorf("writing down a run: %w", err)
	}
	made := folder{filepath.Join(rt.dir, "."+r.ID+".new")}
	err = os.Mkdir(made.dir, 0o700)
	for _, write := range []func() error{
		func() error { return durable.Write(made.record(), text) },
		func() error { return durable.Write(made.journal(), append(line, '\n')) },
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
// was given. That it can't be read is no reason to run nothing.
func (rt *Runtime) context(user map[string]string) (*contextRecord, error) {
	c := new(pause.Context)
	for _, entry := range rt.o.Env {
		if text, ok := strings.CutPrefix(entry, pause.ContextVar+"="); ok {
			if given, err := pause.ParseContext([]byte(text)); err == nil {
				c = given
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(user)) {
		if err := c.Set(key, user[key]); err != nil {
			return nil, &host.OpRefusal{Reason: err.Error()}
		}
	}
	return &contextRecord{c}, nil
}
