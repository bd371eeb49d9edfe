// Package origin is how a process tells an agent that it spawns who is behind the
// agent's turns.
package origin

// Variable is the environment variable that says so. Without it, a program that an
// agent runs is behind them where the agent's token is set, and else a person. A
// value that is not known stands for nobody.
const Variable = "CHANT_ACP_ORIGIN"

// The values.
const (
	MCP       = "mcp"
	Heartbeat = "heartbeat"
)
