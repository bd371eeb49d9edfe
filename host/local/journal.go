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

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/durable"
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

// journal appends entries. One process at a time does, under the run's lock.
type journal struct {
	mu   sync.Mutex
	f    *os.File
	size int64
	now  func() time.Time
}

// openJournal opens the journal to go on with it and cuts off what a crash left
// of an entry.
func openJournal(path string, now func() time.Time) (*journal, error) {
	text, err := durable.Read(path, maxJournal)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	j := &journal{f: f, size: int64(bytes.LastIndexByte(text, '\n') + 1), now: now}
	if j.size < int64(len(text)) {
		if err := f.Truncate(j.size); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("cutting off what a crash left in %s: %w", path, err)
		}
	}
	return j, nil
}

// append writes an entry and flushes it. After an error nothing of it is there.
func (j *journal) append(e entry) error {
	e.Error, e.Title = cutText(e.Error), cutText(e.Title)
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Time = j.now().UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	if len(line) >= maxEntry || j.size+int64(len(line)) >= maxJournal {
		return fmt.Errorf("the journal %s can't take an entry of %d bytes: it has %d already", j.f.Name(), len(line), j.size)
	}
	_, err = j.f.Write(append(line, '\n'))
	if err == nil {
		err = j.f.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing the journal: %w", err), j.f.Truncate(j.size))
	}
	j.size += int64(len(line)) + 1
	return nil
}

func (j *journal) close() { _ = j.f.Close() }

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
	text, err := durable.Read(path, maxJournal)
	if err != nil {
		return nil, err
	}
	return parseJournal(path, text)
}

func parseJournal(path string, text []byte) (*history, error) {
	h := newHistory()
	number := 0
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			break
		}
		text = rest
		number++
		var e entry
		if len(line) > maxEntry {
			return h, &damageError{path: path, problem: fmt.Sprintf("is damaged: line %d has %d bytes", number, len(line))}
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return h, &damageError{path: path, problem: fmt.Sprintf("is damaged: line %d is no entry", number)}
		}
		if err := h.take(e); err != nil {
			return h, &damageError{path: path, problem: fmt.Sprintf("is damaged: line %d: %v", number, err)}
		}
	}
	if h.legs == 0 {
		return h, &damageError{path: path, problem: "is damaged: it holds no beginning"}
	}
	return h, nil
}

// history is what a journal says.
type history struct {
	legs    int
	leg     entry // the last one
	began   time.Time
	last    time.Time
	steps   map[string]*stepHistory
	current string // the key of the step that began last and is not over
	failing *entry
	status  *entry // of the last leg; nil while it goes on, or where it was killed
	set     map[string]string
	lacks   string // why the log is not whole; "" where it is
}

// stepHistory is what is known of one step.
type stepHistory struct {
	title string
	begun bool   // in some leg
	pause string // the id of what it waits for
	asked string // the id of the question in its record
	// digest is that of what was asked about, "" of all but gates; askedAt is when.
	digest  string
	askedAt time.Time
	end     *entry // nil while it is not over
}

func newHistory() *history {
	return &history{steps: make(map[string]*stepHistory), set: make(map[string]string)}
}

func (h *history) step(key string) *stepHistory {
	s := h.steps[key]
	if s == nil {
		s = new(stepHistory)
		h.steps[key] = s
	}
	return s
}

// take takes in the next entry. What can't follow what came before is an error.
func (h *history) take(e entry) error {
	if h.over() {
		return errors.New("the run was over")
	}
	if e.Kind != entryLeg && (h.legs == 0 || h.status != nil) {
		return fmt.Errorf("no process had taken the run up before the entry %q", e.Kind)
	}
	h.last = e.Time
	if e.LogLacks != "" {
		h.lacks = e.LogLacks
	}
	switch e.Kind {
	case entryLeg:
		return h.takeLeg(e)
	case entryStatus:
		return h.takeStatus(e)
	case entryFailing:
		h.failing = &e
		return nil
	case entryRetry, entryStart, entryAsk, entryVoid, entryEnd:
		return h.takeStep(e)
	}
	return fmt.Errorf("there is no entry %q", e.Kind)
}

func (h *history) takeLeg(e entry) error {
	if e.Leg != h.legs+1 {
		return fmt.Errorf("it is leg %d after leg %d", e.Leg, h.legs)
	}
	if h.legs == 0 {
		h.began = e.Time
	}
	h.legs, h.leg, h.status = e.Leg, e, nil
	return nil
}

func (h *history) takeStatus(e entry) error {
	switch host.RunState(e.State) {
	case host.RunWaiting, host.RunCompleted, host.RunFailed, host.RunCancelled, host.RunInterrupted:
		h.status = &e
		return nil
	}
	return fmt.Errorf("there is no state %q", e.State)
}

func (h *history) takeStep(e entry) error {
	if e.Step == "" {
		return fmt.Errorf("the entry %q names no step", e.Kind)
	}
	s := h.step(e.Step)
	if e.Kind == entryVoid {
		if s.pause == "" {
			return fmt.Errorf("the step %s asked nothing", e.Step)
		}
		*s = stepHistory{title: s.title}
		return nil
	}
	if s.end != nil {
		return fmt.Errorf("the step %s was over", e.Step)
	}
	if e.Title != "" {
		s.title = e.Title
	}
	switch e.Kind {
	case entryStart:
		s.begun, h.current = true, e.Step
	case entryAsk:
		s.begun, s.pause, s.asked, s.digest, s.askedAt = true, e.Pause, e.Request, e.Digest, e.Time
	case entryEnd:
		return h.takeEnd(s, e)
	}
	return nil
}

func (h *history) takeEnd(s *stepHistory, e entry) error {
	switch host.StepState(e.State) {
	case host.StepCompleted, host.StepFailed, host.StepCancelled:
	default:
		return fmt.Errorf("there is no end %q of a step", e.State)
	}
	s.end = &e
	for name, value := range e.Set {
		h.set[name] = value
	}
	if h.current == e.Step {
		h.current = ""
	}
	return nil
}

// over says whether the journal holds the end of the run.
func (h *history) over() bool {
	return h.status != nil && !host.RunState(h.status.State).Open()
}

// ended says how a step ended; "" for one that did not.
func (h *history) ended(key string) host.StepState {
	if s := h.steps[key]; s != nil && s.end != nil {
		return host.StepState(s.end.State)
	}
	return ""
}

// interrupted are the titles of the steps that began and are not over, without
// those that only wait.
func (h *history) interrupted() []string {
	var titles []string
	for key, s := range h.steps {
		if s.begun && s.end == nil && s.pause == "" {
			titles = append(titles, s.title+"\x00"+key)
		}
	}
	return sortTitles(titles)
}
