package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/pause"
	"github.com/chant-acp/chant-acp/internal/flock"
	"github.com/chant-acp/chant-acp/internal/journal"
)

// The kinds of entries.
const (
	entrySegment = "leg"     // a process takes the run up: a segment begins
	entryStart   = "start"   // an attempt of a step is about to begin
	entryRetry   = "retry"   // it failed, and the next one follows
	entryAsk     = "ask"     // a step waits for somebody or something
	entryDecide  = "decide"  // what a step waits for was decided, by somebody or by the time
	entryVoid    = "void"    // what came of a gate, or will of its question, counts no more
	entryEnd     = "end"     // a step is over
	entryFailing = "failing" // a step failed, and the compensation is about to begin
	entryCancel  = "cancel"  // the process is asked to stop for good
	entryStatus  = "status"  // the process has let go of the run
)

// The modes of a leg that is more than the next one of a run.
const (
	legResume = "resume" // of a run that was cancelled: what was cancelled is done again
	legUndo   = "undo"   // the compensation begins, because somebody asked for it
)

// entry is one line of a journal. Which fields count depends on Kind.
type entry struct {
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`

	Segment int    `json:"leg,omitempty"`  // leg
	Mode    string `json:"mode,omitempty"` // one of the modes below, "" for none
	PID     int    `json:"pid,omitempty"`
	User    string `json:"user,omitempty"` // leg, cancel
	Client  string `json:"client,omitempty"`
	Steps   int    `json:"steps,omitempty"` // how many the phases have
	Op      string `json:"op,omitempty"`    // for those who look where the record is lost
	Env     string `json:"env,omitempty"`

	Step    string `json:"step,omitempty"` // its key
	Title   string `json:"title,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	WaitMs  int64  `json:"waitMs,omitempty"` // retry
	Pause   string `json:"pause,omitempty"`  // ask: the id of what the step waits for
	// Request is the id of the question, which no other one has.
	Request string         `json:"request,omitempty"` // ask, decide
	Asks    *pause.Request `json:"asks,omitempty"`    // ask
	// Digest is that of what a gate asks about.
	Digest string `json:"digest,omitempty"` // ask

	State      string            `json:"state,omitempty"` // end, status
	DurationMs int64             `json:"durationMs,omitempty"`
	ExitCode   *int              `json:"exitCode,omitempty"`
	Outcome    *outcome          `json:"outcome,omitempty"`
	Set        map[string]string `json:"set,omitempty"`      // variables for later steps
	Decision   *decision         `json:"decision,omitempty"` // decide
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

// openEntries is a journal to which entries are appended: by the one process that
// has the run's lock, and by those who decide about it meanwhile. Each locks the
// file for that, and takes in first what others appended. It is for one goroutine
// at a time.
type openEntries struct {
	f       *os.File
	log     *journal.Log
	now     func() time.Time
	history *history // what the journal says
	taken   int64    // up to where
}

// lockWait bounds the wait for others who append, each of which takes the time of
// a write or two.
const lockWait = 10 * time.Second

// openJournal reads a journal to go on with it.
func openJournal(path string, now func() time.Time) (*openEntries, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	j := &openEntries{f: f, now: now, history: newHistory()}
	if j.log, j.taken, err = j.history.read(f); err != nil {
		_ = f.Close()
		return nil, damageOf(path, err)
	}
	return j, nil
}

// locked calls f while nobody else can append, with all in the history that was
// appended up to then. What a crash left of an entry is cut off.
func (j *openEntries) locked(ctx context.Context, f func() error) error {
	err := flock.File(ctx, j.f, unix.LOCK_EX, lockWait)
	if errors.Is(err, flock.ErrHeld) {
		return fmt.Errorf("somebody else has been writing the journal %s for %s; try again: %w", j.f.Name(), lockWait, err)
	}
	if err != nil {
		return err
	}
	defer flock.Unlock(j.f)
	if err = j.log.Settle(); err == nil {
		err = j.history.takeLines(j.log, j.taken, j.log.Settled())
		j.taken = j.log.Settled()
	}
	if err != nil {
		return damageOf(j.f.Name(), err)
	}
	return f()
}

// write appends an entry and flushes it, within locked. After an error nothing of
// it is there.
func (j *openEntries) write(e entry) error { return j.put(e, true) }

// put is write, with the flush or without.
func (j *openEntries) put(e entry, synced bool) error {
	e.Error, e.Title = cutText(e.Error), cutText(e.Title)
	e.Time = j.now().UTC()
	line, err := json.Marshal(e)
	switch {
	case err != nil:
	case synced:
		err = j.log.AppendSynced(line)
	default:
		err = j.log.Append(0, 1, func(_ int, b []byte) ([]byte, error) { return append(b, line...), nil })
	}
	if err != nil {
		return fmt.Errorf("writing the journal %s: %w", j.f.Name(), err)
	}
	j.taken = j.log.Settled()
	j.history.lines++
	return j.history.take(e)
}

// append appends one entry.
func (j *openEntries) append(e entry, synced bool) error {
	return j.locked(context.Background(), func() error { return j.put(e, synced) }) // which has its own bound
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
	_, _, err = h.read(f)
	return h, damageOf(path, err)
}

// read takes in all entries of a journal, and returns where they end.
func (h *history) read(f *os.File) (*journal.Log, int64, error) {
	log, first, err := journal.Open(f, journalFormat)
	if err != nil {
		return nil, 0, err
	}
	if err := h.takeHeader(first); err != nil {
		return nil, 0, &journal.Damage{Line: 1, Problem: err.Error()}
	}
	end, extentErr := log.Extent()
	h.lines = 1
	err = h.takeLines(log, log.First(), end)
	if err == nil && h.segments == 0 {
		err = &journal.Damage{Line: 1, Problem: "has no beginning behind it"}
	}
	if err == nil {
		err = extentErr
	}
	return log, end, err
}

// takeLines takes in the entries between two positions.
func (h *history) takeLines(log *journal.Log, from, to int64) error {
	_, err := log.Lines(from, to, func(at int64, line []byte) error {
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
