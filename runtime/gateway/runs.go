package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/chant-acp/chant-acp/internal/brief"
)

// Run is one run of an Op.
type Run struct {
	ID      string            `json:"id"`
	Op      string            `json:"op,omitempty"`
	Env     string            `json:"env,omitempty"`
	Params  map[string]string `json:"params,omitempty"`
	Status  string            `json:"status"` // running, waiting, completed, failed, cancelled, interrupted or unreadable
	Started time.Time         `json:"started,omitzero"`
	Ended   time.Time         `json:"ended,omitzero"`
	Step    string            `json:"step,omitempty"`    // that runs, failed or was interrupted
	Failure string            `json:"failure,omitempty"` // why it failed
	Problem string            `json:"problem,omitempty"` // why it is unreadable
	Gates   []Gate            `json:"gates,omitempty"`   // that it waits at
}

// Gate is a gate of a run.
type Gate struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Status      string          `json:"status"`           // waiting, approved, rejected or expired
	Digest      string          `json:"digest,omitempty"` // short, of what it lets pass
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema of the answer that it wants
	// What it asks about: the steps up to the next gate, the files to look at, and
	// the commit, with whether the tree held nothing but that.
	Steps    []string   `json:"steps,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
	Commit   string     `json:"commit,omitempty"`
	Clean    *bool      `json:"clean,omitempty"`

	Since   time.Time `json:"since,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	By      string    `json:"by,omitempty"`
	Decided time.Time `json:"decided,omitzero"`
	Note    string    `json:"note,omitempty"`
	// Approve, Reject and Continue are what a person types in a thread.
	Approve  string `json:"approve,omitempty"`
	Reject   string `json:"reject,omitempty"`
	Continue string `json:"continue,omitempty"`
}

// Evidence is a file that a person is to look at before a decision.
type Evidence struct {
	Path   string `json:"path"` // below the project's folder
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Lacks  string `json:"lacks,omitempty"` // why there is no content
}

// Decision is what a person says to a gate.
type Decision struct {
	Approve bool
	By      string // how it reached us
	Note    string
	Answer  json.RawMessage // JSON for a gate with a schema; nil for none
}

// What the errors of Runs mean.
var (
	ErrNoRun    = errors.New("there is no such run; GET /runs lists them")
	ErrNoGate   = errors.New("the run has no such gate; GET /runs lists its gates")
	ErrNoPerson = errors.New("a gate is decided by a person, and this gateway was started by a program that chant-acp runs; a person may start one from a terminal")
	// ErrDecided is wrapped with who was first.
	ErrDecided = errors.New("the gate was decided already")
)

// Runs are the runs of Ops: the same facts as the command line's.
// Implementations are safe for concurrent use.
type Runs interface {
	List(ctx context.Context) ([]Run, error)
	// Resolve decides a gate of a run; gate may be NAME@DIGEST. Errors: ErrNoRun,
	// ErrNoGate, ErrNoPerson, ErrDecided.
	Resolve(ctx context.Context, run, gate string, d Decision) (Gate, error)
}

// errNoRuns is the answer where no Runs were given.
func errNoRuns() *Problem {
	return notHere.problem("this gateway has no runs of Ops to show: it was built without them")
}

// runRoutes show the runs of Ops, and decide their gates.
type runRoutes struct {
	runs Runs // nil: none
	hub  *hub
}

func (r runRoutes) routes() []route {
	return []route{
		{"GET", "/runs", needToken, false, r.list},
		{"POST", "/runs/{id}/gates/{gate}", needPerson, false, r.resolveGate},
	}
}

// all lists the runs.
func (r runRoutes) all(ctx context.Context) ([]Run, error) {
	if r.runs == nil {
		return nil, errNoRuns()
	}
	list, err := r.runs.List(ctx)
	if err != nil {
		return nil, conflict.problem("the runs can't be listed: %v", err)
	}
	if list == nil {
		list = []Run{}
	}
	return list, nil
}

// list serves GET /runs.
func (r runRoutes) list(w http.ResponseWriter, req *http.Request) error {
	list, err := r.all(req.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"runs": list})
}

// resolveGate serves POST /runs/{id}/gates/{gate}.
func (r runRoutes) resolveGate(w http.ResponseWriter, req *http.Request) error {
	var body struct {
		Decision string `json:"decision"`
		Note     string `json:"note"`

		Answer json.RawMessage `json:"answer"`
	}
	if err := readBody(w, req, &body); err != nil {
		return err
	}
	if body.Decision != "approve" && body.Decision != "reject" {
		return fieldProblem("decision", `must be "approve" or "reject", not %q`, brief.Bytes(body.Decision, 100))
	}
	if r.runs == nil {
		return errNoRuns()
	}
	d := Decision{Approve: body.Decision == "approve", By: "gateway", Note: body.Note, Answer: body.Answer}
	gate, err := r.runs.Resolve(req.Context(), req.PathValue("id"), req.PathValue("gate"), d)
	switch {
	case errors.Is(err, ErrNoRun), errors.Is(err, ErrNoGate):
		return notFound.problem("%v", err)
	case errors.Is(err, ErrNoPerson):
		return noPerson.problem("%v", err)
	case err != nil: // decided already, or not to be decided now
		return conflict.problem("%v", err)
	}
	r.hub.publish(EventGateResolved, map[string]any{"run": req.PathValue("id"), "gate": gate})
	return writeJSON(w, http.StatusOK, gate)
}
