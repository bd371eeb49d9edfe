package thread

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/internal/stateroot"
)

// Store keeps sessions below a state root; it is the one agent.Store. It may be used by
// many goroutines, and many processes may have one each over the same root.
type Store struct {
	root, dir string // the state root, and its folder of sessions
	records   string
	folders   string
	locks     string

	lockWait time.Duration // how long Lock waits for another's turn
	max      int64         // MaxSession

	sync syncer

	mu   sync.Mutex
	logs map[string]*logFile // those kept open
	// prepared says that the folders were made and looked at.
	prepared bool
	// listings are the lists that somebody may be paging through.
	listings []listing
	closed   bool
}

var _ agent.Store = (*Store)(nil)

// New returns the store of the sessions below root, a state root (see
// internal/stateroot). It does not touch the disk: folders are made when there
// is something to keep, and what is wrong with them is said then.
func New(root string) *Store {
	dir := filepath.Join(root, "sessions")
	return &Store{
		root: root, dir: dir,
		records:  filepath.Join(dir, ".records"),
		folders:  filepath.Join(dir, ".folders"),
		locks:    filepath.Join(dir, ".locks"),
		lockWait: 2 * time.Second,
		max:      MaxSession,
		logs:     map[string]*logFile{},
	}
}

// Close writes to disk what is not there yet, as fsync means it, waits for that,
// and closes the files. What was appended survives the process without it.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	for id, l := range s.logs {
		s.forget(id, l)
	}
	s.mu.Unlock()
	return s.sync.close()
}

// Leave is Close for a process that ends now, and waits for no disk: what was
// appended is the kernel's, which brings it there within some seconds. An fsync that
// is under way ends with the process.
func (s *Store) Leave() {
	s.mu.Lock()
	s.closed = true
	for id, l := range s.logs {
		s.forget(id, l)
	}
	s.mu.Unlock()
	s.sync.leave()
}

// Create implements agent.Store. An id that is taken is an error.
func (s *Store) Create(_ context.Context, r Record) error {
	if !validID(r.ID) {
		return fmt.Errorf("session %q: %w", r.ID, errBadID)
	}
	if err := s.ready(); err != nil {
		return err
	}
	err := s.create(r)
	if errors.Is(err, fs.ErrNotExist) { // somebody removed the folders since
		if err := s.prepare(); err != nil {
			return err
		}
		err = s.create(r)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("session %s: %w", r.ID, errExists)
	case err != nil:
		return fmt.Errorf("making the session %s: %w", r.ID, err)
	}
	s.sync.mark(s.path(r.ID), s.dir)
	return nil
}

// create makes a session's files. A record is written where it says more than the
// thread's header can, else with the first change.
func (s *Store) create(r Record) error {
	key := folderKey(folder(r.Cwd))
	made, err := s.createTemp(r, key)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(made) }()
	if _, err := os.Lstat(s.path(r.ID)); err == nil {
		return fs.ErrExist
	}
	if fitsHeader(r) {
		err = s.mark(key, r.ID)
	} else {
		err = s.writeRecord(r, "")
	}
	if err == nil {
		err = s.nameLog(made, r.ID) // last: it is what makes the session
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		s.removeMarker(key, r.ID)
		s.removeRest(r.ID)
	}
	return err
}

// createTemp makes a thread with its header, under another name.
func (s *Store) createTemp(r Record, key string) (string, error) {
	line, err := s.headerLine(r, key)
	if err != nil {
		return "", err
	}
	tmp, err := writeTemp(s.dir, r.ID, line)
	if err != nil {
		return "", err
	}
	if err := touch(tmp, latest(r.Created, r.Updated)); err != nil {
		_ = os.Remove(tmp)
		return "", err
	}
	return tmp, nil
}

// nameLog gives a new thread its name. It appears whole: a link to a finished file
// also fails when there is one of that name.
func (s *Store) nameLog(tmp, id string) error {
	err := os.Link(tmp, s.path(id))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) {
		// A file system without links. create has seen that the name is free.
		err = os.Rename(tmp, s.path(id))
	}
	return err
}

// Get implements agent.Store. It looks the thread over from its beginning to its
// end, so that a damaged one is not resumed.
func (s *Store) Get(ctx context.Context, id string) (Record, error) {
	l, err := s.borrow(id)
	if err != nil {
		return Record{}, err
	}
	defer s.release(l)
	if err := l.verify(ctx); err != nil {
		return Record{}, err
	}
	r, _, err := s.readRecord(id)
	if errors.Is(err, errNoRecord) {
		r, err = l.made, nil
	}
	if err != nil {
		return Record{}, err
	}
	st, err := l.f.Stat()
	if err != nil {
		return Record{}, fmt.Errorf("reading the session %s: %w", id, err)
	}
	r.Updated = st.ModTime().UTC()
	return r, nil
}

// Update implements agent.Store. Updated never goes back: it becomes the later
// of what it was and what the record says.
func (s *Store) Update(_ context.Context, r Record) error {
	l, err := s.borrow(r.ID)
	if err != nil {
		return err
	}
	defer s.release(l)
	if err := s.prepare(); err != nil {
		return err
	}
	_, folder, err := s.readRecord(r.ID)
	if errors.Is(err, errNoRecord) {
		folder, err = l.key, nil
	}
	if err != nil {
		return err
	}
	if err := s.writeRecord(r, folder); err != nil {
		return fmt.Errorf("changing the session %s: %w", r.ID, err)
	}
	st, err := l.f.Stat()
	if err == nil && r.Updated.After(st.ModTime()) {
		err = touch(s.path(r.ID), r.Updated)
	}
	if err != nil {
		return fmt.Errorf("changing the session %s: %w", r.ID, err)
	}
	return nil
}

// Delete implements agent.Store. It takes the session's lock, and while another
// turn holds it returns, as Lock does, a *agent.SessionHeldError.
func (s *Store) Delete(ctx context.Context, id string) error {
	if !validID(id) {
		return nil
	}
	if err := s.look(); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if err := s.prepare(); err != nil {
		return err
	}
	release, err := s.lock(ctx, id, s.lockWait)
	if errors.Is(err, errNoLock) && os.Remove(s.lockPath(id)) == nil { // nobody can hold a lock on what is no file
		release, err = s.lock(ctx, id, s.lockWait)
	}
	if err != nil {
		return fmt.Errorf("removing the session %s: %w", id, err)
	}
	defer release()
	return s.remove(id)
}

// remove removes a session whose lock is held. The thread goes first: a crash
// then leaves what nobody sees and Prune sweeps up.
func (s *Store) remove(id string) error {
	if l, err := openLog(s, id, os.O_RDONLY); err == nil {
		_ = l.f.Close()
		defer s.removeMarker(l.key, id) // removeRest knows of the one that the record names
	}
	if err := os.Remove(s.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the session %s: %w", id, err)
	}
	s.mu.Lock()
	if l := s.logs[id]; l != nil {
		s.forget(id, l)
	}
	s.mu.Unlock()
	s.removeRest(id)
	s.sync.mark(s.dir, s.records)
	return nil
}

// removeRest removes what is kept beside a thread. What stays is invisible.
func (s *Store) removeRest(id string) {
	if _, folder, err := s.readRecord(id); err == nil && folder != "" {
		s.removeMarker(folder, id)
	}
	_ = os.Remove(s.recordPath(id))
	_ = os.Remove(s.lockPath(id))
}

func (s *Store) removeMarker(key, id string) {
	if key == "" {
		return
	}
	_ = os.Remove(s.marker(key, id))
	_ = os.Remove(filepath.Join(s.folders, key)) // fails while there are others
}

// ready is prepare, once in a process: nobody else can exchange a folder that was
// looked at.
func (s *Store) ready() error {
	s.mu.Lock()
	ready := s.prepared && !s.closed
	s.mu.Unlock()
	if ready {
		return nil
	}
	return s.prepare()
}

// prepare makes the folders, or says what is in their place.
func (s *Store) prepare() error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return errClosed
	}
	for _, dir := range []string{s.root, s.dir, s.locks} { // records are made where one is written: a thread does without
		if err := stateroot.Make(dir); err != nil {
			return err
		}
	}
	if !s.indexed() {
		_ = s.index() // without one, listing by folder looks at all sessions
	}
	s.mu.Lock()
	s.prepared = true
	s.mu.Unlock()
	return nil
}

// look checks that the folder of sessions is this user's and no link, as prepare
// does, for those who only read.
func (s *Store) look() error {
	st, err := os.Lstat(s.dir)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("%s is not a real folder: remove it, or set CHANT_ACP_STATE", s.dir)
	}
	if !ours(st) {
		return fmt.Errorf("%s belongs to another user: set CHANT_ACP_STATE to a folder of your own", s.dir)
	}
	return nil
}

func ours(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return !ok || int(sys.Uid) == os.Getuid()
}

func (s *Store) path(id string) string { return filepath.Join(s.dir, id+logExt) }
