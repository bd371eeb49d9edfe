package pause

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/chant-acp/chant-acp/internal/durable"
)

// Publish writes the record of a pause for others to read, as SavePause does. What
// stands in its place is replaced where it is the same pause, waiting; anything else
// somebody else wrote: it is set aside, and moved is where. The caller keeps others
// from publishing the same record at the same time.
func (s *Store) Publish(r Record) (moved string, err error) {
	path, err := s.file("pause", r.PauseID, pauses, "")
	if err != nil {
		return "", err
	}
	switch was, found, err := s.Pause(r.PauseID); {
	case err == nil && found && was.same(r):
		return "", nil
	case err == nil && found && !was.Resolved && bytes.Equal(was.Request, r.Request):
	case err == nil && !found:
	default: // what can't be read, too
		if moved, err = durable.SetAside(path); err != nil {
			return "", err
		}
	}
	return moved, s.SavePause(r)
}

func (r Record) same(as Record) bool {
	return r.Resolved == as.Resolved && r.Expired == as.Expired && bytes.Equal(r.Request, as.Request) && bytes.Equal(r.Payload, as.Payload)
}

// Withdraw removes the record of a question that is asked no more. None is no error.
func (s *Store) Withdraw(id string) error {
	path, err := s.file("pause", id, pauses, "")
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("taking a question back: %w", err)
	}
	return nil
}
