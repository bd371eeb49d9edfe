package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// problemDocs is where the types of problems are explained; each has a heading.
const problemDocs = "https://github.com/chant-acp/chant-acp/blob/main/docs/gateway.md#"

// Problem is an error as a client is told it: a problem document of RFC 9457,
// application/problem+json.
type Problem struct {
	Type   string // a word such as "not-found"; on the wire a URI that ends in it
	Title  string // the type in a few words
	Status int    // the status of HTTP
	Detail string // what went wrong here, and what to do

	// Extra are members beside the standard ones, such as "allow".
	Extra map[string]any
}

// Error is the detail.
func (p *Problem) Error() string { return p.Detail }

// MarshalJSON makes the document.
func (p *Problem) MarshalJSON() ([]byte, error) {
	doc := make(map[string]any, len(p.Extra)+4)
	for k, v := range p.Extra {
		doc[k] = v
	}
	doc["type"], doc["title"], doc["status"], doc["detail"] = problemDocs+p.Type, p.Title, p.Status, p.Detail
	return json.Marshal(doc)
}

// with adds a member.
func (p *Problem) with(name string, value any) *Problem {
	if p.Extra == nil {
		p.Extra = make(map[string]any, 1)
	}
	p.Extra[name] = value
	return p
}

// kind is a type of problem.
type kind struct {
	name, title string
	status      int
}

// The types. docs/gateway.md explains each.
var (
	badRequest    = kind{"bad-request", "The request can't be read", http.StatusBadRequest}
	unauthorized  = kind{"unauthorized", "The bearer token is missing or wrong", http.StatusUnauthorized}
	foreignHost   = kind{"foreign-host", "The gateway does not listen as this host", http.StatusForbidden}
	foreignOrigin = kind{"foreign-origin", "Pages of this origin are not trusted", http.StatusForbidden}
	noPerson      = kind{"no-person", "Only a person may do this", http.StatusForbidden}
	notFound      = kind{"not-found", "There is no such thing", http.StatusNotFound}
	wrongMethod   = kind{"wrong-method", "The method does not fit", http.StatusMethodNotAllowed}
	notAcceptable = kind{"not-acceptable", "No form of the answer is accepted", http.StatusNotAcceptable}
	conflict      = kind{"conflict", "The state of things does not fit", http.StatusConflict}
	ambiguous     = kind{"ambiguous", "Several have this name", http.StatusConflict}
	tooLarge      = kind{"too-large", "The body is too large", http.StatusRequestEntityTooLarge}
	wrongMedia    = kind{"wrong-media-type", "The body is not JSON", http.StatusUnsupportedMediaType}
	invalid       = kind{"invalid", "A value is not what it must be", http.StatusUnprocessableEntity}
	upgrade       = kind{"upgrade-required", "This is for WebSockets", http.StatusUpgradeRequired}
	internal      = kind{"internal", "The gateway failed", http.StatusInternalServerError}
	notHere       = kind{"not-here", "This gateway does not have it", http.StatusNotImplemented}
	badAgent      = kind{"agent-failed", "The agent failed", http.StatusBadGateway}
	unavailable   = kind{"unavailable", "The gateway can't take this now", http.StatusServiceUnavailable}
)

// problem makes a problem of a type.
func (k kind) problem(format string, args ...any) *Problem {
	return &Problem{Type: k.name, Title: k.title, Status: k.status, Detail: fmt.Sprintf(format, args...)}
}

// writeProblem answers with p.
func writeProblem(w http.ResponseWriter, p *Problem) {
	body, err := json.Marshal(p)
	if err != nil { // an extra member that is no JSON
		p.Extra = nil
		body, _ = json.Marshal(p)
	}
	writeBody(w, p.Status, "application/problem+json", append(body, '\n'))
}

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	writeBody(w, status, "application/json", append(body, '\n'))
	return nil
}

// writeBody answers with a whole body. That the client is gone by now is
// nobody's problem.
func writeBody(w http.ResponseWriter, status int, media string, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{media}
	h["Content-Length"] = []string{fmt.Sprint(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// caughtErrors is a writer for handlers of others, whose errors are plain text:
// they are caught, so that problem documents can be made of them.
type caughtErrors struct {
	http.ResponseWriter
	status int
	text   []byte
}

func (c *caughtErrors) WriteHeader(status int) {
	if status >= 400 && !strings.Contains(c.Header().Get("Content-Type"), "json") {
		c.status = status
		return
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *caughtErrors) Write(p []byte) (int, error) {
	if c.status == 0 {
		return c.ResponseWriter.Write(p)
	}
	c.text = append(c.text, p[:min(len(p), 1024-min(len(c.text), 1024))]...)
	return len(p), nil
}

// Unwrap is for http.ResponseController.
func (c *caughtErrors) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// problem is what was caught, or nil.
func (c *caughtErrors) problem() error {
	if c.status == 0 {
		return nil
	}
	k := badRequest
	for _, other := range []kind{tooLarge, wrongMedia, upgrade, wrongMethod, notFound, internal} {
		if other.status == c.status {
			k = other
		}
	}
	p := k.problem("%s", strings.TrimSpace(string(c.text)))
	p.Status = c.status
	return p
}
