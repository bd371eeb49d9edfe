package pause

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/chant-acp/chant-acp/internal/durable"
	"github.com/chant-acp/chant-acp/internal/flock"
)

// lockWait bounds the wait for others who decide, each of which takes the time
// of one write.
const lockWait = 10 * time.Second

// Errors of Resolve. Nothing was written, but for the expiry that ExpiredError
// tells of.
var (
	// ErrNoPause: nothing waits under this id.
	ErrNoPause = errors.New("nothing waits for this")
)

// A ResolvedError says that somebody decided before.
type ResolvedError struct{ Record Record }

func (e *ResolvedError) Error() string { return "it was decided before" }

// An ExpiredError says that the time had run out.
type ExpiredError struct{ At time.Time }

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("its time ran out at %s", e.At.UTC().Format(time.RFC3339))
}

// Ask writes the placeholder of a pause that was not asked for yet. What stands in
// its place can't be an answer to it, whoever put it there: it is set aside, and
// aside is where; "" where there was nothing.
func (s *Store) Ask(ctx context.Context, id string, q Request, now time.Time) (aside string, err error) {
	path, err := s.file("pause", id, pauses, "")
	if err != nil {
		return "", err
	}
	if q.CreatedAt.IsZero() {
		q.CreatedAt = now
	}
	request, err := json.Marshal(q)
	if err != nil {
		return "", fmt.Errorf("pause state values must be JSON-serialisable: %w", err)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Lstat(path); err == nil {
		if aside, err = durable.SetAside(path); err != nil {
			return "", err
		}
	}
	return aside, s.SavePause(Record{PauseID: id, Request: request})
}

// Discard removes the record of a question that is asked no more, within
// Exclusively. None is no error.
func (s *Store) Discard(id string) error {
	path, err := s.file("pause", id, pauses, "")
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("taking a question back: %w", err)
	}
	return nil
}

// Exclusively calls f while nobody else can ask or decide. f may read records, and
// must not call what takes the lock itself: Ask, Look and Resolve.
func (s *Store) Exclusively(ctx context.Context, f func() error) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return f()
}

// Look returns a record and writes down that its time ran out where it did: an
// expiry is a fact from when it is seen.
func (s *Store) Look(ctx context.Context, id string, now time.Time) (r Record, found bool, err error) {
	r, found, err = s.Pause(id)
	if err != nil || !found || r.Resolved || !late(r, now) {
		return r, found, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return r, true, err
	}
	defer unlock()
	r, found, err = s.Pause(id) // which somebody may have resolved meanwhile
	if err != nil || !found || r.Resolved {
		return r, found, err
	}
	return s.expire(r)
}

// Resolve writes the answer to a pause: what answer returns for its request. The
// first answer counts. Errors: ErrNoPause, *ResolvedError, *ExpiredError, and
// those of answer, which say why it is no answer to this.
func (s *Store) Resolve(ctx context.Context, id string, now time.Time, answer func(Request) (json.RawMessage, error)) (Record, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return Record{}, err
	}
	defer unlock()
	r, found, err := s.Pause(id)
	switch {
	case err != nil:
		return Record{}, err
	case !found:
		return Record{}, ErrNoPause
	case r.Resolved && !r.Expired:
		return r, &ResolvedError{r}
	}
	q, err := r.Asked()
	if err != nil {
		return r, err
	}
	at, _ := q.Deadline()
	if r.Expired {
		return r, &ExpiredError{at}
	}
	if late(r, now) {
		r, _, err := s.expire(r)
		return r, errors.Join(err, &ExpiredError{at})
	}
	payload, err := answer(q)
	if err != nil {
		return r, err
	}
	r.Resolved, r.Payload = true, payload
	return r, s.SavePause(r)
}

func (s *Store) expire(r Record) (Record, bool, error) {
	r.Resolved, r.Expired, r.Payload = true, true, json.RawMessage("null")
	return r, true, s.SavePause(r)
}

// late says whether the time of an unresolved record is over.
func late(r Record, now time.Time) bool {
	q, err := r.Asked()
	if err != nil {
		return false
	}
	at, ok := q.Deadline()
	return ok && !now.Before(at)
}

// lock keeps others from deciding for the time of one write.
func (s *Store) lock(ctx context.Context) (func(), error) {
	dir := filepath.Join(s.root, pauses)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the state folder of a run: %w", err)
	}
	l, err := flock.Take(ctx, filepath.Join(dir, ".lock"), lockWait)
	if errors.Is(err, flock.ErrHeld) {
		return nil, fmt.Errorf("somebody else has been deciding for %s; try again: %w", lockWait, err)
	}
	if err != nil {
		return nil, err
	}
	return l.Release, nil
}
