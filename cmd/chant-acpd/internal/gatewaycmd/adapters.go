package gatewaycmd

import (
	"maps"
	"os"
	"slices"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/cmd/internal/serve"
	"github.com/chant-acp/chant-acp/internal/origin"
	"github.com/chant-acp/chant-acp/runtime/gateway"
)

// adapters are the agents that can be started: our own, and what the
// configuration names now.
func adapters(self, profile string) ([]gateway.Adapter, error) {
	s, err := loadSettings(profile)
	if err != nil {
		return nil, err
	}
	const own = "chant-acp"
	var list []gateway.Adapter
	if _, other := s.Adapters[own]; !other {
		list = append(list, gateway.Adapter{
			Slug: own, Command: ownAgent(self, profile, "--confirm", "ask", "--gates", "ask"), Env: personal(),
			Description: "The allow-listed commands of a project", MCP: true,
		})
	}
	for _, slug := range slices.Sorted(maps.Keys(s.Adapters)) {
		a := s.Adapters[slug]
		var env []string
		if slug == own {
			env = personal()
		}
		for _, name := range slices.Sorted(maps.Keys(a.Env)) {
			env = append(env, name+"="+a.Env[name])
		}
		list = append(list, gateway.Adapter{Slug: slug, Command: a.Command, Env: env, Description: a.Description, MCP: a.MCP})
	}
	return list, nil
}

// ownAgent is the command of our own agent, which the gateway's profile is for, too.
func ownAgent(self, profile string, flags ...string) []string {
	command := append([]string{self, "serve"}, flags...)
	if profile != "" {
		command = append(command, "--profile", profile)
	}
	return command
}

// personal is what makes the one who speaks to the gateway the person behind our
// own agent, which is else a program that another one runs. Other agents, which
// may be models, do not get it.
func personal() []string {
	if serve.Origin(os.Getenv) != agent.OriginClient {
		return nil
	}
	return []string{origin.Variable + "=" + origin.Client}
}
