package thread

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent"
)

// PruneOptions says which sessions go. A limit of 0 is none; a session goes when
// any limit says so.
type PruneOptions struct {
	OlderThan time.Duration // since its last change
	Keep      int           // the newest so many stay
	MaxBytes  int64         // the newest whose threads have together so many bytes stay
	Now       time.Time     // zero: the time of the call
	DryRun    bool          // removes nothing; what would go counts as removed

	// Protect, if set, says which sessions stay in any case, as those with a
	// waiting run.
	Protect func(id string) bool
	// Event, if set, is called for each event of a session that is to go, while it
	// can still be read. If it turns out that it can't, the session stays.
	Event func(id string, e Event)
	// Removed, if set, is called for each session that is gone, to remove what
	// others keep of it, as the logs of its turns.
	Removed func(id string) error
}

// Prune removes sessions, oldest first, and returns their ids. Sessions whose
// turn runs stay, and so do those that can't be locked or read whole, or are of a
// newer version: they count, but what is in them is not known. That ends nothing:
// the error, in the end, is of each of them. What crashes left of sessions that
// are not there is swept up.
func (s *Store) Prune(ctx context.Context, o PruneOptions) (removed []string, err error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	ids, err := s.ids("")
	if err != nil || ids == nil {
		return nil, err
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	entries, err := s.statEntries(ctx, ids)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, p := range o.excess(entries) {
		if err := ctx.Err(); err != nil {
			return removed, errors.Join(append(errs, err)...)
		}
		gone, err := s.prune(ctx, p, o)
		if gone {
			removed = append(removed, p.id)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if !o.DryRun {
		errs = append(errs, s.sweep(o.Now))
	}
	return removed, errors.Join(errs...)
}

// excess are the entries beyond the limits, oldest first.
func (o PruneOptions) excess(entries []listEntry) []listEntry {
	var out []listEntry
	var bytes int64
	for i, p := range entries {
		bytes += p.size
		old := o.OlderThan > 0 && o.Now.Sub(time.Unix(0, p.changed)) > o.OlderThan
		if old || o.Keep > 0 && i >= o.Keep || o.MaxBytes > 0 && bytes > o.MaxBytes {
			out = append(out, p)
		}
	}
	slices.Reverse(out)
	return out
}

// prune removes one session, if nobody uses it and it can be read to its end.
func (s *Store) prune(ctx context.Context, p listEntry, o PruneOptions) (gone bool, err error) {
	if o.Protect != nil && o.Protect(p.id) {
		return false, nil
	}
	release, err := s.lock(ctx, p.id, 0)
	var held *agent.SessionHeldError
	if errors.As(err, &held) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("the session %s stays: %w", p.id, err)
	}
	defer release()
	// Somebody may have gone on with it since it was listed.
	now, err := s.statEntries(ctx, []string{p.id})
	if err != nil || len(now) == 0 || now[0] != p {
		return false, err
	}
	if err := s.readable(ctx, p.id, o.Event); err != nil {
		return false, fmt.Errorf("the session %s stays: %w", p.id, err)
	}
	if o.DryRun {
		return true, nil
	}
	if err := s.remove(p.id); err != nil {
		return false, err
	}
	if o.Removed != nil {
		if err := o.Removed(p.id); err != nil {
			return true, fmt.Errorf("removing what belongs to the session %s: %w", p.id, err)
		}
	}
	return true, nil
}

// readable reads a session whole: what can't be read is for a person to remove.
func (s *Store) readable(ctx context.Context, id string, f func(id string, e Event)) error {
	if _, _, err := s.summary(id); err != nil {
		return err
	}
	_, err := s.Read(ctx, id, 0, func(e Event) error {
		if f != nil {
			f(id, e)
		}
		return nil
	})
	return err
}

// sweepAfter is how long the rest of a crash stays: what is younger may belong
// to a session that is being made.
const sweepAfter = time.Hour

// sweep removes what belongs to no session.
func (s *Store) sweep(now time.Time) error {
	// Of an index or a thread that was not finished.
	names, err := readNames(s.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(s.dir, name)
		if !strings.HasPrefix(name, ".") || !strings.HasSuffix(name, tempExt) {
			continue
		}
		if st, err := os.Lstat(path); err == nil && now.Sub(st.ModTime()) >= sweepAfter {
			_ = os.RemoveAll(path)
		}
	}
	dirs := []string{s.records, s.locks}
	keys, err := readNames(s.folders)
	if err != nil {
		return err
	}
	for _, key := range keys {
		dirs = append(dirs, filepath.Join(s.folders, key))
	}
	for _, dir := range dirs {
		names, _ := readNames(dir) // of an index that is damaged, nothing
		for _, name := range names {
			s.sweepOne(filepath.Join(dir, name), now)
		}
	}
	return nil
}

func (s *Store) sweepOne(path string, now time.Time) {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || now.Sub(st.ModTime()) < sweepAfter {
		return
	}
	id := filepath.Base(path)
	if filepath.Dir(path) == s.records {
		id = strings.TrimSuffix(id, ".json")
	}
	// Temporary files start with a dot, which no id does.
	if validID(id) {
		if _, err := os.Lstat(s.path(id)); !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
	_ = os.Remove(path)
}
