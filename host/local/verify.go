package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/chant-acp/chant-acp/host"
)

// VerifyRuns implements host.Runtime. It reads the files of each run from their
// beginning to their end, those that were set aside too, and moves none.
func (q *queries) VerifyRuns(ctx context.Context, ref host.RunRef) ([]host.RunCheck, error) {
	ids, err := q.ids()
	if err != nil {
		return nil, err
	}
	if ref.ID != "" {
		if !slices.Contains(ids, ref.ID) {
			return nil, noRun(ref.ID)
		}
		ids = []string{ref.ID}
	}
	var checks []host.RunCheck
	for _, id := range ids {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c := q.verify(q.folder(id))
		if ref.ID != "" || ref.Op == "" || c.Op == "" || c.Op == ref.Op {
			checks = append(checks, c)
		}
	}
	return checks, nil
}

// verify reads the files of one run.
func (q *queries) verify(f folder) host.RunCheck {
	c := host.RunCheck{ID: f.id()}
	r, err := f.readRecord()
	c.Op = r.Op
	c.Bad = append(c.Bad, badFile(f.record(), err)...)
	for _, path := range setAside(f.record()) {
		c.Bad = append(c.Bad, host.BadFile{Path: path, Problem: "was set aside"})
	}
	for _, path := range append([]string{f.journal()}, setAside(f.journal())...) {
		h, err := readJournal(path)
		if h != nil {
			c.Lines += h.lines
		}
		if h != nil && h.segments > 0 && c.Op == "" {
			c.Op = h.segment.Op
		}
		if err == nil && path == f.journal() {
			err = h.isOf(f, r)
		}
		c.Bad = append(c.Bad, badFile(path, err)...)
	}
	return c
}

// isOf says whether the journal is that of the run in a folder, and the record r,
// where it could be read, what the run began with.
func (h *history) isOf(f folder, r record) error {
	switch {
	case h.header.Run != f.id():
		return &damageError{path: f.journal(), problem: "is that of the run " + quote(h.header.Run)}
	case r.sum != "" && h.header.Record != r.sum:
		return &damageError{path: f.record(), problem: "is damaged: it is not what the run began with"}
	}
	return nil
}

func badFile(path string, err error) []host.BadFile {
	var damage *damageError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &damage):
		return []host.BadFile{{Path: damage.path, Problem: damage.problem}}
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err != nil {
			return []host.BadFile{{Path: path, Problem: "is gone"}}
		}
	}
	return []host.BadFile{{Path: path, Problem: "can't be read: " + err.Error()}}
}
