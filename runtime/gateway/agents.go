package gateway

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/internal/origin"
	"github.com/chant-acp/chant-acp/runtime/person"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// environment is a body's env as programs take it.
func environment(env map[string]string) ([]string, error) {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(env[name], "\x00") {
			return nil, fieldProblem("env", "has a variable that can't be one: %q", brief.Bytes(name, 100))
		}
		if why := origin.Reserved(name); why != "" {
			return nil, fieldProblem("env", "sets %s, and %s", brief.Bytes(name, 100), why)
		}
		list = append(list, name+"="+env[name])
	}
	return list, nil
}

// agentRoutes start agents, take their turns, and answer what they ask.
type agentRoutes struct {
	registry  *session.Registry
	adapters  *adapterRoutes
	workspace string
	life      context.Context // ends when the gateway stops
	isPerson  func(*http.Request) bool
	voucher   *person.Voucher // nil: no agent speaks for a person
}

func (a agentRoutes) routes() []route {
	return []route{
		{"POST", "/sessions/agent", needToken, true, a.start},
		{"POST", "/sessions/{id}/prompt", needToken, true, a.prompt},
		{"POST", "/sessions/{id}/cancel", needToken, false, a.cancel},
		{"GET", "/sessions/{id}/requests", needToken, false, a.listRequests},
		{"POST", "/sessions/{id}/requests/{request}", needPerson, false, a.answerRequest},
	}
}

// start serves POST /sessions/agent.
func (a agentRoutes) start(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Adapter string `json:"adapter"`
		Cwd     string `json:"cwd"`
		Name    string `json:"name"`
		Prompt  string `json:"prompt"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	adapter, err := a.adapters.find(body.Adapter)
	if err != nil {
		return err
	}
	cwd, err := folder(a.workspace, body.Cwd)
	if err != nil {
		return err
	}
	spec := session.AgentSpec{Adapter: adapter.Slug, Command: adapter.Command, Env: adapter.Env, Cwd: cwd, Name: body.Name}
	if voucher := a.voucher; voucher != nil && adapter.Own && a.isPerson(r) {
		vouched, err := voucher.Agent()
		if err != nil {
			return err
		}
		defer vouched.Close() // the agent has its own by the time that it has a session
		spec.Person, spec.Extra = true, vouched
	}
	s, err := a.registry.StartAgent(r.Context(), spec)
	if err != nil {
		return startProblem(err)
	}
	if body.Prompt != "" {
		_, _ = s.Begin(body.Prompt, nil) // fails where it has ended, which its Info says
	}
	answerSoon(w)
	return created(w, s)
}

// prompt serves POST /sessions/{id}/prompt.
func (a agentRoutes) prompt(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Prompt string `json:"prompt"`
		Wait   *bool  `json:"wait"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	if strings.TrimSpace(body.Prompt) == "" {
		return fieldProblem("prompt", "must be text")
	}
	s, err := find(a.registry, r)
	if err != nil {
		return err
	}
	if s.Person() && !a.isPerson(r) {
		return noPerson.problem("this agent speaks for the person who started it, so that its prompts are a person's: send the capability that `chant-acp gateway capability` prints, or start a session with the token alone")
	}
	// The turn belongs to its session: that whoever asked for it goes away does not
	// end it.
	turn, err := s.Begin(body.Prompt, nil)
	if err != nil {
		return err
	}
	if body.Wait != nil && !*body.Wait {
		answerSoon(w)
		return writeJSON(w, http.StatusAccepted, s.Info())
	}
	select {
	case <-turn.Done():
		answerSoon(w)
		return answerTurn(w, turn)
	case <-r.Context().Done():
		if a.life.Err() != nil {
			return unavailable.problem("the gateway stops, and the turn with it")
		}
		return nil // the client is gone
	}
}

func answerTurn(w http.ResponseWriter, begun *session.Begun) error {
	turn, err := begun.Result()
	if err != nil {
		if p := sessionProblem(err); p != nil {
			return p
		}
		return badAgent.problem("the agent did not take the prompt: %v", err)
	}
	return writeJSON(w, http.StatusOK, turn)
}

// cancel serves POST /sessions/{id}/cancel.
func (a agentRoutes) cancel(w http.ResponseWriter, r *http.Request) error {
	if err := readBody(w, r, &struct{}{}); err != nil {
		return err
	}
	s, err := find(a.registry, r)
	if err != nil {
		return err
	}
	if err := s.Cancel(); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s.Info())
}

// listRequests serves GET /sessions/{id}/requests.
func (a agentRoutes) listRequests(w http.ResponseWriter, r *http.Request) error {
	s, err := find(a.registry, r)
	if err != nil {
		return err
	}
	if s.Info().Kind != session.KindAgent {
		return session.ErrWrongKind
	}
	list := s.Requests()
	if list == nil {
		list = []session.PermissionRequest{}
	}
	return writeJSON(w, http.StatusOK, map[string]any{"requests": list})
}

// answerRequest serves POST /sessions/{id}/requests/{request}.
func (a agentRoutes) answerRequest(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		OptionID string `json:"optionId"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	if body.OptionID == "" {
		return fieldProblem("optionId", "must be one of the request's options")
	}
	s, err := find(a.registry, r)
	if err != nil {
		return err
	}
	if err := s.Answer(r.PathValue("request"), body.OptionID); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"id": r.PathValue("request"), "optionId": body.OptionID})
}
