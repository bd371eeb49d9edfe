package thread

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/internal/journal"
	"github.com/chant-acp/chant-acp/internal/stateroot"
	"golang.org/x/sys/unix"
)

// recordFile is the file of a record. Folder is the key under which the session
// is found by its folder: what the folder's name meant may change later.
type recordFile struct {
	Version int    `json:"version"`
	Folder  string `json:"folder"`
	Session Record `json:"session"`
}

// errNoRecord says that a record is missing or was cut by a crash; the thread's
// header stands in for it.
var errNoRecord = errors.New("no record")

func (s *Store) recordPath(id string) string { return filepath.Join(s.records, id+".json") }

// readRecord reads the record of a session, and the key of the folder that it was made
// for.
func (s *Store) readRecord(id string) (r Record, folder string, err error) {
	path := s.recordPath(id)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Record{}, "", recordError(err)
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return Record{}, "", recordError(err)
	}
	var file recordFile
	if err := json.Unmarshal(raw, &file); err != nil || file.Version < 1 || len(raw) > maxRecord {
		return Record{}, "", errNoRecord
	}
	if file.Version > version {
		return Record{}, "", newer(path, file.Version)
	}
	if !validKey(file.Folder) {
		file.Folder = ""
	}
	file.Session.ID = id
	return file.Session, file.Folder, nil
}

// recordError tells a record that can't be one from one that can't be read just
// now, which the header must not stand in for: it would be replaced.
func recordError(err error) error {
	for _, none := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.ELOOP, syscall.ENOTDIR, syscall.EISDIR, syscall.ENXIO} {
		if errors.Is(err, none) {
			return errNoRecord
		}
	}
	return fmt.Errorf("reading the session's record: %w", err)
}

func newer(path string, v int) error {
	return fmt.Errorf("%w: %s has format %d, and this version knows %d: update chant-acp", agent.ErrNewerSession, path, v, version)
}

// writeRecord replaces a session's record, and says where it is found by folder;
// old is the key under which it was. It is not fsynced here, which would cost
// each new session and each title a few milliseconds: until the syncer has been
// there, the thread's header stands in for a record that a power cut took.
func (s *Store) writeRecord(r Record, old string) error {
	if err := stateroot.Make(s.records); err != nil {
		return err
	}
	key := folderKey(folder(r.Cwd))
	if key != old {
		if err := s.mark(key, r.ID); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(recordFile{version, key, r})
	if err != nil {
		return err
	}
	if len(raw) > maxRecord {
		return fmt.Errorf("title and options have %d bytes; %d are kept", len(raw), maxRecord)
	}
	tmp, err := writeTemp(s.records, r.ID, raw)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, s.recordPath(r.ID)); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	if old != "" && old != key {
		_ = os.Remove(s.marker(old, r.ID))
	}
	s.sync.mark(s.recordPath(r.ID), s.records)
	return nil
}

// writeTemp makes a file of a random name in dir.
func writeTemp(dir, id string, data []byte) (string, error) {
	path := filepath.Join(dir, fmt.Sprintf(".%s.%016x%s", id, rand.Uint64(), tempExt))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(path)
		return "", err
	}
	return path, nil
}

const tempExt = ".tmp"

func (s *Store) marker(key, id string) string { return filepath.Join(s.folders, key, id) }

// indexed says whether there is an index of folders that can be used.
func (s *Store) indexed() bool {
	st, err := os.Lstat(s.folders)
	return err == nil && st.IsDir() && ours(st)
}

// errBadIndex says that something else stands in the place of a part of the index.
var errBadIndex = errors.New("it is not a folder")

// mark says that a session belongs to a folder. The index holds nothing that the
// sessions do not say too, so a damaged one is made anew.
func (s *Store) mark(key, id string) error {
	if !s.indexed() {
		return nil // the index can't be made: listing looks at all sessions
	}
	err := s.tryMark(key, id)
	if errors.Is(err, errBadIndex) {
		if err = os.RemoveAll(s.folders); err == nil {
			err = s.index()
		}
		if err == nil {
			err = s.tryMark(key, id)
		}
	}
	if err != nil {
		return fmt.Errorf("in the index of folders, %s, which may be removed: %w", s.folders, err)
	}
	return nil
}

// tryMark puts a session into the index of its folder.
func (s *Store) tryMark(key, id string) error {
	dir := filepath.Join(s.folders, key)
	for tries := 1; ; tries++ {
		f, err := os.OpenFile(s.marker(key, id), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, syscall.ENOTDIR) {
			return errBadIndex
		}
		if errors.Is(err, fs.ErrNotExist) && tries < 10 {
			// It is the folder's first session, or its last one was just removed.
			if err := os.Mkdir(dir, 0o700); err == nil {
				s.sync.mark(s.folders)
			} else if !errors.Is(err, fs.ErrExist) {
				return err
			} else if st, err := os.Lstat(dir); err == nil && !st.IsDir() {
				return errBadIndex
			}
			continue
		}
		if errors.Is(err, fs.ErrExist) {
			return nil // only the name counts
		}
		if err != nil {
			return err
		}
		s.sync.mark(dir)
		return f.Close()
	}
}

// index makes the markers of all sessions anew, in a folder that is there whole
// or not at all: somebody who copied threads need not know of them.
func (s *Store) index() error {
	names, err := readNames(s.dir)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(s.dir, ".folders-*"+tempExt)
	if err != nil {
		return fmt.Errorf("listing sessions by folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	for _, name := range names {
		id, ok := logID(name)
		if !ok {
			continue
		}
		r, key, err := s.listed(id)
		if err != nil {
			continue // Get says what is wrong with it
		}
		if key == "" {
			key = folderKey(folder(r.Cwd))
		}
		dir := filepath.Join(tmp, key)
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("listing sessions by folder: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, id), nil, 0o600); err != nil {
			return fmt.Errorf("listing sessions by folder: %w", err)
		}
	}
	if st, err := os.Lstat(s.folders); err == nil && !st.IsDir() {
		if err := os.Remove(s.folders); err != nil {
			return fmt.Errorf("listing sessions by folder: %w", err)
		}
	}
	if err := os.Rename(tmp, s.folders); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return fmt.Errorf("listing sessions by folder: %w", err)
	}
	return nil
}

// summary is a session's record without Updated.
func (s *Store) summary(id string) (Record, string, error) {
	r, key, err := s.readRecord(id)
	if !errors.Is(err, errNoRecord) {
		return r, key, err
	}
	return s.fromThread(id)
}

// listed is summary for those who only look: where the record can't be read, for
// whatever reason, its thread says what the session is.
func (s *Store) listed(id string) (Record, string, error) {
	r, key, err := s.readRecord(id)
	if err != nil {
		return s.fromThread(id)
	}
	return r, key, nil
}

// fromThread is the record as the thread's header has it: as it was made.
func (s *Store) fromThread(id string) (Record, string, error) {
	l, err := openLog(s, id, os.O_RDONLY)
	if err != nil {
		return Record{}, "", err
	}
	defer func() { _ = l.f.Close() }()
	return l.made, l.key, nil
}

// folder is a directory as two are compared: cleaned, and without symlinks as
// long as it is there.
func folder(cwd string) string {
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		return real
	}
	return filepath.Clean(cwd)
}

// folderKey names the folder of markers: short, and safe as a file name.
func folderKey(folder string) string {
	sum := sha256.Sum256([]byte(folder))
	return hex.EncodeToString(sum[:8])
}

func validKey(key string) bool {
	_, err := hex.DecodeString(key)
	return err == nil && len(key) == 16
}

// The header of a thread.
type header struct {
	Folder  string `json:"folder,omitempty"` // as in recordFile, as the session was made
	Session Record `json:"session"`
}

const logExt = ".jsonl"

// version is that of threads and of records. Threads of version 1, which was never
// released, had no checksums.
const version = 2

func (s *Store) format() journal.Format {
	return journal.Format{Name: "chant-acp/thread", Version: version, MaxLine: MaxEvent, MaxSize: s.max}
}

// fitsHeader says whether the header of a thread takes the title and the options of
// a session: then it needs no record before one of them changes.
func fitsHeader(r Record) bool {
	n := len(r.Title)
	for name, value := range r.Options {
		n += len(name) + len(value)
	}
	return n <= 2<<10
}

// headerLine is the beginning of a thread.
func (s *Store) headerLine(r Record, key string) ([]byte, error) {
	if !fitsHeader(r) {
		r.Title, r.Options = "", nil // the record keeps these
	}
	line, err := s.format().Begin(header{key, r})
	if err != nil {
		return nil, err
	}
	if len(line) > maxHeader {
		return nil, fmt.Errorf("the folder's name has %d bytes", len(r.Cwd))
	}
	return line, nil
}

// touch sets a thread's time of change, by which sessions are listed.
func touch(path string, t time.Time) error {
	ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(t.UnixNano())}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, ts, unix.AT_SYMLINK_NOFOLLOW)
}

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	if last.IsZero() {
		return time.Now()
	}
	return last
}
