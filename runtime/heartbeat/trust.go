package heartbeat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/internal/durable"
)

// A Grant is the yes of a person to one content of a workspace's file.
type Grant struct {
	Digest string    `json:"digest"` // SHA-256 of the content, in hex
	At     time.Time `json:"at"`     // when it was given; ticks before never run
	// Commands are what the lines ran when it was given, by Job.ID.
	Commands map[string]subject.Subject `json:"commands,omitempty"`
}

// Changed says what a job would run that is not what the yes was given to, as a
// clause; "" where it is that.
func (g *Grant) Changed(job Job, is subject.Subject) string {
	was, known := g.Commands[job.ID]
	if !known {
		return "what the line would run was not known when it was trusted"
	}
	return subject.Compare(was, is, g.At, "the yes")
}

type grantFile struct {
	head
	Grant
}

// Trust keeps a person's yes to what f holds, in place of an earlier one, and to
// what its lines run, by Job.ID. stateDir is the state root. A file with errors, or
// without jobs, is refused.
func Trust(stateDir string, f *File, commands map[string]subject.Subject, now time.Time) error {
	switch {
	case f.Err != nil:
		return f.Err
	case len(f.Plan.Jobs) == 0:
		return fmt.Errorf("%s holds no chant block, so there is nothing to trust", f.Path)
	}
	s := newStore(stateDir, f.Workspace)
	g := grantFile{head{version, f.Workspace}, Grant{f.Digest, now.UTC(), commands}}
	if _, err := s.readGrant(f.Workspace); errors.Is(err, errBroken) {
		if _, err := durable.SetAside(s.grant()); err != nil {
			return err
		}
	} else if errors.Is(err, errNewer) {
		return err
	}
	if err := s.save(s.grant(), g); err != nil {
		return fmt.Errorf("keeping that %s is trusted: %w", f.Path, err)
	}
	return nil
}

// Untrust takes the yes back, for a workspace given by any path. It says whether
// there was one, readable or not.
func Untrust(stateDir, workspace string) (bool, error) {
	real, err := Workspace(workspace)
	if err != nil {
		return false, err
	}
	s := newStore(stateDir, real)
	if err := os.Remove(s.grant()); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("taking the trust back: %w", err)
	}
	return true, durable.SyncDir(s.dir)
}

// readGrant returns nil where there is none.
func (s store) readGrant(workspace string) (*Grant, error) {
	var g grantFile
	found, err := load(s.grant(), &g, func() error { return g.check(workspace) })
	if err != nil || !found {
		return nil, err
	}
	return &g.Grant, nil
}
