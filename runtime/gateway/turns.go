package gateway

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// environment is a body's env as programs take it.
func environment(env map[string]string) ([]string, error) {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(env[name], "\x00") {
			return nil, fieldProblem("env", "has a variable that can't be one: %q", brief.Bytes(name, 100))
		}
		list = append(list, name+"="+env[name])
	}
	return list, nil
}

// startAgent serves POST /sessions/agent.
func (g *Gateway) startAgent(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Adapter string `json:"adapter"`
		Cwd     string `json:"cwd"`
		Name    string `json:"name"`
		Prompt  string `json:"prompt"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	a, err := g.adapter(body.Adapter)
	if err != nil {
		return err
	}
	cwd, err := g.folder(body.Cwd)
	if err != nil {
		return err
	}
	s, err := g.sessions.StartAgent(r.Context(), session.AgentSpec{
		Adapter: a.Slug, Command: a.Command, Env: a.Env, Cwd: cwd, Name: body.Name,
	})
	if err != nil {
		return startProblem(err)
	}
	if body.Prompt != "" {
		_, _ = s.Begin(body.Prompt, nil) // fails where it has ended, which its Info says
	}
	g.soon(w)
	return created(w, s)
}

// prompt serves POST /sessions/{id}/prompt.
func (g *Gateway) prompt(w http.ResponseWriter, r *http.Request) error {
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
	s, err := g.find(r)
	if err != nil {
		return err
	}
	// The turn belongs to its session: that whoever asked for it goes away does not
	// end it.
	turn, err := s.Begin(body.Prompt, nil)
	if err != nil {
		return err
	}
	if body.Wait != nil && !*body.Wait {
		g.soon(w)
		return writeJSON(w, http.StatusAccepted, s.Info())
	}
	select {
	case <-turn.Done():
		g.soon(w)
		return answerTurn(w, turn)
	case <-r.Context().Done():
		if g.life.Err() != nil {
			return unavailable.problem("the gateway stops, and the turn with it")
		}
		return nil // nobody is there to answer
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

// cancelTurn serves POST /sessions/{id}/cancel.
func (g *Gateway) cancelTurn(w http.ResponseWriter, r *http.Request) error {
	if err := readBody(w, r, &struct{}{}); err != nil {
		return err
	}
	s, err := g.find(r)
	if err != nil {
		return err
	}
	if err := s.Cancel(); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s.Info())
}

// listRequests serves GET /sessions/{id}/requests.
func (g *Gateway) listRequests(w http.ResponseWriter, r *http.Request) error {
	s, err := g.find(r)
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
func (g *Gateway) answerRequest(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		OptionID string `json:"optionId"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	if body.OptionID == "" {
		return fieldProblem("optionId", "must be one of the request's options")
	}
	s, err := g.find(r)
	if err != nil {
		return err
	}
	if err := s.Answer(r.PathValue("request"), body.OptionID); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"id": r.PathValue("request"), "optionId": body.OptionID})
}
