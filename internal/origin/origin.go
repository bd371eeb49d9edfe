// Package origin is how a process tells an agent that it spawns who is behind the
// agent's turns.
package origin

import "strings"

// Variable is the environment variable that says so. Without it, a program that an
// agent runs is behind them where the agent's token is set, and else a person. A
// value that is not known stands for nobody.
const Variable = "CHANT_ACP_ORIGIN"

// prefix is what the names of our own variables begin with, Variable's among them.
const prefix = "CHANT_ACP_"

// Reserved says why nobody else may set a variable of this name for programs; "" where
// anybody may. Who could set ours would say for others who they are.
func Reserved(name string) string {
	if !strings.HasPrefix(name, prefix) {
		return ""
	}
	return "names that begin with " + prefix + " are chant-acp's own; remove it"
}

// The values.
const (
	MCP       = "mcp"
	Heartbeat = "heartbeat"
)
