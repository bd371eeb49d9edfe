package thread

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent"
	"golang.org/x/sys/unix"
)

// listEntry is where a session stands in the list.
type listEntry struct {
	id      string
	changed int64 // ns since 1970
	size    int64
}

// newestFirst orders by change; ids tell apart what changed at once.
func newestFirst(a, b listEntry) int {
	if c := cmp.Compare(b.changed, a.changed); c != 0 {
		return c
	}
	return cmp.Compare(b.id, a.id)
}

// List implements agent.Store. The pages that follow the first one are of the list
// as it was then, without what was removed since; where that is forgotten, a session
// that changed meanwhile moved to the front, and is missing. None comes twice.
// A session whose record can't be read is listed as its thread has it; one whose
// thread can't be read either is left out.
func (s *Store) List(ctx context.Context, cwd, cursor string) ([]Record, string, error) {
	after, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	entries := s.rest(cwd, after)
	if entries == nil {
		if entries, err = s.entriesIn(ctx, cwd); err != nil {
			return nil, "", err
		}
		if cursor != "" {
			entries = entries[sort.Search(len(entries), func(i int) bool { return newestFirst(entries[i], after) > 0 }):]
		}
		s.remember(cwd, entries)
	}
	var page []Record
	for len(entries) > 0 {
		n := min(len(entries), pageSize-len(page))
		page = append(page, s.recordsOf(ctx, entries[:n], cwd)...)
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		if len(page) == pageSize && n < len(entries) {
			return page, formatCursor(entries[n-1]), nil
		}
		entries = entries[n:]
	}
	return page, "", nil
}

// A listing is what List looked at for a first page, for those that follow.
type listing struct {
	cwd     string
	entries []listEntry
	used    time.Time
}

// Listings are kept for as long as somebody may be paging through them.
const (
	maxListings = 8
	listingAge  = 10 * time.Minute
)

// rest is what follows an entry in a list that is remembered; nil where none is.
func (s *Store) rest(cwd string, after listEntry) []listEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.listings {
		l := &s.listings[i]
		if l.cwd != cwd || time.Since(l.used) > listingAge {
			continue
		}
		if at, there := slices.BinarySearchFunc(l.entries, after, newestFirst); there {
			l.used = time.Now()
			return l.entries[at+1:]
		}
	}
	return nil
}

// remember keeps a list that has more than a page, in the place of the one that was
// used least of late.
func (s *Store) remember(cwd string, entries []listEntry) {
	if len(entries) <= pageSize {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := listing{cwd, entries, time.Now()}
	if len(s.listings) < maxListings {
		s.listings = append(s.listings, l)
		return
	}
	oldest := 0
	for i := range s.listings {
		if s.listings[i].used.Before(s.listings[oldest].used) {
			oldest = i
		}
	}
	s.listings[oldest] = l
}

// Walk is List without pages: every session of a folder, or with cwd "" of all,
// newest first. It looks at the folder of sessions once, at the beginning. An
// error is the last that it yields.
func (s *Store) Walk(ctx context.Context, cwd string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		entries, err := s.entriesIn(ctx, cwd)
		for part := range slices.Chunk(entries, walkPart) {
			for _, r := range s.recordsOf(ctx, part, cwd) {
				if !yield(r, nil) {
					return
				}
			}
			if err = ctx.Err(); err != nil {
				break
			}
		}
		if err != nil {
			yield(Record{}, err)
		}
	}
}

// walkPart is how many records Walk holds at once.
const walkPart = 256

// Find returns the ids that begin with prefix, in their order. Those of sessions
// that can't be read are among them.
func (s *Store) Find(prefix string) ([]string, error) {
	ids, err := s.ids("")
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, prefix) })
	slices.Sort(ids)
	return ids, err
}

// entriesIn are the entries of the sessions that a folder may have, or of all.
func (s *Store) entriesIn(ctx context.Context, cwd string) ([]listEntry, error) {
	ids, err := s.ids(cwd)
	if err != nil {
		return nil, err
	}
	return s.statEntries(ctx, ids)
}

// readers read records at once, for the same reason as lookers.
const readers = 8

// recordsOf reads the records of sessions, in the order of their entries. It
// leaves out what can't be read and what is of another folder than cwd.
func (s *Store) recordsOf(ctx context.Context, entries []listEntry, cwd string) []Record {
	records := make([]Record, len(entries))
	of := folder(cwd)
	rest := records
	var wg sync.WaitGroup
	for part := range slices.Chunk(entries, (len(entries)+readers-1)/readers) {
		to := rest[:len(part)]
		rest = rest[len(part):]
		wg.Go(func() {
			for i, p := range part {
				if ctx.Err() != nil {
					return
				}
				r, _, err := s.listed(p.id)
				if err != nil || cwd != "" && r.Cwd != cwd && filepath.Clean(r.Cwd) != filepath.Clean(cwd) && folder(r.Cwd) != of {
					continue
				}
				r.Updated = time.Unix(0, p.changed).UTC()
				to[i] = r
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(records, func(r Record) bool { return r.ID == "" })
}

// ids returns the sessions of a folder, or all.
func (s *Store) ids(cwd string) ([]string, error) {
	if err := s.look(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	if cwd != "" && s.indexed() {
		if ids, err := s.marked(cwd); err == nil {
			return ids, nil
		}
		// The index is damaged. All sessions may be of the folder, then.
	}
	names, err := readNames(s.dir)
	ids := names[:0]
	for _, name := range names {
		if id, ok := logID(name); ok {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// marked returns the sessions that the index has for a folder.
func (s *Store) marked(cwd string) ([]string, error) {
	ids, err := readNames(filepath.Join(s.folders, folderKey(folder(cwd))))
	if clean := filepath.Clean(cwd); err == nil && clean != folder(cwd) {
		// Made while the folder, or a link on the way, was not there.
		var more []string
		more, err = readNames(filepath.Join(s.folders, folderKey(clean)))
		ids = append(ids, more...)
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	return slices.DeleteFunc(ids, func(id string) bool { return !validID(id) }), err
}

// logID is the id of the thread with this file name.
func logID(name string) (string, bool) {
	id, ok := strings.CutSuffix(name, logExt)
	return id, ok && validID(id)
}

// readNames returns the names in a folder; in one that is not there are none.
func readNames(dir string) ([]string, error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	defer func() { _ = d.Close() }()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	return names, nil
}

// statEntries looks at the threads of sessions, newest first. Markers whose session
// is gone drop out here.
func (s *Store) statEntries(ctx context.Context, ids []string) ([]listEntry, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	d, err := os.Open(s.dir)
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	defer func() { _ = d.Close() }()
	fd := int(d.Fd())
	// In the order of ids, which is that of making: so the disk is read forward.
	slices.Sort(ids)
	entries := make([]listEntry, len(ids))
	rest := entries
	var wg sync.WaitGroup
	for part := range slices.Chunk(ids, max(256, (len(ids)+lookers-1)/lookers)) {
		to := rest[:len(part)]
		rest = rest[len(part):]
		wg.Go(func() { lookAt(ctx, fd, part, to) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(p listEntry) bool { return p.id == "" })
	slices.SortFunc(entries, newestFirst)
	return entries, nil
}

// lookers look at once: one waits for the disk while another does not.
const lookers = 4

// lookAt fills in the entries of the threads that are there.
func lookAt(ctx context.Context, dir int, ids []string, entries []listEntry) {
	for i, id := range ids {
		if ctx.Err() != nil {
			return
		}
		var st unix.Stat_t
		if unix.Fstatat(dir, id+logExt, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
			entries[i] = listEntry{id, st.Mtim.Nano(), st.Size}
		}
	}
}

// A cursor names the last session of a page.
func formatCursor(p listEntry) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.changed, 10) + " " + p.id))
}

func parseCursor(cursor string) (listEntry, error) {
	if cursor == "" {
		return listEntry{}, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	changed, id, ok := strings.Cut(string(raw), " ")
	n, nerr := strconv.ParseInt(changed, 10, 64)
	if err != nil || !ok || nerr != nil || !validID(id) {
		return listEntry{}, fmt.Errorf("%w: %.60q", agent.ErrBadCursor, cursor)
	}
	return listEntry{id: id, changed: n}, nil
}
