package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/internal/journal"
)

// The kinds of entries.
const (
	entryLeg     = "leg"     // a process takes the run up
	entryStart   = "start"   // an attempt of a step is about to begin
	entryRetry   = "retry"   // it failed, and the next one follows
	entryAsk     = "ask"     // a step waits for somebody or something
	entryVoid    = "void"    // what came of a gate, or will of its question, counts no more
	entryEnd     = "end"     // a step is over
	entryFailing = "failing" // a step failed, and the compensation is about to begin
	entryStatus  = "status"  // the process has let go of the run
)

// entry is one line of a journal. Which fields count depends on Kind.
type entry struct {
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`

	Leg    int    `json:"leg,omitempty"` // leg
	PID    int    `json:"pid,omitempty"`
	User   string `json:"user,omitempty"`
	Client string `json:"client,omitempty"`
	Steps  int    `json:"steps,omitempty"` // how many the phases have
	Op     string `json:"op,omitempty"`    // for those who look where the record is lost
	Env    string `json:"env,omitempty"`

	Step    string `json:"step,omitempty"` // its key
	Title   string `json:"title,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	WaitMs  int64  `json:"waitMs,omitempty"` // retry
	Pause   string `json:"pause,omitempty"`  // ask: the id of the record
	// Request is the id of the question; its record is known by it.
	Request string `json:"request,omitempty"` // ask
	// Digest is that of what a gate asks about.
	Digest string `json:"digest,omitempty"` // ask

	State      string            `json:"state,omitempty"` // end, status
	DurationMs int64             `json:"durationMs,omitempty"`
	ExitCode   *int              `json:"exitCode,omitempty"`
	Outcome    *outcome          `json:"outcome,omitempty"`
	Set        map[string]string `json:"set,omitempty"` // variables for later steps
	Decision   *decision         `json:"decision,omitempty"`
	Error      string            `json:"error,omitempty"`

	// LogLacks is why what was printed up to here is not all in the log; with the
	// first entry after that was known.
	LogLacks string `json:"logLacks,omitempty"`
}

type outcome struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// journalFormat is that of the journals of runs. Format 1 had no checksums.
var journalFormat = journal.Format{Name: "chant-acp run", Version: version, MaxLine: maxEntry, MaxSize: maxJournal}

// journalHeader is the first line of a journal: which run it is of, and what the
// entries may be of.
type journalHeader struct {
	Run    string       `json:"run"`
	Record string       `json:"record"` // SHA-256 of run.json, in hexadecimal
	Phases []phaseShape `json:"phases"`
	Undo   []phaseShape `json:"undo,omitempty"` // in the order in which they run
}

// phaseShape is what a journal knows of a phase.
type phaseShape struct {
	Steps    int  `json:"steps"`
	Parallel bool `json:"parallel,omitempty"`
	// Waits are the kinds of those steps that wait, by their number from 1.
	Waits map[int]op.Kind `json:"waits,omitempty"`
}

// openEntries is a journal to which entries are appended. One process at a time
// does, under the run's lock.
type openEntries struct {
	mu  sync.Mutex
	f   *os.File
	log *journal.Log
	now func() time.Time
}

// openJournal opens the journal to go on with it and cuts off what a crash left
// of an entry.
func openJournal(path string, now func() time.Time) (*openEntries, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	log, _, err := journal.Open(f, journalFormat)
	if err == nil {
		err = log.Settle()
	}
	if err != nil {
		_ = f.Close()
		return nil, damageOf(path, err)
	}
	return &openEntries{f: f, log: log, now: now}, nil
}

// append writes an entry and flushes it. After an error nothing of it is there.
func (j *openEntries) append(e entry) error {
	e.Error, e.Title = cutText(e.Error), cutText(e.Title)
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Time = j.now().UTC()
	line, err := json.Marshal(e)
	if err == nil {
		err = j.log.AppendSynced(line)
	}
	if err != nil {
		return fmt.Errorf("writing the journal %s: %w", j.f.Name(), err)
	}
	return nil
}

func (j *openEntries) close() { _ = j.f.Close() }

// cutText keeps the end of a text that is too long: errors end with their reason.
func cutText(s string) string {
	if len(s) <= maxText {
		return s
	}
	return "…" + string(bytes.ToValidUTF8([]byte(s[len(s)-maxText:]), nil))
}

// readJournal reads a journal: whole lines only, since what a crash cut was
// followed by no act. Of a damaged one it returns what comes before the damage,
// which is for those who only look.
func readJournal(path string) (*history, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	h := newHistory()
	return h, damageOf(path, h.read(f))
}

// read takes in all entries of a journal.
func (h *history) read(f *os.File) error {
	log, first, err := journal.Open(f, journalFormat)
	if err != nil {
		return err
	}
	if err := h.takeHeader(first); err != nil {
		return &journal.Damage{Line: 1, Problem: err.Error()}
	}
	end, extentErr := log.Extent()
	h.lines = 1
	_, err = log.Lines(log.First(), end, func(at int64, line []byte) error {
		h.lines++
		var e entry
		err := json.Unmarshal(line, &e)
		if err == nil {
			err = h.take(e)
		}
		if err != nil {
			return &journal.Damage{Line: h.lines, At: at, Problem: "is no entry that can stand there: " + err.Error()}
		}
		return nil
	})
	if err == nil && h.legs == 0 {
		err = &journal.Damage{Line: 1, Problem: "has no beginning behind it"}
	}
	if err == nil {
		err = extentErr
	}
	return err
}

// damageOf tells damage from a file that can't be read just now.
func damageOf(path string, err error) error {
	var damage *journal.Damage
	var other *journal.VersionError
	switch {
	case errors.As(err, &damage):
		return &damageError{path: path, problem: "is damaged: " + damage.Error()}
	case errors.As(err, &other):
		return &damageError{path: path, problem: other.Error(), intact: true}
	}
	return err
}
