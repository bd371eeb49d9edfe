package gatewaycmd

import (
	"maps"
	"slices"

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
			Slug: own, Command: ownAgent(self, profile, "--confirm", "ask", "--gates", "ask"), Own: true,
			Description: "The allow-listed commands of a project", MCP: true,
		})
	}
	for _, slug := range slices.Sorted(maps.Keys(s.Adapters)) {
		a := s.Adapters[slug]
		var env []string
		for _, name := range slices.Sorted(maps.Keys(a.Env)) {
			env = append(env, name+"="+a.Env[name])
		}
		list = append(list, gateway.Adapter{Slug: slug, Command: a.Command, Env: env, Description: a.Description, MCP: a.MCP, Own: slug == own})
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
