package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/internal/durable"
)

const (
	// stateVersion is the format of the state file.
	stateVersion = 1
	// maxState is the size up to which a state file is read, in bytes.
	maxState = 16 << 20
)

// stateFile is what is written down.
type stateFile struct {
	Version  int    `json:"version"`
	Sessions []Info `json:"sessions"`
}

// load reads the sessions of the last registry, all of which have ended. A file that is no state
// file is set aside.
func load(path string, log zerolog.Logger) ([]Info, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe is not waited for
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the sessions of before can't be read: %w; make the file readable, or move it away", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err != nil {
		return nil, fmt.Errorf("the sessions of before can't be read: %w; move the file away", err)
	}
	past, err := parseState(raw)
	if err != nil {
		quarantined, moveErr := durable.SetAside(path)
		if moveErr != nil {
			return nil, fmt.Errorf("%s can't be understood (%w): %w; move it away", path, err, moveErr)
		}
		log.Warn().Err(err).Str("file", quarantined).Msg("the list of earlier sessions could not be understood and was set aside; the list begins anew")
		return nil, nil
	}
	return past, nil
}

// parseState reads a state file. What had not ended when it was written has now.
func parseState(raw []byte) ([]Info, error) {
	if len(raw) > maxState {
		return nil, fmt.Errorf("it is larger than %d MiB", maxState>>20)
	}
	var file stateFile
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, err
	}
	if file.Version != stateVersion {
		return nil, fmt.Errorf("it has format %d, and this version knows %d", file.Version, stateVersion)
	}
	seen := make(map[string]bool)
	var past []Info
	for _, info := range file.Sessions {
		if info.ID == "" || seen[info.ID] {
			return nil, fmt.Errorf("the session id %q is missing or stands twice", info.ID)
		}
		seen[info.ID] = true
		past = append(past, afterRestart(info))
	}
	return past[max(0, len(past)-KeptEnded):], nil
}

// afterRestart makes what was written down of a session what is known of it now.
func afterRestart(info Info) Info {
	info.Watchers, info.Turn = 0, ""
	if info.State != StateEnded {
		info.State, info.Ended = StateEnded, time.Now()
		info.Reason = "the process that kept it ended first, and it was ended with that"
	}
	return info
}

// pastSession is a session of before a restart, of which nothing but its Info is left.
func pastSession(r *Registry, info Info) *Session {
	done := make(chan struct{})
	close(done)
	return &Session{id: info.ID, kind: info.Kind, registry: r, info: info, done: done}
}

// saver writes the state file whenever something has changed, from one goroutine: a burst of
// changes is one write.
type saver struct {
	wake chan struct{} // an item when something has changed
	quit chan struct{}
	done chan struct{}
	once sync.Once
}

// newSaver starts the goroutine; close ends it. An empty path saves nothing.
func newSaver(path string, log zerolog.Logger, list func() []Info) *saver {
	s := &saver{wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	if path == "" {
		close(s.done)
		return s
	}
	save := func() {
		if err := writeState(path, list()); err != nil {
			log.Error().Err(err).Str("file", path).Msg("the list of sessions could not be written down; after a restart it will not be complete")
		}
	}
	go func() { // ended and waited for by close
		defer close(s.done)
		for {
			select {
			case <-s.wake:
				save()
			case <-s.quit:
				select {
				case <-s.wake:
					save()
				default:
				}
				return
			}
		}
	}()
	return s
}

func (s *saver) changed() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close writes what has changed, and ends the saver.
func (s *saver) close() {
	s.once.Do(func() { close(s.quit) })
	<-s.done
}

// writeState replaces the file: a crash leaves the old one or the new one.
func writeState(path string, infos []Info) error {
	raw, err := json.MarshalIndent(stateFile{stateVersion, infos}, "", "  ")
	if err != nil {
		return err
	}
	return durable.Write(path, append(raw, '\n'))
}
